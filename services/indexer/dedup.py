"""What becomes of a fact, given what is remembered already. Pure: values in, a decision out.

A cosine at the threshold finds candidates; it decides nothing by itself.

    correction that names nothing   the memory it can mean is reworded, else the fact is dropped
    same statement                  Reinforce
    contradicts current memories    Supersede them, or Stale when it was said before they were
    anything else                   Insert

What was said, ended and is said again takes the place of what ended it: the memory of the past comes back, no copy of it is made.
"""

import re
from collections.abc import Container, Iterable, Sequence
from difflib import SequenceMatcher
from typing import Literal

import msgspec

from services.core import memory_edit, models
from services.indexer import likeness, slots

CORRECTION_WINDOW_SECONDS = 86_400.0
"""How long after a memory was said a correction that does not name it ("actually it's Leoncio") can still mean it."""

SAME_VALUE_COSINE = 0.6
"""From which cosine two texts are one statement, when the same value was read out of both and nothing else tells them apart."""

_DATED = frozenset({models.Category.DECISION, models.Category.TODO, models.Category.CONSTRAINT, models.Category.PROJECT_CONTEXT})
_PARTS = frozenset({"ci", "test", "frontend", "backend", "mobile"})
_COPULA = re.compile(r"^(?P<subject>.+?)\s(?:is|are|must|should|=)\s(?P<value>.+)$", re.IGNORECASE | re.DOTALL)

Shape = Literal["number", "date", "name", "phrase"]


class Candidate(msgspec.Struct, frozen=True):
    """A memory that the fact may be about. `cosine` 0 if it was found by its attribute or words rather than by its embedding."""

    memory: models.Memory
    cosine: float = 0.0


class Reinforce(msgspec.Struct, frozen=True, tag=True):
    """The memory says that already. `ended`: others that can't hold beside it and were not said since."""

    memory: models.Memory
    ended: tuple[models.Memory, ...] = ()


class Supersede(msgspec.Struct, frozen=True, tag=True):
    """The fact, perhaps reworded, takes the place of these memories; the first is the one that it carries on.

    again: the superseded memory that said the same, and becomes current again instead of a copy of it.
    """

    memories: tuple[models.Memory, ...]
    fact: models.Fact
    again: models.Memory | None = None


class Insert(msgspec.Struct, frozen=True, tag=True):
    """Something new."""

    fact: models.Fact


class Stale(msgspec.Struct, frozen=True, tag=True):
    """Said before what contradicts it, but arrived after: it belongs into the history of that memory. `again` as in `Supersede`."""

    by: models.Memory
    fact: models.Fact
    again: models.Memory | None = None


class Drop(msgspec.Struct, frozen=True, tag=True):
    """Not a statement that stands alone."""

    reason: str


Decision = Reinforce | Supersede | Insert | Stale | Drop


def decide(
    fact: models.Fact, candidates: Sequence[Candidate], *, former: Sequence[Candidate] = (), project: str, said_at: float, threshold: float
) -> Decision:
    """What to do with a fact of one owner.

    candidates: current memories of that owner, of its projects or of none, each once. former: superseded ones. project: where the fact
    would be stored, "" if it holds everywhere.
    """
    if fact.correction and not fact.attribute:
        return _corrected(fact, candidates, former, said_at, threshold)
    same = [candidate for candidate in candidates if candidate.memory.project in ("", project) and same_statement(fact, candidate, threshold)]
    others = [candidate for candidate in candidates if _within(candidate.memory, project) and candidate not in same]
    refuted = [candidate.memory for candidate in others if contradicts(fact, candidate, said_at=said_at, threshold=threshold)]
    if same:
        memory = max(same, key=lambda candidate: (candidate.cosine, candidate.memory.id)).memory
        return Reinforce(memory, _ended(memory, refuted, others, said_at))
    before = [candidate for candidate in former if _within(candidate.memory, project) and same_statement(fact, candidate, threshold)]
    lineages = {candidate.memory.lineage for candidate in before}
    refuted += [candidate.memory for candidate in others if candidate.memory.lineage in lineages and candidate.memory not in refuted]
    if not refuted:
        return Insert(fact)
    newest = sorted(refuted, key=lambda memory: (-memory_edit.last_said(memory), memory.id))
    again = _latest([candidate.memory for candidate in before], {memory.lineage for memory in newest})
    if memory_edit.last_said(newest[0]) > said_at:
        return Stale(newest[0], fact, again)
    return Supersede(tuple(newest), fact, again)


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
    here, there = slots.places(fact), slots.places(memory)
    if here != there:
        return not here and there <= _PARTS and _replaced(fact, memory)
    return (
        _replaced(fact, memory)
        or _denied(fact, memory)
        or _reversed_stance(fact, memory)
        or _reversed_text(fact, candidate, threshold)
        or _moved(fact, candidate, threshold)
        or (not _in_one_breath(fact, memory) and (_new_value(fact, memory) or _moved_on(fact, memory, said_at) or _renumbered(fact, memory)))
    )


