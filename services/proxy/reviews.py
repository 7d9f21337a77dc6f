"""What waits for a decision, deciding, and undoing it: all under the lock of whose memory it is."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from services.core import api, errors, memory_add, messages, models, ports, review_api, reviewing, rights, sharing
from services.core.notes.writing import TIME_DIGITS
from services.proxy import auditing
from services.proxy.parts import Parts

_BESIDE = 5
_NEAR = 0.6  # cosine: under it a text has little to do with another
_SAME_WORDS = 20  # memories by BM25 among which one in the same words is
_EMBED_SECONDS = 5.0
_OUTCOMES: tuple[tuple[type[errors.BrbError], review_api.Outcome], ...] = (
    (errors.NotFound, "not_found"),
    (errors.Denied, "denied"),
    (errors.BadInput, "refused"),
)
_REFUSED = tuple(kind for kind, _ in _OUTCOMES)


def waiting(parts: Parts, principal: models.Principal, *, why: reviewing.Why | None, limit: int, offset: int) -> review_api.Reviews:
    """What the caller may decide about, or has proposed; newest first."""
    scope, as_of = rights.managed(principal), parts.clock()
    wheres = [where for kind, where in _queues(principal) if why in (None, kind)]
    found = [memory for where in wheres for memory in parts.store.find(scope, where, limit=offset + limit)]
    page = sorted(found, key=lambda memory: (-memory.created_at, memory.id))[offset : offset + limit]
    vectors, notices = _vectors(parts, [memory.text for memory in page])
    shown = tuple(
        review_api.Waiting(
            memory=api.memory_of(memory, principal),
            why=reviewing.waits(memory) or "proposed",
            may=tuple(each for each in reviewing.possible(memory, principal) if each is not reviewing.Decision.PROMOTE),
            beside=_beside(parts, principal, memory, vector) if vector else (),
        )
        for memory, vector in zip(page, vectors, strict=True)
    )
    return review_api.Reviews(shown, sum(parts.store.count(scope, where) for where in wheres), limit, offset, api.time_of(as_of), notices)


def decide(
    parts: Parts,
    principal: models.Principal,
    decision: reviewing.Decision,
    ids: Sequence[str],
    *,
    force: bool = False,
    as_of: float | None = None,
) -> review_api.Decided:
    """Each by itself: what can't be done is told, and stops none of the others. as_of: when the caller looked at them, if he says so: nothing
    is decided about words that he has not seen."""
    deciding = _Deciding(parts, principal, decision, _now(parts), force, as_of)
    planned: dict[str, _Plan] = {}
    results: dict[str, review_api.Result] = {}
    for memory_id in dict.fromkeys(ids):
        try:
            planned[memory_id] = deciding.plan(memory_id)
        except _REFUSED as error:
            results[memory_id] = _failed(memory_id, error)
    event = deciding.noted(planned)
    for memory_id, plan in planned.items():
        try:
            results[memory_id] = review_api.Result(memory_id, "done", memory=api.memory_of(deciding.applied(memory_id, plan), principal))
        except _REFUSED as error:
            results[memory_id] = _failed(memory_id, error)
    return review_api.Decided(event, decision, tuple(results[memory_id] for memory_id in dict.fromkeys(ids)))


def decide_one(parts: Parts, principal: models.Principal, decision: reviewing.Decision, memory_id: str, *, force: bool = False) -> review_api.Decided:
    """The same of one memory; what can't be done is raised."""
    deciding = _Deciding(parts, principal, decision, _now(parts), force)
    plan = deciding.plan(memory_id)
    event = deciding.noted({memory_id: plan})
    memory = deciding.applied(memory_id, plan)
    return review_api.Decided(event, decision, (review_api.Result(memory_id, "done", memory=api.memory_of(memory, principal)),))


def undo(parts: Parts, principal: models.Principal, event_id: str) -> review_api.Decided:
    """Whatever still is as the decision left it becomes as it was before."""
    event = parts.audit.find(principal.team, event_id)
    if event is None or event.act is not ports.Act.DECIDED or not _shown(event, principal):
        raise errors.NotFound(f"there is no decision {event_id[:80]} in the audit log of the team")
    decision = reviewing.Decision(event.detail)
    results = [_undone(parts, principal, decision, memory_id, change) for memory_id, change in event.before.items()]
    done = [one.id for one in results if one.outcome == "done"]
    noted = auditing.note(parts, principal, ports.Act.UNDID, done, detail=decision.value) if done else ""
    return review_api.Decided(noted, decision, tuple(results))


def _shown(event: ports.Event, principal: models.Principal) -> bool:
    """Whether the caller may know of a decision, and of which memories: his own, or one that curators take. Ids of events are easily guessed."""
    return event.user == principal.user or (rights.curates(principal) and event.detail in reviewing.OF_CURATORS)


def _queues(principal: models.Principal) -> list[tuple[reviewing.Why, ports.Where]]:
    mine = principal.user
    anybody = None if rights.curates(principal) else mine  # what a curator sees of others is proposed, or shared
    return [
        ("proposed", ports.Where(visibility=models.Visibility.PROPOSED, owner=anybody)),
        ("quarantined", ports.Where(status=models.Status.QUARANTINED, owner=anybody)),
        ("pending", ports.Where(status=models.Status.PENDING, owner=mine)),
    ]


def _now(parts: Parts) -> float:
    """As a store keeps it: an undo compares it with what is stored."""
    return round(parts.clock(), TIME_DIGITS)


class _Plan(NamedTuple):
    """change: as the audit log keeps it."""

    before: models.Memory
    after: models.Memory
    change: tuple[str, ...]


