import json
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from services.cli import doctor
from services.cli.doctor import State
from services.core import api, health, messages, models
from services.proxy.parts import Parts
from services.proxy.routes import selftest
from tests.support.in_memory import NOW, keep, memory

Brb = Callable[..., Result]


def bury(parts: Parts, turn: str) -> str:
    """The id of a job that failed for good."""
    job = messages.Job.of(messages.Task.LEARN_TURN, messages.LearnTurn(turn, models.LOCAL, NOW, "words"))
    parts.book.add([job])
    claim = parts.book.claim(job.id)
    assert claim is not None
    parts.book.bury(claim, "WrongModel: another model")
    return job.id


def test_status_of_a_healthy_brb(brb: Brb, running: Parts) -> None:
    keep(running, memory("a b"))
    result = brb("status")

    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].endswith(f"at http://127.0.0.1:{running.settings.port}: ok")
    assert [line.split("\t")[:2] for line in lines[1:4]] == [["qdrant", "ok"], ["llama.cpp", "ok"], ["redis", "ok"]]
    assert lines[4] == "1 memories, 0 jobs waiting"


def test_status_of_a_degraded_brb_says_what_to_look_at_and_exits_1(brb: Brb, running: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running.book, "oldest_seconds", lambda: {messages.Lane.LEARN: 3600.0})
    shown, as_json = brb("status"), brb("status", "--json")

    assert shown.exit_code == as_json.exit_code == 1
    assert shown.stderr == "the oldest job of queue learn waits for 3600 s: is its worker running?\n"
    assert json.loads(as_json.stdout)["status"] == "degraded"


def test_dead_jobs_are_listed_and_tried_again(brb: Brb, running: Parts) -> None:
    first, second = bury(running, "t1"), bury(running, "t2")

    assert {line.split("\t")[0] for line in brb("jobs", "dead").stdout.splitlines()} == {first, second}
    assert brb("jobs", "list").stderr == "2 failed for good: see `brb jobs dead`\n"
    assert brb("jobs", "retry", first).stdout == f"{first} will be tried again\n"
    assert json.loads(brb("jobs", "retry", "--all", "--json").stdout) == [{"id": second, "task": "brb.learn_turn"}]
    assert brb("jobs", "dead").stderr == "no job failed for good\n"
    assert json.loads(brb("jobs", "list", "--json").stdout)["pending"]["learn"] == 2


@pytest.mark.parametrize("words", [(), ("some-id", "--all")])
def test_a_retry_names_its_jobs_or_all_of_them(brb: Brb, words: tuple[str, ...]) -> None:
    assert brb("jobs", "retry", *words).exit_code == 2


def test_a_retry_of_an_unknown_job_says_so(brb: Brb, running: Parts) -> None:
    result = brb("jobs", "retry", "nobody")

    assert (result.exit_code, result.stderr) == (4, "error: there is no dead job nobody\n")


def test_doctor_of_a_running_brb_tries_each_part(brb: Brb, running: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "_LEARN_SECONDS", 0.1)  # no worker runs here
    keep(running, memory("We use Postgres as our database"))
    found = {finding["check"]: finding for finding in json.loads(brb("doctor", "--json").stdout)}

    for check in ("python", "data folder", "disk", "clock", "port", "qdrant", "llama.cpp", "redis", "embedding", "round trip"):
        assert found[check]["state"] in ("ok", "warn"), found[check]
    assert found["relay"]["state"] == "fail"  # this one was made without a relay
    assert "404" in found["relay"]["found"]


def test_doctor_without_a_brb_says_that_its_port_is_free(brb: Brb, free_port: int) -> None:
    lines = brb("doctor").stdout.splitlines()

    assert f"warn  port: port {free_port} is free: BRB is not running → start it with `make up` or `brb up`" in lines


def test_doctor_names_the_program_that_has_the_port(brb: Brb, free_port: int) -> None:
    """What answers there is neither BRB nor HTTP."""
    with socket.create_server(("127.0.0.1", free_port)) as other:

        def hang_up() -> None:
            other.settimeout(10)
            connection, _ = other.accept()
            connection.recv(1024)
            connection.sendall(b"SSH-2.0-OpenSSH\r\n")
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        result = brb("doctor", "--json")
        thread.join(10)
    port = next(finding for finding in json.loads(result.stdout) if finding["check"] == "port")

    assert result.exit_code == 1
    assert port["state"] == "fail"
    assert "another program than BRB answers" in port["found"]
    assert "BRB_PORT" in port["cure"]


@pytest.mark.parametrize(("version", "state"), [((3, 10, 9), State.FAIL), ((3, 11, 0), State.OK), ((3, 14, 1), State.OK)])
def test_doctor_knows_the_python_it_needs(version: tuple[int, ...], state: State) -> None:
    assert doctor.python(version).state is state


@pytest.mark.parametrize(("free", "state"), [(10_000_000, State.FAIL), (500_000_000, State.WARN), (5_000_000_000, State.OK)])
def test_doctor_looks_at_the_room_that_is_left(free: int, state: State) -> None:
    assert doctor.room(free).state is state


@pytest.mark.parametrize(
    ("now", "newest", "state"),
    [(NOW, None, State.OK), (NOW, NOW - 5, State.OK), (NOW, NOW + 5, State.OK), (NOW, NOW + 3600, State.FAIL), (86_400.0, None, State.FAIL)],
)
def test_doctor_sees_a_clock_that_went_back(now: float, newest: float | None, state: State) -> None:
    assert doctor.clock(now, newest).state is state


def test_doctor_writes_to_the_data_folder_and_leaves_nothing(tmp_path: Path) -> None:
    assert doctor.writable(tmp_path).state is State.OK
    assert doctor.writable(tmp_path / "not" / "yet").state is State.OK
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux")
def test_doctor_names_the_cure_for_an_unwritable_data_folder() -> None:
    finding = doctor.writable(Path("/proc/brb"))

    assert finding.state is State.FAIL
    assert "BRB_DATA_DIR" in finding.cure


def test_doctor_repeats_what_health_notices(tmp_path: Path) -> None:
    reports = {"redis": health.Report("down", 1.0, "connection refused"), "qdrant": health.Report("ok", 2.4)}
    notices = ("redis is down: connection refused", "the oldest job of queue learn waits for 90 s: is its worker running?")
    seen = list(doctor.dependencies(api.Health("degraded", "1", reports, None, {}, {}, None, 0, notices)))

    assert [(finding.check, finding.state) for finding in seen] == [("redis", State.FAIL), ("qdrant", State.OK), ("jobs", State.WARN)]
