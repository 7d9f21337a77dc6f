"""BRB's proxy in a process of its own, over parts in memory: `python -m services.embedded.bench.proxied URL FOLDER relay|memory`.

What it recalls comes from a store of a few memories in memory, with an embedder that takes no time: the cost of the store, of the embedding
model and of Redis is not the relay's, and is measured elsewhere.
"""

import socket
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from services.core import config, models, ports, telemetry
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
from services.embedded.bench import processes
from services.proxy.app import create_app
from services.proxy.front import Server, served
from services.proxy.injection import Injection
from services.proxy.parts import Parts
from services.proxy.relay import Interceptor, Prepared, Relay
from services.proxy.wire import calls

_DIMENSION = 384
_MEMORIES = (
    "The billing service uses Postgres 15 as its database",
    "Maria has to approve every release of the billing service",
    "Releases are tagged on Thursdays",
    "I prefer short answers with an example",
    "The billing service must not depend on a queue",
)


class Onlooker:
    """An interceptor that changes nothing."""

    async def before(self, call: calls.Call) -> Prepared:
        return Prepared(call)

    async def after(self, prepared: Prepared, answer: calls.Answer) -> None:
        return None


class InstantEmbedder:
    """One direction for every text, so that every memory is a candidate of every query."""

    model = "instant"
    dimension = _DIMENSION

    def embed(self, texts: Sequence[str], kind: Literal["query", "document"], *, timeout_seconds: float | None = None) -> list[list[float]]:
        return [[_DIMENSION**-0.5] * _DIMENSION for _ in texts]

    def ping(self) -> None:
        return None


def parts(settings: config.Settings) -> Parts:
    """Jobs are made and then dropped: keeping them is the business of Redis, another process."""
    embedder, store, owners = InstantEmbedder(), InMemoryStore(_DIMENSION), InMemoryOwnerLocks()
    store.put([ports.Embedded(_memory(text), embedder.embed([text], "document")[0]) for text in _MEMORIES])
    return Parts(
        settings=settings,
        store=store,
        notes=InMemoryNoteStore(_DIMENSION),
        embedder=embedder,
        ledger=InMemoryLedger(),
        book=InMemoryJobBook(),
        enqueue=lambda jobs: True,
        owner_lock=owners.lock,
        answers=cache.Cache(owners.writes, time.time),
        uses=InMemoryUseLog(),
        tokens=InMemoryTokenBook(),
        audit=InMemoryAuditLog(),
        turns=InMemoryTurnLog(),
        figures=InMemoryFigures(),
        clock=time.time,
    )


def configured(upstream: str, folder: Path) -> config.Settings:
    return config.load(anthropic_url=upstream, data_dir=folder, host="127.0.0.1", recall_deadline_ms=400)


def serve(made: Parts, interceptor: Interceptor) -> None:
    """Serve on a free port until SIGTERM, with the server and the options that BRB runs with."""
    relay = Relay(made.settings, interceptor)
    app = create_app(made, {}, on_shutdown=[relay.close])
    listening = socket.create_server((made.settings.host, 0))
    processes.announce(listening.getsockname()[1])
    Server(served(app, relay, host=made.settings.host, port=0, drain_seconds=1)).run(sockets=[listening])


def main(upstream: str, folder: Path, *, memory: bool) -> None:
    settings = configured(upstream, folder)
    telemetry.configure_logging(settings.log_level)
    made = parts(settings)
    injection = Injection(made)
    try:
        serve(made, injection if memory else Onlooker())
    finally:
        injection.close()


def _memory(text: str) -> models.Memory:
    made, now = str(uuid.uuid5(uuid.NAMESPACE_OID, text)), time.time()
    return models.Memory(
        id=models.MemoryId(made),
        team=models.LOCAL.team,
        owner=models.LOCAL.user,
        text=text,
        category=models.Category.PROJECT_CONTEXT,
        confidence=0.9,
        lineage=made,
        created_at=now,
        said_at=now,
        reinforced_at=now,
        accessed_at=now,
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), memory=sys.argv[3] == "memory")
