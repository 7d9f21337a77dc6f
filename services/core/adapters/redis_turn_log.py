"""`ports.TurnLog` in Redis: a sealed record for each turn with the lifetime of the ledger's blocks, and indexes that name ids only.

brb:turn:{team}:{user}:{turn}             the record
brb:turns:{team}:{user}                   the principal's turns by their time
brb:turn-about:{team}:{memory}            "{user}:{turn}" of every turn that speaks of the memory, by its time
brb:turn-told:{team}:{user}:{memory}      the principal's turns that were told of the memory, by their time
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import redis

from services.core import errors, models, ports
from services.core.adapters.redis_client import translated
from services.core.seal import Seal

MOST = 2_000
"""Turns that are kept of a principal: some ten kilobytes each."""
_TOGETHER = 100  # records in one answer: a megabyte

# ARGV: lifetime, most, at, team, user, turn, sealed record, JSON of a `_Memories`
_ADD = """
local lifetime, most, at, team = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local owner = team .. ':' .. ARGV[5]
local turns = 'brb:turns:' .. owner
local function note(index, member)
  redis.call('ZREMRANGEBYSCORE', index, '-inf', at - lifetime)
  redis.call('ZADD', index, at, member)
  redis.call('EXPIRE', index, lifetime)
end
redis.call('SET', 'brb:turn:' .. owner .. ':' .. ARGV[6], ARGV[7], 'EX', lifetime)
note(turns, ARGV[6])
local over = redis.call('ZCARD', turns) - most
if over > 0 then
  for _, turn in ipairs(redis.call('ZRANGE', turns, 0, over - 1)) do redis.call('DEL', 'brb:turn:' .. owner .. ':' .. turn) end
  redis.call('ZREMRANGEBYRANK', turns, 0, over - 1)
end
local memories = cjson.decode(ARGV[8])
for _, memory in ipairs(memories.about) do note('brb:turn-about:' .. team .. ':' .. memory, ARGV[5] .. ':' .. ARGV[6]) end
for _, memory in ipairs(memories.told) do note('brb:turn-told:' .. owner .. ':' .. memory, ARGV[6]) end
"""

# ARGV: team, memories. Returns how many records.
_FORGET = """
local gone = 0
for i = 2, #ARGV do
  local about = 'brb:turn-about:' .. ARGV[1] .. ':' .. ARGV[i]
  for _, one in ipairs(redis.call('ZRANGE', about, 0, -1)) do
    local user, turn = string.match(one, '^(.*):(.-)$')
    local owner = ARGV[1] .. ':' .. user
    gone = gone + redis.call('DEL', 'brb:turn:' .. owner .. ':' .. turn)
    redis.call('ZREM', 'brb:turns:' .. owner, turn)
    redis.call('DEL', 'brb:turn-told:' .. owner .. ':' .. ARGV[i])
  end
  redis.call('DEL', about)
end
return gone
"""


class _Memories(msgspec.Struct, frozen=True):
    """Which memories a turn's record speaks of, and of which of them it was told."""

    about: list[str]
    told: list[str]

    @classmethod
    def of(cls, told: ports.Told) -> "_Memories":
        return cls([one.id for one in told.considered], [one.id for one in told.considered if not one.reason])


class RedisTurnLog:
    def __init__(self, client: redis.Redis, seal: Seal, *, lifetime_seconds: float, most: int = MOST) -> None:
        self._client = client
        self._seal = seal
        self._lifetime = int(lifetime_seconds)
        self._most = most
        self._add = client.register_script(_ADD)
        self._forget = client.register_script(_FORGET)

    def add(self, principal: models.Principal, told: ports.Told) -> None:
        """In one round trip, and all or nothing."""
        sealed = self._seal.close(msgspec.json.encode(told))
        memories = msgspec.json.encode(_Memories.of(told))
        with translated():
            self._add(args=[self._lifetime, self._most, told.at, principal.team, principal.user, told.turn, sealed, memories])

    def find(self, principal: models.Principal, turn: str) -> ports.Told | None:
        return next(iter(self._records(principal, [turn])), None)

    def beginning(self, principal: models.Principal, prefix: str) -> list[str]:
        return [turn for turn in self._newest(_turns_of(principal), self._most) if turn.startswith(prefix)]

    def latest(self, principal: models.Principal, *, limit: int = 100) -> list[ports.Told]:
        return self._records(principal, self._newest(_turns_of(principal), limit))

    def showing(self, principal: models.Principal, memory_id: str, *, limit: int = 100) -> list[ports.Told]:
        return self._records(principal, self._newest(f"brb:turn-told:{principal.team}:{principal.user}:{memory_id}", limit))

    def forget(self, team: str, memory_ids: Sequence[str]) -> int:
        with translated():
            return int(self._forget(args=[team, *memory_ids])) if memory_ids else 0

    def drop(self, principal: models.Principal, concerns: Callable[[ports.Told], bool]) -> int:
        """Their places in the indexes of memories name ids alone, and end with the lifetime."""
        gone = [told.turn for told in self.latest(principal, limit=self._most) if concerns(told)]
        if not gone:
            return 0
        with translated(), self._client.pipeline() as pipe:
            pipe.zrem(_turns_of(principal), *gone)
            pipe.delete(*(_record_of(principal, turn) for turn in gone))
            return int(pipe.execute()[1])

    def clear(self, principal: models.Principal) -> int:
        owner = f"{principal.team}:{principal.user}"
        turns = self._newest(_turns_of(principal), self._most)
        memories = {one.id for told in self._records(principal, turns) for one in told.considered}
        with translated(), self._client.pipeline() as pipe:
            pipe.delete(_turns_of(principal), *(f"brb:turn-told:{owner}:{memory}" for memory in memories))
            for memory in memories:
                pipe.zrem(f"brb:turn-about:{principal.team}:{memory}", *(f"{principal.user}:{turn}" for turn in turns))
            for turn in turns:
                pipe.delete(_record_of(principal, turn))
            done: list[Any] = pipe.execute()
        return sum(done[len(done) - len(turns) :])

    def ping(self) -> None:
        with translated():
            self._client.ping()

    def _newest(self, index: str, limit: int) -> list[str]:
        if limit < 1:
            return []
        with translated():
            turns: list[Any] = list(self._client.zrange(index, 0, limit - 1, desc=True))
        return [turn.decode() for turn in turns]

    def _records(self, principal: models.Principal, turns: Sequence[str]) -> list[ports.Told]:
        """Of those that are there still."""
        sealed: list[Any] = []
        for start in range(0, len(turns), _TOGETHER):
            with translated():
                sealed += self._client.mget([_record_of(principal, turn) for turn in turns[start : start + _TOGETHER]])
        return [told for one in sealed if one is not None and (told := self._opened(one)) is not None]

    def _opened(self, sealed: bytes) -> ports.Told | None:
        """None for what another secret key sealed: it tells nobody anything any more."""
        try:
            return msgspec.json.decode(self._seal.open(sealed), type=ports.Told)
        except (errors.Permanent, msgspec.DecodeError):
            return None


def _turns_of(principal: models.Principal) -> str:
    return f"brb:turns:{principal.team}:{principal.user}"


def _record_of(principal: models.Principal, turn: str) -> str:
    return f"brb:turn:{principal.team}:{principal.user}:{turn}"
