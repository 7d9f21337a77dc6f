"""Forgetting: out of every place that holds it, so that nothing brings it back.

The order, for each owner, under the owner's lock: what waits to be learnt (it would bring it back); what was shown of it and asked about it (its ids
are all that leads there); the store, in one write; then once more what was shown, which a call in flight may have written down. Killed in between,
the memory is there as before or gone, and doing it again does what is left. The `sweeper` cleans the files.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from services.core import erasing, erasure_api, errors, memory_edit, messages, models, ports, rights, telemetry, walking
from services.core.erasing import Plan
from services.core.notes.writing import NoteWriter
from services.proxy import auditing
from services.proxy.parts import Parts

_TOGETHER = 500
_WAIT_SECONDS = 2.0  # for the files of a small store to be clean when the receipt is given

_SHARED = "shared with the team, which keeps them: name their ids to erase them all the same"
_NOTES = "notes, which were not asked for: ask with `notes`"
_BACKUPS = "copies that `brb reindex` has kept (backups in the data folder): they hold what there was then; remove them by hand"
_SERVER = "what the Qdrant server has not cleaned up yet in its own files: it does that by itself"


class Chosen(NamedTuple):
    """What ids name, as far as the caller may erase it."""

    memories: tuple[models.Memory, ...] = ()
    notes: tuple[models.Note, ...] = ()
    missing: tuple[str, ...] = ()


def chosen(parts: Parts, principal: models.Principal, ids: Iterable[str]) -> Chosen:
    """`Denied` if one of them is somebody else's to erase."""
    scope = rights.managed(principal)
    memories: list[models.Memory] = []
    notes: list[models.Note] = []
    missing: list[str] = []
    for each in dict.fromkeys(ids):
        if (memory := parts.store.get(scope, each)) is not None:
            rights.check_changes(principal, memory)
            memories.append(memory)
        elif (note := parts.notes.get(scope, each)) is not None:
            rights.check_changes(principal, note)
            notes.append(note)
        else:
            missing.append(each)
    return Chosen(tuple(memories), tuple(notes), tuple(missing))


def forget(parts: Parts, principal: models.Principal, what: Chosen) -> erasure_api.Receipt:
    """Erase them, memories with all their history."""
    run = _Run(parts, principal, "ids")
    for owner in _owners(what.memories):
        roots = [memory for memory in what.memories if memory.owner == owner.user]
        run.memories(owner, partial(_lineages, parts, owner, roots), erasing.concerns_words)
    for owner in _owners(what.notes):
        run.notes(owner, [note.id for note in what.notes if note.owner == owner.user])
    return run.receipt()


def session(parts: Parts, principal: models.Principal, name: str) -> erasure_api.Receipt:
    """Erase what the caller said in a conversation."""

    def concerns(owner: models.Principal, gone: Sequence[models.Memory]) -> erasing.Concerns:
        by_words, by_session = erasing.concerns_words(owner, gone), erasing.concerns_session(owner, name)
        return lambda job: by_session(job) or by_words(job)

    run = _Run(parts, principal, "session")
    run.memories(principal, partial(session_plan, parts, principal, name), concerns, told=lambda one: one.session == name)
    return run.receipt()


def everything(parts: Parts, principal: models.Principal, *, notes: bool) -> erasure_api.Receipt:
    """Erase all of the caller's own, but for what the team was given."""
    run = _Run(parts, principal, "all")
    _all_of(parts, run, principal, partial(own_plan, parts, principal), notes=notes)
    return run.receipt()


def departing(parts: Parts, by: models.Principal, member: models.Principal, *, shared: bool) -> erasure_api.Receipt:
    """Erase what a member leaves: all that is his alone, and what the team has of him as well if it goes. by: who noted it, in the member's team."""

    def plan() -> Plan:
        return _owned(parts, member) if shared else erasing.sparing_the_team(_owned(parts, member))

    run = _Run(parts, by, "member")
    run.jobs(erasing.concerns_owner(member))
    run.memories(member, plan, lambda one, _: erasing.concerns_owner(one))
    run.notes(member, [one.id for one in own_notes(parts, member) if shared or one.visibility is not models.Visibility.TEAM])
    run.logs(member)
    return run.receipt()


def whole_team(parts: Parts, principal: models.Principal) -> erasure_api.Receipt:
    """Erase all of everybody in the caller's team. Its tokens and its audit log stay."""
    rights.check_administers(principal)
    run = _Run(parts, principal, "team")
    for owner in team_of(parts, principal.team):
        _all_of(parts, run, owner, partial(_owned, parts, owner), notes=True)
    run.jobs(erasing.concerns_team(principal.team))  # of those who have nothing yet, too
    return run.receipt()


