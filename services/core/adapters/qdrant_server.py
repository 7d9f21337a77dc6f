"""The stores of a team: memories and notes on a Qdrant server."""

import contextlib
from collections.abc import Iterator
from typing import Self

from qdrant_client import QdrantClient

from services.core.adapters import memory_payload, note_payload
from services.core.adapters.point_memories import PointMemories
from services.core.adapters.point_notes import PointNotes
from services.core.adapters.server_points import ServerPoints

PREFIX = "brb_"
NOTES_PREFIX = "brbnotes_"  # does not start with the other one: each sees its own collections only
_TIMEOUT_SECONDS = 10


class QdrantServerStore(PointMemories):
    """`ports.MemoryStore` on a server; see `server_points`."""

    def __init__(self, client: QdrantClient, *, model: str, dimension: int) -> None:
        """Creates the collection if there is none. `WrongModel` if the server holds another model's memories only."""
        super().__init__(ServerPoints(client, memory_payload.LAYOUT, prefix=PREFIX, model=model, dimension=dimension))

    @classmethod
    def connect(cls, url: str, *, api_key: str | None, model: str, dimension: int, timeout_seconds: int = _TIMEOUT_SECONDS) -> Self:
        with _client(url, api_key, timeout_seconds) as client:
            return cls(client, model=model, dimension=dimension)


class QdrantServerNoteStore(PointNotes):
    """`ports.NoteStore` on a server; see `server_points`."""

    def __init__(self, client: QdrantClient, *, model: str, dimension: int) -> None:
        """Creates the collection if there is none. `WrongModel` if the server holds another model's notes only."""
        super().__init__(ServerPoints(client, note_payload.LAYOUT, prefix=NOTES_PREFIX, model=model, dimension=dimension))

    @classmethod
    def connect(cls, url: str, *, api_key: str | None, model: str, dimension: int, timeout_seconds: int = _TIMEOUT_SECONDS) -> Self:
        with _client(url, api_key, timeout_seconds) as client:
            return cls(client, model=model, dimension=dimension)


@contextlib.contextmanager
def _client(url: str, api_key: str | None, timeout_seconds: int) -> Iterator[QdrantClient]:
    """Closed if the block fails."""
    client = QdrantClient(url=url, api_key=api_key, timeout=timeout_seconds, check_compatibility=False)
    try:
        yield client
    except BaseException:
        client.close()
        raise
