"""One way to reach Redis: short timeouts, no hidden retries, errors translated."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import redis
import structlog
from redis.backoff import NoBackoff
from redis.lock import Lock
from redis.retry import Retry

from services.core import errors, leases, models, ports

LOCKS = "brb:lock:"
WHYS, JOBS, BLOCKS = 0.7, 0.85, 0.95
"""Shares of maxmemory above which Redis takes no more of why a turn was told what, then of jobs (they wait in the spool), then of the ledger's
blocks. What is left is for the worker: it can't even take a job away from a Redis that is full."""
_POLL_SECONDS = 0.02
_DISK_FAILS = "MISCONF"  # how it refuses writes then
_log = structlog.get_logger()


def connect(address: str, *, timeout_seconds: float) -> redis.Redis:
    """A thread-safe client that answers or fails within the timeout."""
    return redis.Redis.from_url(
        address,
        socket_timeout=timeout_seconds,
        **({} if address.startswith("unix://") else {"socket_connect_timeout": timeout_seconds}),
        retry=Retry(NoBackoff(), 0),
        health_check_interval=0,
    )


def check_policy(client: redis.Redis) -> str:
    """What Redis does when it is full and when it is stopped; `SetupError` if what waits there would be lost."""
    with translated():
        try:
            kept: Any = client.config_get("maxmemory-policy", "appendonly")
        except redis.ResponseError:
            return "Redis does not tell how it is configured: see to it that maxmemory-policy is noeviction and appendonly is yes"
    if (policy := kept.get("maxmemory-policy", "noeviction")) != "noeviction":
        raise errors.SetupError(f"Redis drops what waits to be learnt when it is full (maxmemory-policy {policy}): set maxmemory-policy noeviction")
    if kept.get("appendonly", "yes") != "yes":
        raise errors.SetupError("Redis loses what waits to be learnt when it is stopped (appendonly no): set appendonly yes")
    return "nothing is evicted, and all is on disk"


def check_room(client: redis.Redis) -> str:
    """How full Redis is; `SetupError` if it takes no more of something."""
    share = filled(client)
    if share is None:
        return "Redis does not tell how full it is: see to it that it does not become full"
    if share > WHYS:
        raise errors.SetupError(f"Redis is {share:.0%} full: from {WHYS:.0%} of its maxmemory on less and less is kept")
    return f"{share:.0%} of its maxmemory is taken" if share else "it has no limit"


def rewrite_log(client: redis.Redis, *, wait_seconds: float = 60.0) -> None:
    """Have Redis write its append-only file anew, without what was deleted, and wait until it has."""
    try:
        with translated():
            if not _persistence(client).get("aof_enabled"):
                return
            client.bgrewriteaof()
        wait_for_log(client, wait_seconds=wait_seconds)
    except redis.ResponseError as error:  # one that is somebody else's may not allow it
        _log.warning("redis_log_not_rewritten", error=type(error).__name__)


def version(client: redis.Redis) -> str:
    """Of the server, with its name."""
    with translated():
        found: Any = client.info("server")
    return f"valkey {found['valkey_version']}" if "valkey_version" in found else f"redis {found['redis_version']}"


def wait_for_log(client: redis.Redis, *, wait_seconds: float = 60.0) -> None:
    """Until Redis does not write its append-only file anew (any more)."""
    deadline = time.monotonic() + wait_seconds
    with translated():
        while _rewriting(client):
            if time.monotonic() > deadline:
                raise errors.Unavailable("redis", "it is still writing its append-only file anew")
            time.sleep(_POLL_SECONDS)


def _rewriting(client: redis.Redis) -> bool:
    found = _persistence(client)
    return bool(found.get("aof_rewrite_in_progress") or found.get("aof_rewrite_scheduled"))


def _persistence(client: redis.Redis) -> Mapping[str, Any]:
    found: Any = client.info("persistence")
    return dict(found)


