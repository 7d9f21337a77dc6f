"""A statement added over HTTP and decided about by the tasks of worker and indexer: a real Redis, the embedded store, the real rules and model."""

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from celery import Celery
from litestar import Litestar
from litestar.testing import TestClient

from services.core import config, messages, models, seal
from services.core.adapters import in_memory_notes, llama_cpp, qdrant_edge, redis_client, redis_jobs
from services.core.recall import cache
from services.indexer.app import create_indexer
from services.indexer.writing import Writer
from services.proxy.app import create_app
from services.proxy.parts import Parts
from services.worker.app import create_worker
from tests.support import in_memory


class Team(NamedTuple):
    """A BRB whose jobs are done when they are asked for."""

    client: TestClient[Litestar]
    parts: Parts
    book: redis_jobs.RedisJobBook
    recorded: list[str]
    apps: dict[messages.Task, Celery]

    def add(self, text: str, **body: str) -> str:
        answer = self.client.post("/memories", json={"text": text, **body})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def work(self) -> None:
        """Do each recorded job twice, as if its message came twice."""
        for learn in self.recorded:
            for task, job_id in zip(self.apps, (learn, learn.replace("learn_turn", "store_facts", 1)), strict=True):
                assert [self.apps[task].tasks[str(task)](job_id) for _ in range(2)] == ["done", "gone"]
        self.recorded.clear()

    def texts(self, status: str = "current") -> list[str]:
        return [one["text"] for one in self.client.get("/memories", params={"status": status}).json()["memories"]]


@pytest.fixture
def settings(request: pytest.FixtureRequest, redis_address: str, tmp_path: Path) -> config.Settings:
    return config.Settings(data_dir=tmp_path, redis_url=redis_address, redaction=getattr(request, "param", ""))  # type: ignore[arg-type]


@pytest.fixture
def team(settings: config.Settings, llama_socket: Path) -> Iterator[Team]:
    clients = [redis_client.connect(settings.redis_address, timeout_seconds=5) for _ in range(2)]
    book = redis_jobs.RedisJobBook(clients[0], seal.Seal(seal.secret_of(settings)), lease_seconds=30, done_seconds=60)
    lock = redis_client.owner_lock(clients[1])
    recorded: list[str] = []
    embedder = llama_cpp.LlamaCppEmbedder(llama_socket, model="all-MiniLM-L6-v2", dimension=384)
    with closing(qdrant_edge.EdgeStore.open(settings.data_dir / "store", model=embedder.model, dimension=384)) as store:
        parts = replace(
            in_memory.parts(settings.data_dir),
            settings=settings,
            store=store,
            notes=in_memory_notes.InMemoryNoteStore(embedder.dimension),
            embedder=embedder,
            book=book,
            enqueue=lambda jobs: recorded.extend(book.add(jobs)),
            owner_lock=lock,
            answers=cache.Cache(redis_client.write_clock(clients[0]), lambda: in_memory.NOW),
            clock=iter(range(1_790_000_000, 1_800_000_000)).__next__,
        )
        indexer = create_indexer(settings, writer=Writer(store, embedder, clock=parts.clock), book=book, owner_lock=lock, figures=parts.figures)
        apps = {messages.Task.LEARN_TURN: create_worker(settings), messages.Task.STORE_FACTS: indexer}
        with TestClient(create_app(parts), base_url="http://127.0.0.1:3000", raise_server_exceptions=False) as client:
            yield Team(client, parts, book, recorded, apps)
    embedder.close()
    for connection in clients:
        connection.close()


