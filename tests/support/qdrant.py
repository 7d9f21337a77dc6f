"""Stores on a Qdrant server that leave nothing behind: a real one where BRB_TEST_QDRANT_URL names it, or what answers like one."""

import atexit
import functools
import os
import uuid
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from qdrant_client import QdrantClient

from services.core.adapters.qdrant_server import QdrantServerNoteStore, QdrantServerStore, connected
from tests.support import qdrant_rest


@functools.cache
def standing_in() -> str:
    """The address of a server that answers like Qdrant, for the rest of the run."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(qdrant_rest.running()).url


def real() -> str:
    if not (url := os.environ.get("BRB_TEST_QDRANT_URL")):
        pytest.skip("BRB_TEST_QDRANT_URL is not set")
    return url


def key() -> str | None:
    return os.environ.get("BRB_TEST_QDRANT_API_KEY")


class Memories(QdrantServerStore):
    """Of a name of its own, which goes with it."""

    erase: Callable[[], None]

    @classmethod
    def at(cls, url: str, *, model: str, dimension: int) -> "Memories":
        prefix = f"brbtest_{uuid.uuid4().hex}_"
        with connected(url, key()) as client:
            store = cls(client, model=model, dimension=dimension, prefix=prefix)
        store.erase = functools.partial(_erase, client, prefix)
        return store

    def close(self) -> None:
        self.erase()
        super().close()


class Notes(QdrantServerNoteStore):
    """The same of notes."""

    erase: Callable[[], None]

    @classmethod
    def at(cls, url: str, *, model: str, dimension: int) -> "Notes":
        prefix = f"brbtest_{uuid.uuid4().hex}_"
        with connected(url, key()) as client:
            store = cls(client, model=model, dimension=dimension, prefix=prefix)
        store.erase = functools.partial(_erase, client, prefix)
        return store

    def close(self) -> None:
        self.erase()
        super().close()


def _erase(client: QdrantClient, prefix: str) -> None:
    for collection in client.get_collections().collections:
        if collection.name.startswith(prefix):
            client.delete_collection(collection.name)
