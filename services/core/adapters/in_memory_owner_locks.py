"""Owners' locks and write clocks in this process: for tests, demos and trying things out."""

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from services.core import models


class InMemoryOwnerLocks:
    """`redis_client.owner_lock` and `redis_client.write_clock` without anything outside."""

    def __init__(self) -> None:
        self._held: defaultdict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)
        self._moves: Counter[str] = Counter()
        self._guard = threading.Lock()

    @contextmanager
    def lock(self, principal: models.Principal) -> Iterator[None]:
        with self._guard:
            held = self._held[principal.team, principal.user]
        with held:
            self._move(principal.team)
            try:
                yield
            finally:
                self._move(principal.team)

    def writes(self, team: str) -> int:
        with self._guard:
            return self._moves[team]

    def _move(self, team: str) -> None:
        with self._guard:
            self._moves[team] += 1
