"""Whatever happens to jobs in whatever order, both job books say the same as a plain account of it: claims are exclusive, a job is done once,
what follows from it is there once, nothing is lost, and what failed for good is seen."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from services.core import jobs, messages, models, ports
from services.core.adapters import in_memory_jobs, redis_client, redis_jobs
from services.core.seal import Seal
from tests.support import job_time

LEASE = 1000.0  # far longer than a run takes, so that real time adds nothing to the time that is let pass
STEP = 100.0  # all times are multiples of it

LEARN = [
    messages.Job.of(messages.Task.LEARN_TURN, messages.LearnTurn(turn=f"t{n}", principal=models.LOCAL, said_at=1.0, words="I use vim"))
    for n in range(2)
]
STORE = [
    messages.Job.of(messages.Task.STORE_FACTS, messages.StoreFacts(turn=f"t{n}", principal=models.LOCAL, said_at=1.0, facts=())) for n in range(2)
]
JOBS = {job.id: job for job in (*LEARN, *STORE)}


@dataclass
class Account:
    """What is known of a job: in which state it is ("open", "dead", "done") and from when on it may be claimed and is due."""

    state: str = "open"
    added: float = 0.0
    free: float = 0.0
    due: float = 0.0
    attempts: int = 0
    rung: int = 0
    token: str | None = None
    error: str = ""


@dataclass
class Bench:
    """A job book, empty, and how to let time pass for it."""

    book: ports.JobBook
    passes: Callable[[float], None]


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def _claims() -> st.SearchStrategy[ports.Claim]:
    return st.runner().flatmap(lambda machine: st.sampled_from(machine.claims))


def _some_claim(machine: "Jobs") -> bool:
    return bool(machine.claims)


class Jobs(RuleBasedStateMachine):
    """Workers take jobs and lose them. `claims`: the last one given out for each job, and the one before, which is void."""

    make: Callable[[], Bench]

    @initialize()
    def _empty(self) -> None:
        bench = type(self).make()
        self.book, self.let_pass = bench.book, bench.passes
        self.now = 0.0
        self.known: dict[str, Account] = {}
        self.claims: list[ports.Claim] = []
        self.finished: list[str] = []

    def _record(self, job_id: str) -> bool:
        if job_id in self.known:
            return False
        self.known[job_id] = Account(added=self.now, due=self.now + LEASE)
        return True

    def _holds(self, claim: ports.Claim) -> Account | None:
        account = self.known[claim.job.id]
        return account if account.state == "open" and account.token == claim.token else None

    @rule(which=st.lists(st.sampled_from(list(JOBS.values())), min_size=1, max_size=4))
    def add(self, which: list[messages.Job]) -> None:
        assert self.book.add(which) == [job.id for job in which if self._record(job.id)]

    @rule(job_id=st.sampled_from(list(JOBS)))
    def claim(self, job_id: str) -> None:
        claim, account = self.book.claim(job_id), self.known.get(job_id)
        if account is None or account.state != "open" or account.free > self.now:
            assert claim is None
            return
        account.attempts, account.rung = account.attempts + 1, 0
        assert claim is not None
        assert (claim.job, claim.attempt) == (JOBS[job_id], account.attempts)
        account.token, account.free, account.due = claim.token, self.now + LEASE, self.now + LEASE
        before = [each for each in self.claims if each.job.id == job_id]
        self.claims = [*(each for each in self.claims if each.job.id != job_id), *before[-1:], claim]

    @precondition(_some_claim)
    @rule(claim=_claims())
    def extend(self, claim: ports.Claim) -> None:
        account = self._holds(claim)
        assert self.book.extend(claim) == (account is not None)
        if account:
            account.free = account.due = self.now + LEASE

    @precondition(_some_claim)
    @rule(claim=_claims(), then=st.lists(st.sampled_from(STORE), max_size=2))
    def finish(self, claim: ports.Claim, then: list[messages.Job]) -> None:
        account = self._holds(claim)
        assert self.book.finish(claim, then) == (account is not None)
        if account:
            for job in then:
                self._record(job.id)
            account.state = "done"
            self.finished.append(claim.job.id)

    @precondition(_some_claim)
    @rule(claim=_claims(), delay=st.integers(0, 15), counted=st.booleans())
    def postpone(self, claim: ports.Claim, delay: int, counted: bool) -> None:
        account = self._holds(claim)
        self.book.postpone(claim, delay * STEP, counted=counted)
        if account:
            account.token, account.attempts = None, account.attempts - (not counted)
            account.free = account.due = self.now + delay * STEP

    @precondition(_some_claim)
    @rule(claim=_claims(), error=st.sampled_from(["ValueError", "Killed"]))
    def bury(self, claim: ports.Claim, error: str) -> None:
        account = self._holds(claim)
        self.book.bury(claim, error)
        if account:
            account.state, account.error, account.token = "dead", error, None

    @rule(job_id=st.sampled_from(list(JOBS)))
    def revive(self, job_id: str) -> None:
        account = self.known.get(job_id)
        dead = account is not None and account.state == "dead"
        assert self.book.revive(job_id) == (JOBS[job_id].task if dead else None)
        if account and dead:
            account.state, account.attempts, account.free, account.due = "open", 0, self.now, self.now

    @rule(steps=st.sampled_from([1, 5, 10, 30]))
    def time_passes(self, steps: int) -> None:
        self.now += steps * STEP
        self.let_pass(steps * STEP)

    @rule()
    def overdue(self) -> None:
        due = {job_id for job_id, account in self.known.items() if account.state == "open" and account.due <= self.now}
        found = self.book.overdue()
        assert sorted(found) == sorted((job_id, JOBS[job_id].task) for job_id in due)
        for job_id in due:
            account = self.known[job_id]
            account.due = self.now + LEASE * 2 ** min(account.rung, jobs.MOST_DOUBLINGS)
            account.rung += 1

    @invariant()
    def nothing_is_lost_and_nothing_is_there_twice(self) -> None:
        open_ = {job_id: account for job_id, account in self.known.items() if account.state == "open"}
        for queue in messages.Lane:
            ages = [self.now - account.added for job_id, account in open_.items() if messages.LANE_OF[JOBS[job_id].task] is queue]
            assert self.book.pending()[queue] == len(ages)
            assert max(ages, default=0.0) == pytest.approx(self.book.oldest_seconds()[queue], abs=STEP / 2)

    @invariant()
    def what_failed_for_good_is_seen(self) -> None:
        dead = {(i, account.attempts, account.error) for i, account in self.known.items() if account.state == "dead"}
        assert {(letter.id, letter.attempts, letter.error) for letter in self.book.dead()} == dead

    def teardown(self) -> None:
        """Workers that come at last do everything that is left, and nothing twice."""
        if not hasattr(self, "known"):
            return
        for _ in itertools.repeat(None, 4 + jobs.MOST_DOUBLINGS):
            self.now += LEASE * 2**jobs.MOST_DOUBLINGS
            self.let_pass(LEASE * 2**jobs.MOST_DOUBLINGS)
            for job_id, _task in self.book.overdue():
                claim = self.book.claim(job_id)
                assert claim is not None
                assert self.book.finish(claim)
                self.finished.append(job_id)
        dead = [letter.id for letter in self.book.dead()]
        assert sorted([*self.finished, *dead]) == sorted(self.known)
        assert self.book.add(list(JOBS.values())) == [job_id for job_id in JOBS if job_id not in self.known]


@pytest.fixture(params=["memory", "redis"])
def make(request: pytest.FixtureRequest) -> Iterator[Callable[[], Bench]]:
    if request.param == "memory":
        yield _in_memory
        return
    with closing(redis_client.connect(request.getfixturevalue("redis_address"), timeout_seconds=5)) as client:

        def bench() -> Bench:
            client.flushall()
            book = redis_jobs.RedisJobBook(client, Seal("secret"), lease_seconds=LEASE, done_seconds=10**6)
            return Bench(book, lambda seconds: job_time.passes(client, seconds))

        yield bench


def _in_memory() -> Bench:
    clock = Clock()

    def passes(seconds: float) -> None:
        clock.now += seconds

    return Bench(in_memory_jobs.InMemoryJobBook(lease_seconds=LEASE, clock=clock), passes)


def test_a_job_is_done_once_whatever_happens(make: Callable[[], Bench]) -> None:
    machine = type("Jobs", (Jobs,), {"make": staticmethod(make)})
    run_state_machine_as_test(
        machine,
        settings=settings(max_examples=100, stateful_step_count=50, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)),
    )
