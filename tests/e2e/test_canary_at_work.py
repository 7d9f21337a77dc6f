"""A fresh BRB finds out by itself whether it remembers, and nobody sees of it anything but figures."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import Brb, until

from services.core import models
from services.embedded import standin

FIRST_ROUND_SECONDS = 120  # the first beat comes after 20 s; a round takes a few seconds of a machine that has nothing else to do


@pytest.fixture
def fresh(tmp_path: Path, upstream: standin.StandIn) -> Iterator[Brb]:
    brb = Brb(tmp_path, upstream.url)
    yield brb
    brb.close()


def value(brb: Brb, sample: str) -> float | None:
    """None if there is no such sample, or it is not a number."""
    found = re.search(rf"^{re.escape(sample)} (\S+)$", brb.http.get("/metrics").text, re.MULTILINE)
    number = float(found[1]) if found else float("nan")
    return number if number == number else None


def known(brb: Brb, sample: str) -> float:
    return until(lambda: value(brb, sample), f"{sample} was not known", seconds=15)


@pytest.mark.timeout(300)
def test_a_round_is_in_the_metrics_soon_after_the_start_and_in_nothing_that_people_see(fresh: Brb) -> None:
    fresh.start()
    until(lambda: value(fresh, "brb_canary_last_run_timestamp_seconds"), "no round ended", seconds=FIRST_ROUND_SECONDS)

    assert value(fresh, 'brb_canary_runs_total{outcome="ok"}') == 1
    assert known(fresh, 'brb_canary_recall_at_k{k="10"}') >= 0.8
    assert known(fresh, "brb_canary_mrr") >= 0.75
    assert known(fresh, "brb_canary_silent_ratio") >= 0.9
    assert value(fresh, "brb_canary_crossings") == 0
    assert 0 < known(fresh, "brb_canary_write_to_read_seconds") < 30
    assert not value(fresh, 'brb_dedup_total{decision="insert"}'), "nobody was learnt from"

    health = fresh.http.get("/health").json()
    assert (health["memories"], health["dead"], health["spooled"]) == (0, 0, 0)
    assert fresh.http.get("/audit").json()["events"] == []
    assert fresh.http.get("/memories").json()["total"] == 0
    assert value(fresh, 'brb_memories{scope="private",status="current"}') == 0
    assert value(fresh, 'brb_review_waiting{why="proposed"}') == 0
    for text in (fresh.http.get("/memories/export").text, fresh.http.get("/members").text, fresh.http.get("/tokens").text):
        assert not [team for team in models.CANARY_TEAMS if team in text]
    assert value(fresh, "brb_redis_memory_bytes")
    assert value(fresh, "brb_disk_free_bytes")
    assert value(fresh, 'brb_dependency_up{dependency="qdrant"}') == 1
