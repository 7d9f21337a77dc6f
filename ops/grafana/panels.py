"""What a panel is, and how it and its dashboard become Grafana's JSON. The dashboards themselves (`overview`, `quality`, …) are data alone.

In an expression `@` stands for the matchers of the dashboard's variables: `brb_turns_total{@,outcome="queued"}`.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from grafana_foundation_sdk.builders import bargauge, common, heatmap, prometheus, stat, table, timeseries
from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as looks
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

TAG = "brb"
NO_TRAFFIC = "no traffic"
MATCHERS = 'job=~"$job",instance=~"$instance"'
COLUMNS = 24
SEVERITIES = {"critical": "red", "warning": "orange", "info": "blue"}
"""Of alerts, with their colours."""

_SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
_METRIC = re.compile(r"([a-zA-Z_:][\w:]*)\{")
_PART = re.compile(r"_(bucket|sum|count)$")
_HEIGHTS = {"number": 4, "table": 6}


class Kind(StrEnum):
    """number: the newest value, large. bars: a bar for each series, over all of the time that is shown. stack: areas on top of each other.
    table: a line for each series that there is now, with its labels."""

    LINES = "lines"
    STACK = "stack"
    HEAT = "heat"
    NUMBER = "number"
    BARS = "bars"
    TABLE = "table"


class Query(NamedTuple):
    """legend: `{{label}}` stands for the value of a label."""

    expr: str
    legend: str = ""


class Limit(NamedTuple):
    """The colour from this value on."""

    value: float
    color: str


@dataclass(frozen=True, slots=True)
class Panel:
    """about: one or two sentences; the names of the metrics are added. unit: Grafana's. limits: colours above the first one, which is `base`.
    every: the shortest step, for what happens a few times a minute or an hour. nothing: what is said where nothing is to be shown."""

    title: str
    about: str
    unit: str
    queries: tuple[Query, ...]
    kind: Kind = Kind.LINES
    width: int = 8
    limits: tuple[Limit, ...] = ()
    base: str = "green"
    every: str = ""
    most: float | None = None
    nothing: str = NO_TRAFFIC


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Dashboard:
    """uid: links and bookmarks live by it, so it stays."""

    uid: str
    title: str
    about: str
    rows: tuple[Row, ...]
    since: str = "now-6h"


# expressions


def rate(metric: str, by: str = "", where: str = "") -> str:
    """Of a counter, a second."""
    return f"sum{f' by ({by}) ' if by else ''}(rate({metric}{{@{where and f',{where}'}}}[$__rate_interval]))"


def often(metric: str, by: str = "", where: str = "") -> str:
    """Of a counter, a minute: for what happens less than once a second."""
    return f"60 * {rate(metric, by, where)}"


def quantile(q: float, metric: str, by: str = "") -> str:
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({q}, sum by ({labels}) (rate({metric}_bucket{{@}}[$__rate_interval])))"


def mean(metric: str) -> str:
    return f"{rate(f'{metric}_sum')} / ({rate(f'{metric}_count')} > 0)"


def share(part: str, whole: str) -> str:
    """Of two rates. Nothing while there is no traffic, and 0 where a part was never seen."""
    return f"({part} or vector(0)) / ({whole} > 0)"


def cells(metric: str) -> str:
    """Of a histogram, for a heat map."""
    return f"sum by (le) (increase({metric}_bucket{{@}}[$__rate_interval]))"


def greatest(metric: str, by: str = "", where: str = "") -> str:
    """Of a gauge that says the same of the whole service wherever it is read: a sum would count it once for each process."""
    return f"max{f' by ({by}) ' if by else ''}({metric}{{@{where and f',{where}'}}})"


def newest(metric: str, by: str = "", where: str = "") -> str:
    """Of a gauge of the canary: as the newest round found it. A process that does not look says nothing of it, or 0; a proxy without Redis NaN."""
    last = "topk(1, brb_canary_last_run_timestamp_seconds{@} > 0)"
    return f"max{f' by ({by}) ' if by else ''}({metric}{{@{where and f',{where}'}}} and on (job, instance) {last})"


def metrics(panel: Panel) -> list[str]:
    """The names of what it shows, each once."""
    return list(dict.fromkeys(_PART.sub("", name) for query in panel.queries for name in _METRIC.findall(query.expr)))


# Grafana's JSON


def encoded(dashboard: Dashboard) -> str:
    """The file that is committed and provisioned."""
    return JSONEncoder(sort_keys=True, indent=2).encode(_built(dashboard).build()) + "\n"


def decoded(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


def _built(dashboard: Dashboard) -> build.Dashboard:
    built = (
        build.Dashboard(f"BRB / {dashboard.title}")
        .uid(dashboard.uid)
        .description(dashboard.about)
        .tags([TAG])
        .readonly()
        .time(dashboard.since, "now")
        .timezone("browser")
        .refresh("30s")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .link(build.DashboardLink("BRB").type(models.DashboardLinkType.DASHBOARDS).tags([TAG]).as_dropdown(False).include_vars(True).keep_time(True))
        .with_variable(build.DatasourceVariable("datasource").type("prometheus").label("Data Source"))
        .with_variable(_variable("job", "Job", "label_values(up, job)"))
        .with_variable(_variable("instance", "Instance", 'label_values(up{job=~"$job"}, instance)'))
    )
    number, top = 0, 0
    for row in dashboard.rows:
        number += 1
        built = built.with_row(build.Row(row.title).id(number).grid_pos(models.GridPos(x=0, y=top, w=COLUMNS, h=1)))
        top += 1
        for panel, place in _placed(row.panels, top):
            number += 1
            built = built.with_panel(_drawn(panel).id(number).grid_pos(place))
            top = max(top, place.y + place.h)
    return built


def _placed(panels: Sequence[Panel], top: int) -> list[tuple[Panel, models.GridPos]]:
    """Side by side, and below where there is no room."""
    placed, left, tallest = [], 0, 0
    for panel in panels:
        height = _HEIGHTS.get(panel.kind, 8)
        if left + panel.width > COLUMNS:
            left, top, tallest = 0, top + tallest, 0
        placed.append((panel, models.GridPos(x=left, y=top, w=panel.width, h=height)))
        left, tallest = left + panel.width, max(tallest, height)
    return placed


def _variable(name: str, label: str, query: str) -> build.QueryVariable:
    return (
        build.QueryVariable(name)
        .label(label)
        .query(query)
        .datasource(_SOURCE)
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".+")
        .current(models.VariableOption(text="All", value="$__all", selected=True))
    )


def _drawn(panel: Panel) -> Any:
    drawn: Any
    match panel.kind:
        case Kind.NUMBER:
            drawn = stat.Panel().graph_mode(looks.BigValueGraphMode.AREA).color_mode(looks.BigValueColorMode.VALUE).reduce_options(_last())
        case Kind.BARS:
            drawn = (
                bargauge.Panel().orientation(looks.VizOrientation.HORIZONTAL).display_mode(looks.BarGaugeDisplayMode.BASIC).reduce_options(_last())
            )
        case Kind.HEAT:
            drawn = (
                heatmap.Panel().calculate(False).y_axis(heatmap.YAxisConfig().unit(panel.unit)).color(heatmap.HeatmapColorOptions().scheme("Oranges"))
            )
        case Kind.STACK:
            stacking = common.StackingConfig().mode(looks.StackingMode.NORMAL).group("A")
            drawn = _lines().stacking(stacking).fill_opacity(40).line_width(0)
        case Kind.TABLE:
            drawn = _table()
        case _:
            drawn = _lines().fill_opacity(8).line_width(1)
    for index, query in enumerate(panel.queries):
        drawn = drawn.with_target(_target(panel, query, chr(ord("A") + index)))
    drawn = (
        drawn.title(panel.title)
        .description(f"{panel.about} Metrics: {', '.join(metrics(panel))}")
        .datasource(_SOURCE)
        .unit(panel.unit)
        .no_value(panel.nothing)
        .mappings([_nothing(panel.nothing)])
    )
    if panel.kind is not Kind.HEAT:
        drawn = drawn.min(0)
    if panel.most is not None:
        drawn = drawn.max(panel.most)
    if panel.every:
        drawn = drawn.interval(panel.every)
    steps = [models.Threshold(value=None, color=panel.base), *(models.Threshold(value=limit.value, color=limit.color) for limit in panel.limits)]
    drawn = drawn.thresholds(build.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(steps))
    if panel.limits and panel.kind in (Kind.LINES, Kind.STACK):
        drawn = drawn.thresholds_style(common.GraphThresholdsStyleConfig().mode(looks.GraphThresholdsStyleMode.DASHED))
    if panel.kind in (Kind.NUMBER, Kind.BARS):
        drawn = drawn.color_scheme(build.FieldColor().mode(models.FieldColorModeId.THRESHOLDS))
    return drawn


def _lines() -> timeseries.Panel:
    legend = common.VizLegendOptions().display_mode(looks.LegendDisplayMode.LIST).placement(looks.LegendPlacement.BOTTOM).show_legend(True)
    tooltip = common.VizTooltipOptions().mode(looks.TooltipDisplayMode.MULTI)
    return timeseries.Panel().legend(legend).tooltip(tooltip).show_points(looks.VisibilityMode.NEVER)


def _table() -> table.Panel:
    """By severity, which has its colour: the critical ones come first."""
    shown = {severity: models.ValueMappingResult(color=color) for severity, color in SEVERITIES.items()}
    colored = [
        models.DynamicConfigValue("mappings", [models.ValueMap(options=shown)]),
        models.DynamicConfigValue("custom.cellOptions", {"type": looks.TableCellDisplayMode.COLOR_TEXT}),
    ]
    columns = {"excludeByName": {"Time": True}, "indexByName": {"severity": 0, "alertname": 1, "Value": 2}, "renameByName": {"Value": "count"}}
    return (
        table.Panel()
        .with_transformation(models.DataTransformerConfig("organize", options=columns))
        .override_by_name("severity", colored)
        .sort_by([common.TableSortByFieldState().display_name("severity")])
    )


def _last() -> common.ReduceDataOptions:
    return common.ReduceDataOptions().calcs(["lastNotNull"]).values(False)


def _target(panel: Panel, query: Query, ref: str) -> prometheus.Dataquery:
    target = prometheus.Dataquery().expr(query.expr.replace("@", MATCHERS)).legend_format(query.legend or panel.title).ref_id(ref).datasource(_SOURCE)
    if panel.kind is Kind.BARS:
        return target.instant()
    if panel.kind is Kind.TABLE:
        return target.instant().format(PromQueryFormat.TABLE)
    return target.range().format(PromQueryFormat.HEATMAP if panel.kind is Kind.HEAT else PromQueryFormat.TIME_SERIES)


def _nothing(said: str) -> models.SpecialValueMap:
    result = models.ValueMappingResult(text=said, color="text", index=0)
    return models.SpecialValueMap(options=models.DashboardSpecialValueMapOptions(match=models.SpecialValueMatch.NULL_AND_NAN, result=result))
