"""Real folders, the real writer, a store in memory: after whatever happens to the files, the notes are what a fresh index would have made of them."""

import contextlib
import os
import shutil
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.core import errors, models, note_api, ports
from services.core.adapters.in_memory_notes import InMemoryNoteStore
from services.core.adapters.qdrant_edge import EdgeNoteStore
from services.core.notes.writing import NoteWriter
from services.indexer.notes import syncing
from services.indexer.notes.syncing import Outcome, Settings
from tests.conftest import wait_until
from tests.support.embedding import HashingEmbedder

EVERYTHING = models.Scope(models.LOCAL.team, models.LOCAL.user, None)
DIMENSION = 8


class Shelf:
    """A `syncing.Notebook` without a server."""

    def __init__(self, store: ports.NoteStore | None = None) -> None:
        self.store = InMemoryNoteStore(DIMENSION) if store is None else store
        self.now = 2e9
        self.away = False
        self.batches: list[int] = []
        self._writer = NoteWriter(self.store, HashingEmbedder(DIMENSION), owner_lock=lambda _: contextlib.nullcontext(), clock=self._tick)

    def files(self, source: str) -> note_api.Files:
        if self.away:
            raise errors.Unavailable("BRB")
        found = self.store.find(EVERYTHING, ports.NoteWhere(source=source), limit=10_000)
        return note_api.Files(tuple(note_api.File(one.id, one.path, one.digest, one.modified_at, one.updated_at) for one in found))

    def put(self, batch: note_api.PutNotes) -> note_api.PutResult:
        if self.away:
            raise errors.Unavailable("BRB")
        self.batches.append(len(batch.notes))
        done = self._writer.put(models.LOCAL, batch.notes)
        return note_api.PutResult(tuple(done), self._writer.delete(models.LOCAL, batch.gone) if batch.gone else 0)

    def texts(self) -> dict[str, str]:
        found = (self.store.get(EVERYTHING, note.id) for note in self.store.find(EVERYTHING, limit=10_000))
        return {note.path: note.text for note in found if note}

    def content(self) -> dict[str, object]:
        """By path: all that a fresh index would make again (not ids, nor times of writing)."""
        made: dict[str, object] = {}
        for short in self.store.find(EVERYTHING, limit=10_000):
            note = self.store.get(EVERYTHING, short.id)
            assert note is not None
            passages = self.store.passages(EVERYTHING, note.id)
            known = self.store.embeddings(EVERYTHING, [passage.digest for passage in passages])
            vectors = {digest: [round(number, 6) for number in vector] for digest, vector in known.items()}
            pieces = [(p.position, p.headings, p.text, p.title, p.path, p.tags, p.entities, p.dated_at, vectors[p.digest]) for p in passages]
            made[note.path] = (note.title, note.tags, note.metadata, note.text, note.digest, note.entities, note.modified_at, pieces)
        return made

    def _tick(self) -> float:
        self.now += 1
        return self.now


def sync(root: Path, shelf: Shelf, **changed: object) -> Outcome:
    return syncing.sync(root, shelf, Settings(**changed), progress=progress)  # type: ignore[arg-type]


def progress(stage: str, share: float) -> None:
    assert stage
    assert 0 < share <= 1


def write(root: Path, path: str, text: str, at: float = 1e8) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)
    os.utime(root / path, (at, at))


def test_a_folder_is_indexed_and_then_only_what_changed(tmp_path: Path) -> None:
    shelf = Shelf()
    write(tmp_path, "a.md", "# A\n\none\n\n# B\n\ntwo")
    write(tmp_path, "b/c.md", "three")
    first = sync(tmp_path, shelf)
    assert (first.new, first.passages, first.embedded) == (2, 3, 3)
    assert sync(tmp_path, shelf) == Outcome(0, 0, 0, 0, 0, 2, 0, 0, (), ())
    write(tmp_path, "a.md", "# A\n\none\n\n# B\n\nTWO", at=1e8 + 1)
    second = sync(tmp_path, shelf)
    assert (second.changed, second.same, second.passages, second.embedded) == (1, 1, 2, 1)
    assert shelf.texts() == {"a.md": "# A\n\none\n\n# B\n\nTWO", "b/c.md": "three"}


def test_a_file_is_the_same_whatever_its_time_in_the_store_that_people_have(tmp_path: Path) -> None:
    """Its numbers go through JSON: the time of one file in eight came back another."""
    shelf = Shelf(EdgeNoteStore.open(tmp_path / "store", model="hashing", dimension=DIMENSION))
    for number in range(30):
        write(tmp_path, f"notes/{number}.md", "---\ndate: 2024-05-01 10:00:00.123456\n---\ntext", at=1796033490.9672747 + number * 0.1234567)
    assert sync(tmp_path / "notes", shelf).new == 30
    assert sync(tmp_path / "notes", shelf) == Outcome(0, 0, 0, 0, 0, 30, 0, 0, (), ())
    shelf.store.close()


