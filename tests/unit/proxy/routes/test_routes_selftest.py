import time
from pathlib import Path

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.core import errors, messages, models, ports, selftest_api
from services.proxy.app import create_app
from services.proxy.parts import Parts
from services.proxy.routes import selftest
from tests.support import in_memory

Client = TestClient[Litestar]


@pytest.fixture
def learning(parts: Parts) -> Parts:
    """What the worker and the indexer do about a turn, done where it is enqueued."""

    def learn(jobs: list[messages.Job]) -> None:
        for job in jobs:
            turn = job.payload
            assert isinstance(turn, messages.LearnTurn)
            in_memory.keep(parts, in_memory.memory(turn.words, team=turn.principal.team, owner=turn.principal.user))

    object.__setattr__(parts, "enqueue", learn)
    return parts


def checks(client: Client) -> dict[str, dict[str, object]]:
    return {check["name"]: check for check in client.post("/selftest").raise_for_status().json()["checks"]}


def test_what_works_is_said_to_work_and_leaves_nothing_behind(client: Client, learning: Parts) -> None:
    found = checks(client)

    assert {name: check["ok"] for name, check in found.items()} == {"embedding": True, "round trip": True, "learning": True}
    assert sum(learning.store.total().values()) == 0
    assert sum(learning.book.pending().values()) == 0


def test_a_worker_that_does_not_run_is_found_out(client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "_LEARN_SECONDS", 0.1)
    found = checks(client)["learning"]

    assert found["ok"] is False
    assert "do the worker and the indexer run" in str(found["found"])
    assert sum(parts.book.pending().values()) == 0, "its job is taken back"


def test_a_store_that_loses_what_is_written_is_found_out(client: Client, learning: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(learning.store), "lexical", lambda *_, **__: [])

    assert checks(client)["round trip"] | {"milliseconds": 0} == {
        "name": "round trip",
        "ok": False,
        "found": "a memory that was written is not found by words",
        "milliseconds": 0,
        "away": "",
    }


def test_what_the_host_tries_is_told_as_well(learning: Parts) -> None:
    def fail() -> str:
        raise errors.SetupError("set appendonly yes")

    app = create_app(learning, selftests={"redis policy": fail, "other": lambda: "fine"})
    with TestClient(app, base_url="http://127.0.0.1:3000") as client:
        found = checks(client)

    assert (found["redis policy"]["ok"], found["redis policy"]["found"]) == (False, "set appendonly yes")
    assert (found["other"]["ok"], found["other"]["found"]) == (True, "fine")


def test_what_could_not_be_tried_is_told_apart_from_what_is_wrong(learning: Parts) -> None:
    def away() -> str:
        raise errors.Unavailable("redis", "no connection")

    def wrong() -> str:
        raise errors.SetupError("set appendonly yes")

    with TestClient(create_app(learning, selftests={"redis policy": away, "other": wrong}), base_url="http://127.0.0.1:3000") as client:
        found = checks(client)

    assert {name: found[name]["away"] for name in ("redis policy", "other", "embedding")} == {"redis policy": "redis", "other": "", "embedding": ""}


def test_the_stream_comes_bit_by_bit(client: Client) -> None:
    started = time.monotonic()
    answer = client.get("/selftest/stream")

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.count("data: ") == selftest_api.EVENTS
    assert time.monotonic() - started >= (selftest_api.EVENTS - 1) * selftest_api.PAUSE_SECONDS


def test_nobody_sees_what_a_self_test_writes(parts: Parts, tmp_path: Path) -> None:
    nobody = selftest._nobody()
    in_memory.keep(parts, in_memory.memory("x y", team=nobody.team, owner=nobody.user))

    assert parts.store.find(models.Scope("local", "me", None), ports.Where(status=None)) == []
