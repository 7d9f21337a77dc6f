"""A panel's series as SVG, much as Grafana draws them (pure)."""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from itertools import pairwise
from typing import NamedTuple

COLORS = ("#73BF69", "#F2CC0C", "#8AB8FF", "#FF780A", "#F2495C", "#5794F2", "#B877D9", "#96D98D")
NAMED = {"green": "#73BF69", "orange": "#FF9830", "red": "#F2495C", "blue": "#5794F2", "transparent": "none", "text": "#ccccdc"}
NO_TRAFFIC = "no traffic"

_LEFT, _RIGHT, _TOP, _FOOT, _LEGEND = 62, 12, 6, 20, 22
_FAINT, _TEXT = "rgba(204,204,220,0.12)", "#9fa2ab"
_LETTER = 6.4  # pixels, of small text
_TIMES = (60, 300, 900, 3600, 7200, 14400, 21600, 43200, 86400)


class Series(NamedTuple):
    """points: epoch seconds and value, oldest first; what is no number is left out."""

    name: str
    points: Sequence[tuple[float, float]]


class Span(NamedTuple):
    """Epoch seconds."""

    start: float
    end: float
    step: float


def said(value: float, unit: str) -> str:
    """A value in Grafana's unit, for people."""
    match unit:
        case "percentunit":
            return f"{value * 100:.3g}%"
        case "s":
            for size, name in ((86400, "days"), (3600, "hours"), (60, "min"), (1, "s")):
                if abs(value) >= size:
                    return f"{value / size:.3g} {name}"
            return f"{value * 1000:.3g} ms" if value else "0 s"
        case "bytes":
            power = min(4, int(math.log(value, 1024))) if value >= 1 else 0
            return f"{value / 1024**power:.3g} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"
        case "d":
            return f"{value:.3g} d"
    power = min(3, int(math.log(abs(value), 1000))) if abs(value) >= 1000 else 0
    number = f"{value / 1000**power:.3g}{('', ' K', ' M', ' G')[power]}"
    return number + {"cpm": " c/m", "cps": " c/s", "reqps": " req/s"}.get(unit, "")


def ticks(most: float, count: int = 4) -> list[float]:
    """Round values from 0 that reach `most`."""
    if most <= 0:
        return [0.0, 1.0]
    rough = most / count
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * nice for nice in (1, 2, 2.5, 5, 10) if power * nice >= rough * 0.999)
    return [step * i for i in range(math.ceil(most / step - 1e-9) + 1)]


def color_of(value: float, steps: Sequence[Mapping[str, float | str | None]]) -> str:
    """As the thresholds say."""
    reached = [str(step["color"]) for step in steps if step["value"] is None or value >= float(step["value"])]
    return NAMED[reached[-1]]


def number(series: Sequence[Series], unit: str, steps: Sequence[Mapping[str, float | str | None]], width: int, height: int, span: Span) -> str:
    """The newest value, large, over the way there."""
    points = series[0].points if series else ()
    if not points:
        return _svg(width, height, _text(width / 2, height / 2 + 8, NO_TRAFFIC, size=20, anchor="middle"))
    color = color_of(points[-1][1], steps)
    most = max(value for _, value in points) or 1.0
    place = _placing(span, 0, width, most, height * 0.6, height)
    line = _path(points, place)
    below = f'<path d="{line} L{width},{height} L0,{height} Z" fill="{color}" opacity="0.15"/><path d="{line}" stroke="{color}" fill="none"/>'
    return _svg(width, height, below + _text(width / 2, height / 2 + 8, said(points[-1][1], unit), size=30, anchor="middle", color=color, weight=600))


def lines(
    series: Sequence[Series],
    unit: str,
    steps: Sequence[Mapping[str, float | str | None]],
    width: int,
    height: int,
    span: Span,
    *,
    stacked: bool = False,
    most: float | None = None,
) -> str:
    """Lines, or areas on top of each other, with a legend."""
    if not any(one.points for one in series):
        return _svg(width, height, _text(width / 2, height / 2, NO_TRAFFIC, anchor="middle"))
    drawn = _stacked(series) if stacked else list(series)
    marks = ticks(most or max((value for one in drawn for _, value in one.points), default=1.0))
    place = _placing(span, _LEFT, width - _RIGHT, marks[-1], _TOP, height - _FOOT - _LEGEND)
    parts = [_axes(marks, unit, span, place, width, height)]
    parts += [_limit(step, marks[-1], place, width) for step in steps if step["value"] is not None]
    below: Sequence[tuple[float, float]] | None = None
    for index, one in enumerate(drawn):
        color = COLORS[index % len(COLORS)]
        if stacked and one.points:
            foot = below or [(at, 0.0) for at, _ in one.points]
            back = " ".join(f"L{x:.1f},{y:.1f}" for x, y in (place(at, value) for at, value in reversed(foot)))
            parts.append(f'<path d="{_path(one.points, place)} {back} Z" fill="{color}" opacity="0.55"/>')
            below = one.points
        else:
            parts += [f'<path d="{_path(run, place)}" stroke="{color}" stroke-width="1.5" fill="none"/>' for run in _runs(one.points, span)]
    return _svg(width, height, "".join(parts) + _legend([one.name for one in series], width, height))


