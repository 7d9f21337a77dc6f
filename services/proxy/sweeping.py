"""What is left to do after something was forgotten: it is found nowhere any more, but its bytes are still in files.

Each erasure is written down first, in a file of ids alone, so that the sweep is done even if the process is killed; it goes when all is clean.
Proxies that share the folder share the file: one that starts sweeps what it finds there, even if another is about to: doing it twice does no harm.
"""

import os
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from enum import Enum, auto
from pathlib import Path

import msgspec
import structlog

from services.core import errors, file_lock, ports

SETTLED_SECONDS = 5.0
"""A call in flight may show a memory that is being erased, and write that down, for as long as its recall and Redis may take; then it is over."""
RESTING = 5
"""Times as long as a purge has taken, the next one waits: it copies all that there is, and whoever forgets much forgets often."""

_AFTER_FAILURE_SECONDS = 60.0

_log = structlog.get_logger()


class Erased(msgspec.Struct, frozen=True):
    """Memories and notes of a team that are being erased. at: epoch seconds."""

    id: str
    team: str
    ids: tuple[str, ...]
    at: float


class _State(Enum):
    """Of an erasure: begun; done, but for the files; done."""

    DUE = auto()
    ERASED = auto()
    CLEAN = auto()


class Sweeper:
    """purge: cleans the files. Its thread does it, soon after it is asked to, and again takes away what a call in flight may have written down."""

    def __init__(
        self,
        path: Path,
        *,
        purge: Sequence[Callable[[], None]],
        ledger: ports.Ledger,
        turns: ports.TurnLog,
        clock: Callable[[], float] = time.time,
        tick: Callable[[], float] = time.monotonic,
        settled_seconds: float = SETTLED_SECONDS,
    ) -> None:
        self._path = path
        self._purge = purge
        self._ledger = ledger
        self._turns = turns
        self._clock = clock
        self._tick = tick
        self._settled = settled_seconds
        self._changed = threading.Condition()
        self._noted = {one.id: one for one in _read(path)}
        self._known = set(self._noted)  # those that this process answers for, and has answered for
        self._state: dict[str, _State] = dict.fromkeys(self._noted, _State.ERASED)  # those that were being erased when the process ended, too
        self._rests_until = 0.0
        self._woken = bool(self._noted)
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="sweeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """What is not swept yet is at the next start. Close the stores next: that breaks off a purge that goes on. Then `join`."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def join(self) -> None:
        self._thread.join(timeout=10)

    def due(self, team: str, ids: Sequence[str]) -> str:
        """Write down, before it is done, that these are erased."""
        erased = Erased(uuid.uuid4().hex, team, tuple(ids), self._clock())
        with self._changed:
            self._noted[erased.id], self._state[erased.id] = erased, _State.DUE
            self._known.add(erased.id)
            self._save()
        return erased.id

    def done(self, erased: str, *, wait_seconds: float = 0.0) -> bool:
        """They are erased: sweep. Whether the files are clean by now: waits for that only if it is begun at once."""
        with self._changed:
            self._noted[erased] = msgspec.structs.replace(self._noted[erased], at=self._clock())
            self._state[erased] = _State.ERASED
            self._woken = True
            self._changed.notify_all()
            if self._thread.is_alive():
                self._changed.wait_for(lambda: self._clean(erased) or self._rests(), wait_seconds)
            return self._clean(erased)

    def sweep(self) -> float | None:
        """Do what can be done now; seconds until there is more to do, None for nothing."""
        with self._changed:
            unclean = [each for each, state in self._state.items() if state is _State.ERASED]
        if unclean and not self._rests():
            self._clean_files(unclean)
        self._settle()
        with self._changed:
            waits = [self._seconds_of(each) for each, state in self._state.items() if state is not _State.DUE]
        return max(0.05, min(waits)) if waits else None

    def _clean_files(self, unclean: Sequence[str]) -> None:
        started = self._tick()
        try:
            for step in self._purge:
                step()
            with self._changed:
                self._state.update(dict.fromkeys(unclean, _State.CLEAN))
        finally:
            with self._changed:
                self._rests_until = self._tick() + RESTING * (self._tick() - started)
                self._changed.notify_all()

    def _settle(self) -> None:
        with self._changed:
            settled = [one for one in self._noted.values() if self._clean(one.id) and self._clock() >= one.at + self._settled]
        for one in settled:
            self._ledger.forget(one.ids)
            self._turns.forget(one.team, one.ids)
        if settled:
            with self._changed:
                for one in settled:
                    del self._noted[one.id], self._state[one.id]
                self._save()

    def _clean(self, erased: str) -> bool:
        return self._state.get(erased, _State.CLEAN) is _State.CLEAN

    def _rests(self) -> bool:
        return self._tick() < self._rests_until

    def _seconds_of(self, erased: str) -> float:
        if self._clean(erased):
            return self._noted[erased].at + self._settled - self._clock()
        return self._rests_until - self._tick()

    def _save(self) -> None:
        with file_lock.held(self._path.parent):
            noted = [*(one for one in _read(self._path) if one.id not in self._known), *self._noted.values()]
            if not noted:
                self._path.unlink(missing_ok=True)
                return
            draft = self._path.with_suffix(".new")
            with draft.open("wb") as file:
                file.writelines(msgspec.json.encode(one) + b"\n" for one in noted)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._path)

    def _run(self) -> None:
        seconds: float | None = None
        while True:
            with self._changed:
                if not self._woken and not self._stopping:
                    self._changed.wait(seconds)
                self._woken = False
                if self._stopping:
                    return
            try:
                seconds = self.sweep()
            except errors.BrbError as error:
                _log.warning("sweep_waits", exc_info=error)
                seconds = self._settled
            except Exception as error:
                _log.error("sweep_failed", exc_info=error)
                seconds = _AFTER_FAILURE_SECONDS


class Unswept:
    """Where no file is this process's own."""

    def due(self, team: str, ids: Sequence[str]) -> str:
        return ""

    def done(self, erased: str, *, wait_seconds: float = 0.0) -> bool:
        return False


def _read(path: Path) -> list[Erased]:
    try:
        return [msgspec.json.decode(line, type=Erased) for line in path.read_bytes().splitlines()]
    except FileNotFoundError:
        return []
    except msgspec.DecodeError as error:
        raise errors.SetupError(f"{path} can't be read ({error}): move it away, and forget again what was forgotten last") from None
