"""`ports.UseLog` in Redis: a stream of sealed uses for each principal, cut at its oldest end, gone when nobody has used it for long."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import redis

from services.core import errors, models, ports
from services.core.adapters.redis_client import Breaker, translated
from services.core.seal import Seal

MOST = 5_000
_USE = b"use"


class RedisUseLog:
    def __init__(self, client: redis.Redis, seal: Seal, *, lifetime_seconds: float, most: int = MOST, breaker: Breaker | None = None) -> None:
        self._client = client
        self._seal = seal
        self._lifetime = int(lifetime_seconds)
        self._most = most
        self._breaker = breaker

    def add(self, principal: models.Principal, use: ports.Use) -> None:
        sealed = self._seal.close(msgspec.json.encode(use))
        with translated(self._breaker), self._client.pipeline() as pipe:
            pipe.xadd(_key(principal), {_USE: sealed}, maxlen=self._most, approximate=False)
            pipe.expire(_key(principal), self._lifetime)
            pipe.execute()

    def read(self, principal: models.Principal) -> list[ports.Use]:
        return [use for _, use in self._entries(principal) if use is not None]

    def forget(self, principal: models.Principal, ids: Sequence[str]) -> int:
        gone = [entry for entry, use in self._entries(principal) if use is None or ports.concerns(use, ids)]
        with translated():
            return int(self._client.xdel(_key(principal), *gone)) if gone else 0

    def clear(self, principal: models.Principal) -> int:
        with translated(), self._client.pipeline() as pipe:
            pipe.xlen(_key(principal))
            pipe.delete(_key(principal))
            return int(pipe.execute()[0])

    def _entries(self, principal: models.Principal) -> Iterator[tuple[bytes, ports.Use | None]]:
        """None for what another secret key sealed: it tells nobody anything, and goes with the next thing that is forgotten."""
        with translated():
            found: Any = self._client.xrange(_key(principal))
        for entry, fields in found:
            try:
                yield entry, msgspec.json.decode(self._seal.open(fields[_USE]), type=ports.Use)
            except errors.Permanent:
                yield entry, None


def _key(principal: models.Principal) -> str:
    return f"brb:uses:{principal.team}:{principal.user}"
