"""What one turn's facts change, decided all together before anything is written. Pure.

The plan starts from the memories as they were before the turn, even when a part of the turn is written already. So the same turn gives the same
plan however often it is carried out, and each step of it can be repeated.
"""

from collections.abc import Container, Iterator, Sequence
from operator import mul

import msgspec
from msgspec.structs import replace

from services.core import instructions, memory_edit, memory_ids, messages, models, sharing
from services.indexer import dedup, likeness, relations, slots

_MOST_EVIDENCE = 50  # the first words and the latest ones; a habit repeated for years must not grow without end


class Known(msgspec.Struct, frozen=True):
    """A memory of the owner that a fact may be about, with its embedding if the search gave it."""

    memory: models.Memory
    vector: Sequence[float] = ()


class Plan(msgspec.Struct, frozen=True):
    """created: new memories, the retired ones among them. former: memories that were superseded, as they shall be: current again, or with more
    words. changed: memories that were current, as they shall be. merged: lineages that go on in another. given_up: what its person wrote by hand and
    another memory says, as history of that one.

    decisions: one for each fact, in order.
    """

    created: tuple[models.Memory, ...]
    former: tuple[models.Memory, ...]
    changed: tuple[models.Memory, ...]
    merged: tuple[tuple[str, str], ...]
    given_up: models.Memory | None
    decisions: tuple[dedup.Decision, ...]


def before(memory: models.Memory, turn_ids: Container[str]) -> models.Memory:
    """The memory as it was before the turn whose facts become `turn_ids`, as far as a decision looks at it."""
    if memory.superseded_by not in turn_ids:
        return memory
    return replace(memory, status=models.Status.CURRENT, superseded_by="", valid_to=None)


def plan(
    payload: messages.StoreFacts,
    vectors: Sequence[Sequence[float]],
    known: Sequence[Known],
    *,
    threshold: float,
    now: float,
    given: models.Memory | None = None,
    promotion: sharing.Promotion = "off",
    team: Sequence[Known] = (),
) -> Plan:
    """vectors: the embedding of each fact's text. known: what the turn's facts may be about, as it was `before` the turn, without the turn's own.
    given: the memory that the only fact is already, as its person wrote it by hand, or released it (`settled`).
    promotion: what becomes of facts about the project. team: what others have shared that the facts may repeat."""
    try:
        return _drafted(_Draft(payload, known, given, now, promotion, team), payload, vectors, threshold)
    finally:
        likeness.forget()


def settled(memory: models.Memory, turn: str) -> messages.StoreFacts:
    """A memory as the only fact of a turn: what was read out of its words when it came in. It was said when its person last stood by it."""
    same = {field: getattr(memory, field) for field in models.Fact.__struct_fields__ if field in models.Memory.__struct_fields__}
    return messages.StoreFacts(
        turn=turn,
        principal=models.Principal(memory.team, memory.owner),
        said_at=memory_edit.last_said(memory),
        facts=(models.Fact(**same, quote=memory.evidence[0].quote if memory.evidence else memory.text),),
        project=memory.project,
    )


def as_current(memory: models.Memory) -> models.Memory:
    """What imported facts may join, as `plan` looks at what is current."""
    return memory if memory.status is models.Status.QUARANTINED else replace(memory, status=models.Status.CURRENT)


def waiting(plan: Plan) -> Plan:
    """What imported facts change: memories that wait for their owner, and are nobody else's business before he has said yes."""
    return replace(plan, created=tuple(map(_waiting, plan.created)), changed=tuple(map(_waiting, plan.changed)))


def _waiting(memory: models.Memory) -> models.Memory:
    waits = memory.status is models.Status.CURRENT
    return replace(memory, status=models.Status.PENDING, visibility=models.Visibility.PRIVATE) if waits else memory


def _drafted(draft: "_Draft", payload: messages.StoreFacts, vectors: Sequence[Sequence[float]], threshold: float) -> Plan:
    for index, (fact, vector) in enumerate(zip(payload.facts, vectors, strict=True)):
        project = "" if fact.category in models.PERSONAL_CATEGORIES else payload.project
        current, former = draft.candidates(vector)
        if draft.holds(index, fact, project):
            decision = _aside(fact, draft.held(vector), threshold)
        else:
            decision = dedup.decide(
                fact, current, former=former, project=project, said_at=payload.said_at, threshold=threshold, by_hand=payload.by_hand
            )
        draft.apply(index, decision, project, vector)
    return draft.plan()


def _aside(fact: models.Fact, held: Sequence[dedup.Candidate], threshold: float) -> dedup.Decision:
    """What reads like an instruction ends nothing: it waits beside what is known, once."""
    same = [each for each in held if relations.same_statement(fact, each, threshold)]
    return dedup.Reinforce(max(same, key=lambda each: (each.cosine, each.memory.id)).memory) if same else dedup.Insert(fact)