def test_a_renamed_file_keeps_its_note_and_costs_no_embedding(tmp_path: Path) -> None:
    shelf = Shelf()
    write(tmp_path, "a.md", "# A\n\none")
    sync(tmp_path, shelf)
    [before] = shelf.files(str(tmp_path)).files
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.md").rename(tmp_path / "sub" / "b.md")
    outcome = sync(tmp_path, shelf)
    assert (outcome.moved, outcome.new, outcome.gone, outcome.embedded) == (1, 0, 0, 0)
    [after] = shelf.files(str(tmp_path)).files
    assert (after.id, after.path) == (before.id, "sub/b.md")


def test_a_file_that_is_renamed_and_edited_at_once_embeds_its_new_piece_only(tmp_path: Path) -> None:
    shelf = Shelf()
    write(tmp_path, "a.md", "# A\n\none\n\n# B\n\ntwo")
    sync(tmp_path, shelf)
    (tmp_path / "a.md").unlink()
    write(tmp_path, "b.md", "# A\n\none\n\n# B\n\nnew")
    outcome = sync(tmp_path, shelf)
    assert (outcome.new, outcome.gone, outcome.passages, outcome.embedded) == (1, 1, 2, 1)


def test_deleted_files_are_gone_unless_all_are(tmp_path: Path) -> None:
    shelf = Shelf()
    write(tmp_path, "a.md", "one")
    write(tmp_path, "b.md", "two")
    sync(tmp_path, shelf)
    (tmp_path / "a.md").unlink()
    assert sync(tmp_path, shelf).gone == 1
    (tmp_path / "b.md").unlink()
    with pytest.raises(errors.BadInput, match="--prune"):
        sync(tmp_path, shelf)
    assert shelf.texts() == {"b.md": "two"}
    assert sync(tmp_path, shelf, prune=True).gone == 1
    assert shelf.texts() == {}


def test_two_folders_do_not_touch_each_others_notes(tmp_path: Path) -> None:
    shelf = Shelf()
    write(tmp_path, "one/a.md", "one")
    write(tmp_path, "two/a.md", "two")
    sync(tmp_path / "one", shelf)
    assert sync(tmp_path / "two", shelf).new == 1
    assert syncing.forget(tmp_path / "one", shelf) == 1
    assert syncing.forget(tmp_path / "one", shelf) == 0
    assert shelf.texts() == {"a.md": "two"}


def test_a_folder_that_is_gone_can_still_be_forgotten(tmp_path: Path) -> None:
    shelf = Shelf()
    write(tmp_path, "one/a.md", "one")
    sync(tmp_path / "one", shelf)
    shutil.rmtree(tmp_path / "one")
    with pytest.raises(errors.BadInput, match="no folder"):
        sync(tmp_path / "one", shelf)
    assert syncing.forget(tmp_path / "one", shelf) == 1


def test_a_folder_has_one_name_however_it_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf()
    write(tmp_path, "one/a.md", "one")
    (tmp_path / "link").symlink_to(tmp_path / "one")
    sync(tmp_path / "one", shelf)
    monkeypatch.chdir(tmp_path)
    for name in ("one", "link", "one/../one/"):
        assert sync(Path(name), shelf).same == 1


def test_what_is_skipped_is_named_and_no_note_of_it_is_left(tmp_path: Path) -> None:
    shelf = Shelf()
    write(tmp_path, "a.md", "one")
    write(tmp_path, "b.md", "---\nbroken: [\n---\ntext")
    sync(tmp_path, shelf)
    (tmp_path / "a.md").write_bytes(b"\0\1")
    outcome = sync(tmp_path, shelf)
    assert [(one.path, one.why) for one in outcome.skipped] == [("a.md", "binary")]
    assert list(shelf.texts()) == ["b.md"]


def test_front_matter_that_is_not_understood_is_told_and_is_text(tmp_path: Path) -> None:
    shelf = Shelf()
    write(tmp_path, "b.md", "---\nbroken: [\n---\ntext")
    [(path, notice)] = sync(tmp_path, shelf).notices
    assert path == "b.md"
    assert "no YAML" in notice
    assert shelf.texts() == {"b.md": "---\nbroken: [\n---\ntext"}


def test_many_files_are_put_in_batches(tmp_path: Path) -> None:
    shelf = Shelf()
    for number in range(40):
        write(tmp_path, f"{number:02}.md", f"text {number}")
    write(tmp_path, "98.md", "x" * 150_000)
    write(tmp_path, "99.md", "x" * 150_000)
    assert sync(tmp_path, shelf).new == 42
    assert shelf.batches == [16, 16, 8, 1, 1]


