"""Carrying the memories over to another embedding model."""

import tempfile
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from services.core import config, errors, models, note_api, ports
from services.core.adapters import edge_points, vectors
from services.core.adapters.qdrant_edge import EdgeNoteStore, EdgeStore, carry_over
from services.core.notes.writing import NoteWriter
from services.embedded import reindex, supervisor
from tests.support import in_memory
from tests.support.embedding import HashingEmbedder

EVERYTHING = models.Scope(models.LOCAL.team, models.LOCAL.user, None)


@pytest.fixture
def settings(tmp_path_factory: pytest.TempPathFactory, model_files: dict[str, Path]) -> config.Settings:
    folder = tmp_path_factory.mktemp("d")
    made = config.Settings(data_dir=folder)
    made.models_dir.symlink_to(next(path.parent for path in model_files.values() if path.suffix == ".gguf"), target_is_directory=True)
    return made


def say(_: str) -> None:
    return None


def progress(_: str, share: float) -> None:
    assert 0 <= share <= 1


def test_memories_of_another_model_are_carried_over_and_found_by_meaning(settings: config.Settings) -> None:
    embedder = HashingEmbedder()
    former = EdgeStore.open(settings.store_dir, model=embedder.model, dimension=embedder.dimension)
    kept = [in_memory.memory("I'm allergic to peanuts"), in_memory.memory("We use Postgres 15", status=models.Status.SUPERSEDED)]
    former.put(list(zip(kept, embedder.embed([m.text for m in kept], "document"), strict=True)))  # type: ignore[arg-type]
    former.close()
    with pytest.raises(errors.WrongModel, match="brb reindex"):
        vectors.open_store(settings)

    assert reindex.run(settings, say=say, progress=progress)[:2] == (2, 0)

    store = vectors.open_store(settings)
    assert {status: count for status, count in store.total().items() if count} == {models.Status.CURRENT: 1, models.Status.SUPERSEDED: 1}
    assert store.find(EVERYTHING) == [kept[0]]
    with supervisor.alone(settings, "llama", say=say, progress=progress), closing(vectors.open_embedder(settings)) as embedding:
        [asked] = embedding.embed(["Which snack is safe for me?"], "query")
    assert store.nearest(EVERYTHING, asked, limit=1)[0].score > 0.2
    store.close()
    assert len(list((settings.data / "backups").iterdir())) == 1


def test_a_store_of_the_same_model_can_be_embedded_anew(settings: config.Settings) -> None:
    store = vectors.open_store(settings)
    store.put([(in_memory.memory("I prefer tabs"), [1.0] + [0.0] * 383)])  # type: ignore[list-item]
    store.close()
    assert reindex.run(settings, say=say, progress=progress)[:2] == (1, 0)
    store = vectors.open_store(settings)
    assert [m.text for m in store.find(EVERYTHING)] == ["I prefer tabs"]
    store.close()


class Killed(BaseException):
    """What nothing catches."""


