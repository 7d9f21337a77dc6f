"""Jobs outlive an outage of Redis: spooled to disk, sealed, drained in order."""

import threading
from pathlib import Path

import pytest

from services.core import errors, messages, models
from services.core.adapters import redis_client, redis_figures, redis_jobs, spool
from services.core.seal import Seal
from tests.conftest import wait_until

SEAL = Seal("secret")


def learn(turn: str) -> messages.Job:
    return messages.Job.of(messages.Task.LEARN_TURN, messages.LearnTurn(turn=turn, principal=models.LOCAL, said_at=1.0, words=f"zebra {turn}"))


def book(address: str) -> redis_jobs.RedisJobBook:
    return redis_jobs.RedisJobBook(redis_client.connect(address, timeout_seconds=1), SEAL, lease_seconds=15, done_seconds=60)


def test_jobs_are_spooled_while_redis_is_away_and_drained_when_it_is_back(tmp_path: Path, redis_address: str) -> None:
    published: list[str] = []
    away = spool.Intake(book(f"unix://{tmp_path}/none.sock"), lambda *_: pytest.fail("nothing to publish to"), spool.Spool(tmp_path / "s", SEAL))
    away.enqueue([learn("t1")])
    away.enqueue([learn("t2"), learn("t1")])
    with pytest.raises(errors.Unavailable):
        away.drain()

    kept = spool.Spool(tmp_path / "s", SEAL)
    assert kept.peek() == [learn("t1"), learn("t2")]
    back = spool.Intake(book(redis_address), lambda job, _: published.append(job), kept)
    assert back.drain() == 2
    assert published == [learn("t1").id, learn("t2").id]
    assert len(kept) == 0
    assert book(redis_address).pending()[messages.Lane.LEARN] == 2


def test_draining_goes_on_by_itself(tmp_path: Path, redis_address: str) -> None:
    waiting = spool.Spool(tmp_path / "s", SEAL)
    waiting.put([learn(f"t{i}") for i in range(250)])
    intake = spool.Intake(book(redis_address), lambda *_: None, waiting, drain_every_seconds=0.01)
    intake.start()
    wait_until(lambda: len(waiting) == 0)
    intake.stop()
    assert book(redis_address).pending()[messages.Lane.LEARN] == 250


def test_the_spool_holds_no_word_in_clear(tmp_path: Path) -> None:
    waiting = spool.Spool(tmp_path / "s", SEAL)
    waiting.put([learn("t1")])
    waiting.remove([])
    assert b"zebra" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_a_job_that_is_known_already_is_not_published_twice(tmp_path: Path, redis_address: str) -> None:
    published: list[str] = []
    intake = spool.Intake(book(redis_address), lambda job, _: published.append(job), spool.Spool(tmp_path / "s", SEAL))
    intake.enqueue([learn("t1")])
    intake.enqueue([learn("t1")])
    assert published == [learn("t1").id]


def test_a_job_sealed_with_another_key_stays_and_holds_up_no_other(tmp_path: Path, redis_address: str) -> None:
    former = spool.Spool(tmp_path / "s", Seal("former"))
    former.put([learn("t1")])
    former.close()
    kept = spool.Spool(tmp_path / "s", SEAL)
    kept.put([learn("t2")])
    published: list[str] = []
    intake = spool.Intake(book(redis_address), lambda job, _: published.append(job), kept)
    assert intake.drain() == 1
    assert published == [learn("t2").id]
    assert len(kept) == 1, "it is counted, so that it is seen"
    assert spool.Spool(tmp_path / "s", Seal("former")).peek() == [learn("t1")]


def test_processes_that_share_the_spool_drain_it_once_and_forget_what_another_has_spooled(tmp_path: Path, redis_address: str) -> None:
    published: list[str] = []
    one, other = spool.Spool(tmp_path / "s", SEAL), spool.Spool(tmp_path / "s", SEAL)
    one.put([learn("t1"), learn("t2")])
    other.put([learn("t3")])
    intakes = [spool.Intake(book(redis_address), lambda job, _: published.append(job), each) for each in (one, other)]
    assert intakes[1].forget(lambda job: job.id == learn("t1").id) == 1

    with one.alone():
        draining = threading.Thread(target=intakes[1].drain)
        draining.start()
        draining.join(0.3)
        assert draining.is_alive(), "it waits for whoever is about to forget"
        assert published == []
    draining.join(10)
    assert intakes[0].drain() == 0
    assert published == [learn("t2").id, learn("t3").id]


