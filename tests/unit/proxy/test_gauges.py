"""Gauges that mirror what is elsewhere, as a scrape shows them."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from services.core import errors, models, ports
from services.core.adapters.in_memory_figures import InMemoryFigures
from services.proxy import gauges
from services.proxy.parts import Parts
from tests.conftest import wait_until
from tests.support import in_memory

CANARY = ports.Canary(at=123.0, recall={1: 0.5, 3: 0.6, 5: 0.7, 10: 0.8}, mrr=0.55, silent=0.9, crossings=2, write_to_read_seconds=0.3)


def value(name: str, **labels: str) -> float:
    found = REGISTRY.get_sample_value(name, labels)
    assert found is not None, f"there is no {name}{labels}"
    return found


def unknown(name: str, **labels: str) -> bool:
    return value(name, **labels) != value(name, **labels)


def away(*_: object) -> ports.Census:
    raise errors.Unavailable("Qdrant")


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    return in_memory.parts(tmp_path)


def refresh(parts: Parts, **pings: Callable[[], None]) -> None:
    gauges.Mirror(wait_seconds=10).refresh(parts, pings)


def test_memories_are_counted_by_scope_and_status_but_not_the_canaries(parts: Parts) -> None:
    in_memory.keep(
        parts,
        in_memory.memory("a"),
        in_memory.memory("b", visibility=models.Visibility.TEAM),
        in_memory.memory("c", visibility=models.Visibility.PROPOSED, said_at=in_memory.NOW - 60),
        in_memory.memory("d", status=models.Status.PENDING, said_at=in_memory.NOW - 30),
        in_memory.memory("e", team=models.CANARY_TEAMS[0], status=models.Status.PENDING),
    )
    refresh(parts)

    assert value("brb_memories", scope="private", status="current") == 1
    assert value("brb_memories", scope="team", status="current") == 1
    assert value("brb_memories", scope="team", status="superseded") == 0
    assert {why: value("brb_review_waiting", why=why) for why in ("proposed", "quarantined", "pending")} == {
        "proposed": 1,
        "quarantined": 0,
        "pending": 1,
    }
    assert value("brb_review_oldest_seconds") == 60


def test_nothing_waits_for_no_time(parts: Parts) -> None:
    refresh(parts)

    assert value("brb_review_oldest_seconds") == 0


def test_what_is_away_is_not_a_number(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts.store, "census", away)
    monkeypatch.setattr(parts.figures, "room", away)
    refresh(parts)

    assert unknown("brb_memories", scope="private", status="current")
    assert unknown("brb_review_waiting", why="pending")
    assert unknown("brb_review_oldest_seconds")
    assert unknown("brb_redis_memory_bytes")


def test_each_dependency_is_up_or_down(parts: Parts) -> None:
    refresh(parts, redis=lambda: None, qdrant=away)  # type: ignore[dict-item]

    assert (value("brb_dependency_up", dependency="redis"), value("brb_dependency_up", dependency="qdrant")) == (1, 0)


def test_the_last_round_of_the_canary_and_of_the_survey_show_in_each_process(parts: Parts) -> None:
    parts.figures.keep(CANARY)
    parts.figures.keep(ports.Survey(at=1.0, zombies={"never": 0.25, "no_longer": 0.5}, top_share=0.4))
    refresh(parts)

    assert [value("brb_canary_recall_at_k", k=k) for k in ("1", "3", "5", "10")] == [0.5, 0.6, 0.7, 0.8]
    assert (value("brb_canary_mrr"), value("brb_canary_silent_ratio"), value("brb_canary_crossings")) == (0.55, 0.9, 2)
    assert (value("brb_canary_last_run_timestamp_seconds"), value("brb_canary_write_to_read_seconds")) == (123.0, 0.3)
    assert (value("brb_zombie_ratio", kind="never"), value("brb_zombie_ratio", kind="no_longer")) == (0.25, 0.5)
    assert value("brb_injection_top10_ratio") == 0.4


def test_before_the_first_round_nothing_is_known(parts: Parts) -> None:
    """A zero would be an alarm."""
    refresh(parts)

    assert unknown("brb_canary_recall_at_k", k="5")
    assert unknown("brb_canary_crossings")
    assert unknown("brb_canary_last_run_timestamp_seconds")
    assert unknown("brb_zombie_ratio", kind="never")
    assert unknown("brb_injection_top10_ratio")


def test_redis_and_the_disk(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts.figures, "room", InMemoryFigures(room=ports.Room(100, 1000)).room)
    refresh(parts)

    assert (value("brb_redis_memory_bytes"), value("brb_redis_memory_limit_bytes")) == (100, 1000)
    assert 0 < value("brb_disk_free_bytes") <= value("brb_disk_size_bytes")


def test_without_a_data_folder_there_is_no_disk(tmp_path: Path) -> None:
    refresh(in_memory.parts(tmp_path / "none"))

    assert unknown("brb_disk_free_bytes")


def test_a_scrape_does_not_wait_for_what_hangs_and_does_not_ask_again_at_once(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, going = threading.Semaphore(0), threading.Event()
    census = parts.store.census

    def slow() -> ports.Census:
        asked.release()
        assert going.wait(30)
        return census()

    monkeypatch.setattr(parts.store, "census", slow)
    in_memory.keep(parts, in_memory.memory("a"), in_memory.memory("b"), in_memory.memory("c"))
    mirror = gauges.Mirror(again_seconds=60, wait_seconds=0.05)
    mirror.refresh(parts, {})
    mirror.refresh(parts, {})

    assert asked.acquire(timeout=5)
    assert not asked.acquire(blocking=False), "one reading is enough"
    going.set()
    wait_until(lambda: REGISTRY.get_sample_value("brb_memories", {"scope": "private", "status": "current"}) == 3)
