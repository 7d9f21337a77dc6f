"""The embedder and the stores that the settings ask for: what every composition root opens first."""

from pathlib import Path
from typing import TYPE_CHECKING

from services.core import config, model_lock, ports
from services.core.adapters import llama_cpp, qdrant_edge

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

_PATIENT_SECONDS = 600


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


def open_store(settings: config.Settings, *, later: bool = False) -> ports.WholeStore:
    """Opens or makes the collection of the embedding model: in the data folder, or on the server that `BRB_QDRANT_URL` names.

    `WrongModel` if there is another model's, `SetupError` if another process has the folder open. later: for who has other things to do as well,
    a server that is away now is no error.
    """
    dimension = model_lock.embedding(settings).dimension
    if settings.qdrant_url is None:
        return qdrant_edge.EdgeStore.open(settings.store_dir, model=settings.embed_model, dimension=dimension)
    from services.core.adapters import qdrant_server  # its client takes seconds to import

    return qdrant_server.QdrantServerStore.connect(
        settings.qdrant_url, api_key=qdrant_key(settings), model=settings.embed_model, dimension=dimension, later=later
    )


def open_notes(settings: config.Settings, *, later: bool = False) -> ports.NoteStore:
    """The same for notes."""
    dimension = model_lock.embedding(settings).dimension
    if settings.qdrant_url is None:
        return qdrant_edge.EdgeNoteStore.open(settings.notes_dir, model=settings.embed_model, dimension=dimension)
    from services.core.adapters import qdrant_server

    return qdrant_server.QdrantServerNoteStore.connect(
        settings.qdrant_url, api_key=qdrant_key(settings), model=settings.embed_model, dimension=dimension, later=later
    )


def qdrant_client(settings: config.Settings) -> "QdrantClient":
    """Of the server that `BRB_QDRANT_URL` names, for work on its collections as a whole, which may take it long."""
    from services.core.adapters import qdrant_server

    assert settings.qdrant_url is not None  # noqa: S101 - whoever has no server does not come here
    with qdrant_server.connected(settings.qdrant_url, qdrant_key(settings), _PATIENT_SECONDS) as client:
        return client


def ping(store: ports.MemoryStore, notes: ports.NoteStore) -> None:
    """Both are the one dependency Qdrant."""
    store.ping()
    notes.ping()


def qdrant_key(settings: config.Settings) -> str | None:
    return settings.qdrant_api_key.get_secret_value() if settings.qdrant_api_key else None
