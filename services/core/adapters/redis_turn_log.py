"""`ports.TurnLog` in Redis: a record for each turn with the lifetime of the ledger's blocks.

brb:turn:{team}:{user}:{turn}   the record: in clear which memories it names and of which of them it was told (`_Marks`), the rest sealed
brb:turns:{team}:{user}         the principal's turns by their time
brb:turn-users:{team}           who has turns

Which records name a memory is found by reading those marks: few ask for it, and an index of it took more room than the records. Formerly there was
one (`brb:turn-about:{team}:{memory}`, `brb:turn-told:{team}:{user}:{memory}`), and a record was sealed as a whole: these are read until their time is
over.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import redis

from services.core import errors, models, ports
from services.core.adapters.redis_client import always_room, translated
from services.core.adapters.short_ids import lengthened, shortened
from services.core.seal import Seal

MOST = 2_000
"""Turns that are kept of a principal: some two kilobytes each."""
_TOGETHER = 100  # records in one answer
_MARKED = b"\x01"  # how a record begins that has marks
_NAMED, _TOLD = b"\0", b"\1"
_MARK_BYTES = 17
_COUNT_BYTES = 2
_SCALE = 10_000  # scores are kept as whole numbers of these where that says the same

# ARGV: lifetime, most, at, team, user, turn, record. What leaves the indexes leaves no record behind, and they outlive all that they name, also what
# was written for longer: only by them it is found to be erased.
_ADD = """
local lifetime, most, at, team = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local owner, users = team .. ':' .. ARGV[5], 'brb:turn-users:' .. team
local turns = 'brb:turns:' .. owner
local function drop(old)
  for _, turn in ipairs(old) do redis.call('DEL', 'brb:turn:' .. owner .. ':' .. turn) end
  if #old > 0 then redis.call('ZREMRANGEBYRANK', turns, 0, #old - 1) end
end
local function keep(index)
  if redis.call('TTL', index) < lifetime then redis.call('EXPIRE', index, lifetime) end
end
drop(redis.call('ZRANGEBYSCORE', turns, '-inf', at - lifetime))
redis.call('SET', 'brb:turn:' .. owner .. ':' .. ARGV[6], ARGV[7], 'EX', lifetime)
redis.call('ZADD', turns, at, ARGV[6])
keep(turns)
redis.call('SADD', users, ARGV[5])
keep(users)
local over = redis.call('ZCARD', turns) - most
if over > 0 then drop(redis.call('ZRANGE', turns, 0, over - 1)) end
"""

# ARGV: team, user, most, marks. Returns the turns whose records have one of these, newest first.
_MARKED_SO = """
local owner, most, wanted, found = ARGV[1] .. ':' .. ARGV[2], tonumber(ARGV[3]), {}, {}
for i = 4, #ARGV do wanted[ARGV[i]] = true end
local function has(record)
  local head = redis.call('GETRANGE', record, 0, 2)
  if string.byte(head, 1) ~= 1 then return false end
  local count = string.byte(head, 2) * 256 + string.byte(head, 3)
  local marks = redis.call('GETRANGE', record, 3, 2 + 17 * count)
  for at = 1, #marks, 17 do
    if wanted[string.sub(marks, at, at + 16)] then return true end
  end
  return false
