"""Which words of a text another one has not (pure)."""

import re
from difflib import SequenceMatcher
from typing import NamedTuple

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_MOST = 400  # words and marks of a text: comparing takes the product of both


class Piece(NamedTuple):
    text: str
    differs: bool


def pieces(text: str, other: str) -> tuple[Piece, ...]:
    """The text, cut where what `other` has too begins and ends. A long text is not compared."""
    mine, theirs = _WORDS.findall(text), _WORDS.findall(other)
    if not other or len(mine) > _MOST or len(theirs) > _MOST:
        return (Piece(text, False),)
    matcher = SequenceMatcher(None, [word.casefold() for word in mine], [word.casefold() for word in theirs], autojunk=False)
    found: list[Piece] = []
    for kind, start, end, _, _ in matcher.get_opcodes():
        if start < end:
            found.append(Piece("".join(mine[start:end]), kind != "equal"))
    return tuple(found)
