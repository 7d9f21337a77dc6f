"""`ports.TokenBook` in Redis: a hash of sealed tokens by id, and when each was revoked and last used. They stay until somebody erases the data."""

from typing import Any

import msgspec
import redis
from msgspec.structs import replace

from services.core import ports
from services.core.adapters.redis_client import Breaker, translated
from services.core.seal import Seal

_TOKENS, _REVOKED, _USED = "brb:tokens", "brb:tokens:revoked", "brb:tokens:used"
# KEYS: tokens, revoked. ARGV: id, when.
_REVOKE = "return redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 and redis.call('HSETNX', KEYS[2], ARGV[1], ARGV[2]) or 0"


class _Record(msgspec.Struct, frozen=True):
    token: ports.Token
    digest: bytes


class RedisTokenBook:
    def __init__(self, client: redis.Redis, seal: Seal, *, breaker: Breaker | None = None) -> None:
        self._client = client
        self._seal = seal
        self._breaker = breaker
        self._revoke = client.register_script(_REVOKE)
        self._opened: dict[bytes, _Record] = {}  # by what is sealed: all are read again and again

    def add(self, token: ports.Token, digest: bytes) -> None:
        sealed = self._seal.close(msgspec.json.encode(_Record(token, digest)))
        with translated(self._breaker):
            self._client.hset(_TOKENS, token.id, sealed)

    def find(self, token_id: str) -> ports.StoredToken | None:
        with translated(self._breaker), self._client.pipeline() as pipe:
            for key in (_TOKENS, _REVOKED, _USED):
                pipe.hget(key, token_id)
            sealed, revoked, used = pipe.execute()
        return _stored(self._open(sealed), revoked, used) if sealed else None

    def all(self) -> list[ports.StoredToken]:
        with translated(self._breaker), self._client.pipeline() as pipe:
            for key in (_TOKENS, _REVOKED, _USED):
                pipe.hgetall(key)
            sealed, revoked, used = pipe.execute()
        self._opened = {one: self._open(one) for one in sealed.values()}
        found = [_stored(self._open(one), revoked.get(token_id), used.get(token_id)) for token_id, one in sealed.items()]
        return sorted(found, key=lambda one: (one.token.created_at, one.token.id))

    def revoke(self, token_id: str, at: float) -> bool:
        with translated(self._breaker):
            return bool(self._revoke(keys=[_TOKENS, _REVOKED], args=[token_id, at]))

    def used(self, token_id: str, at: float) -> None:
        with translated(self._breaker):
            self._client.hset(_USED, token_id, str(at))

    def ping(self) -> None:
        with translated():
            self._client.ping()

    def _open(self, sealed: bytes) -> _Record:
        return self._opened.get(sealed) or msgspec.json.decode(self._seal.open(sealed), type=_Record)


def _stored(record: _Record, revoked: Any, used: Any) -> ports.StoredToken:
    return ports.StoredToken(replace(record.token, revoked_at=_time(revoked), used_at=_time(used)), record.digest)


def _time(written: Any) -> float | None:
    return float(written) if written else None