end
for _, turn in ipairs(redis.call('ZREVRANGE', 'brb:turns:' .. owner, 0, -1)) do
  if #found >= most then break end
  if has('brb:turn:' .. owner .. ':' .. turn) then found[#found+1] = turn end
end
return found
"""

# ARGV: team, user, turns. Returns how many records there were.
_DROP = """
local owner, gone = ARGV[1] .. ':' .. ARGV[2], 0
for i = 3, #ARGV do
  gone = gone + redis.call('DEL', 'brb:turn:' .. owner .. ':' .. ARGV[i])
  redis.call('ZREM', 'brb:turns:' .. owner, ARGV[i])
end
if redis.call('EXISTS', 'brb:turns:' .. owner) == 0 then redis.call('SREM', 'brb:turn-users:' .. ARGV[1], ARGV[2]) end
return gone
"""

# ARGV: team, memories. What the former index names. Returns how many records.
_FORGET_FORMER = """
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


class _Considered(msgspec.Struct, frozen=True, array_like=True):
    """id: None if the mark says it. Whole numbers: of `_SCALE`."""

    id: str | None
    score: int | float
    similarity: int | float
    cosine: int | float | None
    reason: str


class _Sealed(msgspec.Struct, frozen=True, array_like=True):
    """A record without its marks. told: without what was considered."""

    told: ports.Told
    considered: tuple[_Considered, ...]


class RedisTurnLog:
    """room: raises `Unavailable` while Redis is too full for another record."""

    def __init__(
        self,
        client: redis.Redis,
        seal: Seal,
        *,
        lifetime_seconds: float,
        most: int = MOST,
        room: Callable[[], None] = always_room,
    ) -> None:
        self._client = client
        self._seal = seal
        self._lifetime = int(lifetime_seconds)
        self._most = most
        self._room = room
        self._add = client.register_script(_ADD)
        self._marked_so = client.register_script(_MARKED_SO)
        self._drop = client.register_script(_DROP)
        self._forget_former = client.register_script(_FORGET_FORMER)

    def add(self, principal: models.Principal, told: ports.Told) -> None:
        """In one round trip, and all or nothing."""
        self._room()
        record = self._closed(told)
        with translated():
            self._add(args=[self._lifetime, self._most, told.at, principal.team, principal.user, told.turn, record])

    def find(self, principal: models.Principal, turn: str) -> ports.Told | None:
        return next(iter(self._records(principal, [turn])), None)

    def beginning(self, principal: models.Principal, prefix: str) -> list[str]:
        return [turn for turn in self._newest(_turns_of(principal), self._most) if turn.startswith(prefix)]

    def latest(self, principal: models.Principal, *, limit: int = 100) -> list[ports.Told]:
        return self._records(principal, self._newest(_turns_of(principal), limit))

    def showing(self, principal: models.Principal, memory_id: str, *, limit: int = 100) -> list[ports.Told]:
        turns = self._marked(principal.team, principal.user, [_TOLD + _name(shortened(memory_id))], limit)
        former = self._newest(f"brb:turn-told:{principal.team}:{principal.user}:{memory_id}", limit)
        found = self._records(principal, list(dict.fromkeys(turns + former)))
        return sorted(found, key=lambda told: -told.at)[:limit]

    def forget(self, team: str, memory_ids: Sequence[str]) -> int:
        if not memory_ids:
            return 0
        marks = [kind + _name(shortened(memory_id)) for memory_id in memory_ids for kind in (_NAMED, _TOLD)]
        with translated():
            users: Any = self._client.smembers(f"brb:turn-users:{team}")
            gone = int(self._forget_former(args=[team, *memory_ids]))
        return gone + sum(self._gone(team, user.decode(), self._marked(team, user.decode(), marks, self._most)) for user in users)

    def drop(self, principal: models.Principal, concerns: Callable[[ports.Told], bool]) -> int:
        gone = [told.turn for told in self.latest(principal, limit=self._most) if concerns(told)]
        return self._gone(principal.team, principal.user, gone)

    def clear(self, principal: models.Principal) -> int:
        return self._gone(principal.team, principal.user, self._newest(_turns_of(principal), self._most))

    def ping(self) -> None:
        with translated():
            self._client.ping()

    def _newest(self, index: str, limit: int) -> list[str]:
        if limit < 1:
            return []
        with translated():
            turns: list[Any] = list(self._client.zrange(index, 0, limit - 1, desc=True))
        return [turn.decode() for turn in turns]

    def _marked(self, team: str, user: str, marks: Sequence[bytes], most: int) -> list[str]:
        with translated():
            found: list[Any] = list(self._marked_so(args=[team, user, most, *marks]))
        return [turn.decode() for turn in found]

    def _gone(self, team: str, user: str, turns: Sequence[str]) -> int:
        if not turns:
            return 0
        with translated():
            return int(self._drop(args=[team, user, *turns]))

    def _records(self, principal: models.Principal, turns: Sequence[str]) -> list[ports.Told]:
        """Of those that are there still."""
        records: list[Any] = []
        for start in range(0, len(turns), _TOGETHER):
            with translated():
                records += self._client.mget([_record_of(principal, turn) for turn in turns[start : start + _TOGETHER]])
        return [told for one in records if one is not None and (told := self._opened(one)) is not None]

    def _closed(self, told: ports.Told) -> bytes:
        ids = [shortened(one.id) for one in told.considered]
        marks = [(_NAMED if one.reason else _TOLD) + _name(short) for short, one in zip(ids, told.considered, strict=True)]
        considered = tuple(_of(one, short) for short, one in zip(ids, told.considered, strict=True))
        sealed = self._seal.pack(msgspec.msgpack.encode(_Sealed(msgspec.structs.replace(told, considered=()), considered)))
        return b"".join((_MARKED, len(marks).to_bytes(_COUNT_BYTES, "big"), *marks, sealed))

    def _opened(self, record: bytes) -> ports.Told | None:
        """None for what another secret key sealed: it tells nobody anything any more."""
        try:
            if not record.startswith(_MARKED):
                return msgspec.json.decode(self._seal.open(record), type=ports.Told)
            first = len(_MARKED) + _COUNT_BYTES
            end = first + int.from_bytes(record[len(_MARKED) : first], "big") * _MARK_BYTES
            marks = (record[at : at + _MARK_BYTES] for at in range(first, end, _MARK_BYTES))
            sealed = msgspec.msgpack.decode(self._seal.open(record[end:]), type=_Sealed)
            return msgspec.structs.replace(sealed.told, considered=_considered(marks, sealed.considered))
        except (errors.Permanent, msgspec.DecodeError):
            return None


def _of(one: ports.Considered, short: bytes | str) -> _Considered:
    return _Considered(
        id=None if isinstance(short, bytes) else short,
        score=_whole(one.score),
        similarity=_whole(one.similarity),
        cosine=None if one.cosine is None else _whole(one.cosine),
        reason=one.reason,
    )


def _considered(marks: Iterable[bytes], kept: Iterable[_Considered]) -> tuple[ports.Considered, ...]:
    return tuple(
        ports.Considered(
            id=lengthened(mark[1:]) if one.id is None else one.id,
            score=_number(one.score),
            similarity=_number(one.similarity),
            cosine=None if one.cosine is None else _number(one.cosine),
            reason=one.reason,
        )
        for mark, one in zip(marks, kept, strict=True)
    )


def _name(short: bytes | str) -> bytes:
    """16 bytes."""
    return short if isinstance(short, bytes) else hashlib.blake2b(short.encode(), digest_size=16).digest()


def _whole(value: float) -> int | float:
    whole = round(value * _SCALE)
    return whole if whole / _SCALE == value else value


def _number(value: int | float) -> float:
    return value / _SCALE if isinstance(value, int) else value


def _turns_of(principal: models.Principal) -> str:
    return f"brb:turns:{principal.team}:{principal.user}"


def _record_of(principal: models.Principal, turn: str) -> str:
    return f"brb:turn:{principal.team}:{principal.user}:{turn}"
