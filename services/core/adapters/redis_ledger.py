"""`ports.Ledger` in Redis: each block once, sealed, under a name that its content gives it; and what was inserted where, by such names.

brb:ledger:{16 bytes of a key's digest}   whether it was answered, and the name of the entry; of one that told nothing the turn and its time
brb:block:{name}                          the entry but for that, sealed and compressed
brb:blocks-of:{memory}                    the names of the entries that showed the memory

Formerly each key held the whole entry (`brb:ledger:{key}`, found by `brb:shown:{memory}`): these are read until their time is over.
"""

import contextlib
import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import redis

from services.core import errors, ports
from services.core.adapters.redis_client import Breaker, always_room, translated
from services.core.adapters.short_ids import lengthened, shortened
from services.core.seal import Seal

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

# ARGV: lifetime, what a key holds of what was forgotten, then for each entry: what its keys hold, these keys' digests in one string, its name, the
# sealed entry ("" for none), JSON of the memories, and "1" if it `follows`: forgotten since is what has a key and no block any more; what has neither
# Redis has lost. One command of few arguments: each costs the client a microsecond, and a pipeline of thirty commands a millisecond.
# An index outlives all that it names, also what was written for longer. That of a memory that is told again and again never ends, so that with each
# new name two are looked at: those whose block is no more are never many more than the others.
_WRITE = """
local lifetime = tonumber(ARGV[1])
local function forgotten(name, digests)
  if redis.call('EXISTS', 'brb:block:' .. name) == 1 then return false end
  for at = 1, #digests, 16 do
    if redis.call('EXISTS', 'brb:ledger:' .. string.sub(digests, at, at + 15)) == 1 then return true end
  end
  return false
end
for i = 3, #ARGV, 6 do
  local place, digests, name, sealed, memories, follows = unpack(ARGV, i, i + 5)
  if follows == '1' and forgotten(name, digests) then place, sealed, memories = ARGV[2], '', '[]' end
  if sealed ~= '' then redis.call('SET', 'brb:block:' .. name, sealed, 'EX', lifetime) end
  for _, memory in ipairs(cjson.decode(memories)) do
    local index = 'brb:blocks-of:' .. memory
    if redis.call('SADD', index, name) == 1 then
      for _, other in ipairs(redis.call('SRANDMEMBER', index, 2)) do
        if redis.call('EXISTS', 'brb:block:' .. other) == 0 then redis.call('SREM', index, other) end
      end
    end
    if redis.call('TTL', index) < lifetime then redis.call('EXPIRE', index, lifetime) end
  end
  for at = 1, #digests, 16 do redis.call('SET', 'brb:ledger:' .. string.sub(digests, at, at + 15), place, 'EX', lifetime) end
end
"""

# ARGV: memories. Returns how many entries there were. One command, lest what is written meanwhile lose its place in an index.
_FORGET = """
local gone = 0
local function drop(index, of)
  for _, name in ipairs(redis.call('SMEMBERS', index)) do gone = gone + redis.call('DEL', of .. name) end
  redis.call('DEL', index)
end
for _, memory in ipairs(ARGV) do
  drop('brb:blocks-of:' .. memory, 'brb:block:')
  drop('brb:shown:' .. memory, 'brb:ledger:')
end
return gone
"""
_TOGETHER = 100  # memories in one command


class _Place(msgspec.Struct, frozen=True, array_like=True):
    """What a key holds. name: of the sealed entry; "" for one that told nothing: its turn and time say all of it."""

    answered: bool
    name: bytes = b""
    turn: str = ""
    at: float = 0.0


_PLACE_OF_FORGOTTEN = msgspec.msgpack.encode(_Place(answered=True))


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """An entry as it is sealed: the same before and after its answer."""

    block: str
    memories: tuple[Any, ...]  # `shortened`
    turn: str
    at: float


