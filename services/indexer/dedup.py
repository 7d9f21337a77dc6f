"""What becomes of a fact, given what is remembered already. Pure: values in, a decision out.

A cosine at the threshold finds candidates; it decides nothing by itself.

    correction that names nothing   the memory it can mean is reworded, else the fact is dropped
    same statement                  Reinforce
    contradicts current memories    Supersede them, or Stale when it was said before they were
    anything else                   Insert
"""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Literal

import msgspec

from services.core import memory_edit, models
from services.indexer import likeness

CORRECTION_WINDOW_SECONDS = 86_400.0
"""How long after a memory was said a correction that does not name it ("actually it's Leoncio") can still mean it."""

_STANCES = frozenset({"likes", "loves", "enjoys", "prefers", "prefer", "like", "favourite", "favorite", "preference"})
_COUNTER_STANCES = frozenset({"dislikes", "hates", "avoids", "dislike", "hate", "avoid"})
_GENERAL = frozenset({"", "uses", "use", "using"})
_SPEAKER = {"": "user", "i": "user", "me": "user", "we": "team", "us": "team", "our team": "team"}
_SPEAKERS = frozenset({"user", "team", "project"})
_WORK = frozenset({models.Category.TECHNICAL_CHOICE, models.Category.PROJECT_CONTEXT, models.Category.DECISION, models.Category.CONSTRAINT})
_COPULA = re.compile(r"^(?P<subject>.+?)\s(?:is|are|must|should|=)\s(?P<value>.+)$", re.IGNORECASE | re.DOTALL)
_LEADING_ARTICLE = re.compile(r"^(?:the|a|an|my|our)\s+")

Shape = Literal["number", "date", "name", "phrase"]


class Candidate(msgspec.Struct, frozen=True):
    """A current memory that the fact may be about. `cosine` 0 if it was found by its attribute or words rather than by its embedding."""

    memory: models.Memory
    cosine: float = 0.0


class Reinforce(msgspec.Struct, frozen=True, tag=True):
    """The memory says that already."""

    memory: models.Memory


class Supersede(msgspec.Struct, frozen=True, tag=True):
    """The fact, perhaps reworded, takes the place of these memories; the first is the one that it carries on."""

    memories: tuple[models.Memory, ...]
    fact: models.Fact


class Insert(msgspec.Struct, frozen=True, tag=True):
    """Something new."""

    fact: models.Fact


class Stale(msgspec.Struct, frozen=True, tag=True):
    """Said before what contradicts it, but arrived after: it belongs into the history of that memory."""

    by: models.Memory
    fact: models.Fact


class Drop(msgspec.Struct, frozen=True, tag=True):
    """Not a statement that stands alone."""

    reason: str


Decision = Reinforce | Supersede | Insert | Stale | Drop


def decide(fact: models.Fact, candidates: Sequence[Candidate], *, project: str, said_at: float, threshold: float) -> Decision:
    """What to do with a fact of one owner.

    candidates: current memories of that owner, of its projects or of none, each once. project: where the fact would be stored, "" if
    it holds everywhere.
    """
    if fact.correction and not fact.attribute:
        return _corrected(fact, candidates, said_at)
    same = [candidate for candidate in candidates if candidate.memory.project in ("", project) and same_statement(fact, candidate, threshold)]
    if same:
        return Reinforce(max(same, key=lambda candidate: (candidate.cosine, candidate.memory.id)).memory)
    refuted = [candidate.memory for candidate in candidates if candidate.memory.project == project and contradicts(fact, candidate, threshold)]
    if not refuted:
        return Insert(fact)
    newest = sorted(refuted, key=lambda memory: (-memory_edit.last_said(memory), memory.id))
    if memory_edit.last_said(newest[0]) > said_at:
        return Stale(newest[0], fact)
    return Supersede(tuple(newest), fact)


def same_statement(fact: models.Fact, candidate: Candidate, threshold: float) -> bool:
    """Whether the memory says what the fact says."""
    memory = candidate.memory
    mine, theirs = _statement(fact), _statement(memory)
    if _sign(fact) != _sign(memory) or _places(fact) != _places(memory):
        return False
    if mine.normal != theirs.normal and _exchanged_slot(fact, memory):
        return False
    if _same_slot(fact, memory) and fact.value and _value(fact.value) == _value(memory.value) and mine.marks.when == theirs.marks.when:
        adds_nothing = fact.functional or memory.functional or mine.content <= theirs.content
        return adds_nothing or likeness.alike(mine, theirs, candidate.cosine, threshold)
    return likeness.alike(mine, theirs, candidate.cosine, threshold)


def contradicts(fact: models.Fact, candidate: Candidate, threshold: float) -> bool:
    """Whether the fact puts an end to the memory: both can't hold. Asked only of those that do not say the same."""
    memory = candidate.memory
    if _places(fact) != _places(memory):
        return False
    return (
        _new_value(fact, memory)
        or _reversed_stance(fact, memory)
        or _replaced(fact, memory)
        or _denied(fact, memory)
        or _reversed_text(fact, candidate, threshold)
        or _moved(fact, candidate, threshold)
    )


