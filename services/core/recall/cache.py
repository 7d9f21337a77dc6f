"""Answers to questions that were asked before, as long as nothing that they could come from was written.

An answer is held under all that it depends on (scope, knobs, mode, model, kinds, filters) and the words of the question. The same words get it at
once; words that only resemble them, if their embeddings do (cosine) and the texts do not speak against it (`same_question`). Nothing is held on disk.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from services.core import errors, telemetry
from services.core.recall import lexical, query

SIMILAR = 0.92
"""Cosine from which two questions may be the same; it does not decide alone: "October 15" against "October 16" has more."""
LEAST_SHARED = 0.5
"""Dice coefficient of the pairs of characters that two questions of other words must reach."""
LIFETIME_SECONDS = 300.0
"""Strength and recency move by less than 0.0001 in that time."""
MOST = 128
"""Answers held, of all teams."""

_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|\w+(?:['’]\w+)?")
_FILLERS = lexical.word_set("a an the please can could would you me to of is are do does")
"""Words that change nothing about what is asked. Others of the most common ones do: before, after, last, not, my."""
_END = " \t\n?!.…"

Answer = TypeVar("Answer")
Embed = Callable[[], Sequence[float] | None]
Place = tuple[str, Hashable, str]  # team, key, words


class Cached(NamedTuple, Generic[Answer]):
    """words: the question that it answers: an earlier one, if another was similar enough."""

    answer: Answer
    words: str


class _Kept(NamedTuple, Generic[Answer]):
    answer: Answer
    vector: npt.NDArray[np.float64] | None
    until: float


class Cache(Generic[Answer]):
    """Thread-safe. writes: a team's write clock, which moves before and after each write to anything of the team's, whichever process writes;
    while it can't be read, everything is asked anew. clock: epoch seconds."""

    def __init__(
        self, writes: Callable[[str], int], clock: Callable[[], float], *, lifetime_seconds: float = LIFETIME_SECONDS, most: int = MOST
    ) -> None:
        self._writes = writes
        self._clock = clock
        self._lifetime = lifetime_seconds
        self._most = most
        self._kept: OrderedDict[Place, _Kept[Answer]] = OrderedDict()
        self._as_of: dict[str, int] = {}
        self._lock = threading.Lock()

    def answer(
        self, team: str, key: Hashable, words: str, *, embed: Embed, fresh: Callable[[], Answer], until: Callable[[Answer], float]
    ) -> Cached[Answer]:
        """The answer to the words.

        key: all else that it depends on, with the caller's scope. embed: the words' unit vector, None if there is none; asked for only if there is
        an answer it could lead to, and to keep a fresh one. until: when a fresh answer ceases to hold (epoch seconds); one that does not hold
        now is not kept. Errors of `fresh` and `embed` are raised.
        """
        try:
            as_of = self._writes(team)
        except errors.Unavailable:
            return self._asked(fresh, words, "bypass")
        place = (team, key, words)
        with self._lock:
            others = self._valid(place, as_of)
            if place in others:
                self._kept.move_to_end(place)
                return _counted(Cached(others[place].answer, words), "same")
        vector = _array(embed()) if others else None
        if vector is not None and (similar := _most_similar(words, vector, others)):
            return _counted(Cached(others[similar].answer, similar[2]), "similar")
        found = self._asked(fresh, words, "fresh")
        ends = min(self._clock() + self._lifetime, until(found.answer))
        if ends > self._clock():
            self._keep(place, _Kept(found.answer, _array(embed()), ends), as_of)
        return found

    def clear(self, team: str) -> int:
        """Drop a team's answers; how many."""
        with self._lock:
            return self._drop([place for place in self._kept if place[0] == team])

    def clean(self, team: str) -> int:
        """Drop a team's answers that have ceased to hold; how many."""
        try:
            as_of = self._writes(team)
        except errors.Unavailable:
            as_of = None
        with self._lock:
            return self._drop_outdated(team, as_of)

    def count(self, team: str) -> int:
        """How many answers are held for a team."""
        with self._lock:
            return sum(place[0] == team for place in self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def _valid(self, place: Place, as_of: int) -> dict[Place, _Kept[Answer]]:
        """The answers under the same key that still hold, after those of the team that do not are gone."""
        self._drop_outdated(place[0], as_of)
        return {other: kept for other, kept in self._kept.items() if other[:2] == place[:2]}

    def _keep(self, place: Place, kept: _Kept[Answer], as_of: int) -> None:
        with self._lock:
            self._drop_outdated(place[0], as_of)
            self._kept[place] = kept
            self._drop(list(self._kept)[: max(0, len(self._kept) - self._most)])

    def _drop_outdated(self, team: str, as_of: int | None) -> int:
        """as_of: what the write clock says, None if that is not known: then nothing of the team is trusted."""
        moved = as_of is None or self._as_of.get(team) != as_of
        if as_of is not None:
            self._as_of[team] = as_of
        now = self._clock()
        return self._drop([place for place, kept in self._kept.items() if place[0] == team and (moved or kept.until <= now)])

    def _drop(self, places: Sequence[Place]) -> int:
        for place in places:
            del self._kept[place]
        return len(places)

    def _asked(self, fresh: Callable[[], Answer], words: str, outcome: str) -> Cached[Answer]:
        return _counted(Cached(fresh(), words), outcome)


def same_question(one: str, other: str) -> bool:
    """Whether two texts with like embeddings may ask for the same: equal but for case, white space and the mark at the end; or alike in spelling,
    of the same words but for their endings, their order and fillers, and read alike as queries (identifiers, whose it is, whether all of a kind)."""
    if _normal(one) == _normal(other):
        return True
    return _particulars(one) == _particulars(other) and dice(_normal(one), _normal(other)) >= LEAST_SHARED


def dice(one: str, other: str) -> float:
    """Share of the pairs of neighbouring characters that two texts have in common, 0 to 1."""
    first, second = _pairs(one), _pairs(other)
    return 2 * len(first & second) / (len(first) + len(second)) if first or second else 1.0


def _pairs(text: str) -> set[str]:
    return {text[at : at + 2] for at in range(len(text) - 1)}


def _normal(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(_END)


def _particulars(text: str) -> tuple[object, ...]:
    asked = query.parse(text)
    words = set(_TOKEN.findall(text.casefold())) - _FILLERS
    return asked and (asked.identifiers.hard, asked.own, asked.listing, asked.impersonal), frozenset(map(lexical.stem, words))


def _most_similar(words: str, vector: npt.NDArray[np.float64], others: dict[Place, "_Kept[Answer]"]) -> Place | None:
    near = {place: float(kept.vector @ vector) for place, kept in others.items() if kept.vector is not None}
    for place in sorted(near, key=lambda place: -near[place]):
        if near[place] < SIMILAR:
            return None
        if same_question(words, place[2]):
            return place
    return None


def _array(vector: Sequence[float] | None) -> npt.NDArray[np.float64] | None:
    return None if vector is None else np.asarray(vector, dtype=np.float64)


def _counted(found: Cached[Answer], outcome: str) -> Cached[Answer]:
    telemetry.RECALL_CACHE.labels(outcome).inc()
    return found