class RedisLedger:
    """room: raises `Unavailable` while Redis is too full for another entry."""

    def __init__(
        self,
        client: redis.Redis,
        seal: Seal,
        *,
        lifetime_seconds: float,
        breaker: Breaker | None = None,
        room: Callable[[], None] = always_room,
    ) -> None:
        self._client = client
        self._seal = seal
        self._lifetime = int(lifetime_seconds)
        self._breaker = breaker
        self._room = room
        self._write = client.register_script(_WRITE)
        self._forget = client.register_script(_FORGET)

    def read(self, keys: Sequence[str]) -> dict[str, ports.Entry]:
        """In two round trips, and each entry once, however many keys name it."""
        found = self._mget([*(b"brb:ledger:" + _digest(key) for key in keys), *(f"brb:ledger:{key}".encode() for key in keys)])
        former = {key: value for key, value in zip(keys, found[len(keys) :], strict=True) if value}
        places = {key: msgspec.msgpack.decode(value, type=_Place) for key, value in zip(keys, found, strict=False) if value}
        names = list({place.name for place in places.values() if place.name})
        sealed = dict(zip(names, self._mget([_block(name) for name in names]), strict=True))
        kept = self._opened(sealed, of=_Kept, decode=msgspec.msgpack.decode)
        gone = {name for name, value in sealed.items() if value is None}
        entries = self._opened({key: value for key, value in former.items() if key not in places}, of=ports.Entry, decode=msgspec.json.decode)
        return entries | {
            key: ports.FORGOTTEN if place.name in gone else _entry(place, kept.get(place.name))
            for key, place in places.items()
            if not place.name or place.name in kept or (place.answered and place.name in gone)
        }

    def write(self, entries: Mapping[str, ports.Entry]) -> None:
        """In one round trip, and all or nothing."""
        self._room()
        keys: dict[ports.Entry, list[bytes]] = {}
        for key, entry in entries.items():
            keys.setdefault(entry, []).append(_digest(key))
        written = [field for entry, digests in keys.items() for field in self._row(entry, b"".join(digests))]
        with translated(self._breaker):
            self._write(args=[self._lifetime, _PLACE_OF_FORGOTTEN, *written])

    def forget(self, memory_ids: Sequence[str]) -> int:
        gone = 0
        for start in range(0, len(memory_ids), _TOGETHER):
            with translated():
                gone += int(self._forget(args=memory_ids[start : start + _TOGETHER]))
        return gone

    def ping(self) -> None:
        with translated():
            self._client.ping()

    def _row(self, entry: ports.Entry, digests: bytes) -> tuple[bytes, ...]:
        """As the script takes it."""
        if not entry.block and not entry.memories:
            return msgspec.msgpack.encode(_Place(entry.answered, b"", entry.turn, entry.at)), digests, b"", b"", b"[]", b""
        plain = msgspec.msgpack.encode(_Kept(entry.block, tuple(map(shortened, entry.memories)), entry.turn, entry.at))
        name = self._seal.name(plain)
        place, memories = msgspec.msgpack.encode((entry.answered, name)), msgspec.json.encode(entry.memories)
        return place, digests, name, self._seal.pack(plain), memories, b"1" if ports.follows(entry) else b""

    def _mget(self, keys: Sequence[bytes]) -> list[Any]:
        with translated(self._breaker):
            return list(self._client.mget(keys)) if keys else []

    def _opened(self, sealed: Mapping[K, bytes | None], *, of: type[T], decode: Callable[..., T]) -> dict[K, T]:
        """Of those that are there, and not sealed with another key."""
        found: dict[K, T] = {}
        for name, value in sealed.items():
            with contextlib.suppress(errors.Permanent):
                if value is not None:
                    found[name] = decode(self._seal.open(value), type=of)
        return found


def _entry(place: _Place, kept: _Kept | None) -> ports.Entry:
    """kept: None for one that told nothing."""
    if kept is None:
        return ports.Entry("", (), answered=place.answered, turn=place.turn, at=place.at)
    return ports.Entry(kept.block, tuple(map(lengthened, kept.memories)), answered=place.answered, turn=kept.turn, at=kept.at)


def _digest(key: str) -> bytes:
    return hashlib.blake2b(key.encode(), digest_size=16).digest()


def _block(name: bytes) -> bytes:
    return b"brb:block:" + name
