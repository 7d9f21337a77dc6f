"""What fits into a number of tokens, counted in cl100k over all that is sent.

No tokenizer of a hosted model is public. cl100k (OpenAI's, of GPT-4) is what budgets of other tools are stated in; for the same text other models
count some more or less. Its vocabulary comes with the library: nothing is fetched.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import splintr

Item = TypeVar("Item")


def tokens(text: str) -> int:
    """The cl100k tokens of a text; marks of the vocabulary in it ("<|endoftext|>") are text like any other."""
    return len(_encoding().encode_ordinary(_sound(text)))


def head(text: str, most: int) -> str:
    """The beginning of the text that takes at most so many tokens, of whole words where it can."""
    if most <= 0:
        return ""
    found = _encoding().encode_ordinary(_sound(text))
    if len(found) <= most:
        return text
    start = text[: len(_encoding().decode_bytes(found[:most]).decode(errors="ignore"))]
    if not (text[len(start)].isspace() or start[-1:].isspace()):
        start = start[: max(map(start.rfind, " \n\t")) + 1] or start
    return start if tokens(start) <= most else head(text, most - 1)  # apart from what follows, white space may count more


def fit(items: Sequence[Item], most: int, *, whole: Callable[[Sequence[Item]], str], shorter: Callable[[Item, int], Item | None]) -> tuple[Item, ...]:
    """The items, best first, of which the whole takes at most so many tokens.

    whole: all that is sent for some items. One that does not fit is passed over, since a smaller one after it may; but as long as there is none,
    it is cut rather than passed over. shorter: an item with at most so many tokens of its text, None if that would say too little.
    """
    kept: list[Item] = []
    for item in items:
        if tokens(whole([*kept, item])) <= most:
            kept.append(item)
        elif not kept and (cut := _cut(item, most, whole, shorter)) is not None:
            kept.append(cut)
    return tuple(kept)


def _cut(item: Item, most: int, whole: Callable[[Sequence[Item]], str], shorter: Callable[[Item, int], Item | None]) -> Item | None:
    room = most - tokens(whole([]))
    while room > 0:
        cut = shorter(item, room)
        if cut is None:
            return None
        over = tokens(whole([cut])) - most
        if over <= 0:
            return cut
        room -= over
    return None


def _sound(text: str) -> str:
    """UTF-8 has no lone surrogates. What takes their place has as many characters."""
    return text.encode(errors="replace").decode()


@cache
def _encoding() -> "splintr.AnyTokenizer":
    """Loaded at the first use: 60 ms and 25 MB."""
    import splintr

    return splintr.Tokenizer.from_pretrained("cl100k_base")