def team_of(parts: Parts, team: str) -> list[models.Principal]:
    """Everybody in a team who has a token, or owns something."""
    bearers = [one.token.user for one in parts.tokens.all() if one.token.team == team]
    users = {*bearers, *parts.store.owners(team), *parts.notes.owners(team)}
    return [models.Principal(team, user) for user in sorted(users)]


def session_plan(parts: Parts, principal: models.Principal, name: str) -> Plan:
    found = erasing.of_session(_own(parts, principal), name)
    return found if rights.curates(principal) else erasing.sparing_the_team(found)


def own_plan(parts: Parts, principal: models.Principal) -> Plan:
    found = _owned(parts, principal)
    return found if rights.curates(principal) else erasing.sparing_the_team(found)


def team_plan(parts: Parts, principal: models.Principal) -> Plan:
    return Plan(gone=tuple(memory for owner in team_of(parts, principal.team) for memory in _own(parts, owner)))


def own_notes(parts: Parts, owner: models.Principal) -> list[models.Note]:
    return list(walking.notes(parts.notes, _sight(owner), ports.NoteWhere(owner=owner.user)))


def left_of(plan: Plan) -> tuple[erasure_api.Left, ...]:
    """What stays of what was asked for."""
    return (_left(_SHARED, [memory.id for memory in plan.left]),) if plan.left else ()


class _Run:
    """One erasure, with what it has counted so far. It is in the audit log before it is done: whatever comes in between, it is known who began it."""

    def __init__(self, parts: Parts, principal: models.Principal, how: str) -> None:
        self._parts = parts
        self._principal = principal
        self._how = how
        self._done: Counter[str] = Counter()
        self._ids: list[str] = []
        self._swept: list[str] = []
        self._left: list[erasure_api.Left] = []

    def memories(
        self,
        owner: models.Principal,
        plan: Callable[[], Plan],
        concerns: Callable[[models.Principal, Sequence[models.Memory]], erasing.Concerns],
        *,
        told: Callable[[ports.Told], bool] = lambda _: False,
    ) -> None:
        """plan: made under the lock. concerns: the jobs that go with it. told: the records of turns that go with it."""
        parts = self._parts
        with parts.owner_lock(owner):
            found = plan()
            touched = (*found.gone, *_with_lost_words(parts, owner, found.changed))
            ids = [memory.id for memory in (*found.gone, *found.changed)]
            self._note(ids)
            swept = parts.sweeper.due(owner.team, ids)
            self.jobs(concerns(owner, touched))
            self._clear_jobs(owner, erasing.quotes(touched))
            self._traces(owner, ids, touched, told)
            parts.store.update(found.changed)
            for some in _batches([memory.id for memory in found.gone]):
                self._done["deleted"] += parts.store.delete(_sight(owner), some)
            self._done["ledger"] += parts.ledger.forget(ids)
            self._done["turns"] += parts.turns.forget(owner.team, ids)
            parts.figures.forget(ids)
        self._done["answers"] += parts.answers.clear(owner.team)
        self._done["changed"] += len(found.changed)
        self._ids += [memory.id for memory in found.gone]
        self._left += left_of(found)
        self._swept.append(swept)

    def notes(self, owner: models.Principal, ids: Sequence[str]) -> None:
        if not ids:
            return
        parts = self._parts
        self._note(ids)
        swept = parts.sweeper.due(owner.team, ids)
        self._done["uses"] += parts.uses.forget(owner, ids)
        self._done["notes"] += NoteWriter(parts.notes, parts.embedder, owner_lock=parts.owner_lock, clock=parts.clock).delete(owner, ids)
        self._done["answers"] += parts.answers.clear(owner.team)
        self._ids += ids
        self._swept.append(swept)

    def jobs(self, concerns: erasing.Concerns) -> None:
        """Those that wait here first: then none is on its way from here to Redis."""
        self._done["spooled"] += self._parts.unspool(concerns)
        self._done["jobs"] += self._parts.book.forget(concerns)

    def leaves(self, reason: str, ids: Sequence[str]) -> None:
        self._left.append(_left(reason, ids))

    def logs(self, owner: models.Principal) -> None:
        """All that was asked and told."""
        self._done["uses"] += self._parts.uses.clear(owner)
        self._done["turns"] += self._parts.turns.clear(owner)

    def receipt(self) -> erasure_api.Receipt:
        """Of a run that has come to its end. The files are cleaned."""
        for place in telemetry.ERASED_PLACES:
            telemetry.ERASED.labels(place).inc(self._done[place])
        purged = [self._parts.sweeper.done(each, wait_seconds=_WAIT_SECONDS) for each in self._swept]
        return erasure_api.Receipt(
            ids=tuple(self._ids[: erasure_api.MOST_IDS]),
            purged=all(purged) and bool(purged),
            left=(*self._left, *_outside(self._parts)),
            deleted=self._done["deleted"],
            changed=self._done["changed"],
            notes=self._done["notes"],
            ledger=self._done["ledger"],
            answers=self._done["answers"],
            uses=self._done["uses"],
            turns=self._done["turns"],
            jobs=self._done["jobs"],
            spooled=self._done["spooled"],
        )

    def _note(self, ids: Sequence[str]) -> None:
        if ids:
            auditing.note(self._parts, self._principal, ports.Act.FORGOT, ids, detail=self._how)

    def _clear_jobs(self, owner: models.Principal, quoted: frozenset[str]) -> None:
        """What is to be learnt from other turns is, but without what was said before these."""
        parts = self._parts
        replaced: dict[str, messages.Job] = {}

        def quotes_it(job: messages.Job) -> bool:
            if clean := erasing.cleared(job, owner, quoted):
                replaced[job.id] = clean
            return False

        parts.unspool(quotes_it)
        parts.book.forget(quotes_it)
        if replaced:
            parts.enqueue(list(replaced.values()))  # first: what they say of their own is not lost
            parts.unspool(lambda job: job.id in replaced)
            parts.book.forget(lambda job: job.id in replaced)

    def _traces(self, owner: models.Principal, ids: Sequence[str], touched: Sequence[models.Memory], told: Callable[[ports.Told], bool]) -> None:
        parts = self._parts
        from_turns, quoted = erasing.turns(touched), erasing.quotes(touched)
        self._done["ledger"] += parts.ledger.forget(ids)
        parts.figures.forget(ids)
        self._done["turns"] += parts.turns.forget(owner.team, ids)
        self._done["turns"] += parts.turns.drop(owner, lambda one: told(one) or erasing.concerns_told(one, from_turns, quoted))
        self._done["uses"] += parts.uses.forget(owner, ids)