def _new_value(fact: models.Fact, memory: models.Memory) -> bool:
    """Another value of an attribute that has one at a time."""
    one_at_a_time = (fact.functional or memory.functional) and fact.polarity and memory.polarity
    return one_at_a_time and _same_slot(fact, memory) and bool(fact.value) and _value(fact.value) != _value(memory.value)


def _reversed_stance(fact: models.Fact, memory: models.Memory) -> bool:
    """Love turned into hate, or back."""
    mine, theirs = _stance(fact), _stance(memory)
    return mine * theirs < 0 and _same_subject(fact, memory) and bool(fact.value) and _value(fact.value) == _value(memory.value)


def _replaced(fact: models.Fact, memory: models.Memory) -> bool:
    """ "Switched from Postgres to MySQL" ends what says Postgres."""
    return bool(fact.replaces) and memory.polarity and _value(fact.replaces) == _value(memory.value) and _same_matter(fact, memory)


def _denied(fact: models.Fact, memory: models.Memory) -> bool:
    """ "We no longer use Redis" ends "we use Redis", and the other way round."""
    return fact.polarity != memory.polarity and bool(fact.value) and _value(fact.value) == _value(memory.value) and _same_matter(fact, memory)


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
    return likeness.frame(mine["value"]) == likeness.frame(theirs["value"]) and _value(mine["value"]) != _value(theirs["value"])


def _corrected(fact: models.Fact, candidates: Iterable[Candidate], said_at: float) -> Decision:
    """Find what "actually it's X" can mean: said lately, of the same shape, and either looking like X or the last thing said."""
    if not fact.value:
        return Drop("a correction without a value")
    lately = [each.memory for each in candidates if 0 <= said_at - memory_edit.last_said(each.memory) <= CORRECTION_WINDOW_SECONDS]
    lately.sort(key=lambda memory: (memory_edit.last_said(memory), memory.created_at, memory.id), reverse=True)
    meant = [memory for position, memory in enumerate(lately) if _correctable(fact, memory) and (position == 0 or _resembles(fact, memory))]
    if not meant:
        return Drop("a correction of nothing that is known")
    memory = next((each for each in meant if _resembles(fact, each)), meant[0])
    if _value(memory.value) == _value(fact.value):
        return Reinforce(memory)
    return Supersede((memory,), _reworded(fact, memory))


def _correctable(fact: models.Fact, memory: models.Memory) -> bool:
    if not memory.value or memory.value.casefold() not in memory.text.casefold():
        return False
    if fact.replaces:
        return _value(memory.value) == _value(fact.replaces)
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
    if fact.value and memory.value and _value(fact.value) != _value(memory.value):
        return True
    return bool(fact.attribute and memory.attribute) and not _same_slot(fact, memory)


def _same_slot(fact: models.Fact, memory: models.Memory) -> bool:
    return bool(fact.attribute) and _attribute(fact) == _attribute(memory) and _same_subject(fact, memory)


def _same_matter(fact: models.Fact, memory: models.Memory) -> bool:
    """Whether a change of value in the one concerns the other. "We use" is said of anything technical, however it was put before."""
    if bool(_stance(fact)) != bool(_stance(memory)) or not _same_subject(fact, memory):
        return False
    return _attribute(fact) == _attribute(memory) or (memory.category in _WORK and bool(_GENERAL & {_attribute(fact), _attribute(memory)}))


def _same_subject(fact: models.Fact, memory: models.Memory) -> bool:
    """The person and the team speak as one of their work, not of themselves."""
    mine, theirs = _subject(fact), _subject(memory)
    of_work = models.Category.PERSONAL_INFO not in (fact.category, memory.category)
    return mine == theirs or (of_work and {mine, theirs} <= _SPEAKERS)


def _subject(stated: models.Fact | models.Memory) -> str:
    subject = _LEADING_ARTICLE.sub("", stated.subject.strip().casefold())
    return _SPEAKER.get(subject, subject)


def _attribute(stated: models.Fact | models.Memory) -> str:
    attribute = _LEADING_ARTICLE.sub("", likeness.normalised(stated.attribute))
    return "likes" if attribute in _STANCES | _COUNTER_STANCES else attribute


def _stance(stated: models.Fact | models.Memory) -> int:
    """1 for, -1 against, 0 neither."""
    attribute = _LEADING_ARTICLE.sub("", likeness.normalised(stated.attribute))
    sign = (attribute in _STANCES) - (attribute in _COUNTER_STANCES)
    return sign if stated.polarity else -abs(sign)


def _sign(stated: models.Fact | models.Memory) -> int:
    return _stance(stated) or (1 if stated.polarity else -1)


def _places(stated: models.Fact | models.Memory) -> frozenset[str]:
    """Where and for whom it holds: what holds elsewhere is another statement. What is said of it (backend engineer) is no place."""
    said = likeness.environments(stated.text) | likeness.people(stated.text)
    said -= likeness.environments(stated.value) | likeness.people(stated.value)
    return said | {place for qualifier in stated.qualifiers for place in likeness.environments(qualifier) or {likeness.normalised(qualifier)}}


def _value(value: str) -> str:
    return " ".join(likeness.words(_LEADING_ARTICLE.sub("", likeness.normalised(value))))
