"""All of a real Redis is taken while it goes on, and given to another one."""

import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

from services.core import errors
from services.core.adapters import redis_client, redis_replication
from tests.conftest import wait_until
from tests.support.redis_server import started


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as path:
        yield Path(path)


def contents(client: redis.Redis) -> dict[bytes, bytes]:
    return {key: client.dump(key) for key in client.scan_iter()}


def test_what_is_taken_is_one_moment_and_what_is_given_survives_a_restart(folder: Path) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(started(folder / "a"))
        first.set("sealed", b"\0" * 100_000)
        first.zadd("due", {"one": 1.5, "two": 2.5})
        first.hset("job", mapping={"task": "learn", "attempts": 1})
        first.set("passing", "x", ex=1000)
        before = contents(first)
        stop = threading.Event()

        def write() -> None:
            with redis_client.connect(f"unix://{folder / 'a' / 'r.sock'}", timeout_seconds=5) as client:
                n = 0
                while not stop.is_set():  # both or none of two keys, whenever it is taken
                    n += 1
                    client.mset({"left": n, "right": n})

        writer = threading.Thread(target=write)
        writer.start()
        wait_until(lambda: first.exists("left"))
        redis_replication.take(first, folder / "copy.rdb")
        stop.set()
        writer.join()
        assert not (folder / "a" / "dump.rdb").exists(), "nothing is left beside its log"

        second = stack.enter_context(started(folder / "b"))
        second.set("former", "x")
        redis_replication.give(second, folder / "copy.rdb")
        given = contents(second)
        assert given.pop(b"left") == given.pop(b"right")
        assert given == before
        assert 900 < second.ttl("passing") <= 1000
        assert second.role()[0] == b"master"
        second.set("after", "it is a Redis like any other")
    with started(folder / "b") as again:
        assert again.get("sealed") == b"\0" * 100_000
        assert again.get("after") is not None
        assert again.get("former") is None


def test_a_redis_that_does_not_understand_it_says_so_and_is_its_own_master_again(folder: Path) -> None:
    (folder / "copy.rdb").write_bytes(b"REDIS9999" + b"\0" * 100)
    with started(folder / "a", "--logfile", str(folder / "log")) as client:
        with pytest.raises(errors.BrbError, match="did not take the copy"):
            redis_replication.give(client, folder / "copy.rdb", wait_seconds=3)
        assert client.role()[0] == b"master"


def test_a_redis_that_may_not_be_copied_or_replaced_is_told_of(folder: Path) -> None:
    with started(folder / "a") as client:
        client.execute_command("ACL", "SETUSER", "default", "-sync", "-psync", "-replicaof")
        with pytest.raises(errors.SetupError, match="can't be restored into"):
            redis_replication.freed(client)
        with pytest.raises(errors.SetupError, match="does not give a copy of itself: -NOPERM"):
            redis_replication.take(client, folder / "copy.rdb")


@pytest.mark.parametrize("last", [b"\n", b"$EOF:" + b"a" * 40 + b"\r\nREDIS0011", b"$100\r\nREDIS0011"])
@pytest.mark.timeout(30)
def test_a_redis_that_ends_while_it_is_copied_is_away(folder: Path, last: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                while b"SYNC" not in (said := connection.recv(4096)):
                    connection.sendall(b"+OK\r\n" * said.count(b"*"))
                connection.sendall(last)

        thread = threading.Thread(target=serve)
        thread.start()
        address = f"redis://127.0.0.1:{server.getsockname()[1]}?protocol=2"
        with redis_client.connect(address, timeout_seconds=5) as client, pytest.raises(errors.Unavailable, match="in the middle of its copy"):
            redis_replication.take(client, folder / "copy.rdb")
        thread.join()


def test_one_that_was_left_as_the_replica_of_a_restore_that_was_killed_can_be_restored_into(folder: Path) -> None:
    with started(folder / "a") as client:
        client.set("former", "x")
        client.replicaof("127.0.0.1", 1)
        redis_replication.freed(client)
        redis_replication.take(client, folder / "copy.rdb")
        client.set("after", "x")


def test_a_redis_that_gives_nobody_a_copy_says_so(folder: Path, redis_address: str) -> None:
    admin = redis_client.connect(redis_address, timeout_seconds=2)
    admin.acl_setuser("brb", enabled=True, nopass=True, keys=["*"], categories=["+@all", "-@dangerous"])
    client = redis_client.connect(redis_address.replace("unix://", "unix://brb:any@"), timeout_seconds=2)
    try:
        with pytest.raises(errors.SetupError, match="gives no copy of itself"):
            redis_replication.take(client, folder / "copy.rdb")
    finally:
        admin.acl_deluser("brb")