def test_another_day_replaces_the_first_and_is_recalled_before_that_is_decided(team: Team) -> None:
    first = team.add("We release on Mondays", project="/shop")
    team.work()
    second = team.add("We release on Tuesdays", project="/shop")
    assert "We release on Tuesdays" in team.client.post("/recall", json={"query": "when do we release", "project": "/shop"}).text

    team.work()

    assert team.texts() == ["We release on Tuesdays"]
    shown, old = (team.client.get(f"/memories/{one}").json() for one in (second, first))
    assert (shown["category"], shown["attribute"], shown["supersedes"], shown["status"]) == ("project_context", "release", first, "current")
    assert [one["quote"] for one in shown["evidence"]] == ["We release on Tuesdays"]
    assert (old["status"], old["superseded_by"], old["lineage"]) == ("superseded", second, shown["lineage"])
    recalled = team.client.post("/recall", json={"query": "when do we release", "project": "/shop"}).json()["memories"]
    assert [one["text"] for one in recalled] == ["We release on Tuesdays"]


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("We use Postgres as our database", "Our database is Postgres"),
        ("We deploy to Hetzner", "note that we deploy to Hetzner"),
        ("The build takes about twelve minutes on the big machine", "the build takes about 12 minutes on the big machine"),
    ],
)
def test_the_same_in_other_words_reinforces_what_is_known(team: Team, first: str, again: str) -> None:
    kept = team.add(first)
    team.work()
    other = team.add(again)
    team.work()

    assert team.texts() == [team.client.get(f"/memories/{kept}").json()["text"]]
    shown = team.client.get(f"/memories/{kept}").json()
    assert (shown["mentions"], [one["quote"] for one in shown["evidence"]]) == (2, [first, again])
    assert team.client.get(f"/memories/{other}").json()["superseded_by"] == kept


@pytest.mark.parametrize(
    ("text", "given", "category", "project"),
    [
        ("I prefer tabs over spaces in Go code", {}, "preference", ""),
        ("We use Postgres 15 as our database", {}, "technical_choice", "/shop"),
        ("Always run the linter before committing", {}, "constraint", "/shop"),
        ("We use Postgres 15 as our database", {"category": "decision"}, "decision", "/shop"),
        ("Tea is green", {}, "project_context", "/shop"),
        ("Tea is green", {"category": "personal_info"}, "personal_info", ""),
    ],
)
def test_the_category_is_the_given_one_or_what_the_text_says(team: Team, text: str, given: dict[str, str], category: str, project: str) -> None:
    added = team.add(text, project="/shop", **given)
    team.work()
    shown = team.client.get(f"/memories/{added}").json()
    assert (shown["text"], shown["category"], shown["project"], shown["status"]) == (text, category, project, "current")


def test_two_different_statements_both_stay(team: Team) -> None:
    team.add("We deploy on Fridays")
    team.add("We use Redis as a queue")
    team.work()
    assert sorted(team.texts("all")) == ["We deploy on Fridays", "We use Redis as a queue"]


def test_what_is_erased_before_it_is_read_stays_erased(team: Team) -> None:
    added = team.add("We release on Mondays")
    (learn,) = team.recorded
    assert team.client.delete(f"/memories/{added}").json()["jobs"] == 1
    assert team.apps[messages.Task.LEARN_TURN].tasks[str(messages.Task.LEARN_TURN)](learn) == "gone"
    assert team.texts("all") == []


def test_a_statement_that_could_not_be_written_leaves_a_job_that_makes_nothing(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(team.parts.store, "put", None)
        assert team.client.post("/memories", json={"text": "We release on Mondays"}).status_code == 500
    assert team.book.pending()[messages.Lane.LEARN] == 1
    team.work()
    assert team.texts("all") == []


def test_what_is_queued_is_redacted(team: Team) -> None:
    team.add("Write to ana.b@example.org about releases")
    claim = team.book.claim(team.recorded[0])
    assert claim is not None
    assert isinstance(claim.job.payload, messages.LearnTurn)
    assert re.fullmatch(r"Write to <EMAIL_[0-9]{6}> about releases", claim.job.payload.words)
    assert claim.job.payload.principal == models.LOCAL


@pytest.mark.parametrize("settings", ["person=redact"], indirect=True)
def test_a_name_that_only_the_worker_knows_is_replaced_once_it_was_read(team: Team) -> None:
    added = team.add("We always ask Silvia Conti before a release")
    team.work()
    text = team.client.get(f"/memories/{added}").json()["text"]
    assert re.fullmatch(r"We always ask <PERSON_[0-9]{6}> before a release", text)
    assert "Silvia" not in team.client.get("/export").text


@pytest.mark.parametrize("settings", ["person=drop,email=drop"], indirect=True)
def test_what_may_not_be_kept_is_refused_or_erased_once_it_was_read(team: Team) -> None:
    refused = team.client.post("/memories", json={"text": "Write to ana.b@example.org"})
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "bad_input")
    team.add("We always ask Silvia Conti before a release")
    team.work()
    assert team.texts("all") == []
