"""The embedder and the store that the settings of an embedded BRB ask for."""

from pathlib import Path

from services.core import config, model_lock, ports
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


def open_store(settings: config.Settings) -> ports.MemoryStore:
    """Opens or makes the collection of the embedding model: in the data folder, or on the server that `BRB_QDRANT_URL` names.

    `WrongModel` if there is another model's, `SetupError` if another process has the folder open.
    """
    dimension = model_lock.embedding(settings).dimension
    if settings.qdrant_url is None:
        return qdrant_edge.EdgeStore.open(settings.store_dir, model=settings.embed_model, dimension=dimension)
    from services.core.adapters import qdrant_server  # its client takes seconds to import

    return qdrant_server.QdrantServerStore.connect(settings.qdrant_url, api_key=_key(settings), model=settings.embed_model, dimension=dimension)


def open_notes(settings: config.Settings) -> ports.NoteStore:
    """The same for notes."""
    dimension = model_lock.embedding(settings).dimension
    if settings.qdrant_url is None:
        return qdrant_edge.EdgeNoteStore.open(settings.notes_dir, model=settings.embed_model, dimension=dimension)
    from services.core.adapters import qdrant_server

    return qdrant_server.QdrantServerNoteStore.connect(settings.qdrant_url, api_key=_key(settings), model=settings.embed_model, dimension=dimension)


def ping(store: ports.MemoryStore, notes: ports.NoteStore) -> None:
    """Both are the one dependency Qdrant."""
    store.ping()
    notes.ping()


def _key(settings: config.Settings) -> str | None:
    return settings.qdrant_api_key.get_secret_value() if settings.qdrant_api_key else None
