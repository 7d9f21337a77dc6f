"""What a measurement came to."""

import math
import statistics
from collections.abc import Sequence
from typing import Literal

import msgspec

SEED = 20_261_130
"""Every measurement draws the same random numbers."""

Scale = Literal["quick", "normal", "thorough"]


class Report(msgspec.Struct, frozen=True):
    """figures: by dotted name, the unit at its end (`_ms`, `_mb`, `_per_second`; `_ratio` has none). n: how many calls or operations were timed.
    columns, rows: the same for people; a heading that starts with `#` is of numbers. notes: how to read it."""

    name: str
    figures: dict[str, float]
    n: int
    notes: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of them does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def p50_ms(seconds: Sequence[float]) -> float:
    return statistics.median(seconds) * 1000


def p95_ms(seconds: Sequence[float]) -> float:
    return quantile(seconds, 0.95) * 1000


def rounded(figures: dict[str, float]) -> dict[str, float]:
    """Four significant digits: more would feign precision."""
    return {name: float(f"{value:.4g}") for name, value in figures.items()}
