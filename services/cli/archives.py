"""`brb memories export` and `import`: everything of one's own in one file, and in again."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal

import msgspec
import typer

from services.cli import local, options, output
from services.core import errors

if TYPE_CHECKING:
    from services.core import engine_api

_SECONDS = 600.0  # a part of long notes is embedded in one request
_TOGETHER = 100
_TOGETHER_BYTES = 4_000_000


class Part(msgspec.Struct, frozen=True):
    """An archive, or some of one, whose memories and notes are passed on unread."""

    format: Literal["brb-archive"]
    version: Literal[1]
    memories: tuple[msgspec.Raw, ...] = ()
    notes: tuple[msgspec.Raw, ...] = ()


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
    whole = read(file.read_bytes(), str(file))
    done = Exported(str(file), len(whole.memories), len(whole.notes))
    if as_json:
        return output.json(done)
    output.line(f"{done.memories} memories and {done.notes} notes in {file}")


def imported(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `brb memories export` wrote; - for stdin.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace what is there already; without it that stays.")] = False,
    as_json: options.Json = False,
) -> None:
    """Take in what an export wrote, as your own. Doing it again changes nothing more."""
    whole = read(_content(file), "stdin" if str(file) == "-" else str(file))
    results: list[engine_api.Imported] = []
    count = len(whole.memories) + len(whole.notes)
    done = 0
    with options.connected(timeout_seconds=_SECONDS) as brb, local.steps(plain=False) as (_, progress):
        for part in parts(whole):
            results.append(brb.import_(part, existing="replace" if replace else "keep"))
            done += len(part.memories) + len(part.notes)
            progress("importing", done / count)
    total = _sum(results)
    if as_json:
        return output.json(total)
    for what, landed in (("memories", total.memories), ("notes", total.notes)):
        output.line(f"{what}: {landed.created} new, {landed.replaced} replaced, {landed.kept} kept as they were")


def read(content: bytes, name: str) -> Part:
    """`BadInput` if it is no whole archive."""
    try:
        return msgspec.json.decode(content, type=Part)
    except msgspec.DecodeError as error:
        raise errors.BadInput(f"{name} is not what an export wrote: {error}") from None


def parts(whole: Part, together: int = _TOGETHER, together_bytes: int = _TOGETHER_BYTES) -> Iterator[Part]:
    """Archives that one request takes: so many memories and notes, or so many bytes unless a single one has more."""
    some: tuple[list[msgspec.Raw], list[msgspec.Raw]] = ([], [])
    size = 0
    for kind, items in enumerate((whole.memories, whole.notes)):
        for item in items:
            length = len(memoryview(item))
            if size and (size + length > together_bytes or len(some[0]) + len(some[1]) == together):
                yield Part(whole.format, whole.version, tuple(some[0]), tuple(some[1]))
                some, size = ([], []), 0
            some[kind].append(item)
            size += length
    if size:
        yield Part(whole.format, whole.version, tuple(some[0]), tuple(some[1]))


def _content(file: Path) -> bytes:
    if str(file) == "-":
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise errors.BadInput(f"can't read {file}: {error.strerror}") from None


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


def _sum(results: "list[engine_api.Imported]") -> "engine_api.Imported":
    from services.core import engine_api

    def total(landed: list[engine_api.Landed]) -> engine_api.Landed:
        return engine_api.Landed(*(sum(getattr(one, field) for one in landed) for field in engine_api.Landed.__struct_fields__))

    return engine_api.Imported(total([one.memories for one in results]), total([one.notes for one in results]))
