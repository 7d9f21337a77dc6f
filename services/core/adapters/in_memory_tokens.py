"""`ports.TokenBook` in memory: for tests and for trying things out."""

import threading

from msgspec.structs import replace

from services.core import ports


class InMemoryTokenBook:
    def __init__(self) -> None:
        self._tokens: dict[str, ports.StoredToken] = {}
        self._lock = threading.Lock()

    def add(self, token: ports.Token, digest: bytes) -> None:
        with self._lock:
            self._tokens[token.id] = ports.StoredToken(token, digest)

    def find(self, token_id: str) -> ports.StoredToken | None:
        return self._tokens.get(token_id)

    def all(self) -> list[ports.StoredToken]:
        with self._lock:
            return sorted(self._tokens.values(), key=lambda one: (one.token.created_at, one.token.id))

    def revoke(self, token_id: str, at: float) -> bool:
        with self._lock:
            stored = self._tokens.get(token_id)
            if stored is None or stored.token.revoked_at is not None:
                return False
            self._tokens[token_id] = stored._replace(token=replace(stored.token, revoked_at=at))
            return True

    def signed_out(self, token_id: str, at: float) -> None:
        with self._lock:
            if (stored := self._tokens.get(token_id)) is not None:
                self._tokens[token_id] = stored._replace(signed_out_at=at)

    def used(self, token_id: str, at: float) -> None:
        with self._lock:
            if (stored := self._tokens.get(token_id)) is not None:
                self._tokens[token_id] = stored._replace(token=replace(stored.token, used_at=at))

    def ping(self) -> None:
        return None