class Fill:
    """How much of its maxmemory Redis has taken: asked for at most once in `every_seconds`."""

    def __init__(self, client: redis.Redis, *, every_seconds: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._every = every_seconds
        self._clock = clock
        self._asked_next = -math.inf
        self._share = 0.0

    def over(self, share: float) -> bool:
        """As far as is known: one that does not answer tells when it is written to."""
        if self._clock() >= self._asked_next:
            self._asked_next = self._clock() + self._every
            with suppress(errors.Unavailable):
                self._share = filled(self._client) or 0.0
        return self._share > share

    def below(self, share: float) -> Callable[[], None]:
        """What raises `Unavailable` while it is over that: for adapters that stop writing before Redis is full."""

        def check() -> None:
            if self.over(share):
                raise errors.Unavailable("redis", "it is nearly full")

        return check


def always_room() -> None:
    """Where nobody looks how full Redis is."""


def filled(client: redis.Redis) -> float | None:
    """The share of maxmemory that is taken, 0 without a limit; None if Redis does not tell."""
    room = taken(client)
    if room is None:
        return None
    return room.used / room.limit if room.limit else 0.0


def taken(client: redis.Redis) -> ports.Room | None:
    """None if Redis does not tell: one that is somebody else's may not allow to ask."""
    with translated():
        try:
            found: Any = client.info("memory")
        except redis.ResponseError:
            return None
    return ports.Room(int(found.get("used_memory", 0)), int(found.get("maxmemory", 0)))


class Breaker:
    """After Redis did not answer, turns its callers away at once for a while: a Redis that hangs costs one call its timeout, not every call."""

    def __init__(self, rest_seconds: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._rest = rest_seconds
        self._clock = clock
        self._until = 0.0

    def check(self) -> None:
        if self._clock() < self._until:
            raise errors.Unavailable("redis", "it did not answer a moment ago")

    def trip(self) -> None:
        self._until = self._clock() + self._rest


@contextmanager
def translated(breaker: Breaker | None = None) -> Iterator[None]:
    """Redis away, slow, loading, full, or unable to write its log to the disk: `errors.Unavailable`."""
    if breaker is not None:
        breaker.check()
    try:
        yield
    except (redis.ConnectionError, redis.TimeoutError, redis.BusyLoadingError, redis.ReadOnlyError, redis.OutOfMemoryError) as error:
        if breaker is not None:
            breaker.trip()
        raise errors.Unavailable("redis", type(error).__name__) from error
    except redis.ResponseError as error:
        if _DISK_FAILS not in str(error):
            raise
        if breaker is not None:
            breaker.trip()
        raise errors.Unavailable("redis", "it can't write to its disk") from error


def owner_lock(
    client: redis.Redis, *, lease_seconds: float = 6.0, wait_seconds: float = 30.0, opened: Callable[[], bool] = lambda: True
) -> Callable[[models.Principal], AbstractContextManager[None]]:
    """A lock for each owner: all writers of one owner's memories and notes go one after the other (docs/adr/0004). One that was killed holds it for
    a lease. It moves the team's `write_clock` when it is taken and when it is given back. opened: whether anybody may write now (`store_gate`)."""

    @contextmanager
    def locked(principal: models.Principal) -> Iterator[None]:
        name = f"{LOCKS}{principal.team}:{principal.user}"
        lock = client.lock(name, timeout=lease_seconds, blocking_timeout=wait_seconds, thread_local=False)
        with translated():
            _acquire(lock, opened, wait_seconds)
        try:
            with translated():
                client.incr(_writes_of(principal.team))
            with leases.kept(lambda: _extended(lock, lease_seconds), lease_seconds / 3):
                yield
        finally:
            with suppress(errors.Unavailable), translated():
                client.incr(_writes_of(principal.team))
            with suppress(errors.Unavailable, redis.exceptions.LockError), translated():  # it expires by itself
                lock.release()

    return locked


def _acquire(lock: Lock, opened: Callable[[], bool], wait_seconds: float) -> None:
    """With the gate open. It is looked at with the lock held: whoever closes it waits for the locks."""
    deadline = time.monotonic() + wait_seconds
    while lock.acquire():
        try:
            if opened():
                return
        except BaseException:
            lock.release()
            raise
        lock.release()
        if time.monotonic() > deadline:
            raise errors.Unavailable("the store", "its writers are held for a backup or a reindex")
        time.sleep(_POLL_SECONDS)
    raise errors.Unavailable("the owner's lock", "held by another writer")


def write_clock(client: redis.Redis, breaker: Breaker | None = None) -> Callable[[str], int]:
    """A team's write clock: it moves before and after each write to anything of the team's, by whatever process (`owner_lock`)."""

    def writes(team: str) -> int:
        with translated(breaker):
            value: Any = client.get(_writes_of(team))
        return int(value or 0)

    return writes


def _writes_of(team: str) -> str:
    return f"brb:writes:{team}"


def _extended(lock: Lock, lease_seconds: float) -> bool:
    try:
        with translated():
            return bool(lock.extend(lease_seconds, replace_ttl=True))
    except redis.exceptions.LockError:
        return False