def _all_of(parts: Parts, run: _Run, owner: models.Principal, plan: Callable[[], Plan], *, notes: bool) -> None:
    run.memories(owner, plan, lambda one, _: erasing.concerns_owner(one))
    run.logs(owner)
    mine = [note.id for note in own_notes(parts, owner)]
    if notes:
        run.notes(owner, mine)
    elif mine:
        run.leaves(_NOTES, mine)


def _lineages(parts: Parts, owner: models.Principal, roots: Sequence[models.Memory]) -> Plan:
    """As they are now: with versions that only their owner sees."""
    scope = _sight(owner)

    def find(lineage: str) -> Iterator[models.Memory]:
        return (memory for memory in memory_edit.lineage(parts.store, scope, lineage) if memory.owner == owner.user)

    def get(memory_id: str) -> models.Memory | None:
        memory = parts.store.get(scope, memory_id)
        return memory if memory and memory.owner == owner.user else None

    return erasing.lineages(filter(None, (get(root.id) for root in roots)), find, get)


def _with_lost_words(parts: Parts, owner: models.Principal, changed: Sequence[models.Memory]) -> Iterator[models.Memory]:
    """Memories that stay, as no more than the words that they lose."""
    for memory in changed:
        if (before := parts.store.get(_sight(owner), memory.id)) is not None:
            yield erasing.only(before, [evidence for evidence in before.evidence if evidence not in memory.evidence])


def _owned(parts: Parts, owner: models.Principal) -> Plan:
    return Plan(gone=tuple(_own(parts, owner)))


def _own(parts: Parts, owner: models.Principal) -> Iterator[models.Memory]:
    return walking.memories(parts.store, _sight(owner), ports.Where(status=None, owner=owner.user))


def _sight(owner: models.Principal) -> models.Scope:
    return models.Scope(owner.team, owner.user, projects=None)


def _owners(what: Iterable[models.Memory | models.Note]) -> list[models.Principal]:
    return [models.Principal(team, user) for team, user in sorted({(one.team, one.owner) for one in what})]


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + _TOGETHER] for start in range(0, len(ids), _TOGETHER))


def _left(reason: str, ids: Sequence[str]) -> erasure_api.Left:
    return erasure_api.Left(reason, tuple(ids[: erasure_api.MOST_IDS]), len(ids))


def _outside(parts: Parts) -> Iterator[erasure_api.Left]:
    """Copies that are out of reach."""
    backups = parts.settings.data / "backups"
    if backups.is_dir() and (count := len(list(backups.iterdir()))):
        yield erasure_api.Left(_BACKUPS, count=count)
    if parts.settings.qdrant_url is not None:
        yield erasure_api.Left(_SERVER)


def check_confirmed(principal: models.Principal, team: str) -> None:
    """Whoever erases a whole team says its name."""
    rights.check_administers(principal)
    if team != principal.team:
        raise errors.Denied(f"{team!r} is not the name of your team: nothing was erased")
