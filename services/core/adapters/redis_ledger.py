"""`ports.Ledger` in Redis: sealed entries with a lifetime, and for each memory the keys of the entries that showed it."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import redis

from services.core import ports
from services.core.adapters.redis_client import Breaker, translated
from services.core.seal import Seal

# ARGV: lifetime, JSON of a list of `_Written`. One command: a pipeline of thirty costs the client a millisecond.
_WRITE = """
for _, written in ipairs(cjson.decode(ARGV[2])) do
  for _, key in ipairs(written.keys) do redis.call('SET', 'brb:ledger:' .. key, written.sealed, 'EX', ARGV[1]) end
  for _, memory in ipairs(written.memories) do
    redis.call('SADD', 'brb:shown:' .. memory, unpack(written.keys))
    redis.call('EXPIRE', 'brb:shown:' .. memory, ARGV[1])
  end
end
"""


class _Written(msgspec.Struct, frozen=True):
    """An entry as the script takes it: the same one under some keys."""

    sealed: str
    keys: list[str]
    memories: tuple[str, ...]


class RedisLedger:
    def __init__(self, client: redis.Redis, seal: Seal, *, lifetime_seconds: float, breaker: Breaker | None = None) -> None:
        self._client = client
        self._seal = seal
        self._lifetime = int(lifetime_seconds)
        self._breaker = breaker
        self._write = client.register_script(_WRITE)

    def read(self, keys: Sequence[str]) -> dict[str, ports.Entry]:
        if not keys:
            return {}
        with translated(self._breaker):
            values: list[Any] = list(self._client.mget([f"brb:ledger:{key}" for key in keys]))
        return {key: msgspec.json.decode(self._seal.open(value), type=ports.Entry) for key, value in zip(keys, values, strict=True) if value}

    def write(self, entries: Mapping[str, ports.Entry]) -> None:
        """In one round trip, and all or nothing."""
        keys: dict[ports.Entry, list[str]] = {}
        for key, entry in entries.items():
            keys.setdefault(entry, []).append(key)
        written = [_Written(self._seal.close(msgspec.json.encode(entry)).decode(), of, entry.memories) for entry, of in keys.items()]
        with translated(self._breaker):
            self._write(args=[self._lifetime, msgspec.json.encode(written)])

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
