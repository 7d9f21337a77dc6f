"""Pings, registered with each dependency: what `/health`, `/readyz` and `brb doctor` ask."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout

import msgspec


class Report(msgspec.Struct, frozen=True):
    """State of one dependency: "ok" or "down", how long the ping took, and why it is down."""

    state: str
    milliseconds: float
    reason: str = ""


def check(pings: Mapping[str, Callable[[], None]], timeout_seconds: float = 1.0) -> dict[str, Report]:
    """Run all pings at once; one that raises or does not return in time is down."""
    pool = ThreadPoolExecutor(max_workers=max(1, len(pings)), thread_name_prefix="ping")
    started = time.monotonic()
    futures = {name: pool.submit(_timed, ping) for name, ping in pings.items()}
    reports = {}
    for name, future in futures.items():
        try:
            reports[name] = future.result(max(0.0, timeout_seconds - (time.monotonic() - started)))
        except FutureTimeout:
            reports[name] = Report("down", timeout_seconds * 1000, "no answer in time")
    pool.shutdown(wait=False, cancel_futures=True)
    return reports


def _timed(ping: Callable[[], None]) -> Report:
    started = time.monotonic()
    try:
        ping()
    except Exception as error:
        return Report("down", round((time.monotonic() - started) * 1000, 1), str(error) or type(error).__name__)
    return Report("ok", round((time.monotonic() - started) * 1000, 1))