class _Draft:
    """The memories as the facts so far have made them."""

    def __init__(
        self,
        payload: messages.StoreFacts,
        known: Sequence[Known],
        given: models.Memory | None,
        now: float,
        promotion: sharing.Promotion,
        team: Sequence[Known],
    ) -> None:
        self._payload = payload
        self._given = given
        self._settled = None if payload.by_hand else given
        self._now = now
        self._promotion = promotion
        self._said = [*team, *(each for each in known if sharing.declined([each.memory]))]
        self._before: dict[str, models.Memory] = {each.memory.id: each.memory for each in known}
        self._after: dict[str, models.Memory] = dict(self._before)
        self._vectors: dict[str, Sequence[float]] = {each.memory.id: each.vector for each in known}
        self._merged: list[tuple[str, str]] = []
        self._decisions: list[dedup.Decision] = []

    def holds(self, index: int, fact: models.Fact, project: str) -> bool:
        """Whether the fact waits until somebody has looked at it."""
        return not fact.closes and self._made(index, fact, project).status is models.Status.QUARANTINED

    def held(self, vector: Sequence[float]) -> list[dedup.Candidate]:
        """What reads like an instruction, released or not."""
        kept = [memory for memory in self._after.values() if memory.held and memory.status is not models.Status.SUPERSEDED]
        return [dedup.Candidate(memory, _cosine(vector, self._vectors[memory.id])) for memory in kept]

    def candidates(self, vector: Sequence[float]) -> tuple[list[dedup.Candidate], list[dedup.Candidate]]:
        """The current memories and the superseded ones."""
        by_status: dict[models.Status, list[dedup.Candidate]] = {status: [] for status in models.Status}
        for memory in self._after.values():
            by_status[memory.status].append(dedup.Candidate(memory, _cosine(vector, self._vectors[memory.id])))
        return by_status[models.Status.CURRENT], by_status[models.Status.SUPERSEDED]

    def apply(self, index: int, decision: dedup.Decision, project: str, vector: Sequence[float]) -> None:
        self._decisions.append(decision)
        if self._payload.imported:
            return self._wait(index, decision, project, vector)
        match decision:
            case dedup.Reinforce(memory, ended):
                self._after[memory.id] = self._reinforced(memory, index)
                self._retire(ended, memory, self._payload.said_at)
            case dedup.Insert(_, models.Memory() as again):
                self._after[again.id] = self._revive(index, again)
            case dedup.Insert(fact):
                self._create(index, fact, project, vector)
            case dedup.Supersede(memories, fact, again):
                where = "" if fact.category in models.PERSONAL_CATEGORIES else memories[0].project
                if again:
                    made = self._revive(index, again, memories)
                else:
                    made = self._create(index, fact, where, vector, self._words_of(index, memories[0]), instead=memories)
                made = replace(made, project=where, supersedes=memories[0].id, lineage=memories[0].lineage)
                self._after[made.id] = made
                self._retire(memories, made, self._payload.said_at if fact.valid_from is None else fact.valid_from)
            case dedup.Close(memories):
                self._after |= {memory.id: _retired(self._after[memory.id], "", self._payload.said_at) for memory in memories}
            case dedup.Stale(_, _, models.Memory() as again):
                self._after[again.id] = self._reinforced(again, index)
            case dedup.Stale(by, fact):
                made = self._create(index, fact, by.project, vector)
                at = by.said_at if by.valid_from is None else by.valid_from
                made = replace(_retired(made, by.id, at), lineage=by.lineage)
                self._after[made.id] = made if self._given else replace(made, visibility=models.Visibility.PRIVATE)
            case dedup.Drop():
                pass

    def _wait(self, index: int, decision: dedup.Decision, project: str, vector: Sequence[float]) -> None:
        """What is imported joins what says the same, and ends what its person asked to forget. Which of two holds is decided at their release."""
        match decision:
            case dedup.Reinforce(memory):
                self._after[memory.id] = reinforced(memory, self._payload, index)
            case dedup.Supersede(memories, fact):
                where = "" if fact.category in models.PERSONAL_CATEGORIES else memories[0].project
                self._create(index, fact, where, vector, self._words_of(index, memories[0]))
            case dedup.Insert(fact) | dedup.Stale(_, fact):
                self._create(index, fact, project, vector)
            case dedup.Close(memories):
                self._after |= {memory.id: _retired(self._after[memory.id], "", self._payload.said_at) for memory in memories}
            case dedup.Drop():
                pass

    def plan(self) -> Plan:
        given_up = self._given_up()
        changed = [memory for each, memory in self._after.items() if each in self._before and memory != self._before[each]]
        return Plan(
            created=tuple(memory for each, memory in self._after.items() if each not in self._before),
            former=tuple(memory for memory in changed if self._before[memory.id].status is models.Status.SUPERSEDED),
            changed=tuple(memory for memory in changed if self._before[memory.id].status is not models.Status.SUPERSEDED),
            merged=(*self._merged, *self._moved_on(given_up)),
            given_up=given_up,
            decisions=tuple(self._decisions),
        )

    def _given_up(self) -> models.Memory | None:
        """What was written by hand, if it did not become a memory of its own."""
        match self._decisions:
            case (
                [dedup.Reinforce(by)]
                | [dedup.Insert(_, models.Memory() as by)]
                | [dedup.Supersede(_, _, models.Memory() as by)]
                | [dedup.Stale(by, _, models.Memory())]
            ):
                if self._given is None:
                    return None
                made = self._made(0, self._payload.facts[0], self._given.project)
                return replace(_retired(made, by.id, self._payload.said_at), lineage=self._after[by.id].lineage)
        return None

    def _moved_on(self, given_up: models.Memory | None) -> Iterator[tuple[str, str]]:
        """A memory that was written by hand may have been edited before this: that history goes along."""
        if self._settled:
            own, former = self._settled.id, self._settled.lineage
        else:
            own = former = memory_ids.of_fact(self._payload.principal, self._payload.turn, 0)
        last = given_up or self._after.get(own)
        if (self._payload.by_hand or self._settled) and last is not None and last.lineage != former:
            yield former, last.lineage

    def _create(
        self,
        index: int,
        fact: models.Fact,
        project: str,
        vector: Sequence[float],
        words: Sequence[models.Evidence] = (),
        instead: Sequence[models.Memory] = (),
    ) -> models.Memory:
        """instead: the memories whose place it takes."""
        memory = self._made(index, fact, project)
        memory = replace(memory, evidence=_kept((*words, *memory.evidence)))
        self._after[memory.id] = memory if _decided(self._given) else self._placed(memory, vector, instead)
        self._vectors[memory.id] = vector
        return self._after[memory.id]

    def _placed(self, memory: models.Memory, vector: Sequence[float], former: Sequence[models.Memory]) -> models.Memory:
        said = any(sharing.repeats(memory, each.memory, _cosine(vector, each.vector)) for each in self._said if each.memory.id != memory.id)
        return sharing.placed(memory, former, promotion=self._promotion, said_already=said)

    def _made(self, index: int, fact: models.Fact, project: str) -> models.Memory:
        if self._settled:
            return replace(self._settled, replaces="")
        memory = remembered(fact, self._payload, index, project=project, now=self._now)
        return instructions.guarded(_handed_over(self._given, memory) if self._given else memory)

    def _reinforced(self, memory: models.Memory, index: int) -> models.Memory:
        return joined(memory, self._settled) if self._settled else reinforced(memory, self._payload, index)

    def _revive(self, index: int, memory: models.Memory, instead: Sequence[models.Memory] = ()) -> models.Memory:
        said = self._reinforced(replace(memory, valid_to=None), index)
        said = replace(said, status=instructions.standing(memory), superseded_by="", said_at=max(memory.said_at, self._payload.said_at))
        return self._placed(said, self._vectors[memory.id], (memory, *instead))

    def _words_of(self, index: int, memory: models.Memory) -> tuple[models.Evidence, ...]:
        """The words behind what was corrected: "it's Leoncio" alone proves no name."""
        fact = self._payload.facts[index]
        whole = likeness.normalised(fact.text) in likeness.normalised(fact.quote) and (fact.attribute or not fact.value)
        return memory.evidence if fact.correction and not whole else ()

    def _retire(self, memories: Sequence[models.Memory], by: models.Memory, at: float) -> None:
        """at: when they ceased to hold."""
        for memory in memories:
            self._after[memory.id] = _retired(self._after[memory.id], by.id, at)
            self._merge(memory.lineage, by.lineage)

    def _merge(self, lineage: str, into: str) -> None:
        if lineage != into:
            self._merged.append((lineage, into))
            self._after |= {each: replace(memory, lineage=into) for each, memory in self._after.items() if memory.lineage == lineage}


