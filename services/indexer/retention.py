"""What is kept no longer, as the settings have it: history that was superseded long ago, and jobs that failed for good long ago. By default neither
goes. What else has an age limit (blocks, records of turns, questions, the audit log) expires in Redis by itself."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager

import structlog

from services.core import models, ports, telemetry, walking
from services.indexer.canary import Stopped

BY = "brb"
"""Whom the audit log names: nobody of the team did it."""
_DAY_SECONDS = 86_400.0
_TOGETHER = 200
_MOST_DEAD = 10_000
_MOST_IDS = 100  # named in one event of the audit log; of more it says how many
_log = structlog.get_logger()

OwnerLock = Callable[[models.Principal], AbstractContextManager[object]]


def expired(memory: models.Memory, now: float, days: int) -> bool:
    """Whether history is over its time: it counts from when it was superseded, as far as that is known, never from before it was written.
    days: 0 for never."""
    since = max(memory.created_at, memory.reinforced_at, memory.valid_to or 0.0)
    return days > 0 and memory.status is models.Status.SUPERSEDED and since < now - days * _DAY_SECONDS


def overdue(dead: Iterable[ports.Dead], now: float, days: int) -> list[str]:
    """The jobs that failed for good longer ago. days: 0 for none."""
    return [one.id for one in dead if days > 0 and one.died_at < now - days * _DAY_SECONDS]


class Retention:
    """purge: cleans the files after something was erased."""

    def __init__(
        self,
        store: ports.WholeStore,
        book: ports.JobBook,
        *,
        ledger: ports.Ledger,
        turns: ports.TurnLog,
        figures: ports.Figures,
        audit: ports.AuditLog,
        owner_lock: OwnerLock,
        clock: Callable[[], float],
        keep_superseded_days: int,
        keep_dead_days: int,
        purge: Sequence[Callable[[], None]] = (),
    ) -> None:
        self._store = store
        self._book = book
        self._ledger = ledger
        self._turns = turns
        self._figures = figures
        self._audit = audit
        self._owner_lock = owner_lock
        self._clock = clock
        self._superseded_days = keep_superseded_days
        self._dead_days = keep_dead_days
        self._purge = purge
        self._clean = False  # as far as is known of one that was killed between erasing and cleaning

    def run(self, stopping: threading.Event) -> int:
        """How many memories and jobs went. May be broken off anywhere and done again."""
        if not self._superseded_days:
            gone = 0
        elif (gone := self._erase_history(stopping)) or not self._clean:
            self._clean = False
            for step in self._purge:
                step()
            self._clean = True
        gone += self._erase_dead()
        if gone:
            _log.info("kept_no_longer", count=gone)
        return gone

    def _erase_history(self, stopping: threading.Event) -> int:
        now = self._clock()
        where = ports.Where(status=models.Status.SUPERSEDED, before=now - self._superseded_days * _DAY_SECONDS)
        of_owner: defaultdict[models.Principal, list[str]] = defaultdict(list)
        for memory in walking.all_of(lambda before, limit: self._store.anybody(_until(where, before), limit=limit)):
            if expired(memory, now, self._superseded_days):
                of_owner[models.Principal(memory.team, memory.owner)].append(memory.id)
        gone = 0
        for owner, ids in of_owner.items():
            for start in range(0, len(ids), _TOGETHER):
                if stopping.is_set():
                    raise Stopped
                gone += self._erase(owner, ids[start : start + _TOGETHER], now)
        return gone

    def _erase(self, owner: models.Principal, ids: Sequence[str], now: float) -> int:
        """What is history still. It is in the audit log before it is done."""
        sight = models.Scope(owner.team, owner.user, projects=None)
        with self._owner_lock(owner):
            found = [memory for each in ids if (memory := self._store.get(sight, each)) is not None]
            due = [memory.id for memory in found if memory.owner == owner.user and expired(memory, now, self._superseded_days)]
            if not due:
                return 0
            self._note(owner.team, due, now)
            self._ledger.forget(due)
            self._turns.forget(owner.team, due)
            self._figures.forget(due)
            count = self._store.delete(sight, due)
        telemetry.ERASED.labels("deleted").inc(count)
        return count

    def _erase_dead(self) -> int:
        due = frozenset(overdue(self._book.dead(_MOST_DEAD), self._clock(), self._dead_days))
        if not due:
            return 0
        count = self._book.forget(lambda job: job.id in due)
        telemetry.ERASED.labels("jobs").inc(count)
        return count

    def _note(self, team: str, ids: Sequence[str], now: float) -> None:
        event = ports.Event(at=now, team=team, user=BY, act=ports.Act.FORGOT, ids=tuple(ids[:_MOST_IDS]), count=len(ids), detail="retention")
        self._audit.add(event)
        telemetry.AUDITED.labels(event.act).inc()


def _until(where: ports.Where, before: float | None) -> ports.Where:
    return where if before is None else ports.Where(status=where.status, before=min(before, where.before or before))
