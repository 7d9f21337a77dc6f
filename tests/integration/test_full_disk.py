"""A disk without room: nothing is lost for it, and nothing ends."""

import io
import logging
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
import structlog

from services.core import errors, messages, models, seal, telemetry
from services.core.adapters import edge_points, qdrant_edge, redis_client, spool
from services.core.adapters.in_memory_jobs import InMemoryJobBook


@pytest.fixture
def logs_on_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before, handlers = structlog.get_config(), logging.getLogger().handlers[:]
    with io.TextIOWrapper(Path("/dev/full").open("wb", buffering=0), write_through=True) as full:  # type: ignore[type-var]
        monkeypatch.setattr(sys, "stderr", full)
        telemetry.configure_logging("info")
        yield
        structlog.configure(**before)
        logging.getLogger().handlers[:] = handlers
        monkeypatch.undo()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_line_that_can_not_be_written_is_not_and_what_it_tells_of_goes_on(logs_on_a_full_disk: None) -> None:
    structlog.get_logger().info("told", count=1)
    logging.getLogger("some.library").error("told as well")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", [["--help"], ["token", "--help"], ["models", "list", "--json"]])
def test_a_command_whose_output_finds_no_room_says_so(command: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([sys.executable, "-m", "services.cli", *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)

    assert (done.returncode, done.stderr) == (1, "error: the output can't be written (No space left on device): make room\n")


def jobs_of(*turns: str) -> list[messages.Job]:
    said = [messages.LearnTurn(turn=turn, principal=models.LOCAL, said_at=1.0, words=f"words of {turn} " * 200) for turn in turns]
    return [messages.Job.of(messages.Task.LEARN_TURN, each) for each in said]


def test_jobs_for_which_the_disk_has_no_room_are_kept_until_redis_has_them(tmp_path: Path) -> None:
    waiting = spool.Spool(tmp_path / "spool.sqlite", seal.Seal("secret"))
    first, second = jobs_of("a"), jobs_of("b", "c")
    waiting.put(first)
    pages = waiting._db.execute("PRAGMA page_count").fetchone()[0]
    waiting._db.execute(f"PRAGMA max_page_count = {pages}")  # what SQLite says of a full disk it says of this
    waiting.put(second)
    waiting.put(second[:1])
    assert len(waiting) == 3
    assert waiting.peek() == [*first, *second]
    assert waiting.peek(2) == [*first, second[0]]
    waiting._db.execute("PRAGMA max_page_count = 1000000")
    book = InMemoryJobBook(lease_seconds=15)
    intake = spool.Intake(book, lambda *_: None, waiting)
    assert intake.drain() == 3
    assert (len(waiting), book.known([job.id for job in first + second])) == (0, {job.id for job in first + second})
    waiting.close()


def test_jobs_in_memory_are_forgotten_as_well(tmp_path: Path) -> None:
    waiting = spool.Spool(tmp_path / "spool.sqlite", seal.Seal("secret"))
    waiting._db.execute(f"PRAGMA max_page_count = {waiting._db.execute('PRAGMA page_count').fetchone()[0]}")
    mine, others = jobs_of("a", "b")
    waiting.put([mine, others])
    assert waiting.forget(lambda job: job.id == mine.id) == 1
    assert waiting.peek() == [others]
    waiting.close()


def test_a_redis_that_can_not_write_its_log_is_away_and_other_refusals_are_not_taken_for_it() -> None:
    breaker = redis_client.Breaker()
    with pytest.raises(errors.Unavailable), redis_client.translated(breaker):
        raise redis.ResponseError("MISCONF Errors writing to the AOF file: No space left on device")
    with pytest.raises(errors.Unavailable):
        breaker.check()
    with pytest.raises(redis.ResponseError), redis_client.translated():
        raise redis.ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value")


def test_the_store_refuses_what_might_find_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes to files that are mapped into memory, where no room is a signal that ends the process."""
    opened = qdrant_edge.EdgeStore.open(tmp_path, model="m", dimension=2)
    left = shutil.disk_usage(tmp_path)._replace(free=edge_points.ROOM_BYTES - 1)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda _: left)
        with pytest.raises(errors.Unavailable, match="free"):
            opened.delete(models.Scope("team", "user"), ["00000000-0000-0000-0000-000000000000"])
        with pytest.raises(errors.Unavailable, match="free"):
            opened.purge()
        assert opened.get(models.Scope("team", "user"), "00000000-0000-0000-0000-000000000000") is None
    assert opened.delete(models.Scope("team", "user"), ["00000000-0000-0000-0000-000000000000"]) == 0
    opened.close()
