"""What the proxy is made of: handed in by a composition root, so that tests hand in other parts."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from services.core import config, erasing, messages, models, ports
from services.core.recall import answers, cache, rewriting
from services.proxy import sweeping

EMBED_SECONDS = 10.0
"""What a text that somebody writes or asks about may take to embed while he waits: a busy llama.cpp takes one or two."""


def _none_spooled(_: erasing.Concerns) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Parts:
    """`enqueue` records jobs and publishes their ids, or spools them when Redis is away (False); it never raises for that, and it blocks:
    call it off the event loop. `owner_lock` serialises all writers of one owner's memories and notes,
    and moves the clock that `answers` goes by: what is written without it, an answer that is held does not know of.
    `ask`: a language model, if there is one that may be asked while a call waits. `unspool`: erases jobs that wait on this machine for Redis;
    how many. `sweeper`: cleans the files after an erasure."""

    settings: config.Settings
    store: ports.MemoryStore
    notes: ports.NoteStore
    embedder: ports.Embedder
    ledger: ports.Ledger
    book: ports.JobBook
    enqueue: Callable[[list[messages.Job]], bool]
    owner_lock: Callable[[models.Principal], AbstractContextManager[object]]
    answers: cache.Cache[answers.Answer]
    uses: ports.UseLog
    tokens: ports.TokenBook
    audit: ports.AuditLog
    turns: ports.TurnLog
    figures: ports.Figures
    clock: Callable[[], float]
    ask: rewriting.Ask | None = None
    unspool: Callable[[erasing.Concerns], int] = _none_spooled
    sweeper: sweeping.Sweeper | sweeping.Unswept = sweeping.Unswept()  # noqa: RUF009 - it has no state
