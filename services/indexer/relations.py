"""What a fact and a memory are to each other: the same, a contradiction, or neither. Pure.

A cosine at the threshold finds candidates; it decides nothing by itself.
"""

import re

import msgspec

from services.core import memory_edit, models
from services.indexer import exchange, likeness, slots

SAME_VALUE_COSINE = 0.6
"""From which cosine two texts are one statement, or one is the denial of the other, when the same value was read out of both, or their words are the
same, and nothing else tells them apart."""

_DATED = frozenset({models.Category.DECISION, models.Category.TODO, models.Category.CONSTRAINT, models.Category.PROJECT_CONTEXT})
_PARTS = frozenset({"ci", "test", "frontend", "backend", "mobile"})
_COPULA = re.compile(r"^(?P<subject>.+?)\s(?:is|are|must|should|=)\s(?P<value>.+)$", re.IGNORECASE | re.DOTALL)


class Candidate(msgspec.Struct, frozen=True):
    """A memory that the fact may be about. `cosine` 0 if it was found by its attribute or words rather than by its embedding."""

    memory: models.Memory
    cosine: float = 0.0


def same_statement(fact: models.Fact, candidate: Candidate, threshold: float) -> bool:
    """Whether the memory says what the fact says."""
    memory = candidate.memory
    mine, theirs = _statement(fact), _statement(memory)
    if slots.places(fact) != slots.places(memory):
        return False
    if mine.normal == theirs.normal:
        return True
    if slots.sign(fact) != slots.sign(memory):
        return False
    if fact.value and slots.says(memory.value, fact.value) and _adds_nothing(fact, candidate):
        return True
    return not _exchanged_slot(fact, memory) and likeness.alike(mine, theirs, candidate.cosine, threshold)


def contradicts(fact: models.Fact, candidate: Candidate, *, said_at: float, threshold: float) -> bool:
    """Whether the fact puts an end to the memory: both can't hold. Asked only of those that do not say the same."""
    memory = candidate.memory
    if memory.polarity and exchange.contrasted(fact.text, memory.text):
        return True
    here, there = slots.places(fact), slots.places(memory)
    if here != there:
        return not here and there <= _PARTS and _replaced(fact, memory)
    return (
        _replaced(fact, memory)
        or _denied(fact, memory)
        or _reversed_stance(fact, memory)
        or _reversed_text(fact, candidate)
        or _moved(fact, candidate, threshold)
        or (not _in_one_breath(fact, memory) and _exchanged_one_part(fact, memory, said_at))
    )


def _exchanged_one_part(fact: models.Fact, memory: models.Memory, said_at: float) -> bool:
    affirmed = fact.polarity and memory.polarity
    return (
        _new_value(fact, memory)
        or _moved_on(fact, memory, said_at)
        or _renumbered(fact, memory)
        or (affirmed and exchange.exchanged(fact.text, memory.text))
    )


def another_day(fact: models.Fact, memory: models.Memory) -> bool:
    """The same habit on another weekday: both may hold in what is said by the way, not in what somebody writes down as how it is."""
    return fact.polarity and memory.polarity and slots.same_subject(fact, memory) and likeness.another_day(fact.text, memory.text)


def concerns(fact: models.Fact, candidate: Candidate, threshold: float) -> bool:
    """Whether the memory is one that a fact of `closes` asks to forget: a statement, an attribute without a value, or all about a topic."""
    memory = candidate.memory
    if fact.attribute and not fact.value:
        return slots.same_slot(fact, memory)
    if fact.value and not fact.attribute:
        return slots.mentions(memory, fact.value)
    return same_statement(fact, candidate, threshold)


def _adds_nothing(fact: models.Fact, candidate: Candidate) -> bool:
    """Whether a fact of the memory's value restricts it no further, and is about the same."""
    memory = candidate.memory
    mine, theirs = _statement(fact), _statement(memory)
    if mine.marks.when != theirs.marks.when:
        return False
    if slots.same_slot(fact, memory) and (fact.functional or memory.functional):
        return True
    if not slots.remainder(fact) <= slots.remainder(memory):
        return False
    return slots.same_slot(fact, memory) or (candidate.cosine >= SAME_VALUE_COSINE and slots.same_matter(fact, memory))


def _new_value(fact: models.Fact, memory: models.Memory) -> bool:
    """Another value of an attribute that has one at a time."""
    one_at_a_time = (fact.functional or memory.functional) and fact.polarity and memory.polarity
    if not (one_at_a_time and slots.same_slot(fact, memory) and fact.value) or slots.value(fact.value) == slots.value(memory.value):
        return False
    return not slots.vague(fact) or (fact.category is memory.category and slots.same_kind(fact, memory) is True)


def _reversed_stance(fact: models.Fact, memory: models.Memory) -> bool:
    """Love turned into hate, or back."""
    opposite = slots.stance(fact) * slots.stance(memory) < 0 and slots.same_subject(fact, memory)
    return opposite and bool(fact.value) and slots.value(fact.value) == slots.value(memory.value)


def _replaced(fact: models.Fact, memory: models.Memory) -> bool:
    """ "Switched from Postgres to MySQL" ends what says Postgres."""
    return bool(fact.replaces) and memory.polarity and slots.same_name(fact.replaces, memory.value) and slots.same_matter(fact, memory)


