"""`ports.TokenBook` in Redis: a hash of sealed tokens by id, and when each was revoked and last used. They stay until somebody erases the data.

What another secret key sealed is void as soon as one token is made with the key in use. Before that the key may be wrong, not the tokens: then all is
refused with `errors.Permanent`, and calls go on without memory.
"""

from typing import Any

import msgspec
import redis
from msgspec.structs import replace

from services.core import errors, ports
from services.core.adapters.redis_client import Breaker, translated
from services.core.seal import Seal

_TOKENS, _REVOKED, _SIGNED_OUT, _USED = "brb:tokens", "brb:tokens:revoked", "brb:tokens:signed_out", "brb:tokens:used"
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
            for key in (_TOKENS, _REVOKED, _SIGNED_OUT, _USED):
                pipe.hget(key, token_id)
            sealed, revoked, signed_out, used = pipe.execute()
        record = self._open(sealed) if sealed else None
        return _stored(record, revoked, signed_out, used) if record else None

    def all(self) -> list[ports.StoredToken]:
        with translated(self._breaker), self._client.pipeline() as pipe:
            for key in (_TOKENS, _REVOKED, _SIGNED_OUT, _USED):
                pipe.hgetall(key)
            sealed, revoked, signed_out, used = pipe.execute()
        records = {token_id: record for token_id, one in sealed.items() if (record := self._open(one))}
        if sealed and not records:
            raise errors.Permanent("every token is sealed with another BRB_SECRET_KEY: restore the former key, or make new tokens")
        self._opened = {sealed[token_id]: record for token_id, record in records.items()}
        found = [_stored(record, *(each.get(token_id) for each in (revoked, signed_out, used))) for token_id, record in records.items()]
        return sorted(found, key=lambda one: (one.token.created_at, one.token.id))

    def revoke(self, token_id: str, at: float) -> bool:
        with translated(self._breaker):
            return bool(self._revoke(keys=[_TOKENS, _REVOKED], args=[token_id, at]))

    def signed_out(self, token_id: str, at: float) -> None:
        with translated(self._breaker):
            self._client.hset(_SIGNED_OUT, token_id, str(at))

    def used(self, token_id: str, at: float) -> None:
        with translated(self._breaker):
            self._client.hset(_USED, token_id, str(at))

    def ping(self) -> None:
        with translated():
            self._client.ping()

    def _open(self, sealed: bytes) -> _Record | None:
        try:
            return self._opened.get(sealed) or msgspec.json.decode(self._seal.open(sealed), type=_Record)
        except errors.Permanent:
            return None


def _stored(record: _Record, revoked: Any, signed_out: Any, used: Any) -> ports.StoredToken:
    return ports.StoredToken(replace(record.token, revoked_at=_time(revoked), used_at=_time(used)), record.digest, _time(signed_out))


def _time(written: Any) -> float | None:
    return float(written) if written else None
