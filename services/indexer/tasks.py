"""What the indexer does with a job, under the lock of `owner_of` it: writes of one owner go one after the other."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from services.core import messages, models, ports
from services.indexer.writing import Writer

OwnerLock = Callable[[models.Principal], AbstractContextManager[object]]


def owner_of(payload: messages.Payload) -> models.Principal:
    return payload.said.principal if isinstance(payload, messages.LearnMore) else payload.principal


def store_facts(payload: messages.StoreFacts, *, writer: Writer) -> Sequence[messages.Job]:
    writer.store_facts(payload)
    return ()


def settle(payload: messages.Settle, *, writer: Writer) -> Sequence[messages.Job]:
    writer.settle(payload)
    return ()


def touch(payload: messages.Touch, *, writer: Writer, figures: ports.Figures) -> Sequence[messages.Job]:
    """The tally counts a turn again if the process is killed in between: it is of thousands."""
    writer.touch(payload)
    figures.told(writer.there(payload), payload.at)
    return ()
