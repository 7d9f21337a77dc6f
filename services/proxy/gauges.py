"""Gauges that mirror what is elsewhere and takes a moment to read: a scrape waits for them for a short time, and not every scrape reads them."""

import shutil
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

from services.core import errors, health, models, ports, telemetry
from services.core.telemetry import CANARY_KS, Zombie
from services.proxy.parts import Parts

_AGAIN_SECONDS = 5.0
_WAIT_SECONDS = 1.5  # Prometheus gives up after ten
_UNKNOWN = float("nan")
T = TypeVar("T")


class Mirror:
    """again_seconds: how long what was read is good for. What takes too long is there at the next scrape, and until then as it was."""

    def __init__(self, *, again_seconds: float = _AGAIN_SECONDS, wait_seconds: float = _WAIT_SECONDS) -> None:
        self._again = again_seconds
        self._wait = wait_seconds
        self._lock = threading.Lock()
        self._read_at: float | None = None

    def refresh(self, parts: Parts, pings: Mapping[str, Callable[[], None]]) -> None:
        with self._lock:
            now = time.monotonic()
            if self._read_at is not None and now - self._read_at < self._again:
                return
            self._read_at = now
        pool = ThreadPoolExecutor(2, thread_name_prefix="gauges")
        reading = [pool.submit(_dependencies, pings), pool.submit(_all, parts)]
        pool.shutdown(wait=False)
        wait(reading, self._wait)


def _all(parts: Parts) -> None:
    _disk(parts.settings.data)
    _room(_known(parts.figures.room))
    _canary(_known(parts.figures.canary))
    _survey(_known(parts.figures.survey))
    _census(_known(parts.store.census), parts.clock())


def _dependencies(pings: Mapping[str, Callable[[], None]]) -> None:
    for name, report in health.check(pings).items():
        telemetry.DEPENDENCY_UP.labels(name).set(report.state == "ok")


def _disk(folder: Path) -> None:
    try:
        usage = shutil.disk_usage(folder)
    except OSError:  # there is none
        telemetry.DISK_FREE.set(_UNKNOWN)
        telemetry.DISK_SIZE.set(_UNKNOWN)
        return
    telemetry.DISK_FREE.set(usage.free)
    telemetry.DISK_SIZE.set(usage.total)


def _room(room: ports.Room | None) -> None:
    telemetry.REDIS_MEMORY.set(room.used if room else _UNKNOWN)
    telemetry.REDIS_LIMIT.set(room.limit if room else _UNKNOWN)


def _canary(found: ports.Canary | None) -> None:
    telemetry.CANARY_AT.set(found.at if found else _UNKNOWN)
    for k in CANARY_KS:
        telemetry.CANARY_RECALL.labels(k).set(found.recall.get(k, _UNKNOWN) if found else _UNKNOWN)
    telemetry.CANARY_MRR.set(found.mrr if found else _UNKNOWN)
    telemetry.CANARY_SILENT.set(found.silent if found else _UNKNOWN)
    telemetry.CANARY_CROSSINGS.set(found.crossings if found else _UNKNOWN)
    telemetry.CANARY_WRITE_TO_READ.set(found.write_to_read_seconds if found else _UNKNOWN)


def _survey(found: ports.Survey | None) -> None:
    zombies = found.zombies if found else None
    for kind in Zombie:
        telemetry.ZOMBIES.labels(kind).set(_UNKNOWN if zombies is None else zombies.get(kind, 0.0))
    share = found.top_share if found else None
    telemetry.TOP10.set(_UNKNOWN if share is None else share)


def _census(found: ports.Census | None, now: float) -> None:
    for visibility in models.Visibility:
        for status in models.Status:
            telemetry.MEMORIES.labels(visibility, status).set(_UNKNOWN if found is None else found.counts.get((visibility, status), 0))
    for why in ("proposed", "quarantined", "pending"):
        telemetry.WAITING.labels(why).set(_UNKNOWN if found is None else found.waiting[why])
    if found is None:
        telemetry.WAITING_OLDEST.set(_UNKNOWN)
    else:
        telemetry.WAITING_OLDEST.set(0.0 if found.waiting_since is None else max(0.0, now - found.waiting_since))


def _known(read: Callable[[], T]) -> T | None:
    """What `read` returns, or None while its dependency is away."""
    try:
        return read()
    except errors.BrbError:
        return None
