"""The books of a drill: what was said and answered, against what is remembered. Pure."""

import itertools
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

Interval = tuple[float, float]
"""From when to when, in seconds of the monotonic clock."""


class Outcome(StrEnum):
    """How a call ended, as its client saw it."""

    WHOLE = "whole"
    CUT = "cut"  # in the middle of the answer
    REFUSED = "refused"  # answered with another status than 200
    UNREACHED = "unreached"  # no connection, or none that answered


class Attempt(msgspec.Struct, frozen=True):
    """One call. ended_seen: the client saw the end of the answer's content, whether or not its formal end came. first_byte_seconds: from sending to
    the first byte of the answer. gap_seconds: the longest silence between two pieces, less that of the upstream. exact: what came is the upstream's,
    byte for byte. unaltered: the upstream got what was sent, but for inserted blocks. foreign: words of others that were inserted.
    turn: BRB's id of it."""

    outcome: Outcome
    began: float
    ended: float
    ended_seen: bool = False
    first_byte_seconds: float | None = None
    gap_seconds: float = 0.0
    exact: bool = True
    unaltered: bool = True
    foreign: tuple[str, ...] = ()
    status: int = 0
    turn: str = ""


class Turn(msgspec.Struct):
    """What somebody said: its fact holds `word`, which occurs nowhere else. Empty if it states none."""

    word: str
    owner: str
    attempts: list[Attempt] = []

    @property
    def answered_at(self) -> float | None:
        """When a client first saw the whole answer."""
        return min((each.ended for each in self.attempts if each.ended_seen), default=None)


class Kept(NamedTuple):
    """A memory: the words of the drill in it, whether it is current, how often it counts as said."""

    words: frozenset[str]
    owner: str
    current: bool
    mentions: int
    evidence: int


class Books(msgspec.Struct, frozen=True):
    """excused: answered turns that are missing, but were answered in the moments that the drill names as lost (a power cut costs a second).
    with_proxy: calls that broke off or did not come through while the process that relays them was down, which no relay survives."""

    turns: int
    answered: int
    learnt: int
    missing: tuple[str, ...]
    excused: int
    doubled: tuple[str, ...]
    invented: tuple[str, ...]
    streams_broken: int
    calls_failed: int
    with_proxy: int
    inexact: int
    altered: int
    foreign: tuple[str, ...]
    first_byte_p50: float
    first_byte_p99: float
    longest_first_byte: float
    longest_gap: float


def balance(
    turns: Sequence[Turn], kept: Iterable[Kept], *, proxy_down: Sequence[Interval] = (), lost: Sequence[Interval] = (), ours: Mapping[str, str]
) -> Books:
    """ours: whose each word is; other words in memories are no concern of the drill."""
    stated = {turn.word: turn for turn in turns if turn.word}
    of_word: dict[str, list[Kept]] = defaultdict(list)
    invented: list[str] = []
    for memory in kept:
        for word in memory.words & stated.keys():
            of_word[word].append(memory)
        if memory.words & ours.keys() and not memory.words & stated.keys():
            invented += memory.words & ours.keys()
    answered = {word: at for word, turn in stated.items() if (at := turn.answered_at) is not None}
    missing = [word for word in answered if not any(each.current for each in of_word.get(word, ()))]
    excused = [word for word in missing if _within(answered[word], lost)]
    attempts = [attempt for turn in turns for attempt in turn.attempts]
    troubled = [each for each in attempts if each.outcome is not Outcome.WHOLE]
    with_proxy = [each for each in troubled if any(start <= each.ended and each.began <= end for start, end in proxy_down)]
    memory_faults = [each for each in troubled if each not in with_proxy]
    first = sorted(each.first_byte_seconds for each in attempts if each.first_byte_seconds is not None and each not in with_proxy)
    strange = [f"{word} of {each.owner}" for word, memories in of_word.items() for each in memories if each.owner != ours[word]]
    return Books(
        turns=len(turns),
        answered=sum(turn.answered_at is not None for turn in turns),
        learnt=len(answered) - len(missing),
        missing=tuple(word for word in missing if word not in excused),
        excused=len(excused),
        doubled=tuple(word for word, memories in of_word.items() if not _once(memories)),
        invented=tuple(invented),
        streams_broken=sum(each.outcome is Outcome.CUT for each in memory_faults),
        calls_failed=sum(each.outcome is not Outcome.CUT for each in memory_faults),
        with_proxy=len(with_proxy),
        inexact=sum(not each.exact for each in attempts),
        altered=sum(not each.unaltered for each in attempts),
        foreign=(*strange, *(word for each in attempts for word in each.foreign)),
        first_byte_p50=_quantile(first, 0.5),
        first_byte_p99=_quantile(first, 0.99),
        longest_first_byte=first[-1] if first else 0.0,
        longest_gap=max((each.gap_seconds for each in attempts if each not in with_proxy), default=0.0),
    )


def complaints(books: Books, *, most_first_byte_seconds: float, dead: int = 0, dead_expected: int = 0) -> list[str]:
    """What may not be; nothing if the proof holds."""
    found = {
        "answered turns are missing": len(books.missing),
        "facts count more than once": len(books.doubled),
        "facts without a turn": len(books.invented),
        "streams were broken": books.streams_broken,
        "calls failed": books.calls_failed,
        "answers are not the upstream's byte for byte": books.inexact,
        "requests were altered": books.altered,
        "words of others were seen": len(books.foreign),
    }
    wrong = [f"{count} {what}" for what, count in found.items() if count]
    if not books.answered:
        wrong.append("no turn was answered: nothing is proven")
    if books.first_byte_p99 > most_first_byte_seconds:
        wrong.append(f"p99 of the first byte is {books.first_byte_p99:.2f} s, more than {most_first_byte_seconds:.2f} s")
    if dead != dead_expected:
        wrong.append(f"{dead} dead letters, not {dead_expected}")
    return wrong


def slope_per_minute(samples: Sequence[tuple[float, float]]) -> float:
    """Of (seconds, value): the median of the slopes between any two (Theil and Sen). A single step, such as a table that doubles, is none."""
    slopes = [60 * (later - value) / (at - since) for (since, value), (at, later) in itertools.combinations(samples, 2) if at > since]
    return statistics.median(slopes) if slopes else 0.0


def _once(memories: Sequence[Kept]) -> bool:
    return len(memories) == 1 and (memories[0].mentions, memories[0].evidence) == (1, 1)


def _within(at: float, intervals: Sequence[Interval]) -> bool:
    return any(start <= at <= end for start, end in intervals)


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