class _Deciding(NamedTuple):
    """One decision about memories. It is noted before any of it is done: whatever comes in between, there is an event by which it is undone."""

    parts: Parts
    principal: models.Principal
    decision: reviewing.Decision
    now: float
    force: bool
    as_of: float | None = None

    def plan(self, memory_id: str) -> _Plan:
        """What would come of it as things are now; raises if it can't be done."""
        before = found(self.parts, rights.managed(self.principal), memory_id)
        if self.as_of is not None and self.as_of < before.said_at <= self.now:
            raise errors.BadInput(f"{memory_id} was worded anew since you looked at it: look again and decide then")
        after = reviewing.decided(before, self.decision, self.principal, now=self.now, promotion=sharing.in_force(self.parts.settings))
        if after.visibility is models.Visibility.TEAM and not self.force:
            _check_new(self.parts, self.principal, after)
        return _Plan(before, after, reviewing.change(before, after, self.now))

    def noted(self, planned: Mapping[str, _Plan]) -> str:
        """The event; "" if there is nothing to note."""
        if not planned:
            return ""
        changes = {memory_id: plan.change for memory_id, plan in planned.items()}
        return auditing.note(self.parts, self.principal, ports.Act.DECIDED, list(planned), detail=self.decision.value, before=changes)

    def applied(self, memory_id: str, noted: _Plan) -> models.Memory:
        """The memory as it is then. `BadInput`: what was noted is no longer what would come of it, or of which words."""
        with self.parts.owner_lock(owner_of(noted.before)):
            before, after, change = self.plan(memory_id)
            if change != noted.change or before.text != noted.before.text:
                raise errors.BadInput(f"{memory_id} was changed at the same moment: look at it and decide again")
            write(self.parts, before, after)
        if before.status is not after.status and after.owner == self.principal.user:  # it waited, and nobody compared it with the others
            self.parts.enqueue([messages.Job.of(messages.Task.SETTLE, messages.Settle.of(after, self.now))])
        return after


def _undone(parts: Parts, principal: models.Principal, decision: reviewing.Decision, memory_id: str, change: Sequence[str]) -> review_api.Result:
    owner = models.Principal(principal.team, reviewing.owner_of(change))
    try:
        with parts.owner_lock(owner):
            # In its owner's sight: what was rejected is private, and whether it may be proposed again is for `undone` to say.
            before = found(parts, models.Scope(owner.team, owner.user, None), memory_id)
            after = reviewing.undone(before, decision, change, principal)
            if after != before:
                write(parts, before, after)
    except _REFUSED as error:
        return _failed(memory_id, error)
    return review_api.Result(memory_id, "done", memory=api.memory_of(after, principal))


def write(parts: Parts, before: models.Memory, after: models.Memory) -> None:
    """Under the owner's lock. What is no longer shared is neither replayed in anybody's conversation nor shown as what a turn was told."""
    withdrawn = before.visibility is models.Visibility.TEAM and after.visibility is not models.Visibility.TEAM
    if withdrawn or after.status is not models.Status.CURRENT:
        parts.ledger.forget([before.id])
    parts.store.update([after])
    if withdrawn:
        parts.ledger.forget([before.id])  # a call in flight may have shown it meanwhile
        parts.turns.forget(before.team, [before.id])


def found(parts: Parts, scope: models.Scope, memory_id: str) -> models.Memory:
    memory = parts.store.get(scope, memory_id)
    if memory is None:
        raise errors.NotFound(f"there is no memory {memory_id[:80]}")
    return memory


def owner_of(memory: models.Memory) -> models.Principal:
    """Whose lock it takes to change the memory."""
    return models.Principal(memory.team, memory.owner)


def _check_new(parts: Parts, principal: models.Principal, memory: models.Memory) -> None:
    scope = models.Scope(principal.team, principal.user, None)
    shared = parts.store.lexical(scope, memory.text, limit=_SAME_WORDS, where=ports.Where(visibility=models.Visibility.TEAM))
    for hit in shared:
        if hit.memory.id != memory.id and memory_add.says(hit.memory, memory.text, memory.project):
            raise errors.BadInput(f"the team has {memory.id} in the same words already: {hit.memory.id}. With force it is shared all the same")


def _beside(parts: Parts, principal: models.Principal, memory: models.Memory, vector: Sequence[float]) -> tuple[review_api.Beside, ...]:
    """What is only its owner's is compared with his own, too."""
    own = memory.visibility is models.Visibility.PRIVATE
    where = ports.CURRENT if own else ports.Where(visibility=models.Visibility.TEAM)
    hits = parts.store.nearest(models.Scope(principal.team, principal.user, None), vector, limit=_BESIDE + 1, where=where)
    others = [hit for hit in hits if hit.memory.id != memory.id and hit.score >= _NEAR][:_BESIDE]
    return tuple(review_api.beside_of(hit.memory, principal, hit.score, _relation(memory, hit)) for hit in others)


def _relation(memory: models.Memory, hit: models.Hit) -> review_api.Relation:
    if sharing.repeats(memory, hit.memory, hit.score):
        return "same"
    return "contradicts" if sharing.contradicts(memory, hit.memory) else "similar"


def _vectors(parts: Parts, texts: Sequence[str]) -> tuple[Sequence[Sequence[float]], tuple[str, ...]]:
    try:
        return (parts.embedder.embed(texts, "document", timeout_seconds=_EMBED_SECONDS) if texts else []), ()
    except (errors.Transient, TimeoutError) as error:
        return [()] * len(texts), (f"nothing is compared: {str(error) or 'the embedding took too long'}",)


def _failed(memory_id: str, error: errors.BrbError) -> review_api.Result:
    outcome = next(name for kind, name in _OUTCOMES if isinstance(error, kind))
    return review_api.Result(memory_id, outcome, str(error))
