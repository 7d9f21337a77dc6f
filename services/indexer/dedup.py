"""What becomes of a fact, given what is remembered already. Pure: values in, a decision out.

    words that ask to forget        Close what they mean
    correction that names nothing   the memory it can mean is reworded, else the fact is dropped
    same statement                  Reinforce
    contradicts current memories    Supersede them, or Stale when it was said before they were
    correction in a whole sentence  Supersede the memory that it can mean, if there is one
    anything else                   Insert

What was said, ended and is said again takes the place of what ended it: the memory of the past comes back, no copy of it is made.
"""

import re
from collections.abc import Container, Iterable, Sequence
from difflib import SequenceMatcher
from typing import Literal

import msgspec

from services.core import memory_edit, models
from services.indexer import likeness, relations, restating, slots

Candidate = relations.Candidate

CORRECTION_WINDOW_SECONDS = 86_400.0
"""How long after a memory was said a correction that does not name it ("actually it's Leoncio") can still mean it."""

Shape = Literal["number", "date", "name", "phrase"]


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
    """Something new. `again`: a memory that said it, was closed, and becomes current again instead of a copy of it."""

    fact: models.Fact
    again: models.Memory | None = None


class Stale(msgspec.Struct, frozen=True, tag=True):
    """Said before what contradicts it, but arrived after: it belongs into the history of that memory. `again` as in `Supersede`."""

    by: models.Memory
    fact: models.Fact
    again: models.Memory | None = None


class Close(msgspec.Struct, frozen=True, tag=True):
    """These end, and nothing takes their place."""

    memories: tuple[models.Memory, ...]


class Drop(msgspec.Struct, frozen=True, tag=True):
    """Not a statement that stands alone."""

    reason: str


Decision = Reinforce | Supersede | Insert | Stale | Close | Drop


def decide(
    fact: models.Fact,
    candidates: Sequence[Candidate],
    *,
    former: Sequence[Candidate] = (),
    project: str,
    said_at: float,
    threshold: float,
    by_hand: bool = False,
) -> Decision:
    """What to do with a fact of one owner.

    candidates: current memories of that owner, of its projects or of none, each once. former: superseded ones. project: where the fact
    would be stored, "" if it holds everywhere. by_hand: somebody wrote it down as how it is.
    """
    if fact.closes:
        return _closed(fact, candidates, said_at, threshold)
    if fact.correction and fact.value and not fact.attribute:
        return _corrected(fact, candidates, former, said_at, threshold)
    same = [
        candidate for candidate in candidates if candidate.memory.project in ("", project) and relations.same_statement(fact, candidate, threshold)
    ]
    others = [candidate for candidate in candidates if _within(candidate.memory, project) and candidate not in same]
    refuted = [candidate.memory for candidate in others if relations.contradicts(fact, candidate, said_at=said_at, threshold=threshold)]
    if same:
        memory = max(same, key=lambda candidate: (candidate.cosine, candidate.memory.id)).memory
        return Reinforce(memory, _ended(memory, refuted, others, said_at))
    before = [candidate for candidate in former if _within(candidate.memory, project) and relations.same_statement(fact, candidate, threshold)]
    lineages = {candidate.memory.lineage for candidate in before}
    refuted += [candidate.memory for candidate in others if candidate.memory.lineage in lineages and candidate.memory not in refuted]
    if by_hand and not refuted:
        refuted = [candidate.memory for candidate in others if relations.another_day(fact, candidate.memory)]
    if not refuted and (meant := restating.meant(fact, others, said_at=said_at)):
        refuted = [meant]
    if not refuted:
        return Insert(fact, _latest([candidate.memory for candidate in before], _closed_lineages(former)))
    newest = sorted(refuted, key=lambda memory: (-memory_edit.last_said(memory), memory.id))
    again = _latest([candidate.memory for candidate in before], {memory.lineage for memory in newest})
    if memory_edit.last_said(newest[0]) > said_at:
        return Stale(newest[0], fact, again)
    return Supersede(tuple(newest), fact, again)


def _within(memory: models.Memory, project: str) -> bool:
    """Whether a statement for the project can end the memory. What a person says of himself everywhere ends what he said of himself there."""
    return memory.project == project or (not project and slots.subject(memory) == "user")


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


def _closed_lineages(former: Iterable[Candidate]) -> frozenset[str]:
    """Those whose last memory ended without another in its place."""
    return frozenset(candidate.memory.lineage for candidate in former if not candidate.memory.superseded_by)


def _closed(fact: models.Fact, candidates: Iterable[Candidate], said_at: float, threshold: float) -> Decision:
    known = [candidate for candidate in candidates if memory_edit.last_said(candidate.memory) <= said_at]
    meant = tuple(candidate.memory for candidate in known if relations.concerns(fact, candidate, threshold))
    return Close(meant) if meant else Drop("nothing that is known is to be forgotten")


def _corrected(fact: models.Fact, candidates: Iterable[Candidate], former: Iterable[Candidate], said_at: float, threshold: float) -> Decision:
    """Find what "actually it's X" can mean: said lately, of the same shape, and either looking like X or the last thing said."""
    lately = [each.memory for each in candidates if 0 <= said_at - memory_edit.last_said(each.memory) <= CORRECTION_WINDOW_SECONDS]
    lately.sort(key=lambda memory: (memory_edit.last_said(memory), memory.created_at, memory.id), reverse=True)
    meant = [memory for position, memory in enumerate(lately) if _correctable(fact, memory) and (position == 0 or _resembles(fact, memory))]
    if not meant:
        return Drop("a correction of nothing that is known")
    memory = next((each for each in meant if _resembles(fact, each)), meant[0])
    if slots.value(memory.value) == slots.value(fact.value):
        return Reinforce(memory)
    reworded = _reworded(fact, memory)
    again = _latest([each.memory for each in former if relations.same_statement(reworded, each, threshold)], {memory.lineage})
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
