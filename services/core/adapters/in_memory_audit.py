"""`ports.AuditLog` in memory: for tests and for trying things out."""

import threading
from collections import defaultdict

from msgspec.structs import replace

from services.core import ports


class InMemoryAuditLog:
    def __init__(self) -> None:
        self._events: defaultdict[str, list[ports.Event]] = defaultdict(list)
        self._lock = threading.Lock()

    def add(self, event: ports.Event) -> str:
        with self._lock:
            events = self._events[event.team]
            written = replace(event, id=f"{len(events) + 1}-0")
            events.append(written)
            return written.id

    def read(self, team: str, *, limit: int = 100, before: str = "") -> list[ports.Event]:
        with self._lock:
            events = self._events[team][::-1]
        older = [event for event in events if not before or _place(event.id) < _place(before)]
        return older[:limit]

    def find(self, team: str, event_id: str) -> ports.Event | None:
        with self._lock:
            return next((event for event in self._events[team] if event.id == event_id), None)

    def ping(self) -> None:
        return None


def _place(event_id: str) -> int:
    number = event_id.partition("-")[0]
    return int(number) if number.isdigit() else 0
