"""The committed dashboards hold the rules of a good dashboard; those of Grafana's own linter are among them."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from known_metrics import ALL, OWN, WHOLE, unknown

from ops.grafana import dashboards, queries
from ops.grafana.panels import SEVERITIES

DASHBOARDS = queries.dashboards()
UNITS = {"short", "s", "d", "bytes", "percentunit", "reqps", "cps", "cpm"}
_RANGE = re.compile(r"\[([^\]]*)\]")

each_dashboard = pytest.mark.parametrize("dashboard", DASHBOARDS.values(), ids=DASHBOARDS.keys())


def test_what_is_committed_is_what_the_code_makes() -> None:
    present = {path: path.read_text() for path in queries.DASHBOARDS.iterdir()}
    assert present == dashboards.files()


def test_links_and_bookmarks_live_by_the_uids() -> None:
    assert {name: dashboard["uid"] for name, dashboard in DASHBOARDS.items()} == {
        "overview": "brb-overview",
        "quality": "brb-quality",
        "learning": "brb-learning",
        "infrastructure": "brb-infrastructure",
    }


@each_dashboard
def test_a_dashboard_is_read_only_links_to_the_others_and_shares_the_crosshair(dashboard: dict[str, Any]) -> None:
    assert dashboard["editable"] is False
    assert dashboard["graphTooltip"] == 1
    assert dashboard["tags"] == ["brb"]
    assert dashboard["title"].startswith("BRB / ")
    assert dashboard["description"]
    (link,) = dashboard["links"]
    assert (link["type"], link["tags"], link["includeVars"], link["keepTime"]) == ("dashboards", ["brb"], True, True)
    assert dashboard["timezone"] == "browser"
    assert "__inputs" not in dashboard  # they break what is provisioned


@each_dashboard
def test_the_source_the_job_and_the_instance_can_be_chosen(dashboard: dict[str, Any]) -> None:
    source, job, instance = dashboard["templating"]["list"]
    assert (source["name"], source["type"], source["query"], source["label"]) == ("datasource", "datasource", "prometheus", "Data Source")
    for variable, name in ((job, "job"), (instance, "instance")):
        assert (variable["name"], variable["type"], variable["multi"], variable["includeAll"], variable["allValue"]) == (
            name,
            "query",
            True,
            True,
            ".+",
        )
        assert variable["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    assert 'job=~"$job"' in instance["query"]


@each_dashboard
def test_panels_have_their_own_ids_and_places(dashboard: dict[str, Any]) -> None:
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert place["x"] + place["w"] <= 24, panel["title"]
        assert not cells & taken, panel["title"]
        taken |= cells


@each_dashboard
def test_a_panel_stands_below_a_heading_and_no_heading_is_alone(dashboard: dict[str, Any]) -> None:
    kinds = ["row" if panel["type"] == "row" else "panel" for panel in dashboard["panels"]]
    assert kinds[0] == "row"
    assert "row row" not in " ".join([*kinds, "row"])


@each_dashboard
def test_a_panel_says_what_it_shows_in_which_unit_and_of_which_metrics(dashboard: dict[str, Any]) -> None:
    for panel in queries.panels(dashboard):
        assert panel["title"]
        about, _, named = panel["description"].rpartition(" Metrics: ")
        assert about.endswith("."), "a sentence for whoever has not built it"
        assert set(named.split(", ")) == {name for target in panel["targets"] for name, _ in _selected(target)}
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
        if panel["type"] == "heatmap":
            assert panel["options"]["yAxis"]["unit"] == panel["fieldConfig"]["defaults"]["unit"]


@each_dashboard
def test_a_panel_without_traffic_says_so(dashboard: dict[str, Any]) -> None:
    for panel in queries.panels(dashboard):
        defaults = panel["fieldConfig"]["defaults"]
        said = "none" if panel["title"] == "Alerts by name" else "no traffic"
        assert defaults["noValue"] == said
        (mapping,) = defaults["mappings"]
        assert mapping["type"] == "special"
        assert (mapping["options"]["match"], mapping["options"]["result"]["text"]) == ("null+nan", said)


@each_dashboard
def test_a_panel_and_its_queries_read_the_chosen_source(dashboard: dict[str, Any]) -> None:
    for panel in queries.panels(dashboard):
        source = {"type": "prometheus", "uid": "${datasource}"}
        assert panel["datasource"] == source
        assert all(target["datasource"] == source for target in panel["targets"])
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]) > 0


@each_dashboard
def test_thresholds_begin_with_a_colour_for_all_and_rise(dashboard: dict[str, Any]) -> None:
    for panel in queries.panels(dashboard):
        steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
        assert steps[0]["value"] is None
        values = [step["value"] for step in steps[1:]]
        assert values == sorted(set(values))
        if panel["type"] == "stat" and not values:
            assert steps[0]["color"] == "blue", "green says that all is well: a number without a limit can't"


@each_dashboard
def test_a_query_is_promql_with_a_legend(dashboard: dict[str, Any]) -> None:
    for panel, target in _targets(dashboard):
        assert list(queries.selectors(queries.filled(target["expr"])))
        assert target["legendFormat"]
        assert target["instant"] is (panel["type"] in ("bargauge", "table"))
        assert target["range"] is not target["instant"]


@each_dashboard
def test_every_series_is_of_the_chosen_jobs_and_instances(dashboard: dict[str, Any]) -> None:
    for _, target in _targets(dashboard):
        for name, matchers, _ in queries.selectors(queries.filled(target["expr"], job="J", instance="I")):
            chosen = {label: matcher for label, matcher in matchers.items() if label in ("job", "instance")}
            assert chosen == ({} if name in WHOLE else {"job": "=~J", "instance": "=~I"}), name


@each_dashboard
def test_windows_follow_the_zoom(dashboard: dict[str, Any]) -> None:
    """A fixed window shows nothing when scrapes are rarer, and skips events when the picture spans days."""
    for _, target in _targets(dashboard):
        wanted = "$__range" if target["instant"] else "$__rate_interval"
        assert set(_RANGE.findall(target["expr"])) <= {wanted}


@each_dashboard
def test_counters_are_read_as_rates_and_gauges_as_they_are(dashboard: dict[str, Any]) -> None:
    for _, target in _targets(dashboard):
        for series, _, function in queries.selectors(queries.filled(target["expr"])):
            name = _own_name(series)
            assert name in ALL, f"{name} is no metric of BRB, Prometheus, llama.cpp or Qdrant"
            assert (function in ("rate", "increase")) is (ALL[name].kind in ("counter", "histogram")), f"{function}({series})"


@each_dashboard
def test_quantiles_and_heat_maps_keep_the_bounds_of_buckets(dashboard: dict[str, Any]) -> None:
    for _, target in _targets(dashboard):
        assert target["expr"].count("_bucket{") == target["expr"].count("sum by (le")


@each_dashboard
def test_labels_are_those_of_the_metric(dashboard: dict[str, Any]) -> None:
    for _, target in _targets(dashboard):
        known = {label for name, _ in _selected(target) for label in ALL[name].labels} | {"job", "instance", "le"}
        for name, matchers in _selected(target):
            assert matchers.keys() <= ALL[name].labels | {"job", "instance"}, name
            assert unknown(name, matchers) == set()
        grouped = {label.strip() for group in re.findall(r"by \(([^)]*)\)", target["expr"]) for label in group.split(",")}
        shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        assert grouped <= known
        assert shown <= known
        assert not ({"le"} & grouped) or "_bucket" in target["expr"]


@each_dashboard
def test_what_the_legend_names_is_kept_by_the_query(dashboard: dict[str, Any]) -> None:
    for _, target in _targets(dashboard):
        shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        outermost = re.match(r"(?:60 \* )?(?:sum|max|min|count) by \(([^)]*)\)|histogram_quantile\([\d.]+, sum by \(([^)]*)\)", target["expr"])
        kept = {label.strip() for label in (outermost[1] or outermost[2]).split(",")} if outermost else {"job", "instance"} | shown
        assert shown <= kept


def test_what_fires_stands_first_of_all_counted_by_every_severity_and_by_name() -> None:
    top = [panel for panel in queries.panels(DASHBOARDS["overview"]) if panel["gridPos"]["y"] == 1]
    asked = [[(name, matchers) for target in panel["targets"] for name, matchers in _selected(target)] for panel in top]
    firing = {"alertstate": "=firing", "alertname": "=~Brb.+"}
    severities = {rule["labels"]["severity"] for rule in queries.rules() if "alert" in rule}
    counts = [[("ALERTS", firing | {"severity": f"={severity}"}), ("brb:alert_rules:evaluated", {})] for severity in SEVERITIES]
    assert severities <= SEVERITIES.keys()
    assert asked == [*counts, [("ALERTS", firing)]]


def test_every_metric_of_brb_is_on_a_dashboard() -> None:
    """What nobody draws nobody looks at."""
    drawn = {name for dashboard in DASHBOARDS.values() for _, target in _targets(dashboard) for name, _ in _selected(target)}
    assert set(OWN) - drawn == set()


def _targets(dashboard: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    return ((panel, target) for panel in queries.panels(dashboard) for target in panel["targets"])


def _selected(target: dict[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """The metrics of a query by their own names, with the matchers."""
    for name, matchers, _ in queries.selectors(queries.filled(target["expr"])):
        yield _own_name(name), matchers


def _own_name(series: str) -> str:
    return series if series in ALL else queries.base(series)
