"""Options that commands share, and what they begin with."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from services.core import errors

if TYPE_CHECKING:
    from services.cli import client

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
MemoryId = Annotated[str, typer.Argument(metavar="ID", help="The id of a memory, or the first characters of it.")]
MemoryIds = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of memories, or the first characters of each.")]
Project = Annotated[
    str | None, typer.Option(help="Of which project (the folder that a client works in); without it, the folder that you are in.", show_default=False)
]
Whose = Annotated[Literal["private", "proposed", "team", "all"], typer.Option("--scope", help="What is private to you, proposed, or the team's.")]
NoProject = Annotated[bool, typer.Option("--no-project", help="Of no project.")]


def project_of(project: str | None, *, none: bool) -> str:
    """The project that is meant, named as the proxy knows it: by the working directory that a client states."""
    if none and project:
        raise errors.BadInput("give either --project or --no-project")
    if none or project == "":
        return ""
    try:
        return project or os.getcwd()
    except FileNotFoundError:
        raise errors.BadInput("the folder that you are in is gone: give --project or --no-project") from None


@contextmanager
def connected(timeout_seconds: float | None = None) -> "Iterator[client.Client]":
    """A client of the BRB that the settings name. timeout_seconds: of one call; None for that of short ones."""
    from services.cli import client
    from services.core import address

    limit = {} if timeout_seconds is None else {"timeout_seconds": timeout_seconds}
    where = address.found()
    with client.Client(where.url, key=where.key, **limit) as connection:
        yield connection


@contextmanager
def operating(timeout_seconds: float | None = None) -> "Iterator[client.Client]":
    """As `connected`, for what the operator of the machine may do, too: with BRB_KEY, else with the key that follows from the secret of the data
    folder. That never goes to another machine's BRB."""
    from services.cli import client
    from services.core import address, config, seal, tokens

    settings = config.load()
    where = address.of(settings)
    secret = seal.kept_secret(settings) if not where.key and settings.url is None else None
    limit = {} if timeout_seconds is None else {"timeout_seconds": timeout_seconds}
    with client.Client(where.url, key=where.key or (tokens.operator_key(secret) if secret else ""), **limit) as connection:
        yield connection
