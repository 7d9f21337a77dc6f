"""An answer of our own routes within a number of tokens: what is counted is the JSON that is sent, with its ids, times and signals."""

from collections.abc import Sequence
from itertools import zip_longest

import msgspec
from msgspec.structs import replace

from services.core import api, errors
from services.core.recall import budget

_LEAST_TEXT = 8
"""Tokens of a text under which a cut one says nothing."""
_CUT = "cut to the token budget"

_Item = api.Found | api.FoundNote


def within(answer: api.Recalled, most: int) -> api.Recalled:
    """The answer if it fits; else, with a notice, as many of its memories and notes as do, in turns, best first, and then of what was dropped.
    One that does not fit is passed over, but the first is cut rather than passed over: a memory without its evidence, a note to its best passage.
    `BadInput` if not even that fits."""
    if budget.tokens(_sent(answer)) <= most:
        return answer
    bare = replace(
        answer,
        notices=(*answer.notices, _CUT),
        memories=(),
        notes=(),
        dropped=None if answer.dropped is None else (),
        dropped_passages=None if answer.dropped_passages is None else (),
    )
    items = _in_turns(answer)
    shown = budget.fit(items, most, whole=lambda some: _sent(_with(bare, some)), shorter=_shorter)
    least = _least(bare, items)
    if not shown and least > most:
        raise errors.BadInput(f"token_budget {most} is too small: the shortest answer to this takes {least} tokens")
    fitted = _with(bare, shown)
    if answer.dropped:
        room = budget.fit(answer.dropped, most, whole=lambda some: _sent(replace(fitted, dropped=tuple(some))), shorter=lambda *_: None)
        fitted = replace(fitted, dropped=room)
    if answer.dropped_passages:
        rest = budget.fit(
            answer.dropped_passages, most, whole=lambda some: _sent(replace(fitted, dropped_passages=tuple(some))), shorter=lambda *_: None
        )
        fitted = replace(fitted, dropped_passages=rest)
    return fitted


def _in_turns(answer: api.Recalled) -> list[_Item]:
    """Scores of memories and of notes are no common measure: the best of each first, then the second ones."""
    pairs = zip_longest(answer.memories, answer.notes)
    return [one for pair in pairs for one in pair if one is not None]


def _with(bare: api.Recalled, items: Sequence[_Item]) -> api.Recalled:
    memories = tuple(one for one in items if isinstance(one, api.Found))
    return replace(bare, memories=memories, notes=tuple(one for one in items if isinstance(one, api.FoundNote)))


def _shorter(item: _Item, most: int) -> _Item | None:
    if most <= _LEAST_TEXT:
        return None
    if isinstance(item, api.Found):
        return replace(item, text=_head(item.text, most), evidence=())
    best = tuple(replace(passage, text=_head(passage.text, most)) for passage in item.passages[:1])
    return replace(item, passages=best)


def _head(text: str, most: int) -> str:
    start = budget.head(text, most - 1)
    return text if start == text else start.rstrip() + "…"


def _least(bare: api.Recalled, items: Sequence[_Item]) -> int:
    """Tokens of the shortest answer that does not leave out everything."""
    shortest = [one for item in items[:1] for one in (item, _shorter(item, _LEAST_TEXT + 1)) if one]
    return min(budget.tokens(_sent(_with(bare, (one,)))) for one in shortest) if shortest else budget.tokens(_sent(bare))


def _sent(answer: api.Recalled) -> str:
    return msgspec.json.encode(answer).decode()
