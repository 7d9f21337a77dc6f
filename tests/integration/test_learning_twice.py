"""The worker's tasks over a real Redis, with a language model beside the rules that is away and comes back."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from celery import Celery

from services.core import config, messages, models, seal
from services.core.adapters import redis_client, redis_jobs
from services.worker.app import create_worker
from tests.conftest import wait_until
from tests.integration.test_chat_model_faults import Server, completion

TURN = messages.LearnTurn(turn="t1", principal=models.LOCAL, said_at=1.8e9, words="My name is Leo. The mascot of our guild answers to Bodo.")
ANSWER = (
    '{"facts":[{"n":1,"text":"My name is Leo","category":"personal_info","subject":"","attribute":"name","value":"Leo","when":""},'
    '{"n":2,"text":"The mascot of our guild answers to Bodo","category":"project_context","subject":"","attribute":"","value":"Bodo","when":""},'
    '{"n":2,"text":"The mascot of our guild answers to Bello","category":"project_context","subject":"","attribute":"","value":"Bello","when":""}]}'
)


@pytest.fixture
def server() -> Iterator[Server]:
    with closing(Server()) as running:
        running.reply = lambda: completion(ANSWER)
        yield running


@pytest.fixture
def settings(redis_address: str, tmp_path: Path, server: Server) -> config.Settings:
    return config.Settings(data_dir=tmp_path, redis_url=redis_address, extract_url=server.url)  # type: ignore[arg-type]


@pytest.fixture
def book(settings: config.Settings) -> redis_jobs.RedisJobBook:
    client = redis_client.connect(settings.redis_address, timeout_seconds=2)
    return redis_jobs.RedisJobBook(client, seal.Seal(seal.secret_of(settings)), lease_seconds=5, done_seconds=99)


def _run(worker: Celery, task: messages.Task, job_id: str) -> str:
    return str(worker.tasks[str(task)](job_id))


def _facts(book: redis_jobs.RedisJobBook, job_id: str) -> list[str]:
    claim = book.claim(job_id)
    assert claim is not None
    assert isinstance(claim.job.payload, messages.StoreFacts)
    return [fact.text for fact in claim.job.payload.facts]


def test_the_rules_facts_are_stored_at_once_and_those_of_the_model_when_it_is_back(
    settings: config.Settings, book: redis_jobs.RedisJobBook, server: Server
) -> None:
    worker = create_worker(settings)
    book.add([messages.Job.of(messages.Task.LEARN_TURN, TURN)])
    server.health = lambda: (503, b"{}")

    assert _run(worker, messages.Task.LEARN_TURN, "learn_turn-t1") == "done"
    assert _facts(book, "store_facts-t1") == ["My name is Leo"]
    assert _run(worker, messages.Task.LEARN_MORE, "learn_more-t1") == "waiting"
    assert server.requests == []

    server.health = lambda: (200, b"{}")
    wait_until(lambda: _run(worker, messages.Task.LEARN_MORE, "learn_more-t1") == "done", seconds=15)
    assert _facts(book, "store_facts-t1-llm") == ["The mascot of our guild answers to Bodo"]
    assert book.dead() == []


def test_a_model_that_never_gives_a_valid_answer_ends_as_a_dead_letter_and_the_rules_facts_stay(
    settings: config.Settings, book: redis_jobs.RedisJobBook, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.core.jobs.backoff_seconds", lambda *_: 0.0)
    server.reply = lambda: completion("no facts, sorry")
    worker = create_worker(settings)
    book.add([messages.Job.of(messages.Task.LEARN_TURN, TURN)])

    assert _run(worker, messages.Task.LEARN_TURN, "learn_turn-t1") == "done"
    outcomes = [_run(worker, messages.Task.LEARN_MORE, "learn_more-t1") for _ in range(5)]

    assert outcomes == ["failed"] * 4 + ["dead"]
    (dead,) = book.dead()
    assert (dead.id, dead.task) == ("learn_more-t1", messages.Task.LEARN_MORE)
    assert "Leo" not in dead.error
    assert _facts(book, "store_facts-t1") == ["My name is Leo"]


def test_jobs_of_the_model_come_after_all_others_and_imports_before_them(settings: config.Settings, redis_address: str) -> None:
    from services.core.adapters import celery_queue

    app = celery_queue.create_celery(settings, "test")
    publish = celery_queue.Publisher(app)
    for number, task in enumerate([messages.Task.LEARN_MORE, messages.Task.LEARN_IMPORTED, messages.Task.LEARN_MORE, messages.Task.LEARN_TURN]):
        publish(f"job-{number}", task)

    with app.connection_for_read() as connection, closing(connection.SimpleQueue(app.conf.task_queues[0])) as queue:
        taken = [queue.get(timeout=5).headers["task"] for _ in range(4)]
        assert taken == ["brb.learn_turn", "brb.learn_imported", "brb.learn_more", "brb.learn_more"]
