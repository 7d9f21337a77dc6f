"""Where jobs wait while Redis is away or full: a local SQLite file, payloads sealed, drained when Redis is back."""

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import structlog

from services.core import errors, file_lock, jobs, messages, ports, telemetry
from services.core.adapters.redis_client import always_room
from services.core.seal import Seal

_log = structlog.get_logger()
_BATCH = 100
_MOST_HELD = 10_000  # jobs in memory: some 50 MB


class Spool:
    """A durable first-in first-out of jobs. Thread-safe, and several processes of one machine may share the file."""

    def __init__(self, path: Path, seal: Seal) -> None:
        self._seal = seal
        self._lock = threading.Lock()
        self._in_order = threading.Lock()
        self._folder = path.parent
        self._held: dict[str, messages.Job] = {}  # for which the disk had no room
        self._unreadable: set[int] = set()  # sealed with another key: they stay, and the others pass them by
        try:
            self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=5)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.execute("PRAGMA secure_delete=ON")
            self._db.execute("CREATE TABLE IF NOT EXISTS jobs (n INTEGER PRIMARY KEY, id TEXT UNIQUE, task TEXT NOT NULL, payload BLOB NOT NULL)")
        except sqlite3.DatabaseError as error:
            raise errors.SetupError(f"{path} can't be used ({error}): move it away; turns that waited in it for Redis are lost then") from None

    def put(self, added: Sequence[messages.Job]) -> None:
        rows = [(job.id, str(job.task), self._seal.close(messages.encode(job.payload))) for job in added]
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                self._db.executemany("INSERT OR IGNORE INTO jobs (id, task, payload) VALUES (?, ?, ?)", rows)
                self._db.execute("COMMIT")
            except sqlite3.OperationalError as error:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                self._hold(added)
                _log.error("jobs_in_memory", count=len(self._held), error=type(error).__name__, cure="free some room in the data folder")

    def _hold(self, added: Sequence[messages.Job]) -> None:
        """For as long as the process lives: better than not at all."""
        for job in added[: max(0, _MOST_HELD - len(self._held))]:
            self._held[job.id] = job

    def peek(self, limit: int = _BATCH) -> list[messages.Job]:
        """The oldest jobs that can be read, which stay."""
        found: list[messages.Job] = []
        with self._lock:
            for n, job_id, task, payload in self._db.execute("SELECT n, id, task, payload FROM jobs ORDER BY n"):
                if len(found) == limit:
                    break
                if n not in self._unreadable and (job := self._opened(n, job_id, task, payload)) is not None:
                    found.append(job)
            return found + list(self._held.values())[: limit - len(found)]

    def _opened(self, n: int, job_id: str, task: str, payload: bytes) -> messages.Job | None:
        try:
            return messages.Job(job_id, messages.Task(task), messages.decode(messages.Task(task), self._seal.open(payload)))
        except (errors.Permanent, ValueError) as error:
            self._unreadable.add(n)
            _log.error("spooled_job_unreadable", job=job_id, error=type(error).__name__, cure="restore the former BRB_SECRET_KEY or secret.key")
            return None

    def remove(self, done: Sequence[messages.Job]) -> None:
        with self._lock:
            for job in done:
                self._held.pop(job.id, None)
            self._db.executemany("DELETE FROM jobs WHERE id = ?", [(job.id,) for job in done])

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else is in such a block, in whatever process."""
        with self._in_order, file_lock.held(self._folder):
            yield

    def forget(self, concerns: Callable[[messages.Job], bool]) -> int:
        """Erase the jobs that concern what is forgotten, from the file and from its log; how many."""
        gone = [job for job in self.peek(len(self)) if concerns(job)]
        self.remove(gone)
        with self._lock:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return len(gone)

    def __len__(self) -> int:
        with self._lock:
            return int(self._db.execute("SELECT count(*) FROM jobs").fetchone()[0]) + len(self._held)

    def close(self) -> None:
        with self._lock:
            self._db.close()


class Intake:
    """Takes jobs in, whatever the state of Redis: recorded and published, else spooled and drained later by its own thread.

    room: raises `Unavailable` while Redis is so full that jobs should wait in the spool, so that those which it has can be done.
    """

    def __init__(
        self,
        book: ports.JobBook,
        publish: jobs.Publish,
        spool: Spool,
        *,
        room: Callable[[], None] = always_room,
        drain_every_seconds: float = 1.0,
    ) -> None:
        self._book = book
        self._publish = publish
        self._spool = spool
        self._room = room
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._drain_forever, args=(drain_every_seconds,), name="drain-spool", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(timeout=10)
        self._spool.close()

    def enqueue(self, added: Sequence[messages.Job]) -> bool:
        """Whether Redis has them; else they are spooled. Blocks for at most the timeouts of Redis; never raises because Redis is away or full."""
        try:
            self._room()
            self._record(added)
            return True
        except errors.Unavailable:
            self._spool.put(added)
            telemetry.SPOOLED.set(len(self._spool))
            _log.warning("jobs_spooled", count=len(added))
            return False

    def drain(self) -> int:
        """Move what is spooled to Redis; how many jobs. Raises `errors.Unavailable` when Redis is still away, or full."""
        moved = 0
        while batch := self._drained():
            moved += batch
        telemetry.SPOOLED.set(len(self._spool))
        return moved

    def forget(self, concerns: Callable[[messages.Job], bool]) -> int:
        """`Spool.forget`; none of these is on its way to Redis afterwards."""
        with self._spool.alone():
            return self._spool.forget(concerns)

    def _drained(self) -> int:
        with self._spool.alone():
            waiting = self._spool.peek()
            if waiting:
                self._room()
                self._record(waiting)
                self._spool.remove(waiting)
            return len(waiting)

    def _record(self, added: Sequence[messages.Job]) -> None:
        new = set(self._book.add(added))
        for job in added:
            if job.id in new:
                self._publish(job.id, job.task)

    def _drain_forever(self, every_seconds: float) -> None:
        while not self._stop.wait(every_seconds):
            try:
                if moved := self.drain():
                    _log.info("spool_drained", count=moved)
            except errors.Unavailable:
                continue
            except Exception as error:
                _log.error("spool_drain_failed", exc_info=error)
