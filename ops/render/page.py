"""A dashboard as one HTML page, from its JSON and what a Prometheus answers to its queries."""

import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from ops.grafana import queries
from ops.render import charts

Ask = Callable[[str, float, float, float], list[dict[str, Any]]]
"""The series that an expression gives (Prometheus's `matrix`) from start to end (epoch seconds), each so many seconds."""

_COLUMN, _UNIT, _GAP, _HEAD = 62, 34, 8, 30
_SCRAPE_SECONDS = 60.0
_STYLE = """
body { margin: 0; background: #111217; color: #ccccdc; font-family: Inter, "DejaVu Sans", "Liberation Sans", Arial, sans-serif; }
main { position: relative; width: %dpx; margin: 12px; }
header { margin: 16px 12px 0; font-size: 20px; font-weight: 600; }
header small { color: #9fa2ab; font-size: 13px; font-weight: 400; margin-left: 12px; }
section { position: absolute; background: #181b1f; border: 1px solid rgba(204,204,220,.12); border-radius: 3px; box-sizing: border-box; }
section h3 { margin: 0; padding: 8px 10px 0; font-size: 13px; font-weight: 500; height: 26px; box-sizing: border-box; overflow: hidden;
  white-space: nowrap; }
h2 { position: absolute; margin: 0; font-size: 15px; font-weight: 500; line-height: 34px; }
svg { display: block; font-family: inherit; }
"""


def html(dashboard: Mapping[str, Any], ask: Ask, start: float, end: float, *, note: str = "") -> str:
    """note: stands beside the title."""
    parts, bottom = [], 0
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        left, top, width = place["x"] * _COLUMN, place["y"] * _UNIT, place["w"] * _COLUMN - _GAP
        height = place["h"] * _UNIT - _GAP
        bottom = max(bottom, top + height)
        if panel["type"] == "row":
            parts.append(f'<h2 style="left:{left}px;top:{top}px">&#8964; {escape(panel["title"])}</h2>')
            continue
        drawn = _drawn(panel, ask, start, end, width - 2, height - _HEAD)
        box = f"left:{left}px;top:{top}px;width:{width}px;height:{height}px"
        parts.append(f'<section style="{box}"><h3>{escape(panel["title"])}</h3>{drawn}</section>')
    title = f"<header>{escape(dashboard['title'])}<small>{escape(note)}</small></header>"
    style = _STYLE % (_COLUMN * 24)
    return f'<!doctype html><meta charset="utf-8"><style>{style}</style>{title}<main style="height:{bottom}px">{"".join(parts)}</main>'


def _drawn(panel: Mapping[str, Any], ask: Ask, start: float, end: float, width: int, height: int) -> str:
    span = charts.Span(start, end, _step(panel, end - start, width))
    defaults = panel["fieldConfig"]["defaults"]
    unit, steps = defaults["unit"], defaults["thresholds"]["steps"]
    series = []
    for asked in queries.asked(panel, "", rate_interval=f"{span.step + _SCRAPE_SECONDS:.0f}s", range_=f"{end - start:.0f}s"):
        for one in ask(asked.expr, start, end, span.step):
            points = [(float(at), float(value)) for at, value in one["values"] if value not in ("NaN", "+Inf", "-Inf")]
            series.append(charts.Series(_legend(asked.legend, one["metric"]), points))
    series = [one for one in series if one.points]
    match panel["type"]:
        case "stat":
            return charts.number(series, unit, steps, width, height, span)
        case "heatmap":
            return charts.heat(series, unit, width, height, span)
    stacked = defaults.get("custom", {}).get("stacking", {}).get("mode") == "normal"
    return charts.lines(series, unit, steps, width, height, span, stacked=stacked, most=defaults.get("max"))


def _step(panel: Mapping[str, Any], seconds: float, width: int) -> float:
    """As Grafana chooses it: a point every few pixels, and no more often than the panel wants."""
    least = {"s": 1, "m": 60, "h": 3600}
    own = panel.get("interval") or f"{_SCRAPE_SECONDS:.0f}s"
    return max(float(own[:-1]) * least[own[-1]], _SCRAPE_SECONDS * round(seconds / width / _SCRAPE_SECONDS * 2))


def _legend(template: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda match: labels.get(match[1], ""), template)
