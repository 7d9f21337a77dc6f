from litestar import Litestar
from litestar.testing import TestClient

from services.core import messages, models
from services.proxy.parts import Parts
from tests.support.in_memory import NOW

Client = TestClient[Litestar]


def bury(parts: Parts, turn: str) -> messages.Job:
    """A job that failed for good."""
    job = messages.Job.of(messages.Task.LEARN_TURN, messages.LearnTurn(turn, models.LOCAL, NOW, "words of the person"))
    parts.book.add([job])
    claim = parts.book.claim(job.id)
    assert claim is not None
    parts.book.bury(claim, "WrongModel: the store is of another model")
    return job


def test_queues_show_what_waits_and_what_died(client: Client, parts: Parts) -> None:
    bury(parts, "t1")
    parts.enqueue([messages.Job.of(messages.Task.TOUCH, messages.Touch("t2", models.LOCAL, (), NOW))])

    assert client.get("/jobs").json() == {
        "pending": {"learn": 0, "index": 1, "upkeep": 0, "patient": 0},
        "oldest_seconds": {"learn": 0.0, "index": 0.0, "upkeep": 0.0, "patient": 0.0},
        "dead": 1,
        "spooled": 0,
    }


def test_a_dead_job_shows_why_and_never_the_words(client: Client, parts: Parts) -> None:
    job = bury(parts, "t1")
    answer = client.get("/jobs/dead")

    assert answer.json()["jobs"] == [
        {
            "id": job.id,
            "task": "brb.learn_turn",
            "attempts": 1,
            "error": "WrongModel: the store is of another model",
            "died_at": "2026-09-21T14:13:20Z",
            "team": "local",
        }
    ]
    assert "words of the person" not in answer.text


def test_a_dead_job_can_be_tried_again_once(client: Client, parts: Parts) -> None:
    job = bury(parts, "t1")
    first, second = client.post(f"/jobs/{job.id}/retry"), client.post(f"/jobs/{job.id}/retry")

    assert first.status_code == 202
    assert first.json() == {"id": job.id, "task": "brb.learn_turn"}
    assert parts.book.overdue() == [(job.id, messages.Task.LEARN_TURN)]
    assert second.status_code == 404
    assert second.json()["error"]["message"] == f"there is no dead job {job.id}"
