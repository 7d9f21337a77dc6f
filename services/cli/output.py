"""How results look: tables on a terminal, tab-separated lines in a pipe, one JSON document with `--json`. Notes go to stderr."""

import os
import sys
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
import typer

from services.core import api

if TYPE_CHECKING:
    from rich.console import Console


def console() -> "Console":
    """Stdout; without colours when `NO_COLOR` is set or it is not a terminal."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


def on_terminal() -> bool:
    """Whether a person reads it. In a pipe nothing that draws is loaded, unless somebody says that it leads to a terminal."""
    claimed = os.environ.keys() & {"TTY_COMPATIBLE", "FORCE_COLOR"}  # conventions of terminals, not settings of BRB
    return console().is_terminal if claimed or sys.stdout.isatty() else False


def json(value: object) -> None:
    typer.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def line(text: str = "") -> None:
    typer.echo(clean(text))


def note(text: str) -> None:
    """Something to know beside the result."""
    typer.echo(clean(text), err=True)


def counted(number: int, noun: str) -> str:
    """`1 memory`, `2 memories`."""
    plural = f"{noun.removesuffix('y')}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def clean(text: str) -> str:
    """The text without characters that a terminal would obey instead of showing."""
    return "".join(" " if unicodedata.category(c) in {"Cc", "Cf"} and c != "\t" else c for c in text)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> None:
    """Columns whose heading starts with `#` are right-aligned; the last column takes the room that is left."""
    if not on_terminal():
        for row in rows:
            line("\t".join(clean(cell).replace("\t", " ") for cell in row))
        return
    from rich.table import Table
    from rich.text import Text

    screen = console()
    bold = "" if screen.no_color else "bold"
    drawn = Table(title=title or None, title_justify="left", title_style=bold, header_style=bold, box=None, pad_edge=False)
    drawn.show_header = any(columns)
    for column in columns[:-1]:
        drawn.add_column(column.removeprefix("#"), justify="right" if column.startswith("#") else "left", no_wrap=True)
    drawn.add_column(columns[-1].removeprefix("#"), justify="right" if columns[-1].startswith("#") else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(clean(cell)) for cell in row))
    screen.print(drawn)


def short_id(one: api.Memory | api.FoundNote) -> str:
    """Eight characters for people, the whole id for programs."""
    return one.id[:8] if on_terminal() else one.id


def day(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d")


def minute(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def is_interactive() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()
