"""`ports.AuditLog` in Redis: two streams of sealed events for each team, what was changed and what was only looked at.

brb:audit:changes:{team}  brb:audit:looks:{team}   streams; an entry's id is its time (ms of Redis's clock) and a number, and counts through both
brb:audit:last:{team}                              the id that was given last

Looks are many and soon of no interest: they go first, and nobody can push a change out of the log by looking. Nothing here changes or erases an
event; age alone does.
"""

import heapq
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import redis

from services.core import errors, ports
from services.core.adapters.redis_client import Breaker, translated
from services.core.seal import Seal

LOOKS = frozenset({ports.Act.READ, ports.Act.SEARCHED})
_ID = re.compile(r"(\d{1,15})-(\d{1,15})", re.ASCII)
_EVENT = b"event"

# KEYS: the stream, the last id. ARGV: sealed event, lifetime in ms. Returns the id: later than every one before, even if the clock goes back.
_ADD = """
local t = redis.call('TIME')
local ms, n = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000), 0
local last = redis.call('GET', KEYS[2])
if last then
  local at, count = string.match(last, '(%d+)-(%d+)')
  if ms <= tonumber(at) then ms, n = tonumber(at), tonumber(count) + 1 end
end
local id = string.format('%.0f-%.0f', ms, n)
redis.call('XADD', KEYS[1], id, 'event', ARGV[1])
redis.call('SET', KEYS[2], id)
redis.call('XTRIM', KEYS[1], 'MINID', '~', string.format('%.0f', math.max(0, ms - tonumber(ARGV[2]))))
return id
"""


class RedisAuditLog:
    def __init__(
        self, client: redis.Redis, seal: Seal, *, lifetime_seconds: float, looks_lifetime_seconds: float, breaker: Breaker | None = None
    ) -> None:
        self._client = client
        self._seal = seal
        self._lifetime = lifetime_seconds
        self._looks_lifetime = looks_lifetime_seconds
        self._breaker = breaker
        self._add = client.register_script(_ADD)

    def add(self, event: ports.Event) -> str:
        looks = event.act in LOOKS
        stream = _streams(event.team)[looks]
        lifetime = int((self._looks_lifetime if looks else self._lifetime) * 1000)
        sealed = self._seal.close(msgspec.json.encode(event))
        with translated(self._breaker):
            written: Any = self._add(keys=[stream, f"brb:audit:last:{event.team}"], args=[sealed, lifetime])
        return str(written.decode())

    def read(self, team: str, *, limit: int = 100, before: str = "") -> list[ports.Event]:
        if limit < 1 or (before and not _ID.fullmatch(before)):
            return []
        newest = f"({before}" if before else "+"
        with translated():
            found: list[Any] = [self._client.xrevrange(stream, max=newest, count=limit) for stream in _streams(team)]
        together = heapq.merge(*found, key=lambda entry: _place(entry[0].decode()), reverse=True)
        return [self._opened(team, entry, fields) for entry, fields in _first(together, limit)]

    def find(self, team: str, event_id: str) -> ports.Event | None:
        if not _ID.fullmatch(event_id):
            return None
        for stream in _streams(team):
            with translated():
                found: Any = self._client.xrange(stream, min=event_id, max=event_id)
            if found:
                return self._opened(team, *found[0])
        return None

    def ping(self) -> None:
        with translated():
            self._client.ping()

    def _opened(self, team: str, entry: bytes, fields: Mapping[bytes, bytes]) -> ports.Event:
        event_id = entry.decode()
        try:
            event = msgspec.json.decode(self._seal.open(fields[_EVENT]), type=ports.Event)
        except errors.Permanent:  # the log goes on all the same, and shows that something is there
            event = ports.Event(at=_place(event_id)[0] / 1000, team=team, user="", act=ports.Act.UNREADABLE)
        return msgspec.structs.replace(event, id=event_id)


def _streams(team: str) -> tuple[str, str]:
    return f"brb:audit:changes:{team}", f"brb:audit:looks:{team}"


def _place(event_id: str) -> tuple[int, int]:
    at, _, number = event_id.partition("-")
    return int(at), int(number)


def _first(entries: Iterator[Any], limit: int) -> Iterator[Any]:
    return (entry for _, entry in zip(range(limit), entries, strict=False))
