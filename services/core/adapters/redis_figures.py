"""`ports.Figures` in Redis.

brb:told:{day}      sorted set: memory -> how often it was told that day; bounded, and gone after the days of the tally
brb:told-all:{day}  how often any memory was
brb:figures         hash: what the last round of each kind found, as JSON of numbers
brb:upkeep:{work}   is there until a piece of work is due again
"""

from collections.abc import Collection
from typing import Any, TypeVar

import msgspec
import redis

from services.core import errors, figures, ports
from services.core.adapters.redis_client import Breaker, taken, translated

_LIFETIME_SECONDS = (figures.TALLY_DAYS + 1) * 86_400
T = TypeVar("T", ports.Canary, ports.Survey)

# KEYS: those of the day. ARGV: lifetime, most, then memories.
_TOLD = """
for i = 3, #ARGV do redis.call('ZINCRBY', KEYS[1], 1, ARGV[i]) end
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -tonumber(ARGV[2]) - 1)
redis.call('EXPIRE', KEYS[1], ARGV[1])
redis.call('INCRBY', KEYS[2], #ARGV - 2)
redis.call('EXPIRE', KEYS[2], ARGV[1])
"""


class RedisFigures:
    def __init__(self, client: redis.Redis, *, breaker: Breaker | None = None) -> None:
        self._client = client
        self._breaker = breaker
        self._told = client.register_script(_TOLD)

    def told(self, ids: Collection[str], at: float) -> None:
        if ids:
            day = figures.day_of(at)
            with translated(self._breaker):
                self._told(keys=[_told(day), _all(day)], args=[_LIFETIME_SECONDS, figures.MOST_TALLIED, *ids])

    def most_told(self, at: float, count: int) -> tuple[list[int], int]:
        days = figures.days_until(at)
        with translated(self._breaker), self._client.pipeline() as pipe:
            pipe.zunion([_told(day) for day in days], withscores=True)
            pipe.mget([_all(day) for day in days])
            told, totals = pipe.execute()
        most = sorted((int(times) for _, times in told), reverse=True)
        return most[:count], sum(int(total) for total in totals if total)

    def forget(self, ids: Collection[str]) -> None:
        if not ids:
            return
        with translated(self._breaker):
            days: list[Any] = list(self._client.scan_iter("brb:told:*", count=1000))
            with self._client.pipeline() as pipe:
                for day in days:
                    pipe.zrem(day, *ids)
                pipe.execute()

    def keep(self, found: ports.Canary | ports.Survey) -> None:
        with translated(self._breaker):
            self._client.hset("brb:figures", type(found).__name__.lower(), msgspec.json.encode(found))

    def canary(self) -> ports.Canary | None:
        return self._kept(ports.Canary)

    def survey(self) -> ports.Survey | None:
        return self._kept(ports.Survey)

    def due(self, work: str, seconds: float) -> bool:
        with translated(self._breaker):
            return bool(self._client.set(_due(work), "", nx=True, px=int(seconds * 1000)))

    def again(self, work: str, seconds: float) -> None:
        with translated(self._breaker):
            if seconds > 0:
                self._client.set(_due(work), "", px=int(seconds * 1000))
            else:
                self._client.delete(_due(work))

    def room(self) -> ports.Room:
        room = taken(self._client)  # not by way of the breaker: a Redis that is full trips it, and then this is what everybody wants to know
        if room is None:
            raise errors.Unavailable("redis", "it does not tell how full it is")
        return room

    def _kept(self, kind: type[T]) -> T | None:
        with translated(self._breaker):
            found: Any = self._client.hget("brb:figures", kind.__name__.lower())
        try:
            return msgspec.json.decode(found, type=kind) if found else None
        except msgspec.DecodeError:  # of another version
            return None


def _told(day: str) -> str:
    return f"brb:told:{day}"


def _all(day: str) -> str:
    return f"brb:told-all:{day}"


def _due(work: str) -> str:
    return f"brb:upkeep:{work}"
