"""`ports.Ledger` in Redis: sealed entries with a lifetime, and for each memory the keys of the entries that showed it."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import redis

from services.core import ports
from services.core.adapters.redis_client import Breaker, translated
from services.core.seal import Seal


class RedisLedger:
    def __init__(self, client: redis.Redis, seal: Seal, *, lifetime_seconds: float, breaker: Breaker | None = None) -> None:
        self._client = client
        self._seal = seal
        self._lifetime = int(lifetime_seconds)
        self._breaker = breaker

    def read(self, keys: Sequence[str]) -> dict[str, ports.Entry]:
        if not keys:
            return {}
        with translated(self._breaker):
            values: list[Any] = list(self._client.mget([f"brb:ledger:{key}" for key in keys]))
        return {key: msgspec.json.decode(self._seal.open(value), type=ports.Entry) for key, value in zip(keys, values, strict=True) if value}

    def write(self, entries: Mapping[str, ports.Entry]) -> None:
        with translated(self._breaker), self._client.pipeline(transaction=True) as pipe:
            for key, entry in entries.items():
                pipe.set(f"brb:ledger:{key}", self._seal.close(msgspec.json.encode(entry)), ex=self._lifetime)
                for memory_id in entry.memories:
                    pipe.sadd(f"brb:shown:{memory_id}", key)
                    pipe.expire(f"brb:shown:{memory_id}", self._lifetime)
            pipe.execute()

    def forget(self, memory_ids: Sequence[str]) -> int:
        with translated():
            keys = {key.decode() for memory_id in memory_ids for key in self._members(memory_id)}
            gone = self._client.delete(*(f"brb:ledger:{key}" for key in keys)) if keys else 0
            if memory_ids:
                self._client.delete(*(f"brb:shown:{memory_id}" for memory_id in memory_ids))
        return int(gone)

    def _members(self, memory_id: str) -> set[Any]:
        return set(self._client.smembers(f"brb:shown:{memory_id}"))

    def ping(self) -> None:
        with translated():
            self._client.ping()