def remembered(fact: models.Fact, payload: messages.StoreFacts, index: int, *, project: str, now: float) -> models.Memory:
    """The memory that a fact becomes."""
    identity = memory_ids.of_fact(payload.principal, payload.turn, payload.first + index)
    return models.Memory(
        id=identity,
        team=payload.principal.team,
        owner=payload.principal.user,
        project=project,
        text=fact.text,
        category=fact.category,
        confidence=fact.confidence,
        subject=fact.subject,
        attribute=slots.plain_attribute(fact.attribute),
        value=fact.value,
        functional=fact.functional,
        polarity=fact.polarity,
        entities=fact.entities,
        qualifiers=fact.qualifiers,
        evidence=(_evidence(payload, index),),
        replaces=fact.replaces if payload.imported else "",
        lineage=identity,
        created_at=now,
        said_at=payload.said_at,
        reinforced_at=payload.said_at,
        accessed_at=payload.said_at,
        when=fact.when,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
    )


def _handed_over(given: models.Memory, memory: models.Memory) -> models.Memory:
    """The memory that a fact becomes in the place of what was written by hand, with what has become of that since."""
    return replace(
        memory,
        category=given.category if given.supersedes else memory.category,  # its person has changed it
        status=given.status,
        visibility=given.visibility,
        held=given.held,
        review=given.review,
        reviewed_by=given.reviewed_by,
        reviewed_at=given.reviewed_at,
        edited_by=given.edited_by,
        supersedes=given.supersedes,
        created_at=given.created_at,
        said_at=max(given.said_at, memory.said_at),
        accessed_at=max(given.accessed_at, memory.accessed_at),
    )


