"""Learning is measured in processes of its own, and the worker's first process never holds spaCy."""

import contextlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from services.core import config, messages, models, seal
from services.core.adapters import celery_queue, redis_client, redis_jobs
from services.embedded import bench
from services.embedded.bench import learn, learner, processes
from tests.conftest import wait_until


def test_learning_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_files: dict[str, Path]) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("BRB_REDIS_URL", "redis://127.0.0.1:9")  # the person's own must not be written to
    before = set(psutil.Process().children())
    told: list[tuple[str, float]] = []
    found = bench.run("learn", quick=True, progress=lambda stage, share: told.append((stage, share)))
    figures = found.figures
    assert all(stage and 0 <= share <= 1 for stage, share in told)
    assert found.n == 200 + 50 + 50
    for name in ("task", "named", "extraction", "worker"):
        assert figures[f"{name}.turns_per_core_second"] > 1
    shares = [figures[f"{stage}.share_ratio"] for stage in ("redact", "parse", "rules", "redis", "rest")]
    assert sum(shares) == pytest.approx(1, abs=0.01)
    assert min(figures["parse.core_ms"], figures["rules.core_ms"], figures["redact.core_ms"], figures["redis.core_ms"]) > 0
    assert figures["named.redact.core_ms"] > figures["redact.core_ms"]
    assert 0.3 < figures["turns_with_facts_ratio"] <= 1
    assert abs(figures["memory.drift_ratio"]) < 0.5
    assert {len(row) for row in found.rows} == {len(found.columns)}
    assert not list(tmp_path.iterdir())
    assert set(psutil.Process().children()) <= before


@pytest.fixture
def worker(model_files: dict[str, Path]) -> Iterator[tuple[config.Settings, psutil.Process]]:
    with contextlib.ExitStack() as stack:
        settings, folder = stack.enter_context(learn.beside_redis(lambda *_: None))
        server = stack.enter_context(processes.supporting(learn.program(settings, "worker"), settings, folder=folder))
        yield settings, server.process


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows what a process has mapped")
def test_spacy_is_loaded_after_the_fork(worker: tuple[config.Settings, psutil.Process]) -> None:
    settings, parent = worker
    client = redis_client.connect(settings.redis_address, timeout_seconds=5)
    book = redis_jobs.RedisJobBook(client, seal.Seal(seal.secret_of(settings)), lease_seconds=60, done_seconds=60)
    turn = messages.LearnTurn(turn="t1", principal=models.LOCAL, said_at=time.time(), words="My name is Leo.")
    job = messages.Job.of(messages.Task.LEARN_TURN, turn)
    book.add([job])
    celery_queue.Publisher(celery_queue.create_celery(settings, "test"))(job.id, job.task)
    wait_until(lambda: {lane for lane, depth in book.pending().items() if depth} == {messages.Lane.INDEX}, seconds=60)
    assert any(_has_spacy(child) for child in parent.children())
    assert not _has_spacy(parent)
    client.close()


def _has_spacy(process: psutil.Process) -> bool:
    return any("/spacy/" in region.path for region in process.memory_maps())


def test_seconds_of_a_stage_are_without_those_of_the_stages_within_it() -> None:
    stages = learner.Stages()

    class Work:
        def outer(self) -> None:
            _burn(0.02)
            assert list(self.inner()) == [1]

        def inner(self) -> Iterator[int]:
            yield 1
            _burn(0.06)

    stages.watch(Work, "outer", lambda: "outer")
    stages.watch(Work, "inner", lambda: "inner")
    Work().outer()
    assert 0.015 < stages.seconds["outer"] < 0.05 < stages.seconds["inner"]


def _burn(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_turns_to_learn_from_can_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_files: dict[str, Path]) -> None:
    given = tmp_path / "turns.jsonl"
    given.write_text('{"words": "Thanks, that worked!", "facts": []}\n{"words": "Hello there", "facts": []}\n')
    assert bench.run("learn", data=given, quick=True, progress=lambda *_: None).figures["turns_with_facts_ratio"] == 0
