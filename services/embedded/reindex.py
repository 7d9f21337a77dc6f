"""`brb reindex`: carry memories and notes over to the configured embedding model."""

import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

from services.core import config, errors, model_lock
from services.core.adapters import edge_points, qdrant_edge, redis_client, store_gate, vectors
from services.embedded import models, supervisor


class Carried(NamedTuple):
    """held_seconds: for how long writers waited; None where BRB was stopped for it."""

    memories: int
    notes: int
    held_seconds: float | None = None


def run(settings: config.Settings, *, say: supervisor.Say, progress: models.Progress) -> Carried:
    """How much was carried over. `NotFound` if there is neither a memory nor a note.

    On a Qdrant server, while BRB serves: see `server_reindex`. In the data folder BRB must be stopped, and the former stores go to `backups`.
    """
    if settings.qdrant_url is not None:
        return _on_server(settings, say, progress)
    stores = {folder: bool(edge_points.collections(folder)) for folder in (settings.store_dir, settings.notes_dir)}
    if not any(stores.values()):
        raise errors.NotFound(f"{settings.data} holds no memories and no notes to carry over")
    dimension = model_lock.embedding(settings).dimension
    with supervisor.alone(settings, "llama", say=say, progress=progress), closing(vectors.open_embedder(settings)) as embedder:

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


def drop(settings: config.Settings) -> list[str]:
    """Delete the collections that were carried over and kept; their names. `SetupError` unless the configured model is the one in use."""
    if settings.qdrant_url is None:
        raise errors.SetupError(f"what was carried over is kept in {settings.data / 'backups'}: delete what you don't need there")
    from services.core.adapters import qdrant_server, server_collections

    redis = redis_client.connect(settings.redis_address, timeout_seconds=2)
    if (writers := store_gate.writers(redis)) and writers != settings.embed_model:
        raise errors.SetupError(f"the model in use is {writers}, not {settings.embed_model}: set BRB_EMBED_MODEL={writers}")
    dimension = model_lock.embedding(settings).dimension
    spaces = [kind(settings.embed_model, dimension) for kind in (qdrant_server.memories, qdrant_server.notes)]
    with store_gate.reindexing(redis), closing(vectors.qdrant_client(settings)) as client, server_collections.translated():
        known = server_collections.aliases(client)
        if not any(space.alias in known for space in spaces):
            raise errors.NotFound(f"the Qdrant server holds nothing of the model {settings.embed_model}")
        return server_collections.drop_others(client, spaces)


def _on_server(settings: config.Settings, say: supervisor.Say, progress: models.Progress) -> Carried:
    from services.core.adapters import qdrant_server, server_collections, server_reindex  # their client takes seconds to import

    dimension = model_lock.embedding(settings).dimension
    redis = redis_client.connect(settings.redis_address, timeout_seconds=2)
    with ExitStack() as stack:
        client = stack.enter_context(closing(vectors.qdrant_client(settings)))
        with server_collections.translated():
            known = server_collections.aliases(client)
        pairs = []
        for kind in (qdrant_server.memories, qdrant_server.notes):
            new = kind(settings.embed_model, dimension)
            model = _source(server_collections.in_use(known, new.prefix), store_gate.writers(redis), new.model)
            pairs.append((kind(model, dimension), new))
        if settings.embed_url is None:
            stack.enter_context(supervisor.alone(settings, "llama", say=say, progress=progress))
        embedder = stack.enter_context(closing(vectors.open_embedder(settings)))
        done = server_reindex.run(
            client,
            pairs,
            embed=lambda texts: embedder.embed(texts, "document"),
            progress=progress,
            alone=lambda: store_gate.reindexing(redis),
            hold=lambda: store_gate.held(redis),
            give=lambda: store_gate.give_to(redis, settings.embed_model),
            clock=time.monotonic,
        )
    return Carried(done.memories, done.notes, done.held_seconds)


def _source(there: list[str], writers: str, wanted: str) -> str:
    """The model to carry over from: the one whose processes write, else the only other one, else the same one anew."""
    if writers:
        return writers
    others = [model for model in there if model != wanted]
    if len(others) > 1:
        raise errors.SetupError(f"the Qdrant server holds collections of {' and '.join(others)}: delete those that you don't want")
    return others[0] if others else wanted
