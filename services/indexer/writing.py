"""Facts into the store: embed, look up what they may be about, decide, write.

Written is first what is new, then what it retires: a crash in between leaves both, never neither, and doing the turn again completes it.
Writers of one owner must be serialised by the caller.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from services.core import instructions, memory_add, memory_edit, memory_ids, messages, models, ports, sharing, telemetry
from services.indexer import dedup, kinds, planning, slots

_NEIGHBOURS = 50
_FORMER = 20
_LATEST = 50
_OF_ATTRIBUTE = 100
_TEAM = 10

_NAMES: dict[type[dedup.Decision], str] = {
    dedup.Reinforce: "reinforce",
    dedup.Supersede: "supersede",
    dedup.Insert: "insert",
    dedup.Stale: "stale",
    dedup.Close: "close",
    dedup.Drop: "drop",
}


_WAITING = frozenset({models.Status.PENDING, models.Status.QUARANTINED})


class Written(msgspec.Struct, frozen=True):
    """How many facts became what."""

    inserted: int = 0
    superseded: int = 0
    reinforced: int = 0
    stale: int = 0
    closed: int = 0
    dropped: int = 0


class Writer:
    """The one writer of facts. `threshold`: the cosine from which a memory is a candidate for being the same fact. `promotion`: what becomes of
    facts about a project."""

    def __init__(
        self,
        store: ports.MemoryStore,
        embedder: ports.Embedder,
        *,
        clock: Callable[[], float],
        threshold: float = 0.82,
        promotion: sharing.Promotion = "off",
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._threshold = threshold
        self._promotion = promotion

    def store_facts(self, payload: messages.StoreFacts) -> Written:
        """Remember the facts of one turn. The same payload again, after a crash at any point or after success, changes nothing more."""
        if payload.imported:
            return self._let_wait(payload)
        given = self._given(payload)
        if payload.by_hand and given is None:
            return Written()
        if not payload.facts:
            if given is not None:
                self._store.delete(_managed(payload.principal), [given.id])
            return Written()
        vectors = self._embedder.embed([fact.text for fact in payload.facts], "document")
        unread = given if given and memory_add.unread(given) else None
        known = self._known(payload, vectors, unread)
        plan = planning.plan(
            payload,
            vectors,
            known,
            threshold=self._threshold,
            now=self._clock(),
            given=unread,
            promotion=self._promotion,
            team=list(self._shared(payload, vectors)),
        )
        self._create(payload, plan, vectors, unread)
        self._change(payload, plan)
        if plan.given_up:  # last of all: what says it must be there
            self._store.put([ports.Embedded(plan.given_up, vectors[0])])
        return _counted(plan.decisions, payload.principal)

    def settle(self, payload: messages.Settle) -> Written:
        """Decide about a memory that its owner has released: it takes the place of others, joins one, or becomes history. Again, it changes nothing
        more. One that is not current (any more) is left as it is."""
        memory = self._store.get(_managed(payload.principal), payload.id)
        if memory is None or memory.status is not models.Status.CURRENT or memory.owner != payload.principal.user:
            return Written()
        said = planning.settled(memory, payload.turn)
        vectors = self._embedder.embed([memory.text], "document")
        found = self._found(said, vectors, frozenset())
        known = {each.memory.id: each for each in found if each.memory.id != memory.id and not memory_add.unread(each.memory)}
        plan = planning.plan(
            said,
            vectors,
            list(known.values()),
            threshold=self._threshold,
            now=self._clock(),
            given=memory,
            promotion=self._promotion,
            team=list(self._shared(said, vectors)),
        )
        self._create(said, plan, vectors, memory)
        self._change(said, plan)
        if plan.given_up:
            self._store.put([ports.Embedded(plan.given_up, vectors[0])])
        return _counted(plan.decisions, payload.principal)

    def touch(self, payload: messages.Touch) -> None:
        """Note that the memories were shown in a conversation."""
        self._store.touch(_managed(payload.principal), payload.ids, payload.at)

    def there(self, payload: messages.Touch) -> list[str]:
        """Those of the memories that are still there."""
        scope = _managed(payload.principal)
        return [each for each in payload.ids if self._store.get(scope, each) is not None]

    def _let_wait(self, payload: messages.StoreFacts) -> Written:
        """Imported facts, put together with what waits already. Nothing that is current changes, and no words are learnt from twice."""
        if not payload.facts:
            return Written()
        vectors = self._embedder.embed([fact.text for fact in payload.facts], "document")
        ids = frozenset(_turn_ids(payload))
        there: dict[str, planning.Known] = {}
        for each in self._waiting_or_told(payload, vectors):
            if each.memory.id not in ids and (each.vector or each.memory.id not in there):
                there[each.memory.id] = each
        known = [planning.Known(planning.as_current(each.memory), each.vector) for each in there.values()]
        plan = planning.waiting(planning.plan(payload, vectors, known, threshold=self._threshold, now=self._clock()))
        self._create(payload, plan, vectors, None)
        waited = [memory for memory in plan.changed if there[memory.id].memory.status in _WAITING]
        if joined := [memory for memory in waited if memory.status in _WAITING]:
            self._store.update(joined)
        if closed := [memory.id for memory in waited if memory.status is models.Status.SUPERSEDED]:
            self._store.delete(_managed(payload.principal), closed)
        return _counted(plan.decisions, payload.principal)

    def _waiting_or_told(self, payload: messages.StoreFacts, vectors: Sequence[Sequence[float]]) -> Iterator[planning.Known]:
        """What waits, and any memory that has these very words behind it: of an earlier import, or of the session itself."""
        scope = models.Scope(payload.principal.team, payload.principal.user, frozenset({payload.project}))
        pending = ports.Where(status=models.Status.PENDING, owner=payload.principal.user)
        for fact, vector in zip(payload.facts, vectors, strict=True):
            yield from _hits(self._store.nearest(scope, vector, limit=_NEIGHBOURS, where=pending, exact=True))
            everything = msgspec.structs.replace(pending, status=None)
            told = self._store.nearest(scope, vector, limit=_NEIGHBOURS, where=everything, exact=True)
            yield from _hits(hit for hit in told if planning.told(hit.memory, payload, fact))
            if instructions.reason_of((fact.text, fact.quote)):
                held = msgspec.structs.replace(pending, status=models.Status.QUARANTINED)
                yield from _hits(self._store.nearest(scope, vector, limit=_FORMER, where=held, exact=True))
            if fact.correction:
                yield from map(planning.Known, self._store.find(scope, pending, limit=_LATEST))

    def _given(self, payload: messages.StoreFacts) -> models.Memory | None:
        """What its person wrote by hand: as it was written, or as an unfinished run of the turn has left it. None if it was erased, reworded or
        replaced since: then there is nothing left to decide about."""
        if not payload.by_hand:
            return None
        memory = self._store.get(_managed(payload.principal), memory_ids.of_fact(payload.principal, payload.turn, 0))
        if memory is None or memory_add.unread(memory) or any(evidence.turn == payload.turn for evidence in memory.evidence):
            return memory
        return None

    def _known(self, payload: messages.StoreFacts, vectors: Sequence[Sequence[float]], unread: models.Memory | None) -> list[planning.Known]:
        """What the facts may be about, as it was before this turn, each once. What is unread is not known yet: its own turn
        looks at the others, however late it comes. And it has retired nothing."""
        turn_ids = frozenset(_turn_ids(payload))
        found: dict[str, planning.Known] = {}
        for each in self._found(payload, vectors, turn_ids):
            memory = each.memory if unread else planning.before(each.memory, turn_ids)
            if memory.id not in turn_ids and not memory_add.unread(memory) and (each.vector or memory.id not in found):
                found[memory.id] = planning.Known(memory, each.vector)
        return list(found.values())

    def _found(self, payload: messages.StoreFacts, vectors: Sequence[Sequence[float]], turn_ids: frozenset[str]) -> Iterator[planning.Known]:
        yield from self._retired_by(payload, turn_ids, vectors[0])
        scope = models.Scope(payload.principal.team, payload.principal.user, frozenset({payload.project}))
        mine = ports.Where(owner=payload.principal.user)
        for fact, vector in zip(payload.facts, vectors, strict=True):
            yield from _hits(self._store.nearest(scope, vector, limit=_NEIGHBOURS, where=mine, exact=True))
            past = msgspec.structs.replace(mine, status=models.Status.SUPERSEDED)
            yield from _hits(self._store.nearest(scope, vector, limit=_FORMER, where=past, exact=True))
            if instructions.reason_of((fact.text, fact.quote)):
                waiting = msgspec.structs.replace(mine, status=models.Status.QUARANTINED)
                yield from _hits(self._store.nearest(scope, vector, limit=_FORMER, where=waiting, exact=True))
            for value in filter(None, (fact.value, fact.replaces, kinds.rivals(fact.value))):
                yield from _hits(self._store.lexical(scope, value, limit=_NEIGHBOURS, where=mine))
            if fact.attribute:
                where = msgspec.structs.replace(mine, attribute=slots.plain_attribute(fact.attribute))
                yield from map(planning.Known, self._store.find(scope, where, limit=_OF_ATTRIBUTE))
            elif fact.correction:
                yield from map(planning.Known, self._store.find(scope, mine, limit=_LATEST))

    def _shared(self, payload: messages.StoreFacts, vectors: Sequence[Sequence[float]]) -> Iterator[planning.Known]:
        """What others have shared that may be the same: nobody proposes what the team has."""
        if self._promotion == "off" or not payload.project:
            return
        scope = models.Scope(payload.principal.team, payload.principal.user, frozenset({payload.project}))
        shared = ports.Where(visibility=models.Visibility.TEAM)
        for fact, vector in zip(payload.facts, vectors, strict=True):
            found = [*_hits(self._store.nearest(scope, vector, limit=_TEAM, where=shared, exact=True))]
            if fact.attribute:
                where = msgspec.structs.replace(shared, attribute=slots.plain_attribute(fact.attribute))
                hits = self._store.nearest(scope, vector, limit=_OF_ATTRIBUTE, where=where, exact=True)
                found.extend(_hits(hits))
            yield from (each for each in found if each.memory.owner != payload.principal.user)

    def _retired_by(self, payload: messages.StoreFacts, turn_ids: frozenset[str], vector: Sequence[float]) -> Iterator[planning.Known]:
        """What an earlier, unfinished run of this turn has retired already. Any vector does: all of them are asked for."""
        scope = _managed(payload.principal)
        for lineage in {memory.lineage for each in turn_ids if (memory := self._store.get(scope, each))}:
            where = ports.Where(status=models.Status.SUPERSEDED, lineage=lineage)
            hits = self._store.nearest(scope, vector, limit=self._store.count(scope, where), where=where, exact=True)
            yield from _hits(hit for hit in hits if hit.memory.superseded_by in turn_ids)

    def _create(self, payload: messages.StoreFacts, plan: planning.Plan, vectors: Sequence[Sequence[float]], unread: models.Memory | None) -> None:
        """Those that are not there yet: one that is may have been changed by a later turn. What was read takes the place of the unread one."""
        scope = _managed(payload.principal)
        missing = [memory for memory in plan.created if (unread and memory.id == unread.id) or self._store.get(scope, memory.id) is None]
        if not missing:
            return
        vector_of = {fact.text: vector for fact, vector in zip(payload.facts, vectors, strict=True)}
        reworded = [memory.text for memory in missing if memory.text not in vector_of]
        if reworded:
            vector_of |= dict(zip(reworded, self._embedder.embed(reworded, "document"), strict=True))
        self._store.put([ports.Embedded(memory, vector_of[memory.text]) for memory in missing])

    def _change(self, payload: messages.StoreFacts, plan: planning.Plan) -> None:
        """What becomes current before what it retires, and the history of a merged lineage first: until it has moved, the memory that it
        belongs to still says where to find it."""
        planned = {memory.id for memory in (*plan.created, *plan.former, *plan.changed, *filter(None, [plan.given_up]))}
        moved = [memory for memory in self._moved(payload, plan.merged) if memory.id not in planned]
        scope = _managed(payload.principal)
        changed = [memory for memory in plan.changed if (now := self._store.get(scope, memory.id)) and _as_planned(now.status, memory)]
        if moved or plan.former or changed:
            self._store.update([*moved, *plan.former, *changed])

    def _moved(self, payload: messages.StoreFacts, merged: Iterable[tuple[str, str]]) -> Iterator[models.Memory]:
        for lineage, into in merged:
            for memory in memory_edit.lineage(self._store, _managed(payload.principal), lineage):
                yield msgspec.structs.replace(memory, lineage=into)


def _managed(principal: models.Principal) -> models.Scope:
    return models.Scope(principal.team, principal.user, projects=None)


def _turn_ids(payload: messages.StoreFacts) -> Iterator[str]:
    for index in range(len(payload.facts)):
        yield memory_ids.of_fact(payload.principal, payload.turn, payload.first + index)


def _hits(hits: Iterable[models.Hit]) -> Iterator[planning.Known]:
    for hit in hits:
        yield planning.Known(hit.memory, hit.vector or ())


def _counted(decisions: Sequence[dedup.Decision], principal: models.Principal) -> Written:
    """The canaries' are in no metric: it would tell that people are learnt from when nobody is."""
    counts = Counter(_NAMES[type(decision)] for decision in decisions)
    for name, count in counts.items():
        if principal.team not in models.CANARY_TEAMS:
            telemetry.DEDUP.labels(name).inc(count)
    return Written(counts["insert"], counts["supersede"], counts["reinforce"], counts["stale"], counts["close"], counts["drop"])


def _as_planned(status: models.Status, memory: models.Memory) -> bool:
    """Whether a memory of this status may become that: what has become history, or waits, since an earlier run of the plan stays so."""
    return status is models.Status.CURRENT or (status is models.Status.QUARANTINED and memory.status is status)
