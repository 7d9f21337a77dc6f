"""What the uses of recalls tell (pure): what people look for in vain, and what is shown to them in vain."""

from collections.abc import Iterable
from typing import NamedTuple

from services.core import ports

DEAD_FROM = 2
"""Times that words must have found nothing: once is a typing mistake."""
UNOPENED_FROM = 3
"""Times that a memory or note must have been shown."""

_END = " \t\n?!.…"


class Dead(NamedTuple):
    """words: as they were asked the last time. last_at: epoch seconds."""

    words: str
    asked: int
    last_at: float


class Unopened(NamedTuple):
    id: str
    surfaced: int
    last_at: float


def dead(uses: Iterable[ports.Use]) -> list[Dead]:
    """Questions that found nothing, most asked first; not those that found something the last time. Case, white space and the mark at the end
    make no other question."""
    found: dict[str, Dead] = {}
    for use in uses:
        if not isinstance(use, ports.Asked):
            continue
        question = " ".join(use.words.casefold().split()).rstrip(_END)
        if use.found:
            found.pop(question, None)
        else:
            before = found.get(question)
            found[question] = Dead(use.words, before.asked + 1 if before else 1, use.at)
    return sorted((one for one in found.values() if one.asked >= DEAD_FROM), key=lambda one: (-one.asked, -one.last_at, one.words))


def unopened(uses: Iterable[ports.Use]) -> list[Unopened]:
    """Memories and notes that were shown and never opened, most shown first."""
    shown: dict[str, Unopened] = {}
    opened: set[str] = set()
    for use in uses:
        if isinstance(use, ports.Opened):
            opened.add(use.id)
            continue
        for each in dict.fromkeys(use.found):
            before = shown.get(each)
            shown[each] = Unopened(each, before.surfaced + 1 if before else 1, use.at)
    kept = (one for one in shown.values() if one.surfaced >= UNOPENED_FROM and one.id not in opened)
    return sorted(kept, key=lambda one: (-one.surfaced, -one.last_at, one.id))
