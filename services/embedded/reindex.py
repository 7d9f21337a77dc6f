"""`brb reindex`: carry memories and notes over to the configured embedding model."""

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from services.core import config, errors, model_lock
from services.core.adapters import edge_points, qdrant_edge
from services.embedded import models, supervisor, vectors


class Carried(NamedTuple):
    memories: int
    notes: int


def run(settings: config.Settings, *, say: supervisor.Say, progress: models.Progress) -> Carried:
    """How much was carried over. BRB must be stopped; the former stores are kept under `backups` in the data folder.

    `NotFound` if there is neither a memory nor a note.
    """
    stores = {folder: bool(edge_points.collections(folder)) for folder in (settings.store_dir, settings.notes_dir)}
    if not any(stores.values()):
        raise errors.NotFound(f"{settings.data} holds no memories and no notes to carry over")
    dimension = model_lock.embedding(settings).dimension
    with supervisor.llama_alone(settings, say=say, progress=progress), closing(vectors.open_embedder(settings)) as embedder:

        def carried(carry: qdrant_edge.CarryOver, folder: Path, stage: str) -> int:
            return carry(
                folder,
                settings.data / "backups",
                model=settings.embed_model,
                dimension=dimension,
                embed=lambda texts: embedder.embed(texts, "document"),
                progress=lambda share: progress(stage, share),
            )

        memories = carried(qdrant_edge.carry_over, settings.store_dir, "embedding memories") if stores[settings.store_dir] else 0
        notes = carried(qdrant_edge.carry_notes_over, settings.notes_dir, "embedding notes") if stores[settings.notes_dir] else 0
    return Carried(memories, notes)
