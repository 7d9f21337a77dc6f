"""`ports.UseLog` in memory: for tests and for trying things out."""

from collections import defaultdict, deque
from collections.abc import Sequence

from services.core import models, ports

MOST = 5_000


class InMemoryUseLog:
    def __init__(self, *, most: int = MOST) -> None:
        self._uses: defaultdict[tuple[str, str], deque[ports.Use]] = defaultdict(lambda: deque(maxlen=most))

    def add(self, principal: models.Principal, use: ports.Use) -> None:
        self._uses[principal.team, principal.user].append(use)

    def read(self, principal: models.Principal) -> list[ports.Use]:
        return list(self._uses[principal.team, principal.user])

    def forget(self, principal: models.Principal, ids: Sequence[str]) -> int:
        uses = self._uses[principal.team, principal.user]
        gone = [use for use in uses if ports.concerns(use, ids)]
        for use in gone:
            uses.remove(use)
        return len(gone)

    def clear(self, principal: models.Principal) -> int:
        return len(self._uses.pop((principal.team, principal.user), ()))
