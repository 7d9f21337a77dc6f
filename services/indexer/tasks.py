"""What the indexer does with a job. Writes of one owner go one after the other."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from services.core import messages, models
from services.indexer.writing import Writer

OwnerLock = Callable[[models.Principal], AbstractContextManager[object]]


def store_facts(payload: messages.StoreFacts, *, writer: Writer, owner_lock: OwnerLock) -> Sequence[messages.Job]:
    with owner_lock(payload.principal):
        writer.store_facts(payload)
    return ()


def touch(payload: messages.Touch, *, writer: Writer, owner_lock: OwnerLock) -> Sequence[messages.Job]:
    with owner_lock(payload.principal):
        writer.touch(payload)
    return ()