def _within(memory: models.Memory, project: str) -> bool:
    """Whether a statement for the project can end the memory. What a person says of himself everywhere ends what he said of himself there."""
    return memory.project == project or (not project and slots.subject(memory) == "user")


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


def _reversed_text(fact: models.Fact, candidate: Candidate, threshold: float) -> bool:
    """The same sentence but for its negation, where no value was read out of it."""
    memory = candidate.memory
    if candidate.cosine < threshold or (fact.value and memory.value):
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


def _ended(memory: models.Memory, refuted: Iterable[models.Memory], others: Iterable[Candidate], said_at: float) -> tuple[models.Memory, ...]:
    """What the memory, said again, puts an end to. A lineage has one current memory: a second one is left of a change that was cut short."""
    left = [each.memory for each in others if each.memory.lineage == memory.lineage]
    together = {(evidence.turn, evidence.quote) for evidence in memory.evidence}
    apart = [each for each in refuted if together.isdisjoint((evidence.turn, evidence.quote) for evidence in each.evidence)]
    ended = {each.id: each for each in (*left, *apart) if each.project == memory.project and memory_edit.last_said(each) <= said_at}
    return tuple(ended.values())


def _latest(said: Iterable[models.Memory], lineages: Container[str]) -> models.Memory | None:
    """Of what was said before in these lineages, the one that held last."""
    return max((memory for memory in said if memory.lineage in lineages), key=lambda memory: (memory.valid_to or 0.0, memory.id), default=None)


def _corrected(fact: models.Fact, candidates: Iterable[Candidate], former: Iterable[Candidate], said_at: float, threshold: float) -> Decision:
    """Find what "actually it's X" can mean: said lately, of the same shape, and either looking like X or the last thing said."""
    if not fact.value:
        return Drop("a correction without a value")
    lately = [each.memory for each in candidates if 0 <= said_at - memory_edit.last_said(each.memory) <= CORRECTION_WINDOW_SECONDS]
    lately.sort(key=lambda memory: (memory_edit.last_said(memory), memory.created_at, memory.id), reverse=True)
    meant = [memory for position, memory in enumerate(lately) if _correctable(fact, memory) and (position == 0 or _resembles(fact, memory))]
    if not meant:
        return Drop("a correction of nothing that is known")
    memory = next((each for each in meant if _resembles(fact, each)), meant[0])
    if slots.value(memory.value) == slots.value(fact.value):
        return Reinforce(memory)
    reworded = _reworded(fact, memory)
    again = _latest([each.memory for each in former if same_statement(reworded, each, threshold)], {memory.lineage})
    return Supersede((memory,), reworded, again)


def _correctable(fact: models.Fact, memory: models.Memory) -> bool:
    if not memory.value or memory.value.casefold() not in memory.text.casefold():
        return False
    if fact.replaces:
        return slots.value(memory.value) == slots.value(fact.replaces)
    return shape(memory.value) == shape(fact.value)


def _resembles(fact: models.Fact, memory: models.Memory) -> bool:
    """Leo and Leoncio, 8 GB and 16 GB: rather a correction of this than of something else."""
    if fact.replaces:
        return True
    mine, theirs = fact.value.casefold(), memory.value.casefold()
    if mine[:3] == theirs[:3] or SequenceMatcher(None, mine, theirs).ratio() >= 0.6:
        return True
    return shape(fact.value) in ("number", "date") and likeness.frame(fact.value) == likeness.frame(memory.value)


def _reworded(fact: models.Fact, memory: models.Memory) -> models.Fact:
    """The memory's statement with the new value in it."""
    text = re.sub(re.escape(memory.value), lambda _: fact.value, memory.text, count=1, flags=re.IGNORECASE)
    return msgspec.structs.replace(
        fact,
        text=text,
        category=memory.category,
        subject=memory.subject,
        attribute=memory.attribute,
        functional=memory.functional,
        polarity=memory.polarity,
        qualifiers=memory.qualifiers,
        entities=tuple(dict.fromkeys([*(entity for entity in memory.entities if entity in text), *fact.entities])),
        correction=False,
    )


def shape(value: str) -> Shape:
    """What kind of thing a value is: only the like can be meant by a correction."""
    marks = likeness.statement(value).marks
    if marks.dates:
        return "date"
    if marks.numbers and value.strip()[:1].isdigit():
        return "number"
    return "name" if any(map(str.isupper, value)) else "phrase"


def _statement(stated: models.Fact | models.Memory) -> likeness.Statement:
    return likeness.statement(stated.text, stated.entities)


def _exchanged_slot(fact: models.Fact, memory: models.Memory) -> bool:
    """Whether what was read out of the two differs where both have something."""
    if fact.value and memory.value and slots.value(fact.value) != slots.value(memory.value):
        return True
    return bool(fact.attribute and memory.attribute) and not slots.same_slot(fact, memory)
