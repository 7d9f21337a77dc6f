"""Bursts of calls to figures: what each relay adds to a direct call, and how that compares with the bare one. Pure."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from services.embedded.bench import load, report


class Variant(StrEnum):
    """What the calls go through."""

    DIRECT = "direct"
    BARE = "bare"
    BRB_RELAY = "brb_relay"
    BRB = "brb"


class History(StrEnum):
    """What the relay has seen of the bodies before."""

    SESSION = "session"  # each call of a caller carries the history of the one before, and a step: what a coding client does
    FIRST = "first"  # nothing but the beginning: each call is another conversation
    SAME = "same"  # everything: all calls are the same body


class Cell(NamedTuple):
    """One kind of load."""

    stream: bool
    kilobytes: int
    concurrency: int
    history: History

    @property
    def name(self) -> str:
        return f"{self.answer}.{self.history}.{self.kilobytes}kb.c{self.concurrency}"

    @property
    def answer(self) -> str:
        return "stream" if self.stream else "json"


class Sample(NamedTuple):
    """One burst, and the CPU time that it took of the relay's process (0 if there is none)."""

    burst: load.Burst
    cpu_seconds: float


Samples = Mapping[Cell, Mapping[Variant, Sequence[Sample]]]
"""The n-th samples of all variants of a cell are of the same round."""

COLUMNS = ("load", "through", "#ttfb", "#p95", "#added", "#/bare", "#per s", "#/bare", "#CPU")


def figures(samples: Samples) -> dict[str, float]:
    """Named `<answer>.<history>.<size>.<concurrency>.<variant>.<figure>`. A ratio is missing where the bare relay's part of it drowned in noise."""
    return {
        f"{cell.name}.{variant}.{name}": value
        for cell, variants in samples.items()
        for variant in variants
        for name, value in _of_variant(variants, variant).items()
    }


def rows(samples: Samples) -> tuple[tuple[str, ...], ...]:
    """For people, in the order of `COLUMNS`."""
    return tuple(_row(cell, variant, _of_variant(variants, variant)) for cell, variants in samples.items() for variant in variants)


def _of_variant(variants: Mapping[Variant, Sequence[Sample]], variant: Variant) -> dict[str, float]:
    first_bytes = [seconds for sample in variants[variant] for seconds in sample.burst.first_bytes]
    own = {
        "first_byte_p50_ms": report.p50_ms(first_bytes),
        "first_byte_p95_ms": report.p95_ms(first_bytes),
        "calls_per_second": _rate(variants[variant]),
    }
    if variant is Variant.DIRECT:
        return own
    own["added_ms"] = _added_ms(variants, variant)
    own["cpu_ms"] = _cpu_ms(variants[variant])
    return own | ({} if variant is Variant.BARE else dict(_ratios(variants, variant)))


def _ratios(variants: Mapping[Variant, Sequence[Sample]], variant: Variant) -> Iterator[tuple[str, float]]:
    bare_added, bare_cpu = _added_ms(variants, Variant.BARE), _cpu_ms(variants[Variant.BARE])
    if bare_added > 0:
        yield "added_ratio", _added_ms(variants, variant) / bare_added
    yield "calls_per_second_ratio", _rate(variants[variant]) / _rate(variants[Variant.BARE])
    if bare_cpu > 0:
        yield "cpu_ratio", _cpu_ms(variants[variant]) / bare_cpu


def _added_ms(variants: Mapping[Variant, Sequence[Sample]], variant: Variant) -> float:
    rounds = zip(variants[variant], variants[Variant.DIRECT], strict=True)
    return statistics.median(report.p50_ms(through.burst.first_bytes) - report.p50_ms(direct.burst.first_bytes) for through, direct in rounds)


def _rate(samples: Sequence[Sample]) -> float:
    return statistics.median(len(sample.burst.first_bytes) / sample.burst.seconds for sample in samples)


def _cpu_ms(samples: Sequence[Sample]) -> float:
    return 1000 * sum(sample.cpu_seconds for sample in samples) / sum(len(sample.burst.first_bytes) for sample in samples)


def _row(cell: Cell, variant: Variant, found: Mapping[str, float]) -> tuple[str, ...]:
    def shown(name: str, digits: int) -> str:
        return f"{found[name]:.{digits}f}" if name in found else ""

    return (
        f"{cell.answer} {cell.history} {cell.kilobytes}KB {cell.concurrency}",
        variant,
        *(shown(name, 1) for name in ("first_byte_p50_ms", "first_byte_p95_ms", "added_ms", "added_ratio")),
        *(shown("calls_per_second", 0), shown("calls_per_second_ratio", 2), shown("cpu_ratio", 1)),
    )
