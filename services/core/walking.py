"""All there is in a store, in batches that no write between two of them can shift."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from msgspec.structs import replace

from services.core import models, ports

BATCH = 500
T = TypeVar("T")


def memories(store: ports.MemoryStore, scope: models.Scope, where: ports.Where = ports.CURRENT) -> Iterator[models.Memory]:
    """Newest first. What is written meanwhile is not among them."""
    return _all(lambda before, limit: store.find(scope, replace(where, before=before), limit=limit), lambda memory: memory.created_at)


def all_of(find: Callable[[float | None, int], Sequence[models.Memory]]) -> Iterator[models.Memory]:
    """The same of any source of memories: find answers with those made before a time (None: all), newest first, so many at most."""
    return _all(find, lambda memory: memory.created_at)


def notes(store: ports.NoteStore, scope: models.Scope, where: ports.NoteWhere = ports.ANY_NOTE) -> Iterator[models.Note]:
    """The last changed first, with their texts. What is written meanwhile is not among them."""
    light = _all(lambda before, limit: store.find(scope, replace(where, before=before), limit=limit), lambda note: note.updated_at)
    return (whole for note in light if (whole := store.get(scope, note.id)) is not None)


def _all(find: Callable[[float | None, int], Sequence[T]], at: Callable[[T], float]) -> Iterator[T]:
    """find: those before a time (None: all), newest first, so many at most. Those of the last time of a batch come with the next one, whole."""
    before, limit = None, BATCH
    while True:
        batch = find(before, limit)
        if len(batch) < limit:
            yield from batch
            return
        last = at(batch[-1])
        whole = [one for one in batch if at(one) > last]
        yield from whole
        limit = BATCH if whole else limit * 2
        before = at(whole[-1]) if whole else before
