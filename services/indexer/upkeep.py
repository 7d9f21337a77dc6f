"""What is done from time to time, each by one process of all: the canary, the survey, and what is kept no longer.

A beat asks often, two beats twice as often: whether it is time is agreed on in `ports.Figures`. The work has a thread of its own, for the consumer
that is asked may be the only one that writes.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import structlog

from services.core import errors, ports, telemetry
from services.core.quality import survey
from services.indexer.canary import Canary, Stopped
from services.indexer.retention import Retention

CANARY, SURVEY, RETENTION = "canary", "survey", "retention"

_AT_MOST_SECONDS = 900.0  # one run; of a process that was killed another takes over then
_AFTER_FAILURE_SECONDS = 300.0
_STOP_SECONDS = 5.0
_SAMPLED = 2_000  # memories: the share of dead weight is then known to two percent
_DAY_SECONDS = 86_400.0
_log = structlog.get_logger()


class Work(NamedTuple):
    """every_seconds: from the end of a run that went well to the next. do: told when the process is about to end."""

    every_seconds: float
    do: Callable[[threading.Event], None]


class Upkeep:
    """works: by name. `beat` returns at once."""

    def __init__(self, works: Mapping[str, Work], figures: ports.Figures) -> None:
        self._works = works
        self._figures = figures
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._running: dict[str, threading.Thread] = {}

    def beat(self, name: str) -> bool:
        """Begin this work if it is time, and nobody does it. Whether it was begun."""
        with self._lock:
            work, running = self._works.get(name), self._running.get(name)
            if work is None or self._stopping.is_set() or (running is not None and running.is_alive()):
                return False
            if not self._figures.due(name, _AT_MOST_SECONDS):
                return False
            thread = self._running[name] = threading.Thread(target=self._run, args=(name, work), name=f"upkeep-{name}", daemon=True)
            thread.start()
            return True

    def stop(self) -> None:
        """Break off what runs. Close the stores next."""
        self._stopping.set()
        with self._lock:
            running = list(self._running.values())
        deadline = time.monotonic() + _STOP_SECONDS
        for thread in running:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _run(self, name: str, work: Work) -> None:
        again = _AFTER_FAILURE_SECONDS
        try:
            work.do(self._stopping)
            again = work.every_seconds
        except Stopped:
            again = 0.0
        except Exception as error:
            _log.warning("upkeep_failed", work=name, exc_info=error)
        try:
            self._figures.again(name, again)
        except errors.Unavailable:  # it is due again by itself
            _log.warning("upkeep_not_noted", work=name)


def canary_work(canary: Canary, figures: ports.Figures, *, every_seconds: float = 3_600.0) -> Work:
    def do(stopping: threading.Event) -> None:
        try:
            found = canary.run(stopping)
            figures.keep(found)
        except Stopped:
            raise
        except Exception:
            telemetry.CANARY_RUNS.labels("failed").inc()
            raise
        telemetry.CANARY_RUNS.labels("ok").inc()
        if found.crossings:
            _log.error("canary_crossed", count=found.crossings)

    return Work(every_seconds, do)


def survey_work(store: ports.WholeStore, figures: ports.Figures, clock: Callable[[], float], *, every_seconds: float = 3_600.0) -> Work:
    def do(_: threading.Event) -> None:
        figures.keep(surveyed(store, figures, clock()))

    return Work(every_seconds, do)


def retention_work(retention: Retention, *, every_seconds: float = _DAY_SECONDS) -> Work:
    def do(stopping: threading.Event) -> None:
        retention.run(stopping)

    return Work(every_seconds, do)


def surveyed(store: ports.WholeStore, figures: ports.Figures, now: float) -> ports.Survey:
    """now: epoch seconds."""
    aged = store.sample(ports.Where(before=now - survey.DAYS * _DAY_SECONDS), limit=_SAMPLED)
    zombies = survey.zombies(aged, now)
    top = survey.top_share(*figures.most_told(now, survey.TOP))
    return ports.Survey(at=now, zombies=None if zombies is None else {str(kind): share for kind, share in zombies.items()}, top_share=top)
