"""Carrying the memories over to another embedding model."""

from contextlib import closing
from pathlib import Path

import pytest

from services.core import config, errors, models
from services.core.adapters.qdrant_edge import EdgeStore
from services.embedded import reindex, supervisor, vectors
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

    assert reindex.run(settings, say=say, progress=progress) == 2

    store = vectors.open_store(settings)
    assert store.total() == {models.Status.CURRENT: 1, models.Status.SUPERSEDED: 1}
    assert store.find(EVERYTHING) == [kept[0]]
    with supervisor.llama_alone(settings, say=say, progress=progress), closing(vectors.open_embedder(settings)) as embedding:
        [asked] = embedding.embed(["Which snack is safe for me?"], "query")
    assert store.nearest(EVERYTHING, asked, limit=1)[0].score > 0.2
    store.close()
    assert len(list((settings.data / "backups").iterdir())) == 1


def test_a_store_of_the_same_model_can_be_embedded_anew(settings: config.Settings) -> None:
    store = vectors.open_store(settings)
    store.put([(in_memory.memory("I prefer tabs"), [1.0] + [0.0] * 383)])  # type: ignore[list-item]
    store.close()
    assert reindex.run(settings, say=say, progress=progress) == 1
    store = vectors.open_store(settings)
    assert [m.text for m in store.find(EVERYTHING)] == ["I prefer tabs"]
    store.close()


def test_an_empty_data_folder_has_nothing_to_carry_over(settings: config.Settings) -> None:
    with pytest.raises(errors.NotFound, match="no memories"):
        reindex.run(settings, say=say, progress=progress)
