"""Who may write to the store, whatever process they are in: all, those of one embedding model, or nobody for a moment.

    brb:writers   the embedding model whose processes alone may write. Missing: all may
    brb:held      nobody may, for as long as it is there: its holder prolongs it, and it goes with its holder
    brb:reindex   somebody carries the store over; held in the same way

The first two are asked for before each write, under its owner's lock: whoever holds the gate and then waits for those locks knows that nothing is
written.
"""

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import redis

from services.core import errors, leases, models
from services.core.adapters import redis_client

_WRITERS = "brb:writers"
_HELD = "brb:held"
_REINDEX = "brb:reindex"
_LEASE_SECONDS = 15
_POLL_SECONDS = 0.02
Open = Callable[[], bool]

# ARGV: token. Deletes the key only if it is the caller's own.
_LET_GO = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


def opened_to(client: redis.Redis, model: str) -> Open:
    """Whether a process of the model may write now; False for as long as nobody may. Raises `Unavailable` if only another model's may."""

    def asked() -> bool:
        found: Any = client.mget(_WRITERS, _HELD)
        if found[0] is not None and (other := found[0].decode()) != model:
            raise errors.Unavailable("the store", f"it was carried over to another embedding model: restart with BRB_EMBED_MODEL={other}")
        return found[1] is None

    return asked


def owner_lock(client: redis.Redis, model: str) -> Callable[[models.Principal], AbstractContextManager[None]]:
    """`redis_client.owner_lock` for a process of the model."""
    return redis_client.owner_lock(client, opened=opened_to(client, model))


def writers(client: redis.Redis) -> str:
    """The model whose processes alone may write, "" for all."""
    with redis_client.translated():
        found: Any = client.get(_WRITERS)
    return found.decode() if found else ""


def give_to(client: redis.Redis, model: str) -> None:
    """From now on only processes of this model write."""
    with redis_client.translated():
        client.set(_WRITERS, model)


@contextmanager
def held(client: redis.Redis, *, wait_seconds: float = 60.0) -> Iterator[Open]:
    """Nobody writes for the length of the block. Gives what says whether that still holds: it does not once Redis has not been reached for a while.

    `Unavailable` if somebody goes on writing for too long, or somebody else holds the gate.
    """
    with _leased(client, _HELD, "its writers are held already, by a backup or a reindex") as mine:
        _wait_for_writers(client, time.monotonic() + wait_seconds)
        yield mine


def reindexing(client: redis.Redis) -> AbstractContextManager[Open]:
    """One `brb reindex` at a time: a second one would take what was written since the first one's switch for what is gone. As `held`."""
    return _leased(client, _REINDEX, f"it is carried over already, another one goes on (if it was killed, try again in {_LEASE_SECONDS} seconds)")


@contextmanager
def _leased(client: redis.Redis, name: str, taken: str) -> Iterator[Open]:
    token = uuid.uuid4().hex

    def mine() -> bool:
        with redis_client.translated():
            found: Any = client.get(name)
        return bool(found == token.encode())

    def prolong() -> bool:
        with redis_client.translated():
            return mine() and bool(client.expire(name, _LEASE_SECONDS))

    with redis_client.translated():
        if not client.set(name, token, ex=_LEASE_SECONDS, nx=True):
            raise errors.Unavailable("the store", taken)
    try:
        with leases.kept(prolong, _LEASE_SECONDS / 3):
            yield mine
    finally:
        with suppress(errors.Unavailable), redis_client.translated():  # it expires by itself
            client.eval(_LET_GO, 1, name, token)


def _wait_for_writers(client: redis.Redis, deadline: float) -> None:
    while True:
        with redis_client.translated():
            if next(client.scan_iter(f"{redis_client.LOCKS}*", count=1000), None) is None:
                return
        if time.monotonic() > deadline:
            raise errors.Unavailable("the store", "it is being written to without a pause: try again later")
        time.sleep(_POLL_SECONDS)
