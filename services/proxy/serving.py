"""Composition root of the proxy: what it is made of, and how it is served."""

import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

from services.core import backup, config, errors, ports, seal
from services.core.adapters import (
    celery_queue,
    chat_model,
    heartbeat,
    known_tokens,
    metrics_server,
    redis_audit,
    redis_client,
    redis_figures,
    redis_jobs,
    redis_ledger,
    redis_tokens,
    redis_turn_log,
    redis_use_log,
    spool,
    store_gate,
    vectors,
)
from services.core.recall import cache, rewriting
from services.proxy import access, crowd, front, sweeping
from services.proxy.app import create_app
from services.proxy.injection import Injection
from services.proxy.parts import Parts
from services.proxy.relay import Relay
from services.proxy.routes import given, operations

_DAY_SECONDS = 86_400
_NOT_STARTED = 3  # what uvicorn itself exits with
_DRAIN_SECONDS = 20  # how long running streams may go on after SIGTERM
_CALL_TIMEOUT_SECONDS = 0.3  # of Redis, where a call waits for it: under the recall deadline


class Beside(Protocol):
    """What runs in threads of the proxy's process, as long as it serves."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


def serve(
    settings: config.Settings, *, store: ports.MemoryStore, notes: ports.NoteStore, embedder: ports.Embedder, beside: Sequence[Beside] = ()
) -> None:
    """Build everything else, serve until SIGTERM or SIGINT, and take it down in order, the stores too.

    Several processes may do so at once over one Redis and stores that are shared. Of one another's tokens, writes and erasures they know within a
    second; each counts the calls of a token by itself.
    """
    _make(settings.data)
    backup.check_whole(settings.data)
    sealed = seal.Seal(seal.secret_of(settings))
    client = redis_client.connect(settings.redis_address, timeout_seconds=1)
    lifetime = settings.ledger_days * _DAY_SECONDS
    book = redis_jobs.RedisJobBook(client, sealed, lease_seconds=settings.lease_seconds, done_seconds=lifetime)
    quick = redis_client.connect(settings.redis_address, timeout_seconds=_CALL_TIMEOUT_SECONDS)
    breaker = redis_client.Breaker()
    fill = redis_client.Fill(quick)
    ledger = redis_ledger.RedisLedger(quick, sealed, lifetime_seconds=lifetime, breaker=breaker, room=fill.below(redis_client.BLOCKS))
    turns = redis_turn_log.RedisTurnLog(client, sealed, lifetime_seconds=lifetime, room=fill.below(redis_client.WHYS))
    purge = (store.purge, notes.purge, lambda: redis_client.rewrite_log(client))
    sweeper = sweeping.Sweeper(settings.erased_path, purge=purge, ledger=ledger, turns=turns)
    waiting = spool.Spool(settings.spool_path, sealed)
    inbox = redis_jobs.RedisJobBook(quick, sealed, lease_seconds=settings.lease_seconds, done_seconds=lifetime, breaker=breaker)
    publish = celery_queue.Publisher(celery_queue.create_celery(settings, "brb-proxy"))
    intake = spool.Intake(inbox, publish, waiting, room=fill.below(redis_client.JOBS))
    named = settings.extract_model or chat_model.UNNAMED
    chat = chat_model.ChatModel(settings.extract_address, model=named) if settings.engines != "rules" else None
    known = known_tokens.KnownTokens(redis_tokens.RedisTokenBook(client, sealed))
    parts = Parts(
        settings=settings,
        store=store,
        notes=notes,
        embedder=embedder,
        ledger=ledger,
        book=book,
        enqueue=intake.enqueue,
        owner_lock=store_gate.owner_lock(client, settings.embed_model),
        answers=cache.Cache(redis_client.write_clock(quick, breaker), time.time),
        uses=redis_use_log.RedisUseLog(quick, sealed, lifetime_seconds=settings.uses_days * _DAY_SECONDS, breaker=breaker),
        tokens=known,
        audit=redis_audit.RedisAuditLog(
            quick,
            sealed,
            lifetime_seconds=settings.audit_days * _DAY_SECONDS,
            looks_lifetime_seconds=settings.looks_days * _DAY_SECONDS,
            breaker=breaker,
        ),
        turns=turns,
        figures=redis_figures.RedisFigures(quick, breaker=breaker),
        clock=time.time,
        ask=_asking(chat) if chat and not settings.no_rewrite else None,
        unspool=intake.forget,
        sweeper=sweeper,
    )
    pings: dict[str, Callable[[], None]] = {
        "redis": book.ping,
        "qdrant": lambda: vectors.ping(store, notes),
        "llama.cpp": embedder.ping,
        "worker": lambda: heartbeat.check("worker", client),
        "indexer": lambda: heartbeat.check("indexer", client),
        "beat": lambda: heartbeat.check("beat", client),
    }
    if chat:
        pings[chat_model.NAME] = chat.ping
    injection = Injection(parts)
    injection.warm()
    doors = access.Access(settings, known)
    relay = Relay(settings, injection, doors=doors)
    app = create_app(
        parts,
        pings,
        doors=doors,
        spooled=lambda: len(waiting),
        selftests={"redis policy": lambda: redis_client.check_policy(client), "redis room": lambda: redis_client.check_room(client)},
        on_shutdown=[relay.close],
    )
    watch = given.Watch(pings, lambda: len(waiting), version("brb"))
    metrics_server.start(settings, lambda: operations.exposed(parts, watch))
    for each in (*beside, intake, known, sweeper):
        each.start()
    try:
        bounds = crowd.bounds(settings.max_connections, crowd.raised_files())
        server = front.Server(front.served(app, relay, host=settings.host, port=settings.port, drain_seconds=_DRAIN_SECONDS, bounds=bounds))
        server.run()
        if not server.started:
            sys.exit(_NOT_STARTED)
    finally:
        injection.close()
        for each in (*beside, intake, known, sweeper):
            each.stop()
        store.close()
        notes.close()
        sweeper.join()


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise errors.SetupError(f"can't write to {folder}: {error.strerror}. Set BRB_DATA_DIR to a folder that you can write to") from None


def _asking(chat: chat_model.ChatModel) -> rewriting.Ask:
    return lambda talk, seconds: chat.ask(talk, rewriting.SCHEMA, most_tokens=rewriting.MOST_TOKENS, temperature=0.0, timeout_seconds=seconds).text
