"""The rules of Prometheus: what they name exists, each alert has its tests and its paragraph, and promtool takes and runs them all."""

import re
import subprocess

import pytest
import yaml
from known_metrics import ALL, unknown
from prometheus_server import program

from ops.grafana import queries
from tests.conftest import ROOT

ALERTS = {rule["alert"]: rule for rule in queries.rules() if "alert" in rule}
RULES = {rule.get("alert") or rule["record"]: rule for rule in queries.rules()}
TEST_FILES = ("alerts_test.yml", "alerts_days_test.yml", "alerts_weeks_test.yml")
TESTS = [test for name in TEST_FILES for test in yaml.safe_load((queries.RULES / name).read_text())["tests"]]
RUNBOOK = ROOT / "ops" / "runbook.md"

each_alert = pytest.mark.parametrize("name", ALERTS)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_names_series_that_exist(name: str) -> None:
    for series, matchers, _ in queries.selectors(RULES[name]["expr"]):
        assert unknown(series, matchers) == set()
        if series in queries.recorded():
            continue
        known = ALL[series if series in ALL else queries.base(series)]
        assert matchers.keys() <= known.labels | {"job", "instance"}


@each_alert
def test_an_alert_says_how_bad_it_is_what_it_means_and_where_to_read_on(name: str) -> None:
    alert = ALERTS[name]
    assert re.fullmatch(r"Brb([A-Z][a-z]+)+", name)
    assert alert["labels"]["severity"] in ("critical", "warning", "info")
    annotations = alert["annotations"]
    assert annotations.keys() == {"summary", "description", "runbook"}
    assert annotations["description"].endswith(".")
    assert annotations["runbook"] == f"ops/runbook.md#{name.lower()}"


@each_alert
def test_an_alert_has_a_paragraph_in_the_runbook(name: str) -> None:
    heading, _, rest = RUNBOOK.read_text().partition(f"\n### {name}\n")
    paragraph = rest.partition("\n#")[0].strip()
    assert heading
    assert len(paragraph.split()) > 25, "what it means, where to look, what to do"


@each_alert
def test_an_alert_is_seen_firing_and_seen_quiet(name: str) -> None:
    cases = [case["exp_alerts"] for test in TESTS for case in test.get("alert_rule_test", []) if case["alertname"] == name]
    assert any(cases), "no test in which it fires"
    assert not all(cases), "no test in which it is quiet"


def test_the_list_of_alerts_in_the_documents_is_whole() -> None:
    listed = re.findall(r"^\| `(\w+)` \| (\w+) \|", (ROOT / "docs" / "dashboards.md").read_text(), re.MULTILINE)
    assert dict(listed) == {name: alert["labels"]["severity"] for name, alert in ALERTS.items()}


def test_the_runbook_has_no_paragraphs_of_alerts_that_are_gone() -> None:
    section = RUNBOOK.read_text().partition("\n## Alerts\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"^### (\w+)$", section, re.MULTILINE)) == set(ALERTS)


def test_a_comparison_of_rates_has_traffic_to_compare() -> None:
    """Ratios of nothing are NaN, and one failed call in a night is not half of all."""
    for name, rule in RULES.items():
        if "record" in rule and ":ratio_rate" in name:
            assert re.search(r"/ \(sum\(rate\([^)]*\)\) > 0\)\s*$", rule["expr"]), name


def test_promtool_takes_the_rules_and_passes_their_tests() -> None:
    for arguments in (["check", "rules", *queries.RULE_FILES], ["test", "rules", *TEST_FILES]):
        done = _run(arguments)
        assert done.returncode == 0, done.stdout + done.stderr


def _run(arguments: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(program("promtool")), *arguments], cwd=queries.RULES, capture_output=True, text=True, timeout=60)
