import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.core import errors, ports
from services.core.adapters.in_memory_ledger import InMemoryLedger
from services.core.adapters.in_memory_turn_log import InMemoryTurnLog
from services.proxy import sweeping
from tests.conftest import wait_until


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Files:
    """What is purged: counts, and fails or waits if it is told to."""

    def __init__(self) -> None:
        self.purged = 0
        self.error: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self) -> None:
        assert self.gate.wait(10)
        if self.error is not None:
            raise self.error
        self.purged += 1


@pytest.fixture
def files() -> Files:
    return Files()


@pytest.fixture
def ledger() -> InMemoryLedger:
    return InMemoryLedger()


def made(path: Path, files: Files, ledger: ports.Ledger, *, clock: Clock | None = None) -> sweeping.Sweeper:
    return sweeping.Sweeper(path / "erased.jsonl", purge=[files], ledger=ledger, turns=InMemoryTurnLog(), clock=clock or Clock())


def test_nothing_is_swept_that_is_still_being_erased(tmp_path: Path, files: Files, ledger: InMemoryLedger) -> None:
    sweeper = made(tmp_path, files, ledger)
    sweeper.due("acme", ["m1"])

    assert sweeper.sweep() is None
    assert files.purged == 0


def test_what_is_erased_is_purged_at_once_and_forgotten_again_when_calls_in_flight_are_over(
    tmp_path: Path, files: Files, ledger: InMemoryLedger
) -> None:
    clock = Clock()
    sweeper = made(tmp_path, files, ledger, clock=clock)
    sweeper.done(sweeper.due("acme", ["m1"]))
    assert sweeper.sweep() == sweeping.SETTLED_SECONDS
    assert files.purged == 1

    ledger.write({"late": ports.Entry("block", ("m1",)), "other": ports.Entry("block", ("m2",))})
    assert sweeper.sweep() is not None
    assert set(ledger.read(["late", "other"])) == {"late", "other"}
    clock.now += sweeping.SETTLED_SECONDS
    assert sweeper.sweep() is None

    assert set(ledger.read(["late", "other"])) == {"other"}
    assert list(tmp_path.iterdir()) == []
    assert files.purged == 1


def test_a_purge_rests_as_a_multiple_of_its_own_time(tmp_path: Path, ledger: InMemoryLedger) -> None:
    clock, tick = Clock(), Clock()
    purged: list[float] = []

    def purge() -> None:
        purged.append(tick.now)
        tick.now += 3

    sweeper = sweeping.Sweeper(tmp_path / "erased.jsonl", purge=[purge], ledger=ledger, turns=InMemoryTurnLog(), clock=clock, tick=tick)
    sweeper.done(sweeper.due("acme", ["m1"]))
    sweeper.sweep()
    clock.now += 60
    sweeper.done(sweeper.due("acme", ["m2"]))

    assert sweeper.sweep() == 3 * sweeping.RESTING
    tick.now += 3 * sweeping.RESTING
    sweeper.sweep()

    assert purged == [1000.0, 1003.0 + 3 * sweeping.RESTING]


@pytest.mark.parametrize("finished", [True, False])
def test_what_was_not_swept_when_the_process_ended_is_swept_by_the_next(tmp_path: Path, files: Files, ledger: InMemoryLedger, finished: bool) -> None:
    clock = Clock()
    before = made(tmp_path, files, ledger, clock=clock)
    erased = before.due("acme", ["m1"])
    if finished:
        before.done(erased)
    ledger.write({"late": ports.Entry("block", ("m1",))})
    clock.now += 60

    made(tmp_path, files, ledger, clock=clock).sweep()

    assert files.purged == 1
    assert ledger.read(["late"]) == {}
    assert list(tmp_path.iterdir()) == []


def test_what_failed_is_tried_again(tmp_path: Path, files: Files, ledger: InMemoryLedger) -> None:
    tick = Clock()
    sweeper = sweeping.Sweeper(tmp_path / "erased.jsonl", purge=[files], ledger=ledger, turns=InMemoryTurnLog(), tick=tick)
    sweeper.done(sweeper.due("acme", ["m1"]))
    files.error = errors.Unavailable("Qdrant Edge")
    with pytest.raises(errors.Unavailable):
        sweeper.sweep()
    assert (tmp_path / "erased.jsonl").exists()

    files.error = None
    tick.now += 1
    sweeper.sweep()

    assert files.purged == 1


def test_a_file_that_cant_be_read_is_told(tmp_path: Path, files: Files, ledger: InMemoryLedger) -> None:
    (tmp_path / "erased.jsonl").write_text("what\n")
    with pytest.raises(errors.SetupError, match=r"erased\.jsonl"):
        made(tmp_path, files, ledger)


@pytest.fixture
def running(tmp_path: Path, files: Files, ledger: InMemoryLedger) -> Iterator[sweeping.Sweeper]:
    sweeper = made(tmp_path, files, ledger)
    sweeper.start()
    yield sweeper
    files.gate.set()
    sweeper.stop()
    sweeper.join()


def test_whoever_forgets_waits_for_the_files_if_they_are_cleaned_at_once(running: sweeping.Sweeper, files: Files) -> None:
    assert running.done(running.due("acme", ["m1"]), wait_seconds=10) is True
    assert files.purged == 1


def test_and_for_no_longer_than_is_good_for_an_answer(running: sweeping.Sweeper, files: Files) -> None:
    files.gate.clear()
    assert running.done(running.due("acme", ["m1"]), wait_seconds=0.05) is False
    files.gate.set()
    wait_until(lambda: files.purged == 1)


def test_without_its_thread_nobody_waits(tmp_path: Path, files: Files, ledger: InMemoryLedger) -> None:
    sweeper = made(tmp_path, files, ledger)
    started = time.monotonic()
    assert sweeper.done(sweeper.due("acme", ["m1"]), wait_seconds=60) is False
    assert time.monotonic() - started < 30


def test_a_failure_in_the_thread_ends_nothing(running: sweeping.Sweeper, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "RESTING", 0)
    files.error = ValueError("something")
    assert running.done(running.due("acme", ["m1"]), wait_seconds=0.2) is False
    files.error = None
    assert running.done(running.due("acme", ["m2"]), wait_seconds=10) is True


def test_proxies_that_share_a_folder_keep_what_the_others_have_noted(tmp_path: Path, files: Files, ledger: InMemoryLedger) -> None:
    clock = Clock()
    one, other = (made(tmp_path, files, ledger, clock=clock) for _ in range(2))
    first, second = one.due("acme", ["m1"]), other.due("acme", ["m2"])
    one.done(first)
    one.sweep()
    clock.now += sweeping.SETTLED_SECONDS
    one.sweep()
    assert [each.id for each in sweeping._read(tmp_path / "erased.jsonl")] == [second], "what is done is gone, what is not is still there"

    made(tmp_path, files, ledger, clock=clock).sweep()
    assert not (tmp_path / "erased.jsonl").exists(), "the next to start has swept what the other left"
    other.done(second)
    other.sweep()
    assert not (tmp_path / "erased.jsonl").exists()
