"""Signs of life of the queue consumers: a key that a consumer's own event loop keeps fresh, so that one that hangs is seen."""

from collections.abc import Callable

import redis
from celery import signals

from services.core import errors
from services.core.adapters.redis_client import translated

_EVERY_SECONDS = 5.0
_LIFETIME_SECONDS = 20


def keep(service: str, client: redis.Redis, app: object) -> Callable[..., None]:
    """Keep the sign of life of the Celery worker of `app` in this process, from when it is ready on. Hold on to what is returned."""

    def beat() -> None:
        try:
            with translated():
                client.set(f"brb:alive:{service}", "", ex=_LIFETIME_SECONDS)
        except errors.Unavailable:
            pass  # the next beat may pass; until then the service counts as down, which it is

    def ready(sender: object, **_: object) -> None:
        if getattr(sender, "app", None) is app:
            beat()
            sender.timer.call_repeatedly(_EVERY_SECONDS, beat)  # type: ignore[attr-defined]

    signals.worker_ready.connect(ready, weak=False)
    return ready


def check(service: str, client: redis.Redis) -> None:
    """A ping for `core.health`."""
    with translated():
        if not client.exists(f"brb:alive:{service}"):
            raise errors.Unavailable(service, f"no sign of life for {_LIFETIME_SECONDS} seconds: see its log with `brb status`")
