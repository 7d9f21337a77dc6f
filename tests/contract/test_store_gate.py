"""Who may write: asked by every writer under its owner's lock."""

import threading
import time

import pytest
import redis

from services.core import errors, models
from services.core.adapters import redis_client, store_gate

LEO = models.Principal("acme", "leo")
ANN = models.Principal("acme", "ann")


@pytest.fixture
def client(redis_address: str) -> redis.Redis:
    return redis_client.connect(redis_address, timeout_seconds=2)


def lock(client: redis.Redis, model: str = "old", *, wait_seconds: float = 5.0):  # type: ignore[no-untyped-def]
    return redis_client.owner_lock(client, wait_seconds=wait_seconds, opened=store_gate.opened_to(client, model))


def test_without_a_word_about_it_everybody_writes(client: redis.Redis) -> None:
    with lock(client, "old")(LEO), lock(client, "new")(ANN):
        assert store_gate.writers(client) == ""


def test_once_it_was_given_to_a_model_only_its_processes_write(client: redis.Redis) -> None:
    store_gate.give_to(client, "new")

    with pytest.raises(errors.Unavailable, match="restart with BRB_EMBED_MODEL=new"), lock(client, "old")(LEO):
        pytest.fail("it wrote")
    with lock(client, "new")(LEO):
        assert store_gate.writers(client) == "new"


def test_whoever_holds_it_begins_when_the_last_writer_is_done_and_nobody_writes_meanwhile(client: redis.Redis) -> None:
    said: list[str] = []
    writing, go_on = threading.Event(), threading.Event()

    def first() -> None:
        with lock(client)(LEO):
            writing.set()
            go_on.wait(5)
            said.append("first writer done")

    def second() -> None:
        with lock(client)(ANN):
            said.append("second writer")

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    writing.wait(5)
    threading.Timer(0.2, go_on.set).start()
    with store_gate.held(client) as mine:
        said.append("held")
        threads[1].start()
        deadline = time.monotonic() + 5
        while not client.exists("brb:lock:acme:ann") and time.monotonic() < deadline:
            time.sleep(0.002)  # until the second one has come to the gate
        assert mine()
        said.append("let go")
    for thread in threads:
        thread.join(5)

    assert said == ["first writer done", "held", "let go", "second writer"]
    assert not client.exists("brb:held")


def test_a_writer_that_waits_for_too_long_is_told_so_and_leaves_no_lock_behind(client: redis.Redis) -> None:
    with (
        store_gate.held(client),
        pytest.raises(errors.Unavailable, match="held for a backup or a reindex"),
        lock(client, wait_seconds=0.1)(LEO),
    ):
        pytest.fail("it wrote")
    assert not client.exists("brb:lock:acme:leo")


def test_only_one_holds_it(client: redis.Redis) -> None:
    with store_gate.held(client), pytest.raises(errors.Unavailable, match="held already"), store_gate.held(client):
        pytest.fail("both hold it")
    with store_gate.held(client) as mine:
        client.set("brb:held", "another")
        assert not mine()
    assert client.get("brb:held") == b"another"


def test_what_was_done_is_done_if_redis_hangs_when_the_hold_ends(client: redis.Redis, redis_address: str) -> None:
    """`brb reindex` said that it had failed when it was over."""
    quick = redis_client.connect(redis_address, timeout_seconds=0.1)
    with store_gate.reindexing(quick):
        client.client_pause(300)
    client.ping()  # which waits until the pause is over


def test_a_hold_ends_with_its_holder_and_what_was_given_stays_given(client: redis.Redis) -> None:
    store_gate.give_to(client, "new")
    with store_gate.held(client):
        assert 0 < client.ttl("brb:held") <= 15
    assert client.ttl("brb:writers") == -1


def test_a_writer_that_never_ends_is_waited_for_only_so_long(client: redis.Redis) -> None:
    with lock(client)(LEO), pytest.raises(errors.Unavailable, match="without a pause"), store_gate.held(client, wait_seconds=0.1):
        pytest.fail("it was held")
    assert not client.exists("brb:held")
