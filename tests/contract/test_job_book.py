"""One suite over both job books: a job is done once in effect."""

import time
from collections.abc import Callable, Iterator

import pytest
import redis

from services.core import messages, models, ports
from services.core.adapters import in_memory_jobs, redis_client, redis_jobs
from services.core.seal import Seal
from tests.conftest import wait_until
from tests.support import job_time

LEASE = 0.6  # long enough for a machine that is busy with other things
MakeBook = Callable[[], ports.JobBook]


@pytest.fixture(params=["memory", "redis"])
def book(request: pytest.FixtureRequest) -> Iterator[ports.JobBook]:
    if request.param == "memory":
        yield in_memory_jobs.InMemoryJobBook(lease_seconds=LEASE)
    else:
        client = redis_client.connect(request.getfixturevalue("redis_address"), timeout_seconds=2)
        yield redis_jobs.RedisJobBook(client, Seal("secret"), lease_seconds=LEASE, done_seconds=60)
        client.close()


def learn(turn: str, words: str = "I use vim") -> messages.Job:
    return messages.Job.of(messages.Task.LEARN_TURN, messages.LearnTurn(turn=turn, principal=models.LOCAL, said_at=1.0, words=words))


def store(turn: str) -> messages.Job:
    return messages.Job.of(messages.Task.STORE_FACTS, messages.StoreFacts(turn=turn, principal=models.LOCAL, said_at=1.0, facts=()))


def claimed(book: ports.JobBook, job: messages.Job) -> ports.Claim:
    claim = book.claim(job.id)
    assert claim is not None
    return claim


def test_a_job_comes_back_as_it_was_recorded(book: ports.JobBook) -> None:
    job = learn("t1", 'words with "quotes", ünïcode and \n lines')
    assert book.add([job]) == [job.id]
    claim = claimed(book, job)
    assert claim.job == job
    assert claim.attempt == 1


def test_the_same_turn_is_recorded_once(book: ports.JobBook) -> None:
    assert book.add([learn("t1"), learn("t1")]) == [learn("t1").id]
    assert book.add([learn("t1")]) == []
    assert book.pending()[messages.Lane.LEARN] == 1


def test_a_job_that_was_done_is_not_recorded_again(book: ports.JobBook) -> None:
    book.add([learn("t1")])
    assert book.finish(claimed(book, learn("t1")))
    assert book.add([learn("t1")]) == []
    assert book.claim(learn("t1").id) is None


def test_jobs_are_known_from_when_they_are_recorded_on_also_when_they_are_done(book: ports.JobBook) -> None:
    waits, done, new = learn("t1"), learn("t2"), learn("t3")
    book.add([waits, done])
    book.finish(claimed(book, done))
    assert book.known([waits.id, done.id, new.id]) == {waits.id, done.id}
    assert book.known([]) == set()


def test_only_one_worker_holds_a_job(book: ports.JobBook) -> None:
    book.add([learn("t1")])
    claimed(book, learn("t1"))
    assert book.claim(learn("t1").id) is None


def test_the_job_of_a_dead_worker_is_free_after_its_lease(book: ports.JobBook) -> None:
    book.add([learn("t1")])
    first = claimed(book, learn("t1"))
    wait_until(lambda: book.overdue() == [(learn("t1").id, messages.Task.LEARN_TURN)])
    second = claimed(book, learn("t1"))
    assert second.attempt == 2
    assert not book.finish(first, [store("t1")])
    assert book.pending()[messages.Lane.INDEX] == 0
    assert book.finish(second)


def test_a_lease_that_is_extended_is_kept(book: ports.JobBook) -> None:
    book.add([learn("t1")])
    claim = claimed(book, learn("t1"))
    for _ in range(4):
        time.sleep(LEASE / 3)
        assert book.extend(claim)
    assert book.claim(claim.job.id) is None
    assert book.overdue() == []


def test_a_lost_lease_cannot_be_extended(book: ports.JobBook) -> None:
    book.add([learn("t1")])
    first = claimed(book, learn("t1"))
    wait_until(lambda: book.claim(learn("t1").id) is not None)
    assert not book.extend(first)


def test_finishing_hands_over_to_the_next_job(book: ports.JobBook) -> None:
    book.add([learn("t1")])
    assert book.finish(claimed(book, learn("t1")), [store("t1")])
    assert book.pending() == {messages.Lane.LEARN: 0, messages.Lane.INDEX: 1, messages.Lane.UPKEEP: 0, messages.Lane.PATIENT: 0}
    assert claimed(book, store("t1")).job == store("t1")


