"""`brb reindex`: carry the memories over to the configured embedding model."""

from contextlib import closing

from services.core import config, model_lock
from services.core.adapters import qdrant_edge
from services.embedded import models, supervisor, vectors


def run(settings: config.Settings, *, say: supervisor.Say, progress: models.Progress) -> int:
    """How many memories were carried over. BRB must be stopped; the former store is kept under `backups` in the data folder."""
    with supervisor.llama_alone(settings, say=say, progress=progress), closing(vectors.open_embedder(settings)) as embedder:
        return qdrant_edge.carry_over(
            settings.store_dir,
            settings.data / "backups",
            model=settings.embed_model,
            dimension=model_lock.embedding(settings).dimension,
            embed=lambda texts: embedder.embed(texts, "document"),
            progress=lambda share: progress("embedding memories", share),
        )
