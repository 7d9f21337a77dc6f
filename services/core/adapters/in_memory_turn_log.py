"""`ports.TurnLog` in memory: for tests and for trying things out."""

import threading
from collections.abc import Sequence

from services.core import models, ports


class InMemoryTurnLog:
    def __init__(self) -> None:
        self._told: dict[tuple[str, str, str], ports.Told] = {}
        self._lock = threading.Lock()

    def add(self, principal: models.Principal, told: ports.Told) -> None:
        with self._lock:
            self._told[principal.team, principal.user, told.turn] = told

    def find(self, principal: models.Principal, turn: str) -> ports.Told | None:
        return self._told.get((principal.team, principal.user, turn))

    def latest(self, principal: models.Principal, *, limit: int = 100) -> list[ports.Told]:
        with self._lock:
            mine = [told for (team, user, _), told in self._told.items() if (team, user) == (principal.team, principal.user)]
        return sorted(mine, key=lambda told: -told.at)[:limit]

    def showing(self, principal: models.Principal, memory_id: str, *, limit: int = 100) -> list[ports.Told]:
        every = self.latest(principal, limit=len(self._told))
        return [told for told in every if any(one.id == memory_id and not one.reason for one in told.considered)][:limit]

    def forget(self, team: str, memory_ids: Sequence[str]) -> int:
        gone = set(memory_ids)
        with self._lock:
            keys = [key for key, told in self._told.items() if key[0] == team and any(one.id in gone for one in told.considered)]
            for key in keys:
                del self._told[key]
        return len(keys)

    def clear(self, principal: models.Principal) -> int:
        with self._lock:
            keys = [key for key in self._told if key[:2] == (principal.team, principal.user)]
            for key in keys:
                del self._told[key]
        return len(keys)

    def ping(self) -> None:
        return None
