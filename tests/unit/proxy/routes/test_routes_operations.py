import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.core import api, errors, health, messages, models
from services.proxy.app import create_app
from services.proxy.parts import Parts
from services.proxy.routes import operations
from tests.support.in_memory import NOW, keep, memory

Client = TestClient[Litestar]


def away() -> None:
    raise errors.Unavailable("Redis", "connection refused")


@pytest.fixture
def degraded(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """The app while Redis is away and three jobs are spooled."""
    for name in ("pending", "oldest_seconds", "dead", "ping"):
        monkeypatch.setattr(parts.book, name, lambda *_: away())
    app = create_app(parts, pings={"redis": away, "qdrant": parts.store.ping}, spooled=lambda: 3)
    with TestClient(app, base_url="http://127.0.0.1:3000") as connection:
        yield connection


def test_health_has_an_entry_for_each_dependency(client: Client, parts: Parts) -> None:
    keep(parts, memory("a b"), memory("c d", status=models.Status.SUPERSEDED))
    answer = client.get("/health")

    assert answer.status_code == 200
    body = answer.json()
    assert body["status"] == "ok"
    assert {name: report["state"] for name, report in body["dependencies"].items()} == {"qdrant": "ok", "llama.cpp": "ok", "redis": "ok"}
    assert body["memories"] == 1, "what was superseded is not remembered now"
    assert body["pending"] == {"learn": 0, "index": 0, "upkeep": 0, "patient": 0}
    assert (body["dead"], body["spooled"], body["notices"]) == (0, 0, [])
    assert body["version"]


def test_health_answers_while_a_dependency_is_away_and_names_it(degraded: Client) -> None:
    """headroom#3573: "memory enabled" but inert."""
    answer = degraded.get("/health")

    assert answer.status_code == 200
    body = answer.json()
    assert body["status"] == "degraded"
    assert body["dependencies"]["redis"]["state"] == "down"
    assert body["dependencies"]["redis"]["reason"] == "Redis is not available: connection refused"
    assert body["dependencies"]["qdrant"]["state"] == "ok"
    assert body["dead"] is None
    assert body["pending"] == {}
    assert body["spooled"] == 3


OK = {"redis": health.Report("ok", 1.0)}


def queues(oldest: Mapping[messages.Lane, float], dead: int = 0) -> api.Jobs:
    return api.Jobs({}, oldest, dead, 0)


@pytest.mark.parametrize(
    ("dependencies", "jobs", "expected"),
    [
        (OK, queues({}), ()),
        (OK, None, ()),
        (OK, queues({messages.Lane.LEARN: 59.0}), ()),
        (OK, queues({messages.Lane.LEARN: 3600.0}), ("the oldest job of queue learn waits for 3600 s: is its worker running?",)),
        (OK, queues({messages.Lane.PATIENT: 36000.0}), ()),
        (OK, queues({}, dead=2), ("2 jobs failed for good: see `brb jobs dead`",)),
        ({"worker": health.Report("down", 1.0, "no sign of life")}, None, ("worker is down: no sign of life",)),
    ],
)
def test_what_a_person_should_look_at_is_said_in_a_line(
    dependencies: Mapping[str, health.Report], jobs: api.Jobs | None, expected: tuple[str, ...]
) -> None:
    """honcho#494: the background worker consumes nothing and nobody sees it."""
    assert operations.noticed(dependencies, jobs) == expected


@pytest.mark.parametrize(
    ("dependencies", "jobs", "expected"),
    [
        (OK, queues({}), False),
        (OK, None, False),
        (OK, queues({}, dead=2), False),
        (OK, queues({messages.Lane.INDEX: 3600.0}), True),
        (OK, queues({messages.Lane.PATIENT: 36000.0}), False),
        ({"worker": health.Report("down", 1.0, "no sign of life")}, queues({}), True),
    ],
)
def test_degraded_means_that_something_does_not_work_now(dependencies: Mapping[str, health.Report], jobs: api.Jobs | None, expected: bool) -> None:
    assert operations.degraded(dependencies, jobs) is expected


def test_liveness_is_the_process_and_readiness_its_dependencies(client: Client, degraded: Client) -> None:
    assert (client.get("/healthz").status_code, client.get("/healthz").text) == (200, "ok")
    assert (client.get("/readyz").status_code, client.get("/readyz").text) == (200, "ok")
    assert degraded.get("/healthz").status_code == 200
    assert degraded.get("/readyz").status_code == 503
    assert degraded.get("/readyz").text == "redis: Redis is not available: connection refused"


def test_gauges_are_read_when_metrics_are_scraped(client: Client, parts: Parts) -> None:
    keep(parts, memory("a b"))
    parts.enqueue([messages.Job.of(messages.Task.TOUCH, messages.Touch("t", models.LOCAL, (), NOW))])
    answer = client.get("/metrics")

    assert answer.headers["content-type"].startswith("text/plain; version=")
    lines = answer.text.splitlines()
    assert 'brb_queue_depth{queue="index"} 1.0' in lines
    assert 'brb_queue_depth{queue="learn"} 0.0' in lines
    assert 'brb_memories{scope="private",status="current"} 1.0' in lines
    assert "brb_dead_letters 0.0" in lines


def test_a_gauge_whose_source_is_away_is_not_a_number(degraded: Client) -> None:
    lines = degraded.get("/metrics").text.splitlines()

    assert 'brb_queue_depth{queue="learn"} NaN' in lines
    assert "brb_dead_letters NaN" in lines
    assert "brb_spooled_jobs 3.0" in lines


def test_metrics_of_all_processes_are_joined_in_multi_process_mode(tmp_path: Path) -> None:
    written = "from services.core import telemetry; telemetry.REPLAYED.inc(2)"
    read = "from services.core import telemetry; telemetry.REPLAYED.inc(3); print(telemetry.exposed().decode())"
    env = {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", written], env=env, check=True)
    shown = subprocess.run([sys.executable, "-c", read], env=env, check=True, capture_output=True, text=True).stdout

    assert "brb_injection_replayed_total 5.0" in shown.splitlines()
