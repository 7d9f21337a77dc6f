"""`ports.TurnLog` in memory: for tests and for trying things out."""

import threading
from collections.abc import Callable, Sequence

from services.core import models, ports

MOST = 2_000
"""Turns that are kept of a principal."""


class InMemoryTurnLog:
    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._told: dict[tuple[str, str, str], ports.Told] = {}
        self._lock = threading.Lock()

    def add(self, principal: models.Principal, told: ports.Told) -> None:
        with self._lock:
            self._told[principal.team, principal.user, told.turn] = told
            mine = [key for key in self._told if key[:2] == (principal.team, principal.user)] if len(self._told) > self._most else []
            for key in sorted(mine, key=lambda key: self._told[key].at)[: max(0, len(mine) - self._most)]:
                del self._told[key]

    def find(self, principal: models.Principal, turn: str) -> ports.Told | None:
        return self._told.get((principal.team, principal.user, turn))

    def beginning(self, principal: models.Principal, prefix: str) -> list[str]:
        return [told.turn for told in self.latest(principal, limit=self._most) if told.turn.startswith(prefix)]

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

    def drop(self, principal: models.Principal, concerns: Callable[[ports.Told], bool]) -> int:
        gone = [told for told in self.latest(principal, limit=len(self._told)) if concerns(told)]
        with self._lock:
            return sum(self._told.pop((principal.team, principal.user, told.turn), None) is not None for told in gone)

    def clear(self, principal: models.Principal) -> int:
        with self._lock:
            keys = [key for key in self._told if key[:2] == (principal.team, principal.user)]
            for key in keys:
                del self._told[key]
        return len(keys)

    def ping(self) -> None:
        return None
