"""A whole proxy's parts without anything outside the process, and memories to put in them."""

import uuid
from pathlib import Path

from services.core import config, messages, models, ports
from services.core.adapters.in_memory_audit import InMemoryAuditLog
from services.core.adapters.in_memory_figures import InMemoryFigures
from services.core.adapters.in_memory_jobs import InMemoryJobBook
from services.core.adapters.in_memory_ledger import InMemoryLedger
from services.core.adapters.in_memory_notes import InMemoryNoteStore
from services.core.adapters.in_memory_owner_locks import InMemoryOwnerLocks
from services.core.adapters.in_memory_store import InMemoryStore
from services.core.adapters.in_memory_tokens import InMemoryTokenBook
from services.core.adapters.in_memory_turn_log import InMemoryTurnLog
from services.core.adapters.in_memory_use_log import InMemoryUseLog
from services.core.recall import cache
from services.proxy.parts import Parts
from tests.support.embedding import HashingEmbedder

NOW = 1_790_000_000.0


def parts(folder: Path, *, port: int = 3000, **settings: object) -> Parts:
    """Parts whose clock stands at `NOW`, with these settings."""
    embedder = HashingEmbedder()
    book = InMemoryJobBook(clock=lambda: NOW)
    owners = InMemoryOwnerLocks()
    return Parts(
        settings=config.Settings(data_dir=folder, port=port, **settings),  # type: ignore[arg-type]
        store=InMemoryStore(embedder.dimension),
        notes=InMemoryNoteStore(embedder.dimension),
        embedder=embedder,
        ledger=InMemoryLedger(),
        book=book,
        enqueue=lambda jobs: _added(book, jobs),
        owner_lock=owners.lock,
        answers=cache.Cache(owners.writes, lambda: NOW),
        uses=InMemoryUseLog(),
        tokens=InMemoryTokenBook(),
        audit=InMemoryAuditLog(),
        turns=InMemoryTurnLog(),
        figures=InMemoryFigures(),
        clock=lambda: NOW,
    )


def memory(text: str, **fields: object) -> models.Memory:
    """A current memory of the local principal, with an id made from its text."""
    made = str(uuid.uuid5(uuid.NAMESPACE_OID, text))
    said = float(fields.get("said_at", NOW - 3600))  # type: ignore[arg-type]
    defaults: dict[str, object] = {
        "id": made,
        "team": models.LOCAL.team,
        "owner": models.LOCAL.user,
        "text": text,
        "category": models.Category.PREFERENCE,
        "confidence": 0.9,
        "lineage": made,
        "evidence": (models.Evidence(text, "turn-1", said),),
        "created_at": said,
        "said_at": said,
        "reinforced_at": said,
        "accessed_at": said,
    }
    return models.Memory(**(defaults | fields))  # type: ignore[arg-type]


def keep(given: Parts, *memories: models.Memory) -> None:
    """Write memories as the indexer does."""
    for one, vector in zip(memories, given.embedder.embed([m.text for m in memories], "document"), strict=True):
        with given.owner_lock(models.Principal(one.team, one.owner)):
            given.store.put([ports.Embedded(one, vector)])


def _added(book: InMemoryJobBook, jobs: list[messages.Job]) -> bool:
    book.add(jobs)
    return True