def test_a_new_job_is_overdue_only_after_its_publication_had_time(book: ports.JobBook) -> None:
    book.add([learn("t1")])
    assert book.overdue() == []
    wait_until(lambda: book.overdue() == [(learn("t1").id, messages.Task.LEARN_TURN)])
    assert book.overdue() == [], "it was just handed out"


@pytest.mark.parametrize(("counted", "attempt"), [(True, 2), (False, 1)])
def test_a_postponed_job_is_due_later(book: ports.JobBook, counted: bool, attempt: int) -> None:
    book.add([learn("t1")])
    book.postpone(claimed(book, learn("t1")), 0.2, counted=counted)
    assert book.overdue() == []
    wait_until(lambda: len(book.overdue()) == 1)
    assert claimed(book, learn("t1")).attempt == attempt


def test_a_postponed_job_is_left_alone_however_often_it_is_delivered(book: ports.JobBook) -> None:
    book.add([learn("t1")])
    book.postpone(claimed(book, learn("t1")), 60, counted=True)
    assert book.claim(learn("t1").id) is None
    book.add([learn("t2")])
    book.postpone(claimed(book, learn("t2")), 0.05, counted=True)
    wait_until(lambda: book.claim(learn("t2").id) is not None)


def test_a_job_that_nobody_takes_is_published_less_and_less_often(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    book = redis_jobs.RedisJobBook(client, Seal("secret"), lease_seconds=1000, done_seconds=60)
    book.add([learn("t1")])
    rounds = []
    for number in range(32):
        if book.overdue():
            rounds.append(number)
        job_time.passes(client, 1000)
    assert rounds == [1, 2, 4, 8, 16]
    claimed(book, learn("t1"))
    job_time.passes(client, 1000)
    assert book.overdue(), "what was taken and lost is published soon"


def test_no_job_is_published_again_while_many_messages_wait(redis_address: str) -> None:
    """Behind ten thousand jobs there were thirty thousand messages."""
    client = redis_client.connect(redis_address, timeout_seconds=2)
    book = redis_jobs.RedisJobBook(client, Seal("secret"), lease_seconds=1000, done_seconds=60)
    book.add([learn("t1"), store("t1")])
    client.lpush(str(messages.Queue.LEARN), *["a message"] * 1_000)
    job_time.passes(client, 1001)
    assert book.overdue() == [(store("t1").id, messages.Task.STORE_FACTS)], "in the other queue none waits"
    client.rpop(str(messages.Queue.LEARN))
    assert book.overdue() == [(learn("t1").id, messages.Task.LEARN_TURN)]


def test_of_dead_letters_those_that_concern_somebody_can_be_asked_for(book: ports.JobBook) -> None:
    for turn in ("t1", "t2", "t3"):
        book.add([learn(turn)])
        book.bury(claimed(book, learn(turn)), "ValueError")

    assert [dead.id for dead in book.dead(1, lambda job: job.payload.turn == "t1")] == [learn("t1").id]
    assert book.dead(10, lambda job: False) == []


def test_a_dead_letter_names_the_team_it_was_of(book: ports.JobBook) -> None:
    of_others = messages.Job.of(
        messages.Task.LEARN_MORE, messages.LearnMore("t2", messages.LearnTurn("t2", models.Principal("acme", "leo"), 1.0, "I use vim"), ())
    )
    for job in (learn("t1"), of_others):
        book.add([job])
        book.bury(claimed(book, job), "ValueError")

    assert {(dead.id, dead.team) for dead in book.dead()} == {(learn("t1").id, models.LOCAL.team), (of_others.id, "acme")}
    book.revive(of_others.id)
    assert [dead.team for dead in book.dead()] == [models.LOCAL.team]


def test_a_dead_letter_is_seen_and_can_be_revived(book: ports.JobBook) -> None:
    book.add([learn("t1")])
    book.bury(claimed(book, learn("t1")), "ValueError")
    assert [(dead.id, dead.task, dead.attempts, dead.error) for dead in book.dead()] == [(learn("t1").id, messages.Task.LEARN_TURN, 1, "ValueError")]
    assert book.claim(learn("t1").id) is None
    assert book.pending()[messages.Lane.LEARN] == 0
    assert book.revive(learn("t1").id) is messages.Task.LEARN_TURN
    assert book.dead() == []
    assert claimed(book, learn("t1")).attempt == 1


def test_only_dead_letters_are_revived(book: ports.JobBook) -> None:
    book.add([learn("t1")])
    assert book.revive(learn("t1").id) is None
    assert book.revive("nothing") is None


def test_depth_and_age_are_those_of_jobs_not_done(book: ports.JobBook) -> None:
    assert book.oldest_seconds()[messages.Lane.LEARN] == 0
    book.add([learn("t1"), learn("t2"), store("t3")])
    assert book.pending() == {messages.Lane.LEARN: 2, messages.Lane.INDEX: 1, messages.Lane.UPKEEP: 0, messages.Lane.PATIENT: 0}
    wait_until(lambda: book.oldest_seconds()[messages.Lane.LEARN] > 0.05)
    claimed(book, learn("t1"))
    assert book.pending()[messages.Lane.LEARN] == 2, "held is not done"


def test_redis_holds_no_word_in_clear(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    book = redis_jobs.RedisJobBook(client, Seal("secret"), lease_seconds=LEASE, done_seconds=60)
    book.add([learn("t1", "the launch code is zebra")])
    assert b"zebra" not in b"".join(_everything(client))


def test_a_job_sealed_with_another_key_becomes_a_dead_letter(redis_address: str) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    redis_jobs.RedisJobBook(client, Seal("old"), lease_seconds=LEASE, done_seconds=60).add([learn("t1")])
    book = redis_jobs.RedisJobBook(client, Seal("new"), lease_seconds=LEASE, done_seconds=60)
    assert book.claim(learn("t1").id) is None
    assert "BRB_SECRET_KEY" in book.dead()[0].error


def _everything(client: redis.Redis) -> Iterator[bytes]:
    for key in client.scan_iter():
        yield key
        yield client.dump(key)


@pytest.fixture
def clock_set_back(book: ports.JobBook, request: pytest.FixtureRequest) -> Callable[[], None]:
    """Sets the clock of the book back by a day: all its times are a day ahead then."""

    def set_back() -> None:
        if isinstance(book, in_memory_jobs.InMemoryJobBook):
            for record in book._records.values():
                record.until, record.due = record.until + 86_400, record.due + 86_400
        else:
            with redis_client.connect(request.getfixturevalue("redis_address"), timeout_seconds=2) as client:
                job_time.passes(client, -86_400)

    return set_back


def test_jobs_that_were_put_off_before_the_clock_was_set_back_are_due(book: ports.JobBook, clock_set_back: Callable[[], None]) -> None:
    book.add([learn("t1"), learn("t2")])
    book.postpone(claimed(book, learn("t1")), 60, counted=True)
    assert book.claim(learn("t1").id) is None
    clock_set_back()
    assert {job for job, _ in book.overdue()} == {learn("t1").id, learn("t2").id}
    assert book.overdue() == [], "once is enough"
    assert book.claim(learn("t1").id) is not None
    assert book.claim(learn("t1").id) is None, "it is held"


def test_many_jobs_are_forgotten_wherever_they_are(book: ports.JobBook) -> None:
    """Waiting, held and dead; those of others stay."""
    mine, others = [learn(f"mine-{n}") for n in range(450)], [learn(f"other-{n}") for n in range(250)]
    book.add([*mine, *others])
    held = claimed(book, mine[0])
    book.bury(claimed(book, mine[1]), "no")
    assert book.forget(lambda job: job.payload.turn.startswith("mine-")) == 450
    assert not book.finish(held)
    assert book.dead() == []
    assert book.pending()[messages.Lane.LEARN] == 250


def test_what_a_job_leaves_behind_while_jobs_are_forgotten_is_forgotten_too(redis_address: str) -> None:
    """It is finished by somebody else just before it is looked at."""
    client = redis_client.connect(redis_address, timeout_seconds=2)
    book = redis_jobs.RedisJobBook(client, Seal("secret"), lease_seconds=15, done_seconds=60)
    book.add([learn(f"t{n}") for n in range(300)])
    claim, follows = claimed(book, learn("t299")), store("t299")
    finished: list[bool] = []

    def concerns(job: messages.Job) -> bool:
        if not finished:
            finished.append(book.finish(claim, [follows]))
        return job.payload.turn == "t299"

    assert book.forget(concerns) == 1
    assert finished == [True]
    assert book.known([follows.id]) == {follows.id}, "it counts as done"
    assert book.claim(follows.id) is None