@pytest.mark.parametrize("new_model", ["hashing", "another"])
def test_killed_at_any_step_there_is_a_whole_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_model: str) -> None:
    embedder = HashingEmbedder()
    kept = in_memory.memory("I prefer tabs")
    steps = 0

    def carried_over(directory: Path, dies_at: int) -> None:
        nonlocal steps
        steps = 0

        def counted(change: Callable[..., object]) -> Callable[..., object]:
            def change_or_die(*arguments: object, **options: object) -> object:
                nonlocal steps
                steps += 1
                if steps == dies_at:
                    raise Killed
                return change(*arguments, **options)

            return change_or_die

        with monkeypatch.context() as patched:
            for name in ("rename", "replace", "mkdir"):
                patched.setattr(Path, name, counted(getattr(Path, name)))
            carry_over(
                directory,
                directory.parent / "backups",
                model=new_model,
                dimension=embedder.dimension,
                embed=lambda texts: embedder.embed(texts, "document"),
                progress=lambda _: None,
            )

    died = 0
    while True:
        directory = tmp_path / str(died) / "store"
        store = EdgeStore.open(directory, model=embedder.model, dimension=embedder.dimension)
        store.put([ports.Embedded(kept, embedder.embed([kept.text], "document")[0])])
        store.close()
        try:
            carried_over(directory, died + 1)
            break
        except Killed:
            died += 1
        there = [collection.model for _, collection in edge_points.collections(directory)]
        assert there, f"nothing is left when it is killed at step {died}"
        for model in there:
            store = EdgeStore.open(directory, model=model, dimension=embedder.dimension)
            assert store.find(EVERYTHING) == [kept], f"killed at step {died}"
            store.close()
    assert died == steps >= 5
    [aside] = (directory.parent / "backups").iterdir()
    (directory.parent / "back").mkdir()
    aside.rename(directory.parent / "back" / "hashing")
    store = EdgeStore.open(directory.parent / "back", model=embedder.model, dimension=embedder.dimension)
    assert store.find(EVERYTHING) == [kept], "what it was is a store, too"
    store.close()


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="there is no second disk that is always there")
@pytest.mark.parametrize("new_model", ["hashing", "another"])
def test_what_was_carried_over_may_be_kept_on_another_disk(tmp_path: Path, new_model: str) -> None:
    embedder, kept = HashingEmbedder(), in_memory.memory("I prefer tabs")
    store = EdgeStore.open(tmp_path / "store", model=embedder.model, dimension=embedder.dimension)
    store.put([ports.Embedded(kept, embedder.embed([kept.text], "document")[0])])
    store.close()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        options = {"model": new_model, "dimension": embedder.dimension, "embed": lambda texts: embedder.embed(texts, "document")}
        carry_over(tmp_path / "store", Path(elsewhere), **options, progress=lambda _: None)  # type: ignore[arg-type]

        [aside] = Path(elsewhere).iterdir()
        (tmp_path / "back").mkdir()
        (tmp_path / "back" / "hashing").symlink_to(aside)
        for directory, model in ((tmp_path / "store", new_model), (tmp_path / "back", "hashing")):
            store = EdgeStore.open(directory, model=model, dimension=embedder.dimension)
            assert store.find(EVERYTHING) == [kept]
            store.close()
    assert [each.model for _, each in edge_points.collections(tmp_path / "store")] == [new_model]


def test_notes_of_another_model_are_carried_over_with_their_passages(settings: config.Settings) -> None:
    embedder = HashingEmbedder()
    former = EdgeNoteStore.open(settings.notes_dir, model=embedder.model, dimension=embedder.dimension)
    writer = NoteWriter(former, embedder, owner_lock=lambda _: nullcontext(), clock=lambda: 5.0)
    text = "# Allergies\n\nNo peanuts.\n\n## Travel\n\nTake the [[night train]] to Vienna. #trips"
    [put] = writer.put(models.LOCAL, [note_api.PutNote(text=text, path="me.md")])
    before = (former.get(EVERYTHING, put.id), former.passages(EVERYTHING, put.id))
    former.close()
    with pytest.raises(errors.WrongModel, match="brb reindex"):
        vectors.open_notes(settings)

    assert reindex.run(settings, say=say, progress=progress)[:2] == (0, 1)

    store = vectors.open_notes(settings)
    assert (store.get(EVERYTHING, put.id), store.passages(EVERYTHING, put.id)) == before
    assert store.lexical(EVERYTHING, "peanuts", limit=5)[0].passage.text == "No peanuts."
    with supervisor.alone(settings, "llama", say=say, progress=progress), closing(vectors.open_embedder(settings)) as embedding:
        [asked] = embedding.embed(["By which rail connection do I go to Austria?"], "query")
    assert store.nearest(EVERYTHING, asked, limit=1)[0].passage.headings == ("Allergies", "Travel")
    store.close()


def test_an_empty_data_folder_has_nothing_to_carry_over(settings: config.Settings) -> None:
    with pytest.raises(errors.NotFound, match="no memories"):
        reindex.run(settings, say=say, progress=progress)
