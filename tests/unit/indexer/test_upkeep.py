"""Who does upkeep, and when."""

import threading

import pytest

from services.core import models, ports
from services.core.adapters.in_memory_figures import InMemoryFigures
from services.core.adapters.in_memory_store import InMemoryStore
from services.indexer import upkeep
from services.indexer.canary import Stopped
from services.indexer.upkeep import Upkeep, Work
from tests.conftest import wait_until
from tests.support.embedding import HashingEmbedder
from tests.support.in_memory import NOW, memory

DAY = 86_400.0


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Task:
    """Work that counts its runs, and goes on until it is let go."""

    def __init__(self, *, going: bool = True, error: type[Exception] | None = None) -> None:
        self.runs = 0
        self.going = threading.Event()
        self.error = error
        if going:
            self.going.set()

    def __call__(self, stopping: threading.Event) -> None:
        self.runs += 1
        while not self.going.wait(0.01):
            if stopping.is_set():
                raise Stopped
        if self.error:
            raise self.error


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def figures(clock: Clock) -> InMemoryFigures:
    return InMemoryFigures(clock=clock)


def made(task: Task, figures: ports.Figures) -> Upkeep:
    return Upkeep({"it": Work(3600.0, task)}, figures)


def ended(upkeep: Upkeep) -> None:
    wait_until(lambda: not any(thread.is_alive() for thread in upkeep._running.values()))


def test_it_is_begun_at_the_first_beat_and_again_when_it_is_due(figures: InMemoryFigures, clock: Clock) -> None:
    task = Task()
    kept = made(task, figures)
    assert kept.beat("it")
    ended(kept)
    for seconds, expected in ((60, False), (3500, False), (100, True)):
        clock.now += seconds
        assert kept.beat("it") is expected
    ended(kept)

    assert task.runs == 2


def test_of_two_processes_and_two_beats_one_does_it(figures: InMemoryFigures) -> None:
    task = Task(going=False)
    one, other = made(task, figures), made(task, figures)
    begun = [one.beat("it"), other.beat("it"), one.beat("it"), other.beat("it")]
    task.going.set()
    ended(one)

    assert begun == [True, False, False, False]
    assert other.beat("it") is False, "it was done"
    assert task.runs == 1


def test_a_process_that_was_killed_is_taken_over_from(figures: InMemoryFigures, clock: Clock) -> None:
    figures.due("it", upkeep._AT_MOST_SECONDS)  # and then nothing
    clock.now += upkeep._AT_MOST_SECONDS + 1

    assert made(Task(), figures).beat("it")


def test_what_failed_is_tried_again_soon(figures: InMemoryFigures, clock: Clock) -> None:
    kept = made(Task(error=ValueError), figures)
    kept.beat("it")
    ended(kept)
    clock.now += upkeep._AFTER_FAILURE_SECONDS - 1
    assert not kept.beat("it")
    clock.now += 2

    assert kept.beat("it")


def test_stopping_breaks_it_off_and_the_next_start_does_it(figures: InMemoryFigures) -> None:
    kept = made(Task(going=False), figures)
    kept.beat("it")
    kept.stop()

    assert not kept.beat("it"), "it is about to end"
    assert made(Task(), figures).beat("it")


def test_what_nobody_knows_is_not_done(figures: InMemoryFigures) -> None:
    assert not made(Task(), figures).beat("something else")


def test_the_survey_tells_dead_weight_and_concentration() -> None:
    embedder, figures = HashingEmbedder(), InMemoryFigures()
    store = InMemoryStore(embedder.dimension)
    old = NOW - 100 * DAY
    memories = [
        memory("never", said_at=old),
        memory("lately", said_at=old, accessed_at=NOW - DAY),
        memory("once", said_at=old, accessed_at=NOW - 50 * DAY),
        memory("history", said_at=old, status=models.Status.SUPERSEDED),
        memory("young", said_at=NOW - DAY),
        memory("nobody's", said_at=old, team=models.CANARY_TEAMS[0]),
    ]
    store.put([ports.Embedded(one, embedder.embed([one.text], "document")[0]) for one in memories])
    figures.told([f"m{n}" for n in range(10)], NOW)
    figures.told([f"n{n}" for n in range(10)], NOW - 60 * DAY)
    for _ in range(10):
        figures.told(["m0", "x", "y"], NOW)
    found = upkeep.surveyed(store, figures, NOW)

    assert found.zombies == {"never": pytest.approx(1 / 3), "no_longer": pytest.approx(1 / 3)}
    assert found.top_share == pytest.approx(38 / 40)


def test_an_empty_store_has_no_figures() -> None:
    assert upkeep.surveyed(InMemoryStore(3), InMemoryFigures(), NOW) == ports.Survey(at=NOW)
