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

# ARGV: lifetime, then for each entry: what its keys hold, these keys' digests in one string, its name, the sealed entry ("" for none), JSON of the
# memories. One command of few arguments: each costs the client a microsecond, and a pipeline of thirty commands a millisecond.
_WRITE = """
for i = 2, #ARGV, 5 do
  local place, digests, name, sealed, memories = unpack(ARGV, i, i + 4)
  if sealed ~= '' then redis.call('SET', 'brb:block:' .. name, sealed, 'EX', ARGV[1]) end
  for _, memory in ipairs(cjson.decode(memories)) do
    redis.call('SADD', 'brb:blocks-of:' .. memory, name)
    redis.call('EXPIRE', 'brb:blocks-of:' .. memory, ARGV[1])
  end
  for at = 1, #digests, 16 do redis.call('SET', 'brb:ledger:' .. string.sub(digests, at, at + 15), place, 'EX', ARGV[1]) end
end
"""


class _Place(msgspec.Struct, frozen=True, array_like=True):
    """What a key holds. name: of the sealed entry; "" for one that told nothing: its turn and time say all of it."""

    answered: bool
    name: bytes = b""
    turn: str = ""
    at: float = 0.0


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

    def read(self, keys: Sequence[str]) -> dict[str, ports.Entry]:
        """In two round trips, and each entry once, however many keys name it."""
        found = self._mget([*(b"brb:ledger:" + _digest(key) for key in keys), *(f"brb:ledger:{key}".encode() for key in keys)])
        former = {key: value for key, value in zip(keys, found[len(keys) :], strict=True) if value}
        places = {key: msgspec.msgpack.decode(value, type=_Place) for key, value in zip(keys, found, strict=False) if value}
        names = list({place.name for place in places.values() if place.name})
        kept = self._opened(dict(zip(names, self._mget([_block(name) for name in names]), strict=True)), of=_Kept, decode=msgspec.msgpack.decode)
        entries = self._opened({key: sealed for key, sealed in former.items() if key not in places}, of=ports.Entry, decode=msgspec.json.decode)
        return entries | {key: _entry(place, kept.get(place.name)) for key, place in places.items() if not place.name or place.name in kept}

    def write(self, entries: Mapping[str, ports.Entry]) -> None:
        """In one round trip, and all or nothing."""
        self._room()
        keys: dict[ports.Entry, list[bytes]] = {}
        for key, entry in entries.items():
            keys.setdefault(entry, []).append(_digest(key))
        written = [field for entry, digests in keys.items() for field in self._row(entry, b"".join(digests))]
        with translated(self._breaker):
            self._write(args=[self._lifetime, *written])

    def forget(self, memory_ids: Sequence[str]) -> int:
        if not memory_ids:
            return 0
        former = [f"brb:shown:{memory_id}" for memory_id in memory_ids]
        indexes = [f"brb:blocks-of:{memory_id}" for memory_id in memory_ids]
        with translated():
            names: Any = self._client.sunion(indexes)
            keys: Any = self._client.sunion(former)
            gone = [*map(_block, names), *(b"brb:ledger:" + key for key in keys)]
            count: Any = self._client.delete(*gone) if gone else 0
            self._client.delete(*indexes, *former)
        return int(count)

    def ping(self) -> None:
        with translated():
            self._client.ping()

    def _row(self, entry: ports.Entry, digests: bytes) -> tuple[bytes, ...]:
        """As the script takes it."""
        if not entry.block and not entry.memories:
            return msgspec.msgpack.encode(_Place(entry.answered, b"", entry.turn, entry.at)), digests, b"", b"", b"[]"
        plain = msgspec.msgpack.encode(_Kept(entry.block, tuple(map(shortened, entry.memories)), entry.turn, entry.at))
        name = self._seal.name(plain)
        return msgspec.msgpack.encode((entry.answered, name)), digests, name, self._seal.pack(plain), msgspec.json.encode(entry.memories)

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
