"""A made-up day of a team of thirty, for pictures: BRB's own metrics, counted through a day by chance (always the same one).

Nothing in it was measured. In the afternoon llama.cpp is slow for forty minutes, so that recalls miss their deadline and a round of the canary fails.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
from prometheus_client import REGISTRY, Counter

from ops.grafana import queries
from services.core import telemetry

END = datetime(2026, 6, 2, tzinfo=UTC).timestamp()

_MINUTES = 1440
_TURNS = (0.05, 0, 0, 0, 0.02, 0.1, 0.4, 1.2, 3.2, 4.8, 5.2, 4.6, 2.2, 3.8, 4.9, 5.0, 4.2, 2.8, 1.2, 0.7, 0.6, 0.5, 0.3, 0.1)  # a minute, by hour
_SLOW = range(14 * 60 + 10, 14 * 60 + 50)
_CANARY_MINUTE = 20  # of each hour
_WHERE = 'job="proxy",instance="proxy:3000"'

Points = list[tuple[float, float]]


def openmetrics() -> Iterator[str]:
    """Lines for `promtool tsdb create-blocks-from openmetrics`."""
    wanted = _names()
    found: dict[str, Points] = defaultdict(list)
    day = _Day(np.random.default_rng(7))
    telemetry.start()
    for minute in range(_MINUTES):
        day.pass_minute(minute)
        at = END - (_MINUTES - 1 - minute) * 60
        for metric in REGISTRY.collect():
            for sample in metric.samples:
                if queries.base(sample.name) in wanted or sample.name in wanted:
                    labels = "".join(f',{name}="{value}"' for name, value in sample.labels.items())
                    found[f"{sample.name}{{{_WHERE}{labels}}}"].append((at, sample.value))
    for series, points in found.items():
        yield from (f"{series} {value} {at:.0f}\n" for at, value in points)
    yield "# EOF\n"


def _names() -> set[str]:
    """Of the metrics that the page on quality shows."""
    panels = queries.panels(queries.dashboards()["quality"])
    series = {name for panel in panels for asked in queries.asked(panel, "") for name, *_ in queries.selectors(asked.expr)}
    return series | {queries.base(name) for name in series}


class _Day:
    def __init__(self, chance: np.random.Generator) -> None:
        self._chance = chance

    def pass_minute(self, minute: int) -> None:
        hour, slow = minute // 60, minute in _SLOW
        for _ in range(self._chance.poisson(_TURNS[hour])):
            self._turn(slow=slow)
        if minute % 60 == _CANARY_MINUTE or minute == 0:
            self._round(hour, slow=slow)
            self._survey(hour)

    def _turn(self, *, slow: bool) -> None:
        telemetry.TURNS.labels("queued" if self._likely(0.85) else "nothing").inc()
        self._pick(telemetry.RECALL_CACHE, same=0.12, similar=0.05, fresh=0.8, bypass=0.03)
        if self._likely(0.13):
            self._pick(telemetry.RECALL_REWRITTEN, context=0.65, model=0.35)
        if self._likely(0.05):
            self._pick(telemetry.REASKS, repeat=0.6, correction=0.4)
        calls = 1 + self._chance.poisson(5)
        telemetry.REPLAYED.inc(float(self._chance.poisson(1.4 * calls)))
        telemetry.CACHE_READ_TOKENS.inc(float(calls * self._chance.normal(38_000, 6_000)))
        telemetry.CACHE_WRITE_TOKENS.inc(float(calls * abs(self._chance.normal(2_400, 700))))
        if self._likely(0.04):
            telemetry.RECALL_OUTCOME.labels("repeated").inc()
        elif slow and self._likely(0.35):
            telemetry.RECALL_OUTCOME.labels("deadline").inc()
        elif self._likely(0.44):
            self._told()
        else:
            telemetry.RECALL_OUTCOME.labels("empty").inc()
            telemetry.RECALL_SIMILARITY.observe(float(self._chance.beta(3, 6) * 0.62))

    def _told(self) -> None:
        count = min(10, 1 + int(self._chance.poisson(1.8)))
        telemetry.RECALL_OUTCOME.labels("injected").inc()
        similarity = 0.32 + float(self._chance.beta(3, 3)) * 0.55
        telemetry.RECALL_SIMILARITY.observe(similarity)
        telemetry.RECALL_SCORE.observe(similarity * float(self._chance.uniform(0.78, 0.98)))
        telemetry.INJECTED_MEMORIES.observe(count)
        telemetry.INJECTED_TOKENS.observe(44 + count * float(self._chance.normal(27, 5)))
        if count > 1:
            telemetry.RECALL_MARGIN.observe(float(self._chance.exponential(0.06)))
            telemetry.INJECTED_REDUNDANCY.observe(float(np.clip(self._chance.normal(0.4, 0.12), 0, 1)))
        for _ in range(count):
            telemetry.INJECTED_AGE.observe(float(self._chance.exponential(24)))
            self._pick(telemetry.MEMORY_USED, yes=0.41, no=0.34, unknown=0.25)
            if self._likely(0.004):
                telemetry.SUPERSEDED_SHOWN.inc()
        if self._likely(0.12):
            telemetry.SHADOW.observe(1.0 if self._likely(0.93) else 0.9)

    def _round(self, hour: int, *, slow: bool) -> None:
        if slow:
            telemetry.CANARY_RUNS.labels("failed").inc()
            return
        telemetry.CANARY_RUNS.labels("ok").inc()
        telemetry.CANARY_AT.set(END - (23 - hour) * 3600 - (60 - _CANARY_MINUTE) * 60)
        for k, share in zip(telemetry.CANARY_KS, (0.84, 0.875, 0.906, 0.906), strict=True):
            telemetry.CANARY_RECALL.labels(k).set(share - (0.03 if 9 <= hour < 12 and k < 10 else 0))
        telemetry.CANARY_MRR.set(0.84 if 9 <= hour < 12 else 0.87)
        telemetry.CANARY_SILENT.set(23 / 24)
        telemetry.CANARY_CROSSINGS.set(0)
        telemetry.CANARY_WRITE_TO_READ.set(float(self._chance.uniform(0.5, 1.4)))

    def _survey(self, hour: int) -> None:
        telemetry.ZOMBIES.labels("never").set(0.118 - 0.0006 * hour)
        telemetry.ZOMBIES.labels("no_longer").set(0.061 + 0.0003 * hour)
        telemetry.TOP10.set(float(np.clip(self._chance.normal(0.24, 0.012), 0, 1)))

    def _likely(self, share: float) -> bool:
        return bool(self._chance.random() < share)

    def _pick(self, counter: Counter, **shares: float) -> None:
        counter.labels(str(self._chance.choice(list(shares), p=list(shares.values())))).inc()
