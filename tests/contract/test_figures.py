"""One suite over both keepers of figures."""

from collections.abc import Iterator

import pytest

from services.core import figures, ports
from services.core.adapters import in_memory_figures, redis_client, redis_figures
from tests.conftest import wait_until

DAY = 86_400.0
NOON = 1_790_000_000.0
CANARY = ports.Canary(at=NOON, recall={1: 0.5, 10: 1.0}, mrr=0.7, silent=0.9, crossings=0, write_to_read_seconds=0.3)


@pytest.fixture(params=["memory", "redis"])
def kept(request: pytest.FixtureRequest) -> Iterator[ports.Figures]:
    if request.param == "memory":
        yield in_memory_figures.InMemoryFigures()
    else:
        client = redis_client.connect(request.getfixturevalue("redis_address"), timeout_seconds=2)
        yield redis_figures.RedisFigures(client)
        client.close()


def test_the_most_told_are_counted_over_all_the_days(kept: ports.Figures) -> None:
    kept.told(["a", "b"], NOON)
    kept.told(["a"], NOON - 3 * DAY)
    kept.told(["a", "c"], NOON - 29 * DAY)
    kept.told([], NOON)

    assert kept.most_told(NOON, 1) == ([3], 5)
    assert kept.most_told(NOON, 10) == ([3, 1, 1], 5)


def test_what_was_told_long_ago_counts_no_more(kept: ports.Figures) -> None:
    kept.told(["a"], NOON - (figures.TALLY_DAYS + 1) * DAY)

    assert kept.most_told(NOON, 10) == ([], 0)


def test_what_is_forgotten_is_in_no_tally_of_any_day(kept: ports.Figures) -> None:
    kept.told(["a", "b"], NOON)
    kept.told(["a"], NOON - 5 * DAY)
    kept.forget(["a", "unknown"])
    kept.forget([])

    assert kept.most_told(NOON, 10)[0] == [1]


def test_the_last_findings_of_each_kind_are_kept(kept: ports.Figures) -> None:
    assert (kept.canary(), kept.survey()) == (None, None)
    survey = ports.Survey(at=NOON, zombies={"never": 0.25, "no_longer": 0.0}, top_share=0.5)
    for found in (CANARY, survey, ports.Survey(at=NOON + 1)):
        kept.keep(found)

    assert kept.canary() == CANARY
    assert kept.survey() == ports.Survey(at=NOON + 1)


def test_due_work_is_one_process_s_alone_until_it_is_due_again(kept: ports.Figures) -> None:
    assert kept.due("canary", 60)
    assert not kept.due("canary", 60)
    assert kept.due("survey", 60), "another piece of work"
    kept.again("canary", 0)
    assert kept.due("canary", 60)
    kept.again("canary", 0.05)
    wait_until(lambda: kept.due("canary", 60), seconds=5)


def test_room_is_what_is_used_and_the_limit(kept: ports.Figures) -> None:
    used, limit = kept.room()

    assert used >= 0
    assert limit == 0, "none is set here"


def test_room_is_told_while_what_is_refused_makes_others_wait(redis_address: str) -> None:
    """Else the alert that there is hardly any would end as soon as there is none."""
    breaker = redis_client.Breaker()
    kept = redis_figures.RedisFigures(redis_client.connect(redis_address, timeout_seconds=2), breaker=breaker)
    breaker.trip()

    assert kept.room().used > 0


def test_a_day_s_tally_is_bounded(redis_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "MOST_TALLIED", 3)
    client = redis_client.connect(redis_address, timeout_seconds=2)
    kept = redis_figures.RedisFigures(client)
    for each in ("a", "a", "b", "b", "c", "c", "d"):
        kept.told([each], NOON)

    assert kept.most_told(NOON, 10) == ([2, 2, 2], 7)
    assert client.zcard(f"brb:told:{figures.day_of(NOON)}") == 3
    assert 0 < client.ttl(f"brb:told:{figures.day_of(NOON)}") <= 31 * DAY
    client.close()
