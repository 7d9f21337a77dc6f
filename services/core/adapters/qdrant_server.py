"""The stores of a team: memories and notes on a Qdrant server."""

import contextlib
import warnings
from collections.abc import Iterator
from typing import Self

from qdrant_client import QdrantClient

from services.core.adapters import memory_payload, note_payload
from services.core.adapters.point_memories import PointMemories
from services.core.adapters.point_notes import PointNotes
from services.core.adapters.server_collections import Space
from services.core.adapters.server_points import ServerPoints

PREFIX = "brb_"
NOTES_PREFIX = "brbnotes_"  # does not start with the other one: each sees its own collections only
_TIMEOUT_SECONDS = 10


class QdrantServerStore(PointMemories):
    """`ports.MemoryStore` on a server; see `server_points`."""

    def __init__(self, client: QdrantClient, *, model: str, dimension: int, prefix: str = PREFIX, later: bool = False) -> None:
        """Creates the collection if there is none. `WrongModel` if the server holds another model's memories only."""
        super().__init__(ServerPoints(client, memories(model, dimension, prefix), later=later))

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        api_key: str | None,
        model: str,
        dimension: int,
        prefix: str = PREFIX,
        timeout_seconds: int = _TIMEOUT_SECONDS,
        later: bool = False,
    ) -> Self:
        with connected(url, api_key, timeout_seconds) as client:
            return cls(client, model=model, dimension=dimension, prefix=prefix, later=later)


class QdrantServerNoteStore(PointNotes):
    """`ports.NoteStore` on a server; see `server_points`."""

    def __init__(self, client: QdrantClient, *, model: str, dimension: int, prefix: str = NOTES_PREFIX, later: bool = False) -> None:
        """Creates the collection if there is none. `WrongModel` if the server holds another model's notes only."""
        super().__init__(ServerPoints(client, notes(model, dimension, prefix), later=later))

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        api_key: str | None,
        model: str,
        dimension: int,
        prefix: str = NOTES_PREFIX,
        timeout_seconds: int = _TIMEOUT_SECONDS,
        later: bool = False,
    ) -> Self:
        with connected(url, api_key, timeout_seconds) as client:
            return cls(client, model=model, dimension=dimension, prefix=prefix, later=later)


def memories(model: str, dimension: int, prefix: str = PREFIX) -> Space:
    return Space(memory_payload.LAYOUT, prefix, model, dimension)


def notes(model: str, dimension: int, prefix: str = NOTES_PREFIX) -> Space:
    return Space(note_payload.LAYOUT, prefix, model, dimension)


@contextlib.contextmanager
def connected(url: str, api_key: str | None, timeout_seconds: int = _TIMEOUT_SECONDS) -> Iterator[QdrantClient]:
    """Closed if the block fails."""
    # not by way of a proxy that the environment names for other things
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Api key is used with an insecure connection")  # on a network of their own (docs/security.md)
        client = QdrantClient(url=url, api_key=api_key, timeout=timeout_seconds, check_compatibility=False, trust_env=False)
    try:
        yield client
    except BaseException:
        client.close()
        raise
