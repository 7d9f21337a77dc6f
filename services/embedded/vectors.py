"""The embedder and the store that the settings of an embedded BRB ask for."""

from pathlib import Path

from services.core import config, model_lock
from services.core.adapters import llama_cpp, qdrant_edge


def open_embedder(settings: config.Settings) -> llama_cpp.LlamaCppEmbedder:
    """Nothing connects yet."""
    model = model_lock.embedding(settings)
    address: str | Path = settings.embed_url or settings.llama_socket
    return llama_cpp.LlamaCppEmbedder(
        address,
        model=settings.embed_model,
        dimension=model.dimension,
        prefixes={"query": model.query_prefix, "document": model.document_prefix},
        max_tokens=model.max_tokens,
    )


def open_store(settings: config.Settings) -> qdrant_edge.EdgeStore:
    """Opens or makes the shard; `WrongModel` if the folder holds another model's, `SetupError` if another process has it open."""
    return qdrant_edge.EdgeStore.open(settings.store_dir, model=settings.embed_model, dimension=model_lock.embedding(settings).dimension)
