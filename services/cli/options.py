"""Options that commands share, and what they begin with."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from services.cli import client

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
MemoryId = Annotated[str, typer.Argument(metavar="ID", help="The id of a memory, or the first characters of it.")]
MemoryIds = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of memories, or the first characters of each.")]


@contextmanager
def connected() -> "Iterator[client.Client]":
    """A client of the BRB that the settings name."""
    from services.cli import client
    from services.core import config

    with client.Client(config.load().base_url) as connection:
        yield connection
