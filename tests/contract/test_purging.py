"""What was erased is not in the files of an embedded store any more, and what was not is all there."""

import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.core import errors, models, note_api, ports
from services.core.adapters import edge_points
from services.core.adapters.qdrant_edge import EdgeNoteStore, EdgeStore
from services.core.notes.writing import NoteWriter
from tests.support.embedding import HashingEmbedder
from tests.support.in_memory import memory, parts

ME = models.Scope(models.LOCAL.team, models.LOCAL.user, projects=None)
SECRET = "The quokka sleeps in the zyzzyva chest"


def opened(folder: Path) -> EdgeStore:
    return EdgeStore.open(folder, model="hashing", dimension=HashingEmbedder().dimension)


def put(store: ports.MemoryStore, *memories: models.Memory) -> None:
    vectors = HashingEmbedder().embed([one.text for one in memories], "document")
    store.put([ports.Embedded(one, vector) for one, vector in zip(memories, vectors, strict=True)])


def files_with(folder: Path, word: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EdgeStore]:
    made = opened(tmp_path)
    put(made, *(memory(f"Memory number {n}") for n in range(100)), memory(SECRET))
    yield made
    made.close()


def test_what_was_deleted_is_in_no_file_after_a_purge(store: EdgeStore, tmp_path: Path) -> None:
    store.delete(ME, [memory(SECRET).id])
    assert files_with(tmp_path, "zyzzyva")  # why there is a purge at all

    store.purge()

    assert files_with(tmp_path, "zyzzyva") == []
    assert files_with(tmp_path, "Memory number 42")


def test_everything_else_is_as_it_was(tmp_path: Path) -> None:
    store = opened(tmp_path)
    put(store, *(memory(f"Memory number {n}") for n in range(101)))
    wanted = HashingEmbedder().embed(["Memory number 42"], "query")[0]
    before = store.find(ME, limit=200), store.nearest(ME, wanted, limit=1), store.lexical(ME, "42", limit=5)

    store.purge()

    assert (store.find(ME, limit=200), store.nearest(ME, wanted, limit=1), store.lexical(ME, "42", limit=5)) == before
    put(store, memory("Written afterwards"))
    store.touch(ME, [memory("Memory number 1").id], 1e10)
    store.delete(ME, [memory("Memory number 2").id])
    store.close()
    again = opened(tmp_path)
    assert again.count(ME) == 101
    assert again.get(ME, memory("Memory number 2").id) is None
    assert (found := again.get(ME, memory("Memory number 1").id)) is not None
    assert found.accessed_at == 1e10
    assert [hit.memory.text for hit in again.lexical(ME, "afterwards", limit=1)] == ["Written afterwards"]
    again.close()


def test_one_folder_is_left_however_often_it_is_purged(store: EdgeStore, tmp_path: Path) -> None:
    for _ in range(3):
        store.purge()

    assert len([path for path in (tmp_path / "hashing").iterdir() if path.is_dir()]) == 1


def test_reads_go_on_and_find_all_of_it(store: EdgeStore) -> None:
    stop, counts, failures = threading.Event(), set[int](), list[Exception]()

    def read() -> None:
        while not stop.is_set():
            try:
                counts.add(store.count(ME))
                counts.add(len(store.find(ME, limit=200)))
            except Exception as error:
                failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(5):
        store.purge()
    stop.set()
    for reader in readers:
        reader.join()

    assert (failures, counts) == ([], {101})


def test_writes_of_meanwhile_are_not_lost(store: EdgeStore) -> None:
    written = [memory(f"Late {n}") for n in range(60)]
    writer = threading.Thread(target=lambda: [put(store, one) for one in written])
    writer.start()
    for _ in range(5):
        store.purge()
    writer.join()
    store.purge()

    assert store.count(ME) == 161


@pytest.mark.parametrize("moment", ["_empty", "_pages", "describe", "_remove_others"])
def test_killed_in_a_purge_it_has_all_and_the_next_one_cleans_up(tmp_path: Path, moment: str) -> None:
    script = """
        import os, signal, sys
        from pathlib import Path
        sys.path[:0] = sys.argv[2:]
        import test_purging as suite
        store = suite.opened(Path(sys.argv[1]))
        suite.put(store, *(suite.memory(f"Memory number {n}") for n in range(100)), suite.memory(suite.SECRET))
        store.delete(suite.ME, [suite.memory(suite.SECRET).id])
        real = getattr(suite.edge_points, "MOMENT")
        def dying(*args, **kwargs):
            result = real(*args, **kwargs)
            if "MOMENT" == "_pages":
                yield next(result)
            os.kill(os.getpid(), signal.SIGKILL)
        def dead(*args, **kwargs):
            real(*args, **kwargs) if "MOMENT" != "_remove_others" else None
            os.kill(os.getpid(), signal.SIGKILL)
        setattr(suite.edge_points, "MOMENT", dying if "MOMENT" == "_pages" else dead)
        store.purge()
    """.replace("MOMENT", moment)
    here = Path(__file__).parent
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path), str(here), str(here.parents[1])]
    assert subprocess.run(command, check=False).returncode == -9

    store = opened(tmp_path)
    assert store.count(ME) == 100
    assert len([path for path in (tmp_path / "hashing").iterdir() if path.is_dir()]) == 1
    store.purge()
    assert files_with(tmp_path, "zyzzyva") == []
    store.close()


def test_closing_breaks_a_purge_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(tmp_path)
    put(store, *(memory(f"Memory number {n}") for n in range(100)))
    pages = edge_points._pages
    closing: list[threading.Thread] = []

    def closed_meanwhile(*args: object, **kwargs: object) -> Iterator[object]:
        for page in pages(*args, **kwargs):  # type: ignore[arg-type]
            yield page
            if not closing:
                closing.append(threading.Thread(target=store.close))
                closing[0].start()

    monkeypatch.setattr(edge_points, "_pages", closed_meanwhile)
    monkeypatch.setattr(edge_points, "_COPIED", 1)
    with pytest.raises(errors.Unavailable, match="closed"):
        store.purge()
    closing[0].join()
    monkeypatch.undo()

    again = opened(tmp_path)
    assert again.count(ME) == 100
    again.close()


def test_notes_are_purged_with_their_passages(tmp_path: Path) -> None:
    store = EdgeNoteStore.open(tmp_path / "notes", model="hashing", dimension=HashingEmbedder().dimension)
    writer = NoteWriter(store, HashingEmbedder(), owner_lock=parts(tmp_path).owner_lock, clock=lambda: 1.0)
    kept, gone = writer.put(models.LOCAL, [note_api.PutNote(title="Kept", text="A page about marmots"), note_api.PutNote(title="Gone", text=SECRET)])
    writer.delete(models.LOCAL, [gone.id])
    assert files_with(tmp_path, "zyzzyva")

    store.purge()

    assert files_with(tmp_path, "zyzzyva") == []
    assert (found := store.get(ME, kept.id)) is not None
    assert found.text == "A page about marmots"
    assert [hit.passage.title for hit in store.lexical(ME, "marmots", limit=3)] == ["Kept"]
    store.close()
