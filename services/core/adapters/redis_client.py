"""One way to reach Redis: short timeouts, no hidden retries, errors translated."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

import redis
from redis.backoff import NoBackoff
from redis.lock import Lock
from redis.retry import Retry

from services.core import errors, leases, models


def connect(address: str, *, timeout_seconds: float) -> redis.Redis:
    """A thread-safe client that answers or fails within the timeout."""
    return redis.Redis.from_url(
        address,
        socket_timeout=timeout_seconds,
        **({} if address.startswith("unix://") else {"socket_connect_timeout": timeout_seconds}),
        retry=Retry(NoBackoff(), 0),
        health_check_interval=0,
    )


@contextmanager
def translated() -> Iterator[None]:
    """Redis away, slow, loading or full: `errors.Unavailable`."""
    try:
        yield
    except (redis.ConnectionError, redis.TimeoutError, redis.BusyLoadingError, redis.ReadOnlyError, redis.OutOfMemoryError) as error:
        raise errors.Unavailable("redis", type(error).__name__) from error


def owner_lock(
    client: redis.Redis, *, lease_seconds: float = 6.0, wait_seconds: float = 30.0
) -> Callable[[models.Principal], AbstractContextManager[None]]:
    """A lock for each owner: all writers of one owner's memories go one after the other (docs/adr/0004). One that was killed holds it for a lease."""

    @contextmanager
    def locked(principal: models.Principal) -> Iterator[None]:
        lock = client.lock(f"brb:lock:{principal.team}:{principal.user}", timeout=lease_seconds, blocking_timeout=wait_seconds, thread_local=False)
        with translated():
            if not lock.acquire():
                raise errors.Unavailable("the owner's lock", "held by another writer")
        try:
            with leases.kept(lambda: _extended(lock, lease_seconds), lease_seconds / 3):
                yield
        finally:
            with suppress(errors.Unavailable, redis.exceptions.LockError), translated():  # it expires by itself
                lock.release()

    return locked


def _extended(lock: Lock, lease_seconds: float) -> bool:
    try:
        with translated():
            return bool(lock.extend(lease_seconds, replace_ttl=True))
    except redis.exceptions.LockError:
        return False
