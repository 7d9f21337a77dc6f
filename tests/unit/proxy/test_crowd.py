"""Who may be connected, and who makes room."""

import resource

import pytest
from structlog.testing import capture_logs

from services.proxy.crowd import Bounds, Crowd, Entry, bounds, raised_files


class Client:
    def __init__(self) -> None:
        self.left = False
        self.reads = False

    def give_way(self) -> bool:
        self.left = not self.reads
        return self.left


@pytest.mark.parametrize(
    ("wanted", "files", "expected"),
    [
        (4000, 65_536, Bounds(4000, 2048)),
        (4000, 20_000, Bounds(4000, 2048)),
        (40_000, 65_536, Bounds(31_544, 2048)),
        (4000, 4096, Bounds(1336, 1024)),
        (4000, 1024, Bounds(184, 256)),
        (4000, 256, Bounds(16, 64)),
        (3, 65_536, Bounds(3, 2048)),
        (3, 256, Bounds(3, 64)),
    ],
)
def test_there_are_files_for_every_connection_and_its_upstream(wanted: int, files: int, expected: Bounds) -> None:
    assert bounds(wanted, files) == expected
    assert files < 1024 or 2 * expected.connections + expected.backlog < files


def test_whoever_has_waited_longest_makes_room() -> None:
    crowd, clients = Crowd(3), [Client() for _ in range(6)]
    for client in clients[:3]:
        assert crowd.enter(client) is Entry.INSIDE
    crowd.work(clients[0])
    crowd.work(clients[1])
    crowd.wait(clients[0])  # again, and so for a shorter time than the third

    assert crowd.enter(clients[3]) is Entry.INSIDE
    assert [client.left for client in clients] == [False, False, True, False, False, False]
    assert crowd.enter(clients[4]) is Entry.INSIDE
    assert clients[0].left
    assert not clients[1].left


def test_nobody_who_works_makes_room() -> None:
    crowd, clients = Crowd(2), [Client() for _ in range(100)]
    for client in clients[:2]:
        crowd.enter(client)
        crowd.work(client)

    entries = [crowd.enter(client) for client in clients[2:]]
    assert entries == [Entry.TURNED_AWAY] * 64 + [Entry.SHUT_OUT] * 34
    assert not any(client.left for client in clients)

    crowd.wait(clients[2])  # who is outside has nothing to wait for
    crowd.leave(clients[0])
    assert crowd.enter(clients[99]) is Entry.INSIDE
    crowd.leave(clients[2])
    crowd.work(clients[99])
    assert crowd.enter(clients[2]) is Entry.TURNED_AWAY


def test_who_still_reads_an_answer_makes_no_room_until_it_is_read() -> None:
    crowd, clients = Crowd(2), [Client() for _ in range(6)]
    clients[0].reads = True
    for client in clients[:2]:
        crowd.enter(client)
    assert crowd.enter(clients[2]) is Entry.INSIDE
    assert [client.left for client in clients] == [False, True, False, False, False, False]
    crowd.work(clients[2])
    assert crowd.enter(clients[3]) is Entry.TURNED_AWAY
    clients[0].reads = False
    assert crowd.enter(clients[4]) is Entry.INSIDE
    assert clients[0].left


def test_it_is_said_once_until_there_was_room() -> None:
    crowd, clients = Crowd(10), [Client() for _ in range(50)]
    with capture_logs() as said:
        for client in clients:
            crowd.enter(client)
    assert [(line["event"], line["most"]) for line in said] == [("connections_full", 10)]

    with capture_logs() as said:
        for client in clients[40:42]:
            crowd.leave(client)
        for client in clients[:3]:
            crowd.enter(client)
    assert [line["event"] for line in said] == ["connections_full"]


def test_as_many_files_are_asked_for_as_may_be() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 300), hard))
        files = raised_files()
        assert files == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        assert files > 300
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
