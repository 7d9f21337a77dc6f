"""`brb index`: a folder of markdown files, kept as notes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from services.cli import embedded, local, options, output
from services.core import errors

_SECONDS = 600.0  # a batch of long notes is embedded in one request
_MOST_NAMED = 20


class Skipped(msgspec.Struct, frozen=True):
    path: str
    why: str


class Indexed(msgspec.Struct, frozen=True):
    """What became of the files, and how many passages the written notes have and were embedded for it."""

    new: int
    changed: int
    moved: int
    touched: int
    gone: int
    same: int
    passages: int
    embedded: int
    skipped: tuple[Skipped, ...]
    notices: tuple[Skipped, ...]


class Forgotten(msgspec.Struct, frozen=True):
    deleted: int


def indexed(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of markdown files.")],
    watch: Annotated[bool, typer.Option("--watch", help="Stay, and follow what changes in the folder. Ctrl-C ends it.")] = False,
    project: Annotated[str, typer.Option(help="The project that the notes belong to; without it they belong to none.")] = "",
    prune: Annotated[bool, typer.Option("--prune", help="Erase the notes of a folder that holds no markdown file any more.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Erase all notes of the folder; its files stay.")] = False,
    as_json: options.Json = False,
) -> None:
    """Make the files of a folder findable: what is new, changed, renamed or gone since the last time. Only changed passages are embedded."""
    if watch and forget:
        raise errors.BadInput("--watch and --forget exclude each other")
    notes = embedded.notes()
    with options.connected(timeout_seconds=_SECONDS) as brb:
        if forget:
            return _forgotten(Forgotten(notes.forget(folder, brb)), as_json=as_json)
        settings = notes.settings(project=project, prune=prune)
        with local.steps(plain=False) as (_, progress):
            outcome = notes.sync(folder, brb, settings, progress=progress)
        _told(outcome, as_json=as_json)
        if watch:
            output.note("watching: Ctrl-C ends it")
            with local.steps(plain=True) as (say, progress):
                notes.watch(folder, brb, settings, progress=_quiet, say=say, told=lambda after: _told(after, as_json=as_json))


def _quiet(_stage: str, _share: float) -> None:
    return None


def _forgotten(done: Forgotten, *, as_json: bool) -> None:
    if as_json:
        return output.json(done)
    output.line(f"{done.deleted} notes erased")


def _told(outcome: embedded.Synced, *, as_json: bool) -> None:
    skipped = tuple(Skipped(one.path, one.why) for one in outcome.skipped)
    notices = tuple(Skipped(path, notice) for path, notice in outcome.notices)
    counts = {name: getattr(outcome, name) for name in ("new", "changed", "moved", "touched", "gone", "same", "passages", "embedded")}
    if as_json:
        return output.json(Indexed(**counts, skipped=skipped, notices=notices))
    output.line(summary(counts))
    _named("skipped", skipped)
    _named("note", notices)


def summary(counts: dict[str, int]) -> str:
    """One line for people: what happened, and what it cost."""
    happened = ", ".join(f"{counts[name]} {name}" for name in ("new", "changed", "moved", "gone") if counts[name]) or "nothing new"
    return f"{happened}; {counts['same'] + counts['touched']} as before; {counts['embedded']} of {counts['passages']} passages embedded"


def _named(what: str, files: Sequence[Skipped]) -> None:
    for one in files[:_MOST_NAMED]:
        output.note(f"{what}: {one.path or 'the folder'}: {one.why}")
    if len(files) > _MOST_NAMED:
        output.note(f"... and {len(files) - _MOST_NAMED} more (--json names all)")
