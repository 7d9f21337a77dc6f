"""How many tokens of an embedding model a text takes, over-estimated: which model that is differs, and its tokenizer sits in its own server.

A word counts a token per three letters; a long run of letters and digits or one of mixed form (a key, a hash) three per four signs; a number one
per two digits; every other ASCII sign one; a character outside ASCII one less than its bytes in UTF-8 (é 1, 中 2, an emoji 3). Single spaces are
free: tokenizers join them to the word that follows. Against the WordPiece tokenizer of all-MiniLM-L6-v2 that is 1.6 times as many for chat, 1.5
for code, and about as many for random strings.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import lru_cache

_PIECE = re.compile(r"[A-Za-z0-9]{1,24}| {1,24}|.", re.DOTALL)  # bounded, so that any run can be cut
_LONGEST_PIECE = 24
_CHUNK = re.compile(r"\S+\s*|\s+")
_WORD = re.compile(r"[A-Z]?[a-z]{1,14}|[A-Z]{1,8}")
_LONGEST_NUMBER = 8
_LONGEST_KEPT = 700  # characters


def tokens(text: str) -> int:
    """An upper estimate of the tokens of a text. Those of short ones are kept: they are counted again as a text is cut."""
    return _kept(text) if len(text) <= _LONGEST_KEPT else _counted(text)


def head(text: str, most: int) -> str:
    """The beginning of the text that takes at most so many tokens, of whole words where it can."""
    window = text[: max(0, most) * _LONGEST_PIECE]
    reach = _reach(_CHUNK.findall(window), most)
    return window[: reach or _cut(lambda length: window[:length], len(window), most)]


def tail(text: str, most: int) -> str:
    """The end of the text that takes at most so many tokens, of whole words where it can."""
    window = text[max(0, len(text) - max(0, most) * _LONGEST_PIECE) :]
    reach = _reach(reversed(_CHUNK.findall(window)), most)
    return window[len(window) - (reach or _cut(lambda length: window[len(window) - length :], len(window), most)) :]


@lru_cache(maxsize=4096)
def _kept(text: str) -> int:
    return _counted(text)


def _counted(text: str) -> int:
    return sum(_cost(piece.group()) for piece in _PIECE.finditer(text))


def _cost(piece: str) -> int:
    if not piece.isascii():
        return max(1, len(piece.encode(errors="surrogatepass")) - 1)
    if _WORD.fullmatch(piece):
        return -(-len(piece) // 3)
    if piece.isdigit() and len(piece) <= _LONGEST_NUMBER:
        return -(-len(piece) // 2)
    if piece.isalnum():
        return -(-3 * len(piece) // 4)
    return 0 if piece == " " else 1


def _reach(chunks: Iterable[str], most: int) -> int:
    """How many characters of the first chunks fit."""
    reached = left = 0
    for chunk in chunks:
        left += tokens(chunk)
        if left > most:
            break
        reached += len(chunk)
    return reached


def _cut(part: Callable[[int], str], longest: int, most: int) -> int:
    """The length of the longest part that fits. Estimates hardly ever fall as a text grows: the search is near it, the loop makes sure."""
    length = bisect_right(range(longest + 1), most, key=lambda length: tokens(part(length))) - 1
    while length > 0 and tokens(part(length)) > most:
        length -= 1
    return max(0, length)
