"""How a durable job is run, over the in-memory book."""

import threading
from collections.abc import Sequence

import pytest

from services.core import errors, jobs, messages, models, ports
from services.core.adapters.in_memory_jobs import InMemoryJobBook

LEARN = messages.Job.of(messages.Task.LEARN_TURN, messages.LearnTurn(turn="t1", principal=models.LOCAL, said_at=1.0, words="secret words"))
STORE = messages.Job.of(messages.Task.STORE_FACTS, messages.StoreFacts(turn="t1", principal=models.LOCAL, said_at=1.0, facts=()))


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def book(clock: Clock) -> InMemoryJobBook:
    found = InMemoryJobBook(lease_seconds=15, clock=clock)
    found.add([LEARN])
    return found


def run(book: ports.JobBook, handle: jobs.Handler, published: list[str] | None = None) -> str:
    return jobs.run(LEARN.id, handle, book=book, publish=lambda job, _: (published if published is not None else []).append(job), lease_seconds=15)


def raising(error: Exception) -> jobs.Handler:
    def handle(_: messages.Payload) -> Sequence[messages.Job]:
        raise error

    return handle


def test_a_done_job_is_gone_and_what_follows_is_published(book: InMemoryJobBook) -> None:
    published: list[str] = []
    assert run(book, lambda _: [STORE], published) == "done"
    assert published == [STORE.id]
    assert run(book, lambda _: []) == "gone"
    assert book.claim(STORE.id) is not None


def test_a_missing_dependency_never_costs_an_attempt(book: InMemoryJobBook, clock: Clock) -> None:
    for _ in range(3 * jobs.MAX_ATTEMPTS):
        assert run(book, raising(errors.Unavailable("llama.cpp"))) == "waiting"
        clock.now += 60
    assert run(book, lambda _: []) == "done"


@pytest.mark.parametrize("error", [errors.SetupError("start it with --embedding"), errors.WrongModel("7 numbers, not 384")])
def test_a_dependency_that_is_set_up_wrongly_never_costs_an_attempt(book: InMemoryJobBook, clock: Clock, error: Exception) -> None:
    for _ in range(3 * jobs.MAX_ATTEMPTS):
        assert run(book, raising(error)) == "waiting"
        assert book.dead() == []
        clock.now += 60
    assert run(book, lambda _: []) == "done"


def test_a_failing_job_is_tried_again_later_and_ends_as_a_dead_letter(book: InMemoryJobBook, clock: Clock) -> None:
    outcomes = []
    for _ in range(jobs.MAX_ATTEMPTS):
        outcomes.append(run(book, raising(ValueError("secret words"))))
        assert book.overdue() == [], "it is left alone for a while"
        clock.now += 100
    assert outcomes == ["failed"] * (jobs.MAX_ATTEMPTS - 1) + ["dead"]
    assert [dead.error for dead in book.dead()] == ["ValueError"], "the exception's text may quote the person"


def test_a_permanent_error_is_not_tried_again(book: InMemoryJobBook) -> None:
    assert run(book, raising(errors.Permanent("no such model"))) == "dead"
    assert book.dead()[0].error == "Permanent: no such model"


def test_a_job_that_kills_its_process_every_time_becomes_a_dead_letter(book: InMemoryJobBook, clock: Clock) -> None:
    for _ in range(jobs.MAX_ATTEMPTS):
        assert book.claim(LEARN.id) is not None
        clock.now += 20
    assert run(book, lambda _: pytest.fail("a poisonous job must not run again")) == "dead"
    assert book.dead()[0].error.startswith("Killed")


def test_work_whose_claim_was_lost_hands_nothing_over(book: InMemoryJobBook, clock: Clock) -> None:
    def slow(_: messages.Payload) -> Sequence[messages.Job]:
        clock.now += 20
        assert book.claim(LEARN.id) is not None, "another worker takes it"
        return [STORE]

    assert run(book, slow) == "lost"
    assert book.claim(STORE.id) is None


def test_the_lease_is_extended_while_the_work_goes_on() -> None:
    book = InMemoryJobBook(lease_seconds=0.2)
    book.add([LEARN])
    extended = threading.Event()
    real = book.extend

    def extend(claim: ports.Claim) -> bool:
        extended.set()
        return real(claim)

    book.extend = extend  # type: ignore[method-assign]

    def slow(_: messages.Payload) -> Sequence[messages.Job]:
        assert extended.wait(5)
        return []

    assert jobs.run(LEARN.id, slow, book=book, publish=lambda *_: None, lease_seconds=0.2) == "done"


def test_overdue_jobs_are_published_again(book: InMemoryJobBook, clock: Clock) -> None:
    published: list[tuple[str, messages.Task]] = []
    assert jobs.reconcile(book, lambda *args: published.append(args)) == 0
    clock.now += 16
    assert jobs.reconcile(book, lambda *args: published.append(args)) == 1
    assert published == [(LEARN.id, messages.Task.LEARN_TURN)]


@pytest.mark.parametrize(
    ("task", "attempt", "seconds"),
    [(messages.Task.LEARN_TURN, attempt, seconds) for attempt, seconds in [(1, 2), (2, 4), (5, 32), (6, 60), (50, 60)]]
    + [(task, attempt, seconds) for task in sorted(messages.PATIENT) for attempt, seconds in [(1, 15), (2, 120), (3, 960), (4, 3600), (50, 3600)]],
)
def test_an_attempt_that_failed_leaves_time(task: messages.Task, attempt: int, seconds: float) -> None:
    assert jobs.backoff_seconds(attempt, task) == seconds
