"""Which memory a sentence takes back of which no value was read: "Correction: Ana has taught in Porto", "Ben, not Ana, has taught in Porto". Pure."""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from services.core import memory_edit, models
from services.indexer import english, likeness, relations, slots

LEAST_OF_ONE = 0.75
"""From which `relatedness` a memory that shares a name with the correction can be meant: something that was said of it is wrong."""

LEAST_OF_SUBJECT = 1.1
"""The same where there are no names: "I", "we", "the service"."""

LEAST_OF_ANOTHER = 2.0
"""The same where the names differ: that who did it was wrong."""

LEAST_DENIED = 1.4
"""The same for a sentence that is no correction, and denies something by "not", "never", "only" or "instead"."""

_LEAST_SHARED = 4
"""Concepts that such a sentence must share with the memory: what is denied on Fridays may hold on Mondays."""

_DENIES = re.compile(
    r",? (?:and |but )?\bnot\b(?! (?:only|just|yet)\b)|\b(?:never|instead|rather than|only|exclusively|solely|no|cannot)\b|n't\b", re.IGNORECASE
)
_PLACES = frozenset({"staging", "production", "preview", "sandbox"})


def meant(fact: models.Fact, candidates: Iterable[relations.Candidate], *, said_at: float) -> models.Memory | None:
    """The memory most like the sentence, if any is near enough, was said before it and does not hold in another place."""
    if fact.replaces or not (fact.correction or _denies(fact)):
        return None
    known = [each for each in candidates if memory_edit.last_said(each.memory) <= said_at and not _elsewhere(fact, each.memory)]
    rated = [(relatedness(fact, each), each.memory.id, each.memory) for each in known]
    best = max((each for each in rated if each[0] >= _least(fact, each[2])), default=None)
    return best[2] if best and (fact.correction or _denied(fact, best[2])) else None


def _denies(fact: models.Fact) -> bool:
    return not (fact.attribute or fact.value) and bool(_DENIES.search(fact.text))


def _denied(fact: models.Fact, memory: models.Memory) -> bool:
    """Whether the sentence speaks of the same in so many words, and of no other time, number or place."""
    mine, theirs = (likeness.statement(each.text, each.entities).marks for each in (fact, memory))
    other = any(a and b and a != b for a, b in ((mine.numbers, theirs.numbers), (mine.dates, theirs.dates), (mine.environments, theirs.environments)))
    shared = set(likeness.ordered(fact.text).concepts) & set(likeness.ordered(memory.text).concepts)
    return len(shared) >= _LEAST_SHARED and not other


def relatedness(fact: models.Fact, candidate: relations.Candidate) -> float:
    """How much of what the memory says the fact speaks of: its words in their order, its words at all, and its cosine; 0 to 3.5.

    Names count among the words but not in the order: who did it is what a correction may correct. Weights: docs/dedup.md.
    """
    mine, theirs = likeness.ordered(fact.text).concepts, likeness.ordered(candidate.memory.text).concepts
    shared = len(set(mine) & set(theirs)) / max(1, len(set(theirs)))
    named = _names(fact) | _names(candidate.memory)
    return 1.5 * _in_order(*([word for word in words if word not in named] for words in (mine, theirs))) + shared + candidate.cosine


def _in_order(one: Sequence[str], other: Sequence[str]) -> float:
    if not (one or other):
        return 0.0
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _least(fact: models.Fact, memory: models.Memory) -> float:
    mine, theirs = _names(fact), _names(memory)
    if not fact.correction:
        return max(LEAST_DENIED, LEAST_OF_ANOTHER if mine and theirs and not mine & theirs else 0.0)
    if mine and theirs:
        return LEAST_OF_ONE if mine & theirs else LEAST_OF_ANOTHER
    return LEAST_OF_SUBJECT if slots.same_subject(fact, memory) else LEAST_OF_ANOTHER


def _elsewhere(fact: models.Fact, memory: models.Memory) -> bool:
    here, there = (slots.places(each) & _PLACES for each in (fact, memory))
    return bool(here and there) and here != there


def _names(stated: models.Fact | models.Memory) -> frozenset[str]:
    return frozenset(map(english.concept, likeness.named(stated.text)))
