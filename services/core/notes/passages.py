"""A page in pieces that an embedding model can take in."""

import bisect
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from services.core.notes import markdown

LONGEST = 1000
"""Characters of a piece: the default embedding model reads 256 tokens."""

MOST_SECTIONS = 5000
"""Of a page that has more of them the headings are text: each piece is embedded and stored by itself, be it two words."""

_BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)+")


class Piece(NamedTuple):
    """headings: those that it stands under, outermost first. text: verbatim, without blank lines around it."""

    headings: tuple[str, ...]
    text: str


def cut(document: markdown.Document, longest: int = LONGEST) -> list[Piece]:
    """One piece for each section with text, or several where it is longer: then cut between blocks, list items, lines, words, in that order."""
    return [
        Piece(path, text)
        for path, begin, end in _sections(document)
        for text in _packed([part for block in _units(document, begin, end) for part in _short(block, longest)], longest)
    ]


def _sections(document: markdown.Document) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Heading path, first line, and the line behind."""
    path: list[markdown.Heading] = []
    begin = 0
    for heading in document.headings if len(document.headings) < MOST_SECTIONS else ():
        yield _texts(path), begin, heading.lines[0]
        path = [above for above in path if above.level < heading.level] + [heading]
        begin = heading.lines[1]
    yield _texts(path), begin, len(document.lines)


def _texts(path: Sequence[markdown.Heading]) -> tuple[str, ...]:
    return tuple(heading.text for heading in path if heading.text)


def _units(document: markdown.Document, begin: int, end: int) -> Iterator[str]:
    """The text between two places where it may be cut."""
    within = slice(bisect.bisect_right(document.starts, begin), bisect.bisect_left(document.starts, end))
    cuts = [begin, *document.starts[within], end]
    for first, behind in itertools.pairwise(cuts):
        if block := "\n".join(document.lines[first:behind]):
            yield block


def _short(block: str, longest: int) -> Iterator[str]:
    if len(block) <= longest:
        yield block
        return
    for line in block.split("\n"):
        while len(line) > longest:
            at = line.rfind(" ", longest // 2, longest) + 1 or longest
            yield line[:at]
            line = line[at:]
        yield line


def _packed(parts: Sequence[str], longest: int) -> Iterator[str]:
    packed = ""
    for part in parts:
        if packed and len(packed) + 1 + len(part) > longest:
            yield from _trimmed(packed)
            packed = part
        else:
            packed = f"{packed}\n{part}" if packed else part
    yield from _trimmed(packed)


def _trimmed(text: str) -> Iterator[str]:
    """Without blank lines around it, if anything is left."""
    if kept := _BLANK_LINES.sub("", text).rstrip():
        yield kept
