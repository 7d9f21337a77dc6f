"""One suite over both kinds of owners' locks, with the write clocks that they move."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple

import pytest

from services.core import errors, models
from services.core.adapters import in_memory_owner_locks, redis_client

LEO = models.Principal("acme", "leo")
ANN = models.Principal("acme", "ann")
ZOE = models.Principal("other", "zoe")


class Owners(NamedTuple):
    """writes: as another process reads it."""

    lock: Callable[[models.Principal], AbstractContextManager[None]]
    writes: Callable[[str], int]


@pytest.fixture(params=["memory", "redis"])
def owners(request: pytest.FixtureRequest) -> Iterator[Owners]:
    if request.param == "memory":
        made = in_memory_owner_locks.InMemoryOwnerLocks()
        yield Owners(made.lock, made.writes)
        return
    address = request.getfixturevalue("redis_address")
    writer, reader = (redis_client.connect(address, timeout_seconds=2) for _ in range(2))
    yield Owners(redis_client.owner_lock(writer), redis_client.write_clock(reader))
    for client in (writer, reader):
        client.close()


def test_the_write_clock_moves_before_and_after_a_write(owners: Owners) -> None:
    before = owners.writes("acme")
    with owners.lock(LEO):
        during = owners.writes("acme")
    after = owners.writes("acme")

    assert before < during < after


def test_a_write_that_fails_moves_the_clock_too(owners: Owners) -> None:
    seen = []

    def fail() -> None:
        with owners.lock(LEO):
            seen.append(owners.writes("acme"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert owners.writes("acme") > seen[0]


def test_writes_of_two_owners_of_a_team_at_once_each_move_the_clock(owners: Owners) -> None:
    seen = []
    with owners.lock(LEO):
        seen.append(owners.writes("acme"))
        with owners.lock(ANN):
            seen.append(owners.writes("acme"))
        seen.append(owners.writes("acme"))
    seen.append(owners.writes("acme"))

    assert seen == sorted(set(seen))


def test_the_clock_is_the_teams_own(owners: Owners) -> None:
    before = owners.writes("acme")
    with owners.lock(ZOE):
        pass

    assert owners.writes("acme") == before


def test_one_owner_is_held_by_one_at_a_time(owners: Owners) -> None:
    order: list[str] = []
    inside = threading.Event()

    def other() -> None:
        inside.wait(10)
        with owners.lock(LEO):
            order.append("second")

    thread = threading.Thread(target=other)
    thread.start()
    with owners.lock(LEO):
        inside.set()
        thread.join(0.3)
        order.append("first")
    thread.join(10)

    assert order == ["first", "second"]


def test_without_redis_neither_lock_nor_clock_works() -> None:
    client = redis_client.connect("unix:///tmp/there-is-no-redis.sock", timeout_seconds=1)

    with pytest.raises(errors.Unavailable):
        redis_client.write_clock(client)("acme")
    with pytest.raises(errors.Unavailable), redis_client.owner_lock(client)(LEO):
        raise AssertionError("it was given")
