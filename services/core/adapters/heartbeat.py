"""Signs of life of those who work behind the proxy, kept fresh by their own event loop, so that one that hangs is seen.

A key in Redis says that some process of a service lives: for `/health`. A file says that this very process does: for a supervisor's health check,
which starts often, and is to cost little. One that has lost Redis gives neither: it does no work.
"""

import time
from pathlib import Path
from typing import Any

import redis
from celery import beat

from services.core import errors, signs
from services.core.adapters.redis_client import translated

_EVERY_SECONDS = 5.0
_LIFETIME_SECONDS = 20


class Heart:
    """file: the sign of this process, see `signs.path`."""

    def __init__(self, service: str, client: redis.Redis, file: Path) -> None:
        self._service = service
        self._client = client
        self._file = file

    def beat(self) -> None:
        try:
            with translated():
                self._client.set(f"brb:alive:{self._service}", time.time(), ex=_LIFETIME_SECONDS)
        except errors.Unavailable:
            return  # the next beat may pass; until then the service counts as down, which it is
        signs.give(self._file)

    def follow(self, consumer: Any) -> None:
        """To be called with a Celery consumer when it is ready: its timer beats from then on."""
        self.beat()
        consumer.timer.call_repeatedly(_EVERY_SECONDS, self.beat)


def scheduler(heart: Heart) -> type[beat.Scheduler]:
    """A scheduler for Celery's beat that gives signs of life as it goes."""

    class Beating(beat.Scheduler):  # type: ignore[misc]  # Celery has no types
        _next = 0.0

        def tick(self, *args: Any, **options: Any) -> float:
            if time.monotonic() >= self._next:
                heart.beat()
                self._next = time.monotonic() + _EVERY_SECONDS
            return float(super().tick(*args, **options))

    return Beating


def check(service: str, client: redis.Redis, since: float = 0.0) -> None:
    """A ping for `core.health`. since: an older sign of life (epoch seconds) is one of an earlier process."""
    with translated():
        last: Any = client.get(f"brb:alive:{service}")
        if last is None or float(last or 0) < since:
            raise errors.Unavailable(service, f"no sign of life for {_LIFETIME_SECONDS} seconds; it is started again if it ended, its log says why")
