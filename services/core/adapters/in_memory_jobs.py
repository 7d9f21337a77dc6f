"""`ports.JobBook` in memory, for tests and for trying BRB without Redis: nothing outlives the process."""

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from services.core import messages, ports
from services.core.jobs import LONGEST_SECONDS, MOST_DOUBLINGS


@dataclass(slots=True)
class _Record:
    job: messages.Job
    added: float
    due: float
    attempts: int = 0
    token: str = ""
    until: float = 0.0
    rung: int = 0
    error: str = ""
    died: float | None = None


class InMemoryJobBook:
    def __init__(self, *, lease_seconds: float = 15.0, clock: Callable[[], float] = time.time) -> None:
        self._records: dict[str, _Record] = {}
        self._done: set[str] = set()
        self._lease = lease_seconds
        self._longest = max(LONGEST_SECONDS, 2.0**MOST_DOUBLINGS * lease_seconds)
        self._clock = clock
        self._lock = threading.RLock()

    def add(self, jobs: Sequence[messages.Job]) -> list[str]:
        with self._lock:
            now = self._clock()
            new = []
            for job in jobs:
                if job.id in self._records or job.id in self._done:
                    continue
                self._records[job.id] = _Record(job, added=now, due=now + self._lease)
                new.append(job.id)
            return new

    def known(self, ids: Sequence[str]) -> set[str]:
        with self._lock:
            return {each for each in ids if each in self._records or each in self._done}

    def claim(self, job_id: str) -> ports.Claim | None:
        with self._lock:
            record = self._records.get(job_id)
            if record is None or record.died is not None or 0 < record.until - self._clock() <= self._longest:
                return None
            record.token = uuid.uuid4().hex
            record.until = record.due = self._clock() + self._lease
            record.attempts += 1
            record.rung = 0
            return ports.Claim(record.job, record.token, record.attempts)

    def extend(self, claim: ports.Claim) -> bool:
        with self._lock:
            record = self._held(claim)
            if record is None:
                return False
            record.until = record.due = self._clock() + self._lease
            return True

    def finish(self, claim: ports.Claim, then: Sequence[messages.Job] = ()) -> bool:
        with self._lock:
            if self._held(claim) is None:
                return False
            self.add(then)
            self._done.add(claim.job.id)
            del self._records[claim.job.id]
            return True

    def postpone(self, claim: ports.Claim, delay_seconds: float, *, counted: bool) -> None:
        with self._lock:
            record = self._held(claim)
            if record is None:
                return
            record.token = ""
            record.attempts -= 0 if counted else 1
            record.until = record.due = self._clock() + delay_seconds

    def bury(self, claim: ports.Claim, error: str) -> None:
        with self._lock:
            record = self._held(claim)
            if record is None:
                return
            record.token, record.until = "", 0.0
            record.error, record.died = error, self._clock()

    def overdue(self, limit: int = 100) -> list[tuple[str, messages.Task]]:
        with self._lock:
            now = self._clock()
            due = sorted((r for r in self._records.values() if r.died is None and not 0 < r.due - now <= self._longest), key=lambda r: r.due)[:limit]
            for record in due:
                record.due = now + self._lease * 2 ** min(record.rung, MOST_DOUBLINGS)
                record.rung += 1
            return [(r.job.id, r.job.task) for r in due]

    def dead(self, limit: int = 100, concerns: Callable[[messages.Job], bool] | None = None) -> list[ports.Dead]:
        with self._lock:
            wanted = (r for r in self._records.values() if r.died is not None and (concerns is None or concerns(r.job)))
            dead = sorted(wanted, key=lambda r: -(r.died or 0))
            return [ports.Dead(r.job.id, r.job.task, r.attempts, r.error, r.died or 0.0, r.job.principal.team) for r in dead[:limit]]

    def forget(self, concerns: Callable[[messages.Job], bool]) -> int:
        with self._lock:
            gone = [job_id for job_id, record in self._records.items() if concerns(record.job)]
            for job_id in gone:
                del self._records[job_id]
                self._done.add(job_id)
            return len(gone)

    def revive(self, job_id: str) -> messages.Task | None:
        with self._lock:
            record = self._records.get(job_id)
            if record is None or record.died is None:
                return None
            record.died, record.error, record.attempts, record.due = None, "", 0, self._clock()
            return record.job.task

    def pending(self) -> Mapping[messages.Lane, int]:
        return {lane: len(self._of(lane)) for lane in messages.Lane}

    def oldest_seconds(self) -> Mapping[messages.Lane, float]:
        now = self._clock()
        return {lane: max((now - r.added for r in self._of(lane)), default=0.0) for lane in messages.Lane}

    def ping(self) -> None:
        return None

    def _held(self, claim: ports.Claim) -> _Record | None:
        record = self._records.get(claim.job.id)
        return record if record is not None and record.token == claim.token else None

    def _of(self, lane: messages.Lane) -> list[_Record]:
        with self._lock:
            return [r for r in self._records.values() if r.died is None and messages.LANE_OF[r.job.task] is lane]
