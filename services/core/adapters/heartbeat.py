"""Signs of life of the queue consumers: a key that a consumer's own event loop keeps fresh, so that one that hangs is seen."""

import time
from collections.abc import Callable
from typing import Any

import redis

from services.core import errors
from services.core.adapters.redis_client import translated

_EVERY_SECONDS = 5.0
_LIFETIME_SECONDS = 20


def keeper(service: str, client: redis.Redis) -> Callable[[Any], None]:
    """What to call with a Celery consumer when it is ready: its timer keeps the service's sign of life from then on."""

    def beat() -> None:
        try:
            with translated():
                client.set(f"brb:alive:{service}", time.time(), ex=_LIFETIME_SECONDS)
        except errors.Unavailable:
            pass  # the next beat may pass; until then the service counts as down, which it is

    def ready(consumer: Any) -> None:
        beat()
        consumer.timer.call_repeatedly(_EVERY_SECONDS, beat)

    return ready


def check(service: str, client: redis.Redis, since: float = 0.0) -> None:
    """A ping for `core.health`. since: an older sign of life (epoch seconds) is one of an earlier process."""
    with translated():
        beat: Any = client.get(f"brb:alive:{service}")
        if beat is None or float(beat or 0) < since:
            raise errors.Unavailable(service, f"no sign of life for {_LIFETIME_SECONDS} seconds; it is started again if it ended, its log says why")