def reinforced(memory: models.Memory, payload: messages.StoreFacts, index: int) -> models.Memory:
    """The memory, said once more. A turn counts once."""
    if any(evidence.turn == payload.turn for evidence in memory.evidence):
        return memory
    said_at = payload.said_at
    return replace(
        _timed(memory, payload.facts[index], said_at),
        mentions=memory.mentions + 1,
        confidence=max(memory.confidence, payload.facts[index].confidence),
        evidence=_kept((*memory.evidence, _evidence(payload, index))),
        reinforced_at=max(memory.reinforced_at, said_at),
        accessed_at=max(memory.accessed_at, said_at),
    )


def told(memory: models.Memory, payload: messages.StoreFacts, fact: models.Fact) -> bool:
    """Whether the memory has these very words behind it: of this turn, or of the same session as another client told of it."""
    return any(
        each.turn == payload.turn or (payload.session and each.session == payload.session and each.quote == fact.quote) for each in memory.evidence
    )


def joined(memory: models.Memory, other: models.Memory) -> models.Memory:
    """The memory, with what another one that says the same was said by. What was said in one session in the same words is the same words."""
    turns = {evidence.turn for evidence in memory.evidence}
    said = {(evidence.session, evidence.quote) for evidence in memory.evidence if evidence.session}
    new = [each for each in other.evidence if each.turn not in turns and (each.session, each.quote) not in said]
    if not new:
        return memory
    known = len(other.evidence) - len(new)
    return replace(
        memory,
        mentions=memory.mentions + max(len(new), other.mentions - known),
        confidence=max(memory.confidence, other.confidence),
        evidence=_kept((*memory.evidence, *new)),
        reinforced_at=max(memory.reinforced_at, other.reinforced_at),
        accessed_at=max(memory.accessed_at, other.accessed_at),
    )


def _timed(memory: models.Memory, fact: models.Fact, said_at: float) -> models.Memory:
    """The memory with the times that the fact states, if they are news: "on leave until Friday" said again next month, after that Friday."""
    if said_at < memory.said_at:
        return memory
    over = memory.valid_to is not None and memory.valid_to <= said_at
    if over or fact.valid_to is not None or not (memory.when or memory.valid_from or memory.valid_to):
        return replace(memory, when=fact.when, valid_from=fact.valid_from, valid_to=fact.valid_to)
    return memory


def _kept(evidence: Sequence[models.Evidence]) -> tuple[models.Evidence, ...]:
    return (*evidence[:1], *evidence[1:][-(_MOST_EVIDENCE - 1) :])


def _evidence(payload: messages.StoreFacts, index: int) -> models.Evidence:
    return models.Evidence(quote=payload.facts[index].quote, turn=payload.turn, said_at=payload.said_at, session=payload.session)


def _retired(memory: models.Memory, by: str, at: float) -> models.Memory:
    """by: what took its place, "" for nothing. A stated end that comes before stays."""
    ended = at if memory.valid_to is None else min(at, memory.valid_to)
    return replace(sharing.retired(memory), status=models.Status.SUPERSEDED, superseded_by=by, valid_to=ended)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return float(sum(map(mul, one, other)))


def _decided(given: models.Memory | None) -> bool:
    """Whether somebody has decided already who sees what was written by hand, or waited: that stays."""
    return given is not None and (given.visibility is not models.Visibility.PRIVATE or given.review is not models.Review.NONE)
