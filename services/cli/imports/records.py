"""Records of a JSON document, one after the other: only one is in memory at a time."""

import io
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, TypeVar

import ijson
import msgspec

from services.cli.imports.items import Document, Skipped

_BOM = b"\xef\xbb\xbf"
_HEAD_BYTES = 1_000_000
T = TypeVar("T")


class _Counted:
    """A stream that knows how far it was read, without the mark that some programs write first."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._pushed = b""
        self.read_bytes = 0
        first = stream.read(len(_BOM))
        if first != _BOM:
            self._pushed = first

    def read(self, size: int = -1) -> bytes:
        if size == 0:  # the parser asks so whether it reads bytes
            return b""
        if self._pushed:
            piece, self._pushed = self._pushed, b""
        else:
            piece = self._stream.read(size)
        self.read_bytes += len(piece)
        return piece


def of(document: Document, keys: Sequence[str] = ()) -> Iterator[Any]:
    """The items of the list that the document is, or that it has under one of these keys; else the document itself. A `Skipped` comes last if it
    breaks off or is no JSON from some place on."""
    with document.open() as opened:
        prefix = _prefix(opened, keys)
    with document.open() as opened:
        yield from under(document, opened, prefix)


def shaped(document: Document, keys: Sequence[str], shape: type[T], what: str, tool: str) -> Iterator[tuple[str, T] | Skipped]:
    """The same items as this tool writes them, each with its place; one that is otherwise is skipped. what: it is called in a place."""
    for number, record in enumerate(of(document, keys), 1):
        place = f"{document.name}: {what} {number}"
        if isinstance(record, Skipped):
            yield record
            continue
        try:
            yield place, msgspec.convert(record, shape)
        except msgspec.ValidationError as error:
            yield Skipped(place, f"not as {tool} writes it: {error}")


def under(document: Document, opened: BinaryIO, prefix: str) -> Iterator[Any]:
    stream = _Counted(opened)
    try:
        yield from ijson.items(stream, prefix, use_float=True)
    except (ijson.JSONError, UnicodeDecodeError) as error:
        yield _broken(document, stream, error)


def head(opened: BinaryIO, most_bytes: int = _HEAD_BYTES) -> Iterator[tuple[str, str, Any]]:
    """What a document begins with, as ijson's events; they end where it ends, or is no JSON."""
    try:
        yield from ijson.parse(_Counted(io.BytesIO(opened.read(most_bytes))), use_float=True, multiple_values=True)
    except (ijson.JSONError, UnicodeDecodeError):
        return


def _prefix(opened: BinaryIO, keys: Sequence[str]) -> str:
    for prefix, event, value in head(opened):
        if prefix == "" and event == "start_array":
            return "item"
        if prefix == "" and event == "map_key" and value in keys:
            return f"{value}.item"
    return ""


def _broken(document: Document, stream: _Counted, error: Exception) -> Skipped:
    """The parser's own words quote the document: they are left out."""
    ends = "EOF" in str(error) or "premature" in str(error).lower()
    how = "breaks off" if ends else "is no JSON"
    return Skipped(document.name, f"it {how} near byte {stream.read_bytes}: what stands behind that is not read. Export it again")