def test_a_file_that_was_written_in_the_moment_of_its_indexing_is_looked_at_again(tmp_path: Path) -> None:
    """Its time is the same, its content is not: file systems' clocks are coarse."""
    shelf = Shelf()
    write(tmp_path, "a.md", "before", at=shelf.now + 1)
    sync(tmp_path, shelf)
    write(tmp_path, "a.md", "behind", at=2e9 + 1)
    assert sync(tmp_path, shelf).changed == 1
    assert shelf.texts() == {"a.md": "behind"}


NAMES = ["a.md", "b.md", "sub/a.md", "sub/c.md"]
SECTIONS = ["# One\n\nalpha", "# Two\n\nbeta #tag", "# Three\n\ngamma [[One]]", "---\ntitle: T\n---", "plain"]
name = st.sampled_from(NAMES)
content = st.lists(st.sampled_from(SECTIONS), max_size=3).map("\n\n".join)
change = st.one_of(
    st.tuples(st.just("write"), name, content),
    st.tuples(st.just("move"), name, name),
    st.tuples(st.just("copy"), name, name),
    st.tuples(st.just("delete"), name, st.none()),
    st.tuples(st.just("touch"), name, st.none()),
    st.tuples(st.just("binary"), name, st.none()),
)
rounds_of_changes = st.tuples(st.lists(change, min_size=1, max_size=4), st.sampled_from([None, 1, 2, 0, 3]))
"""Changes, and after how many writes the store is away."""


def apply(root: Path, action: str, path: str, with_: str | None, clock: int) -> None:
    file = root / path
    file.parent.mkdir(exist_ok=True)
    if action == "write" and with_ is not None:
        file.write_text(with_)
    elif action == "binary":
        file.write_bytes(b"\0")
    elif file.exists():
        if action == "delete":
            file.unlink()
        elif action == "touch":
            os.utime(file, (1e8 + clock, 1e8 + clock))
        elif with_ is not None and with_ != path:
            (root / with_).parent.mkdir(exist_ok=True)
            shutil.copy2(file, root / with_)
            if action == "move":
                file.unlink()
    if file.exists() and action in ("write", "binary"):
        os.utime(file, (1e8 + clock, 1e8 + clock))


def failing(shelf: Shelf, monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """The store is away from its n-th write on."""
    left = [steps]
    for method in ("put", "prune", "delete"):
        real = getattr(shelf.store, method)

        def mortal(*arguments: object, real: object = real) -> object:
            if left[0] == 0:
                raise errors.Unavailable("the store")
            left[0] -= 1
            return real(*arguments)  # type: ignore[operator]

        monkeypatch.setattr(shelf.store, method, mortal)


@settings(max_examples=100, deadline=None)
@given(st.lists(rounds_of_changes, max_size=6))
def test_after_any_changes_the_notes_are_what_a_fresh_index_makes(rounds: list[tuple[list[tuple[str, str, str]], int | None]]) -> None:
    shelf, clock = Shelf(), 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for changes, broken in rounds:
            for action, path, with_ in changes:
                clock += 1
                apply(root, action, path, with_, clock)
            if broken is not None:
                with pytest.MonkeyPatch.context() as patch, contextlib.suppress(errors.Unavailable):
                    failing(shelf, patch, broken)
                    sync(root, shelf, prune=True)
            known = {passage.digest for note in shelf.store.find(EVERYTHING, limit=99) for passage in shelf.store.passages(EVERYTHING, note.id)}
            outcome = sync(root, shelf, prune=True)
            fresh = Shelf()
            sync(root, fresh, prune=True)
            assert shelf.content() == fresh.content()
            now = {passage.digest for note in shelf.store.find(EVERYTHING, limit=99) for passage in shelf.store.passages(EVERYTHING, note.id)}
            assert outcome.embedded == len(now - known)
            assert not sync(root, shelf, prune=True).did_anything


def test_watching_follows_changes_until_it_is_stopped(tmp_path: Path) -> None:
    shelf, stop, told, said = Shelf(), threading.Event(), [], []
    write(tmp_path, "a.md", "one")

    def run() -> None:
        syncing.watch(tmp_path, shelf, Settings(), progress=progress, say=said.append, told=told.append, stop=stop)

    watcher = threading.Thread(target=run)
    watcher.start()
    try:
        wait_until(lambda: written(tmp_path / "b.md", "two") and "b.md" in shelf.texts())
        assert shelf.texts()["a.md"] == "one"
        shelf.away = True
        wait_until(lambda: written(tmp_path / "c.md", "three") and said)
        shelf.away = False
        (tmp_path / "a.md").rename(tmp_path / "d.md")
        wait_until(lambda: {"b.md", "c.md", "d.md"} == shelf.texts().keys())
    finally:
        stop.set()
        watcher.join(10)
    assert not watcher.is_alive()
    assert said[0].startswith("not now: BRB is not available")
    assert all(outcome.did_anything for outcome in told)


def written(file: Path, text: str) -> bool:
    """Again and again: the watcher may not have been there the first time."""
    file.write_text(text)
    return True
