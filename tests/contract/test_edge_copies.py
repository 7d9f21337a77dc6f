"""Copies of an embedded store's files, taken while their owner runs."""

import contextlib
import errno
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from services.core import errors, models, ports
from services.core.adapters import edge_copies, edge_points
from services.core.adapters.counting import PEOPLES
from services.core.adapters.qdrant_edge import EdgeStore
from tests.support.embedding import HashingEmbedder
from tests.support.in_memory import memory

ME = models.Scope(models.LOCAL.team, models.LOCAL.user, projects=None)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EdgeStore]:
    made = EdgeStore.open(tmp_path / "store", model="hashing", dimension=64)
    yield made
    made.close()


def put(store: ports.MemoryStore, *texts: str, **fields: object) -> None:
    vectors = HashingEmbedder().embed(texts, "document")
    store.put([ports.Embedded(memory(text, **fields), vector) for text, vector in zip(texts, vectors, strict=True)])


def test_a_copy_holds_what_was_written_a_moment_ago_though_nothing_was_flushed(store: EdgeStore, tmp_path: Path) -> None:
    put(store, *(f"Memory number {n}" for n in range(50)))
    put(store, "Of a canary", team=models.CANARY_TEAMS[0])

    [collection] = edge_copies.copied(tmp_path / "store", tmp_path / "copy")

    assert (collection.model, collection.dimension) == ("hashing", 64)
    assert edge_copies.count(tmp_path / "copy", PEOPLES) == 50
    put(store, "Said afterwards")
    again = EdgeStore.open(tmp_path / "copy", model="hashing", dimension=64)
    assert sorted(again.find(ME, limit=99), key=lambda one: one.id) == sorted(
        (one for one in store.find(ME, limit=99) if one.text != "Said afterwards"), key=lambda one: one.id
    )
    asked = HashingEmbedder().embed(["Memory number 42"], "query")[0]
    assert again.nearest(ME, asked, limit=3)[0].memory.text == "Memory number 42"
    assert [hit.memory.text for hit in again.lexical(ME, "42", limit=3)] == ["Memory number 42"]
    again.close()


def test_what_is_cleaned_up_meanwhile_is_copied_again(store: EdgeStore, tmp_path: Path) -> None:
    """A purge writes a new shard and removes the old one, as often as it likes."""
    put(store, *(f"Memory number {n}" for n in range(50)))
    stop = threading.Event()

    def purge() -> None:
        n = 0
        while not stop.is_set() and n < 3:
            store.touch(ME, [memory("Memory number 1").id], 2e9 + n)  # something to clean
            store.purge()
            n += 1

    cleaner = threading.Thread(target=purge)
    cleaner.start()
    for number in range(3):
        try:
            edge_copies.copied(tmp_path / "store", tmp_path / f"copy{number}")
        except errors.Unavailable:
            continue  # it did not come to rest: said, and nothing is left
        finally:
            stop.set() if number == 2 else None
        assert edge_copies.count(tmp_path / f"copy{number}", PEOPLES) == 50
    cleaner.join()


def test_files_that_change_under_the_copy_are_noticed(store: EdgeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, "one")
    tries = []

    def writing(source: Path, to: Path, **_: object) -> None:
        tries.append(1)
        shutil.copytree(source, to)
        put(store, f"meanwhile {len(tries)}", *(f"{n} of {len(tries)}" for n in range(20)))

    monkeypatch.setattr(edge_copies, "shutil", SimpleNamespace(copytree=writing, rmtree=shutil.rmtree, Error=shutil.Error))
    with pytest.raises(errors.Unavailable, match="do not come to rest"):
        edge_copies.copied(tmp_path / "store", tmp_path / "copy")
    assert len(tries) == 5
    assert not (tmp_path / "copy").exists()


def test_a_folder_without_a_store_has_nothing_to_copy(tmp_path: Path) -> None:
    assert edge_copies.copied(tmp_path, tmp_path / "copy") == []
    assert edge_copies.count(tmp_path, PEOPLES) == 0
    assert edge_points.collections(tmp_path) == []


def test_a_copy_of_an_earlier_version_can_be_counted_though_it_is_not_opened(store: EdgeStore, tmp_path: Path) -> None:
    """It is backed up before `brb reindex` carries it over."""
    put(store, "I like tea")
    put(store, "Of a canary", team=models.CANARY_TEAMS[0])
    [collection] = edge_copies.copied(tmp_path / "store", tmp_path / "copy")
    edge_points.describe(tmp_path / "copy" / "hashing", msgspec.structs.replace(collection, schema_version=collection.schema_version - 1))

    assert edge_copies.count(tmp_path / "copy", PEOPLES) == 1
    with pytest.raises(errors.WrongModel, match="brb reindex"):
        EdgeStore.open(tmp_path / "copy", model="hashing", dimension=64)


def test_what_a_killed_reindex_was_building_goes_when_the_store_is_opened(tmp_path: Path) -> None:
    """It may hold what is forgotten later."""
    with contextlib.closing(EdgeStore.open(tmp_path / "store", model="hashing", dimension=64)) as store:
        put(store, "I like tea")
    shutil.copytree(tmp_path / "store" / "hashing", tmp_path / "store" / ".new-abc" / "hashing")

    with contextlib.closing(EdgeStore.open(tmp_path / "store", model="hashing", dimension=64)) as again:
        assert [path.name for path in (tmp_path / "store").iterdir()] == ["hashing"]
        assert [one.text for one in again.find(ME)] == ["I like tea"]


def test_a_full_disk_is_not_taken_for_files_that_move(store: EdgeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def full(source: str, to: str) -> None:
        tried.append(source)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copy2", full)
    with pytest.raises(errors.SetupError, match="No space left"):
        edge_copies.copied(tmp_path / "store", tmp_path / "copy")
    assert len(tried) == 1
