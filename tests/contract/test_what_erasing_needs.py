"""What erasing asks of the adapters, beside forgetting by id."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from services.core import jobs, messages, models, note_api, ports
from services.core.adapters import in_memory_turn_log, qdrant_edge, redis_client, redis_turn_log
from services.core.adapters.in_memory_jobs import InMemoryJobBook
from services.core.adapters.in_memory_notes import InMemoryNoteStore
from services.core.adapters.in_memory_owner_locks import InMemoryOwnerLocks
from services.core.adapters.in_memory_store import InMemoryStore
from services.core.notes.writing import NoteWriter
from services.core.seal import Seal
from services.embedded import programs
from tests.conftest import wait_until
from tests.support.embedding import HashingEmbedder
from tests.support.in_memory import memory

LEO, ANA, OTHER = models.Principal("acme", "leo"), models.Principal("acme", "ana"), models.Principal("else", "leo")
EMBEDDER = HashingEmbedder()


@pytest.fixture(params=["memory", "redis"])
def turns(request: pytest.FixtureRequest) -> Iterator[ports.TurnLog]:
    if request.param == "memory":
        yield in_memory_turn_log.InMemoryTurnLog()
    else:
        client = redis_client.connect(request.getfixturevalue("redis_address"), timeout_seconds=2)
        yield redis_turn_log.RedisTurnLog(client, Seal("secret"), lifetime_seconds=60)
        client.close()


def test_records_of_turns_are_dropped_by_what_they_say_of_one_person_alone(turns: ports.TurnLog) -> None:
    for who in (LEO, ANA):
        for number in range(3):
            turns.add(who, ports.Told(turn=f"t{number}", at=float(number), outcome="empty", words="secret" if number else "plain"))

    assert turns.drop(LEO, lambda told: told.words == "secret") == 2
    assert turns.drop(LEO, lambda told: told.words == "secret") == 0
    assert ([one.turn for one in turns.latest(LEO)], len(turns.latest(ANA))) == (["t0"], 3)
    assert turns.find(LEO, "t1") is None


@pytest.mark.parametrize("kind", ["memory", "edge"])
def test_whoever_owns_something_in_a_team_is_known(kind: str, tmp_path: Path) -> None:
    size = EMBEDDER.dimension
    store: ports.MemoryStore
    notes: ports.NoteStore
    if kind == "memory":
        store, notes = InMemoryStore(size), InMemoryNoteStore(size)
    else:
        store = qdrant_edge.EdgeStore.open(tmp_path / "store", model="hashing", dimension=size)
        notes = qdrant_edge.EdgeNoteStore.open(tmp_path / "notes", model="hashing", dimension=size)
    for who in (LEO, ANA, OTHER):
        one = memory(f"{who}", team=who.team, owner=who.user)
        store.put([ports.Embedded(one, EMBEDDER.embed([one.text], "document")[0])])
    NoteWriter(notes, EMBEDDER, owner_lock=InMemoryOwnerLocks().lock, clock=lambda: 1.0).put(ANA, [note_api.PutNote(title="x", text="y")])

    assert (sorted(store.owners("acme")), sorted(store.owners("else")), store.owners("none")) == (["ana", "leo"], ["leo"], [])
    assert (notes.owners("acme"), notes.owners("else")) == (["ana"], [])
    store.close()
    notes.close()


def test_an_append_only_file_holds_no_deleted_value_once_it_is_written_anew(short_folder: Path) -> None:
    folder = short_folder / "aof"
    folder.mkdir()
    socket = folder / "redis.sock"
    argv = [str(programs.redis_server()), "--port", "0", "--unixsocket", str(socket), "--dir", str(folder), "--appendonly", "yes", "--save", ""]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as server:
        client = redis_client.connect(f"unix://{socket}", timeout_seconds=5)
        wait_until(client.ping, ignoring=redis.ConnectionError)
        client.set("gone", "zyzzyva")
        client.set("kept", "quokka")
        client.delete("gone")
        assert holds(folder, b"zyzzyva")

        redis_client.rewrite_log(client)

        wait_until(lambda: not holds(folder, b"zyzzyva"))  # the former file is removed in the background
        assert holds(folder, b"quokka")
        assert client.get("kept") == b"quokka"
        client.close()
        server.terminate()


def holds(folder: Path, word: bytes) -> bool:
    try:
        return any(word in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    except FileNotFoundError:  # removed between the two
        return True


def test_a_redis_without_such_a_file_has_nothing_to_write(redis_address: str, tmp_path: Path) -> None:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    redis_client.rewrite_log(client)
    assert client.info("persistence")["aof_enabled"] == 0  # type: ignore[index]
    client.close()


def test_a_job_that_was_taken_back_while_it_waited_for_its_lock_is_not_done() -> None:
    job = messages.Job.of(messages.Task.STORE_FACTS, messages.StoreFacts(turn="t1", principal=LEO, said_at=1.0, facts=()))
    book, owners, done = InMemoryJobBook(lease_seconds=15), InMemoryOwnerLocks(), list[messages.Payload]()

    def taken_back(payload: messages.Payload) -> object:
        book.forget(lambda other: other.id == job.id)
        return owners.lock(LEO)

    def handle(payload: messages.Payload) -> list[messages.Job]:
        done.append(payload)
        return []

    book.add([job])
    outcome = jobs.run(job.id, handle, book=book, publish=lambda *_: None, lease_seconds=15, within=taken_back)  # type: ignore[arg-type]

    assert (outcome, done, book.add([job])) == ("lost", [], [])


def test_a_job_that_is_still_held_is_done_under_its_lock() -> None:
    job = messages.Job.of(messages.Task.STORE_FACTS, messages.StoreFacts(turn="t1", principal=LEO, said_at=1.0, facts=()))
    book, owners, seen = InMemoryJobBook(lease_seconds=15), InMemoryOwnerLocks(), list[int]()

    def handle(payload: messages.Payload) -> list[messages.Job]:
        seen.append(owners.writes(LEO.team))
        return []

    book.add([job])
    outcome = jobs.run(job.id, handle, book=book, publish=lambda *_: None, lease_seconds=15, within=lambda _: owners.lock(LEO))

    assert (outcome, seen, owners.writes(LEO.team)) == ("done", [1], 2)
