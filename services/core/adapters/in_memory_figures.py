"""`ports.Figures` in memory: for tests and for trying things out."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection

from services.core import figures, ports


class InMemoryFigures:
    def __init__(self, *, clock: Callable[[], float] = time.monotonic, room: ports.Room | None = None) -> None:
        """clock: that due work goes by."""
        self._clock = clock
        self._room = room or ports.Room(0, 0)
        self._told: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._all: Counter[str] = Counter()
        self._kept: dict[type, ports.Canary | ports.Survey] = {}
        self._due: dict[str, float] = {}

    def told(self, ids: Collection[str], at: float) -> None:
        day = figures.day_of(at)
        self._told[day].update(ids)
        self._all[day] += len(ids)

    def most_told(self, at: float, count: int) -> tuple[list[int], int]:
        days = figures.days_until(at)
        together = sum((self._told[day] for day in days), Counter[str]())
        return [times for _, times in together.most_common(count)], sum(self._all[day] for day in days)

    def forget(self, ids: Collection[str]) -> None:
        for day in self._told.values():
            for each in ids:
                day.pop(each, None)

    def keep(self, found: ports.Canary | ports.Survey) -> None:
        self._kept[type(found)] = found

    def canary(self) -> ports.Canary | None:
        found = self._kept.get(ports.Canary)
        return found if isinstance(found, ports.Canary) else None

    def survey(self) -> ports.Survey | None:
        found = self._kept.get(ports.Survey)
        return found if isinstance(found, ports.Survey) else None

    def due(self, work: str, seconds: float) -> bool:
        now = self._clock()
        if self._due.get(work, now) > now:
            return False
        self._due[work] = now + seconds
        return True

    def again(self, work: str, seconds: float) -> None:
        self._due[work] = self._clock() + seconds

    def room(self) -> ports.Room:
        return self._room