def _denied(fact: models.Fact, memory: models.Memory) -> bool:
    """ "We no longer use Redis" ends "we use Redis", and the other way round."""
    same_value = bool(fact.value) and slots.value(fact.value) == slots.value(memory.value)
    return fact.polarity != memory.polarity and same_value and slots.same_matter(fact, memory)


def _reversed_text(fact: models.Fact, candidate: Candidate) -> bool:
    """The same sentence but for its negation, where no value was read out of it."""
    memory = candidate.memory
    if candidate.cosine < SAME_VALUE_COSINE or (fact.value and memory.value):
        return False
    mine, theirs = _statement(fact), _statement(memory)
    opposite = mine.marks.negative != theirs.marks.negative
    return opposite and msgspec.structs.replace(mine.marks, negative=theirs.marks.negative) == theirs.marks and mine.core == theirs.core


def _moved(fact: models.Fact, candidate: Candidate, threshold: float) -> bool:
    """ "X is Y" or "X must Y" said again with another number or date, where the attribute was not recognised as having one value at a time."""
    memory = candidate.memory
    mine, theirs = _COPULA.match(fact.text), _COPULA.match(memory.text)
    if candidate.cosine < threshold or not (mine and theirs) or not (fact.polarity and memory.polarity):
        return False
    if likeness.normalised(mine["subject"]) != likeness.normalised(theirs["subject"]):
        return False
    return likeness.frame(mine["value"]) == likeness.frame(theirs["value"]) and slots.value(mine["value"]) != slots.value(theirs["value"])


def _moved_on(fact: models.Fact, memory: models.Memory, said_at: float) -> bool:
    """Another value of the same kind, with words of change ("we use MySQL now"), or where nobody has two at once (single, married)."""
    if not _two_values(fact, memory):
        return False
    if slots.same_subject(fact, memory) and slots.exclusive(fact, memory):
        return True
    if not _changed(fact, memory, said_at) or not slots.same_matter(fact, memory):
        return False
    return _takes_the_place(fact, memory) and not _restricted_otherwise(fact, memory)


def _takes_the_place(fact: models.Fact, memory: models.Memory) -> bool:
    """Whether the value of a fact that speaks of a change stands where the memory's stood."""
    kind = slots.same_kind(fact, memory)
    if kind is None and slots.same_slot(fact, memory):
        return not slots.many_valued(fact) or slots.narrow(fact)
    return bool(kind) and slots.one_of_kind(fact, memory) and (not slots.stance(fact) or slots.both_chosen(fact, memory))


def _renumbered(fact: models.Fact, memory: models.Memory) -> bool:
    """The same said with another version, number or date: Python 3.10 and 3.12, ship on October 15 and on October 16."""
    happened = likeness.event(fact.text) and likeness.event(memory.text) and not likeness.changing(fact.text)
    if happened or not (fact.polarity and memory.polarity):
        return False
    return _redated(fact, memory) or (_two_values(fact, memory) and _remeasured(fact, memory) and not _restricted_otherwise(fact, memory))


def _redated(fact: models.Fact, memory: models.Memory) -> bool:
    alike = fact.category is memory.category and fact.category in _DATED and slots.subject(fact) == slots.subject(memory)
    return alike and likeness.renumbered(fact.text, memory.text) and likeness.adverbial(fact.text)


def _remeasured(fact: models.Fact, memory: models.Memory) -> bool:
    if slots.same_matter(fact, memory) and not slots.stance(fact):
        return likeness.renumbered(fact.value, memory.value) and likeness.frame(fact.value).strip("# ") != ""
    return slots.same_topic(fact, memory) and likeness.remeasured(fact.value, memory.value, loosely=likeness.changing(fact.text))


def _two_values(fact: models.Fact, memory: models.Memory) -> bool:
    stated = bool(fact.value and memory.value and fact.polarity and memory.polarity)
    return stated and slots.value(fact.value) != slots.value(memory.value)


def _changed(fact: models.Fact, memory: models.Memory, said_at: float) -> bool:
    """Whether the later of the two says that something changed."""
    later = memory.text if memory_edit.last_said(memory) > said_at else fact.text
    return likeness.changing(later)


def _restricted_otherwise(fact: models.Fact, memory: models.Memory) -> bool:
    """Postgres for analytics and MySQL for billing: each is restricted to something of its own."""
    mine, theirs = slots.remainder(fact), slots.remainder(memory)
    return bool(mine - theirs and theirs - mine)


def _in_one_breath(fact: models.Fact, memory: models.Memory) -> bool:
    """Said in the same words: "Python 3.10 and 3.12" are two, no change."""
    return not fact.correction and any(evidence.quote == fact.quote for evidence in memory.evidence)


def _statement(stated: models.Fact | models.Memory) -> likeness.Statement:
    return likeness.statement(stated.text, stated.entities)


def _exchanged_slot(fact: models.Fact, memory: models.Memory) -> bool:
    """Whether what was read out of the two differs where both have something."""
    if fact.value and memory.value and slots.value(fact.value) != slots.value(memory.value):
        return True
    return bool(fact.attribute and memory.attribute) and not slots.same_slot(fact, memory)
