"""How many memories there were by when, as bars (pure)."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

WIDTH, HEIGHT = 640, 180
_MARGIN, _FOOT, _HEAD = 8, 24, 22
_MOST_BARS = 12
_MOST_LABELS = 6
_DAY = 86_400.0
_STEPS = tuple(days * _DAY for days in (1, 7, 30, 91, 365))


class Bar(NamedTuple):
    """x, y, width, height: in a picture of `WIDTH` by `HEIGHT`, y downwards. label: "" where there is no room for one."""

    x: float
    y: float
    width: float
    height: float
    until: float
    label: str
    number: int


def ends(first: float, now: float) -> tuple[float, ...]:
    """The ends of equal spans, the last of them now, that reach back behind `first`: at most 12, unless it is many years."""
    span = max(now - first, 0.0)
    step = next((step for step in _STEPS if span < step * _MOST_BARS), _STEPS[-1])
    count = max(1, math.floor(span / step) + 1)
    return tuple(now - step * back for back in range(count - 1, -1, -1))


def bars(until: Sequence[float], counts: Sequence[int]) -> tuple[Bar, ...]:
    """until: epoch seconds, oldest first."""
    highest, room = max([*counts, 1]), (WIDTH - 2 * _MARGIN) / max(1, len(counts))
    tall = HEIGHT - _FOOT - _HEAD
    apart = math.ceil(len(counts) / _MOST_LABELS)
    made = []
    for place, (end, count) in enumerate(zip(until, counts, strict=True)):
        height = round(tall * count / highest, 1)
        made.append(
            Bar(
                x=round(_MARGIN + place * room + room * 0.1, 1),
                y=round(_HEAD + tall - height, 1),
                width=round(room * 0.8, 1),
                height=height,
                until=end,
                label=f"{datetime.fromtimestamp(end, UTC):%Y-%m-%d}" if (len(counts) - 1 - place) % apart == 0 else "",
                number=count,
            )
        )
    return tuple(made)
