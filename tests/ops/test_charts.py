"""What the picture of a dashboard is drawn from."""

from typing import Any

import pytest

from ops.grafana import queries
from ops.render import charts, page
from ops.render.charts import Series, Span

SPAN = Span(0.0, 600.0, 60.0)
STEPS = [{"value": None, "color": "red"}, {"value": 0.8, "color": "orange"}, {"value": 0.9, "color": "green"}]


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (0.934, "percentunit", "93.4%"),
        (0, "percentunit", "0%"),
        (0.0123, "s", "12.3 ms"),
        (0, "s", "0 s"),
        (90, "s", "1.5 min"),
        (7200, "s", "2 hours"),
        (1536, "bytes", "1.5 KiB"),
        (0, "bytes", "0 B"),
        (30, "d", "30 d"),
        (1_500_000, "short", "1.5 M"),
        (999, "short", "999"),
        (3.14159, "cpm", "3.14 c/m"),
    ],
)
def test_values_are_said_in_their_unit(value: float, unit: str, said: str) -> None:
    assert charts.said(value, unit) == said


@pytest.mark.parametrize(
    ("most", "marks"),
    [(1, [0, 0.25, 0.5, 0.75, 1]), (7, [0, 2, 4, 6, 8]), (0.09, [0, 0.025, 0.05, 0.075, 0.1]), (0, [0, 1]), (200, [0, 50, 100, 150, 200])],
)
def test_ticks_are_round_and_reach_the_top(most: float, marks: list[float]) -> None:
    assert charts.ticks(most) == pytest.approx(marks)


@pytest.mark.parametrize(("value", "color"), [(0.1, "red"), (0.8, "orange"), (0.95, "green")])
def test_a_number_has_the_colour_of_the_last_threshold_that_it_reached(value: float, color: str) -> None:
    assert charts.color_of(value, STEPS) == charts.NAMED[color]


def test_the_buckets_of_a_heat_map_are_taken_apart() -> None:
    """Ten in the second bucket, none in the first and the last: one cell, as dark as can be."""
    series = [Series("+Inf", [(300.0, 10.0)]), Series("0.5", [(300.0, 0.0)]), Series("1.0", [(300.0, 10.0)])]
    drawn = charts.heat(series, "short", 400, 200, SPAN)
    assert drawn.count("<rect") == 1
    assert 'opacity="1.00"' in drawn


def test_areas_stand_on_each_other_and_the_axis_reaches_their_sum() -> None:
    series = [Series("a", [(0.0, 3.0), (600.0, 3.0)]), Series("b", [(0.0, 4.0), (600.0, 4.0)])]
    assert ">8<" in charts.lines(series, "short", [], 400, 200, SPAN, stacked=True)
    assert ">8<" not in charts.lines(series, "short", [], 400, 200, SPAN)


def test_a_line_ends_where_there_was_no_traffic() -> None:
    series = [Series("a", [(0.0, 1.0), (60.0, 1.0), (300.0, 1.0), (360.0, 1.0)])]
    assert charts.lines(series, "short", [], 400, 200, SPAN).count("<path") == 2


@pytest.mark.parametrize(
    "drawn",
    [
        charts.number([], "s", STEPS, 200, 90, SPAN),
        charts.lines([], "s", STEPS, 400, 200, SPAN),
        charts.heat([Series("+Inf", [(60.0, 0.0)])], "s", 400, 200, SPAN),
    ],
)
def test_nothing_is_said_to_be_no_traffic(drawn: str) -> None:
    assert charts.NO_TRAFFIC in drawn


def test_names_are_text() -> None:
    assert "<script>" not in charts.lines([Series("<script>", [(0.0, 1.0)])], "short", [], 400, 200, SPAN)


@pytest.mark.parametrize("name", queries.dashboards())
def test_every_dashboard_can_be_drawn(name: str) -> None:
    def ask(expr: str, start: float, end: float, step: float) -> list[dict[str, Any]]:
        return [{"metric": {"le": "1"}, "values": [[start, "0.5"], [end, "NaN"]]}]

    dashboard = queries.dashboards()[name]
    drawn = page.html(dashboard, ask, 0.0, 86_400.0)
    assert drawn.count("<svg") == len(queries.panels(dashboard))
    assert charts.NO_TRAFFIC not in drawn