def heat(series: Sequence[Series], unit: str, width: int, height: int, span: Span) -> str:
    """A histogram over time: the series are its cumulative buckets, named by their upper bounds."""
    buckets = sorted(series, key=lambda one: float(one.name))
    counts = [dict(one.points) for one in buckets]
    alone = [{at: value - (counts[i - 1].get(at, 0.0) if i else 0.0) for at, value in one.items()} for i, one in enumerate(counts)]
    most = max((value for one in alone for value in one.values()), default=0.0)
    if most <= 0:
        return _svg(width, height, _text(width / 2, height / 2, NO_TRAFFIC, anchor="middle"))
    place = _placing(span, _LEFT, width - _RIGHT, len(buckets), _TOP, height - _FOOT)
    across = (width - _LEFT - _RIGHT) * span.step / (span.end - span.start) + 0.5
    parts = []
    for row, one in enumerate(alone):
        _, top = place(span.start, row + 1)
        _, bottom = place(span.start, row)
        parts += [
            f'<rect x="{place(at, 0)[0] - across:.1f}" y="{top:.1f}" width="{across:.1f}" height="{bottom - top - 0.5:.1f}"'
            f' fill="#FF9830" opacity="{0.08 + 0.92 * math.sqrt(value / most):.2f}"/>'
            for at, value in one.items()
            if value > 1e-6
        ]
        if row % max(1, len(buckets) // 8) == 0 and buckets[row].name != "+Inf":
            parts.append(_text(_LEFT - 6, top + 4, said(float(buckets[row].name), unit), anchor="end"))
    return _svg(width, height, "".join(parts) + _days(span, place, height - 6))


Place = Callable[[float, float], tuple[float, float]]


def _placing(span: Span, left: float, right: float, most: float, top: float, bottom: float) -> Place:
    def place(at: float, value: float) -> tuple[float, float]:
        return left + (right - left) * (at - span.start) / (span.end - span.start), bottom - (bottom - top) * min(1.0, value / most)

    return place


def _stacked(series: Sequence[Series]) -> list[Series]:
    times = sorted({at for one in series for at, _ in one.points})
    total, stacked = dict.fromkeys(times, 0.0), []
    for one in series:
        own = dict(one.points)
        total = {at: value + own.get(at, 0.0) for at, value in total.items()}
        stacked.append(Series(one.name, list(total.items())))
    return stacked


def _runs(points: Sequence[tuple[float, float]], span: Span) -> list[list[tuple[float, float]]]:
    """A line ends where there was no traffic."""
    runs = [[point] for point in points[:1]]
    for before, point in pairwise(points):
        if point[0] - before[0] > span.step * 1.5:
            runs.append([])
        runs[-1].append(point)
    return runs


def _path(points: Sequence[tuple[float, float]], place: Place) -> str:
    return "M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in (place(at, value) for at, value in points))


def _axes(marks: Sequence[float], unit: str, span: Span, place: Place, width: int, height: int) -> str:
    parts = []
    for mark in marks:
        _, y = place(span.start, mark)
        parts.append(f'<line x1="{_LEFT}" x2="{width - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{_FAINT}"/>')
        parts.append(_text(_LEFT - 6, y + 4, said(mark, unit), anchor="end"))
    return "".join(parts) + _days(span, place, height - _LEGEND - 5)


def _days(span: Span, place: Place, y: float) -> str:
    step = next((step for step in _TIMES if (span.end - span.start) / step <= 7), _TIMES[-1])
    first = math.ceil(span.start / step) * step
    marks = [first + step * i for i in range(int((span.end - first) // step) + 1)]
    last = place(span.end, 0)[0] - 3 * _LETTER
    return "".join(_text(x, y, f"{datetime.fromtimestamp(at, UTC):%H:%M}", anchor="middle") for at in marks if (x := place(at, 0)[0]) < last)


def _limit(step: Mapping[str, float | str | None], most: float, place: Place, width: int) -> str:
    value = float(step["value"] or 0)
    if value > most:
        return ""
    _, y = place(0, value)
    return f'<line x1="{_LEFT}" x2="{width - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{NAMED[str(step["color"])]}" stroke-dasharray="6 4"/>'


def _legend(names: Sequence[str], width: int, height: int) -> str:
    parts, left = [], 12.0
    for index, name in enumerate(names):
        wide = 22 + len(name) * _LETTER
        if left + wide > width:
            break
        parts.append(f'<rect x="{left}" y="{height - 12}" width="12" height="3" fill="{COLORS[index % len(COLORS)]}"/>')
        parts.append(_text(left + 16, height - 7, name))
        left += wide + 8
    return "".join(parts)


def _text(x: float, y: float, text: str, *, size: int = 11, anchor: str = "start", color: str = _TEXT, weight: int = 400) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{color}" font-weight="{weight}">{escape(text)}</text>'


def _svg(width: int, height: int, inside: str) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">{inside}</svg>'
