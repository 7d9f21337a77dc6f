"""`brb memories export` and `import`: everything of one's own in one file, and in again; and what other tools remember."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal

import msgspec
import typer

from services.cli import embedded, local, options, output
from services.core import errors

if TYPE_CHECKING:
    from services.cli.imports import items, sending

_SECONDS = 600.0  # a part of long notes is embedded in one request
_INTERRUPTED = 130  # as shells say it of Ctrl-C
_MOST_NAMED = 20

Format = Literal["auto", "brb", "chatgpt", "claude", "claude-code", "claude-md", "mem0", "brain-kit"]


class Exported(msgspec.Struct, frozen=True):
    file: str
    memories: int
    notes: int


def exported(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Where to; without it, stdout.")] = None,
    kind: Annotated[Literal["memories", "notes", "all"], typer.Option(help="What of.")] = "all",
    as_json: options.Json = False,
) -> None:
    """Write your memories, with their history, and notes to a file of JSON. What others share with you is not among them."""
    with options.connected(timeout_seconds=_SECONDS) as brb:
        pieces = brb.export(kind)
        if file is None:
            return _written(pieces, sys.stdout.buffer)
        with _replaced(file) as stream:
            _written(pieces, stream)
    done = _counted(file)
    if as_json:
        return output.json(done)
    output.line(f"{done.memories} memories and {done.notes} notes in {file}")


def imported(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A file, a ZIP or a folder; - for stdin.")],
    format_name: Annotated[Format, typer.Option("--format", help="Of what; without it, what the content says.")] = "auto",
    project: Annotated[str | None, typer.Option(help="The project that it belongs to, where it names none itself.", show_default=False)] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Of an export of BRB: replace what is there already; without it that stays.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only read it, and say what is in it.")] = False,
    as_json: options.Json = False,
) -> None:
    """Take in what `brb memories export` wrote, or what you said elsewhere: exports of ChatGPT and Claude, transcripts of Claude Code, CLAUDE.md,
    mem0, brain-kit. What is learnt from these waits for your yes (`brb memories review`). The same again changes nothing, and goes on where it ended.
    """
    with local.steps(plain=False) as (say, progress):
        if dry_run:
            receipt = _read(path, format_name, project, _sending(None, replace, say), progress)
        else:
            with options.connected(timeout_seconds=_SECONDS) as brb:
                receipt = _read(path, format_name, project, _sending(brb, replace, say), progress)
    if as_json:
        output.json(receipt)
    else:
        _tell(receipt)
    if receipt.skipped and not receipt.found:
        raise typer.Exit(1)


def _tell(receipt: "sending.Receipt") -> None:
    for line in told(receipt):
        output.line(line)
    for one in receipt.skips[:_MOST_NAMED]:
        output.note(f"skipped: {one.place}: {one.why}")
    if receipt.skipped > _MOST_NAMED:
        output.note(f"... and {receipt.skipped - _MOST_NAMED} more (--json names up to 100)")


def told(receipt: "sending.Receipt") -> list[str]:
    """The receipt in words."""
    would = "would be " if receipt.dry_run else ""
    lines = []
    if receipt.conversations or receipt.turns.new:
        lines.append(f"{output.counted(receipt.conversations, 'conversation')} in {output.counted(receipt.files, 'file')}")
    for what, counts in (("turns", receipt.turns), ("statements", receipt.statements)):
        if counts.new or counts.known or counts.empty:
            lines.append(f"{what}: {counts.new} {would}taken, {counts.known} known before, {counts.empty} without words of yours")
    if receipt.first and receipt.last:
        lines.append(f"said from {output.day(receipt.first)} to {output.day(receipt.last)}")
    for what, landed in (("memories", receipt.memories), ("notes", receipt.notes)):
        if "brb" in receipt.formats or landed.created or landed.replaced or landed.kept:
            lines.append(f"{what}: {landed.created} {would}new, {landed.replaced} replaced, {landed.kept} kept as they were")
    if receipt.skipped:
        lines.append(f"skipped: {receipt.skipped}")
    if (receipt.turns.new or receipt.statements.new) and not receipt.dry_run:
        lines.append("what is learnt from them waits for your yes: brb memories review")
    return lines or ["there is nothing in it to import"]


def _sending(brb: "sending.Brb | None", replace: bool, say: "embedded.Say") -> "sending.Sending":
    from services.cli.imports import sending

    asked: list[int] = []

    def waits(waiting: int) -> None:
        if not asked:
            say(f"{waiting} turns wait to be learnt: going on as they get fewer (Ctrl-C ends it; the same command goes on from here)")
        asked.append(waiting)

    return sending.Sending(brb, replace=replace, waits=waits)


def _read(path: Path, format_name: Format, project: str | None, into: "sending.Sending", progress: "embedded.Progress") -> "sending.Receipt":
    from services.cli.imports import items, sources

    try:
        with sources.opened(path, None if format_name == "auto" else format_name) as documents:
            total, before = max(1, sum(document.size for document in documents)), 0
            for document in documents:
                done = before  # for the closure
                watched = sources.watched(document, lambda read, done=done: progress("importing", min(1.0, (done + read) / total)))  # type: ignore[misc]
                _read_one(watched, format_name, len(documents) == 1, items.Wanted(project), into)
                before += document.size
        into.flush()
    except KeyboardInterrupt:
        output.note("stopped: what was sent is kept. The same command goes on from there")
        raise typer.Exit(_INTERRUPTED) from None
    except errors.Transient as error:
        raise type(error)(f"{error}. What was sent is kept: the same command goes on from there") from None
    return into.receipt


def _read_one(document: "items.Document", format_name: Format, alone: bool, wanted: "items.Wanted", into: "sending.Sending") -> None:
    """alone: there is nothing else to read, so that it has to be something."""
    from services.cli.imports import formats, sources

    try:
        found = formats.detect(document) if format_name == "auto" else format_name
        if found is None:
            if alone:
                raise errors.BadInput(f"{document.name} is of no format that is known: it is not what an export wrote. Say which with --format")
            return
        into.begin(found)
        for item in formats.READERS[found](document, wanted):
            into.add(item)
    except sources.UNREADABLE as error:
        into.add(sources.broken(document, error))


def _counted(file: Path) -> Exported:
    """What is in a whole export, read without holding it."""
    from services.cli.imports import archive, items

    found = {"memories": 0, "notes": 0}
    for item in archive.read(items.Document(str(file), file.stat().st_size, 0.0, lambda: file.open("rb")), items.Wanted()):
        if not isinstance(item, items.Archived):
            raise errors.BadInput(f"{file} is not whole: export it again")
        found[item.kind] += 1
    return Exported(str(file), found["memories"], found["notes"])


def _written(pieces: Iterator[bytes], stream: BinaryIO) -> None:
    for piece in pieces:
        stream.write(piece)
    stream.flush()


class _replaced:
    """A file that takes the place of another one when it is whole, readable by its owner alone."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._part = file.with_name(f"{file.name}.part")

    def __enter__(self) -> BinaryIO:
        try:
            self._stream = os.fdopen(os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")
        except OSError as error:
            raise errors.BadInput(f"can't write {self._file}: {error.strerror}") from None
        return self._stream

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stream.close()
        if kind is None:
            self._part.replace(self._file)
        else:
            self._part.unlink()
