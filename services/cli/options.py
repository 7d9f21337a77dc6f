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
def connected(timeout_seconds: float | None = None) -> "Iterator[client.Client]":
    """A client of the BRB that the settings name. timeout_seconds: of one call; None for that of short ones."""
    from services.cli import client
    from services.core import config

    limit = {} if timeout_seconds is None else {"timeout_seconds": timeout_seconds}
    with client.Client(config.load().base_url, **limit) as connection:
        yield connection