def test_a_redis_that_is_nearly_full_does_what_it_has_while_the_rest_waits_in_the_spool(tmp_path: Path, redis_address: str) -> None:
    """Full to the brim it could not even give a job away."""
    client = redis_client.connect(redis_address, timeout_seconds=2)
    fill = redis_client.Fill(client, every_seconds=0.0)
    waiting = spool.Spool(tmp_path / "s", SEAL)
    published: list[str] = []
    intake = spool.Intake(book(redis_address), lambda job, _: published.append(job), waiting, room=fill.below(redis_client.JOBS))
    assert intake.enqueue([learn("t1")])
    used = int(client.info("memory")["used_memory"])
    client.config_set("maxmemory", int(used / (redis_client.JOBS + 0.03)))
    try:
        assert not intake.enqueue([learn("t2")])
        with pytest.raises(errors.Unavailable, match="full"):
            intake.drain()
        client.config_set("maxmemory", used // 2)
        with pytest.raises(errors.Unavailable):
            book(redis_address).claim(learn("t1").id)
        client.config_set("maxmemory", int(used / (redis_client.JOBS + 0.03)))
        claim = book(redis_address).claim(learn("t1").id)
        assert claim is not None
        assert book(redis_address).finish(claim)
        client.config_set("maxmemory", used * 2)
        assert intake.drain() == 1
    finally:
        client.config_set("maxmemory", "0")
    assert published == [learn("t1").id, learn("t2").id]


def test_how_full_redis_is_is_asked_for_now_and_then(redis_address: str) -> None:
    client, now = redis_client.connect(redis_address, timeout_seconds=2), [0.0]
    fill = redis_client.Fill(client, every_seconds=1.0, clock=lambda: now[0])
    assert not fill.over(0.0), "there is no limit"
    assert redis_client.check_room(client) == "it has no limit"
    client.config_set("maxmemory", int(client.info("memory")["used_memory"]) * 2)
    try:
        assert not fill.over(0.3)
        now[0] = 1.0
        assert fill.over(0.3)
        assert not fill.over(0.9)
        assert "of its maxmemory is taken" in redis_client.check_room(client)
        client.config_set("maxmemory", int(client.info("memory")["used_memory"] * 1.2))
        with pytest.raises(errors.SetupError, match="% full"):
            redis_client.check_room(client)
    finally:
        client.config_set("maxmemory", "0")


def test_a_redis_that_does_not_tell_how_full_it_is_takes_all(tmp_path: Path, redis_address: str) -> None:
    """One that is somebody else's may forbid what it takes for dangerous."""
    admin = redis_client.connect(redis_address, timeout_seconds=2)
    admin.acl_setuser("brb", enabled=True, nopass=True, keys=["*"], channels=["*"], categories=["+@all", "-@dangerous"])
    client = redis_client.connect(redis_address.replace("unix://", "unix://brb:any@"), timeout_seconds=2)
    published: list[str] = []
    fill = redis_client.Fill(client, every_seconds=0.0)
    intake = spool.Intake(book(redis_address), lambda job, _: published.append(job), spool.Spool(tmp_path / "s", SEAL), room=fill.below(0.5))
    try:
        assert intake.enqueue([learn("t1")])
        assert published == [learn("t1").id]
        assert "does not tell" in redis_client.check_room(client)
        with pytest.raises(errors.Unavailable, match="does not tell"):
            redis_figures.RedisFigures(client).room()
    finally:
        admin.acl_deluser("brb")


def test_a_redis_that_is_away_is_not_taken_for_full(tmp_path: Path) -> None:
    assert not redis_client.Fill(redis_client.connect(f"unix://{tmp_path}/none.sock", timeout_seconds=1)).over(0.0)
