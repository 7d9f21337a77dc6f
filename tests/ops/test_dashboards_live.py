"""A real Prometheus reads a real BRB under a scripted load: every panel and every recording rule shows something."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from known_metrics import ALL, OWN, QDRANT
from prometheus_server import Prometheus, running
from scripted_load import Team, survey_now

from ops.grafana import queries
from ops.render import charts, page
from services.embedded import standin
from tests.conftest import ROOT
from tests.e2e.harness import Brb, free_port, until

_RATE = "10s"  # scrapes come every second
_LONGEST_SECONDS = 75.0

pytestmark = pytest.mark.timeout(300)


class Watched(NamedTuple):
    """since: when the load began, epoch seconds."""

    prometheus: Prometheus
    brb: Brb
    team: Team
    since: float

    def shown(self, expr: str) -> bool:
        """Whether there was a number at any time."""
        return bool(self.prometheus.samples(expr, self.since, time.time()))


@pytest.fixture(scope="module")
def llama(model_files: dict[str, Path]) -> Iterator[str]:
    """A llama.cpp that Prometheus can read, as in a cluster: on a port."""
    address = f"127.0.0.1:{free_port()}"
    argv = [sys.executable, "-m", "services.embedded.llama", "--model", str(model_files["all-MiniLM-L6-v2"]), "--port", address.rpartition(":")[2]]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        yield address
        process.terminate()


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory, llama: str) -> Iterator[Watched]:
    with contextlib.ExitStack() as stack:
        upstream = stack.enter_context(standin.running())
        brb = Brb(tmp_path_factory.mktemp("watched"), upstream.url, BRB_EMBED_URL=f"http://{llama}", BRB_SHADOW_SHARE="1")
        stack.callback(brb.close)
        targets = {"proxy": f"127.0.0.1:{brb.port}", "llama-embed": llama}
        prometheus = stack.enter_context(running(tmp_path_factory.mktemp("prometheus"), targets))
        brb.start(seconds=300)
        team, since = Team(brb, upstream), time.time()
        team.settle()
        team.live()
        yield Watched(prometheus, brb, team, since)


def test_every_panel_and_every_recording_rule_shows_something(watched: Watched) -> None:
    wanted = set(_wanted())
    deadline = time.monotonic() + _LONGEST_SECONDS
    while (missing := {(where, expr) for where, expr in wanted if not watched.shown(expr)}) and time.monotonic() < deadline:
        watched.team.live()
        survey_now(watched.brb)
    assert missing == set()
    assert not watched.shown("sum(rate(brb_turnz_total[10s]))"), "a name that is not there shows nothing"


@pytest.mark.parametrize(
    "expr",
    [
        'sum(brb_recall_outcome_total{outcome="injected"}) > 5',
        "sum(brb_injection_replayed_total) > 5",
        'sum(brb_memory_used_total{used="yes"}) > 0',
        'sum(brb_reasks_total{kind="repeat"}) > 0',
        'sum(brb_reasks_total{kind="correction"}) > 0',
        'sum(brb_dedup_total{decision="supersede"}) > 0',
        'sum(brb_redactions_total{kind="email"}) > 0',
        'sum(brb_relay_requests_total{outcome="upstream_error"}) > 0',
        'sum(brb_denied_total{reason="host"}) > 0',
        "max(brb_dead_letters) == 1",
        'sum(ALERTS{alertstate="firing",alertname="BrbDeadLetters",severity="warning"}) == 1',
        'max(brb_review_waiting{why="quarantined"}) > 0',
        'max(brb_zombie_ratio{kind="never"}) > 0',
        'max(brb_canary_recall_at_k{k="5"}) > 0.5',
        "max(brb_canary_crossings) == 0",
        "sum(brb_shadow_overlap_count) > 0",
        "sum(rate(brb_upstream_cache_read_tokens_total[1m])) > 0",
    ],
)
def test_the_load_did_what_it_is_for(watched: Watched, expr: str) -> None:
    until(lambda: watched.shown(expr) or None, f"not seen: {expr}")


def test_the_picture_of_the_page_on_quality_shows_something_everywhere(watched: Watched) -> None:
    def ask(expr: str, start: float, end: float, step: float) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = watched.prometheus.ask("query_range", query=expr, start=str(start), end=str(end), step=str(step))["result"]
        return found

    dashboard, end = queries.dashboards()["quality"], time.time()
    drawn = page.html(dashboard, ask, end - 86_400, end)
    assert drawn.count("<svg") == len(queries.panels(dashboard))
    assert charts.NO_TRAFFIC not in drawn


def test_rules_are_evaluated_without_errors_and_those_that_should_be_quiet_are(watched: Watched) -> None:
    until(lambda: watched.prometheus.samples("max(brb_dead_letters)", watched.since, time.time()) or None, "nothing was read")
    rules = [rule for group in watched.prometheus.ask("rules")["groups"] for rule in group["rules"]]
    assert len(rules) == len(queries.rules())
    assert [(rule["name"], rule["lastError"]) for rule in rules if rule["health"] == "err"] == []
    alerting = {rule["name"] for rule in rules if rule["type"] == "alerting" and rule["state"] != "inactive"}
    assert "BrbDeadLetters" in alerting
    assert not alerting & {"BrbTargetDown", "BrbSilent", "BrbCrossedScopes", "BrbDependencyDown", "BrbRedisNearLimit"}


def test_what_is_read_of_brb_is_what_its_code_declares(watched: Watched) -> None:
    """Series of other names would be on no dashboard."""
    names = set(watched.prometheus.ask("label/__name__/values"))
    own = {name if name in OWN else queries.base(name) for name in names if name.startswith("brb_")}
    assert own <= OWN.keys()


def _wanted() -> Iterator[tuple[str, str]]:
    """Expressions by where they stand. Only a cluster has a Qdrant, and no server of it is to be had for tests."""
    for name, dashboard in queries.dashboards().items():
        for panel in queries.panels(dashboard):
            for number, asked in enumerate(queries.asked(panel, name, rate_interval=_RATE, range_="1m")):
                if not any(queries.base(series) in QDRANT or series in QDRANT for series, *_ in queries.selectors(asked.expr)):
                    yield f"{asked.where} {number}", asked.expr
                    if "vector(" in asked.expr:  # that shows something whatever comes
                        yield from ((f"{asked.where} {number}", str(each)) for each in queries.selectors(asked.expr))
    for name in queries.recorded():
        yield name, name


def test_only_panels_of_qdrant_are_left_out() -> None:
    left = {
        asked.where for name, dashboard in queries.dashboards().items() for panel in queries.panels(dashboard) for asked in queries.asked(panel, name)
    }
    asked_for = {where.rpartition(" ")[0] for where, _ in _wanted()}
    assert sorted(left - asked_for) == [
        "infrastructure: Answers",
        "infrastructure: Memory",
        "infrastructure: Optimizations running, updates waiting",
        "infrastructure: Points",
        "infrastructure: Points hidden until they are indexed",
        "infrastructure: Time of an answer",
    ]
    assert ALL.keys() >= QDRANT.keys()
