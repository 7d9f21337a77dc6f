"""The process that hosts the proxy and the indexer's consumer over one Edge shard: `python -m services.embedded.host`."""

import sys
import time
from collections.abc import Callable

from services.core import config, errors, seal, sharing, telemetry
from services.core.adapters import (
    celery_queue,
    chat_model,
    heartbeat,
    known_tokens,
    redis_audit,
    redis_client,
    redis_jobs,
    redis_ledger,
    redis_tokens,
    redis_turn_log,
    redis_use_log,
    spool,
)
from services.core.recall import cache, rewriting
from services.embedded import vectors
from services.indexer.app import Consumer, create_indexer
from services.indexer.writing import Writer
from services.proxy import access, front, sweeping
from services.proxy.app import create_app
from services.proxy.injection import Injection
from services.proxy.parts import Parts
from services.proxy.relay import Relay

_DAY_SECONDS = 86_400
_USES_DAYS = 90
_AUDIT_DAYS = 365
_LOOKS_DAYS = 30  # in the audit log: most of its events, and soon of no interest
_NOT_STARTED = 3  # what uvicorn itself exits with
_DRAIN_SECONDS = 20  # how long running streams may go on after SIGTERM
_CALL_TIMEOUT_SECONDS = 0.3  # of Redis, where a call waits for it: under the recall deadline


def serve(settings: config.Settings) -> None:
    """Build everything, serve until SIGTERM or SIGINT, and take it down in order. `SetupError`, `WrongModel`: with the cure."""
    store, notes, embedder = vectors.open_store(settings), vectors.open_notes(settings), vectors.open_embedder(settings)
    sealed = seal.Seal(seal.secret_of(settings))
    client = redis_client.connect(settings.redis_address, timeout_seconds=1)
    lifetime = settings.ledger_days * _DAY_SECONDS
    book = redis_jobs.RedisJobBook(client, sealed, lease_seconds=settings.lease_seconds, done_seconds=lifetime)
    quick = redis_client.connect(settings.redis_address, timeout_seconds=_CALL_TIMEOUT_SECONDS)
    breaker = redis_client.Breaker()
    owner_lock = redis_client.owner_lock(client)
    ledger = redis_ledger.RedisLedger(quick, sealed, lifetime_seconds=lifetime, breaker=breaker)
    turns = redis_turn_log.RedisTurnLog(client, sealed, lifetime_seconds=lifetime)
    purge = (store.purge, notes.purge, lambda: redis_client.rewrite_log(client))
    sweeper = sweeping.Sweeper(settings.erased_path, purge=purge, ledger=ledger, turns=turns)
    writer = Writer(store, embedder, threshold=settings.dedup_threshold, clock=time.time, promotion=sharing.in_force(settings))
    indexer = create_indexer(settings, writer=writer, book=book, owner_lock=owner_lock)
    waiting = spool.Spool(settings.spool_path, sealed)
    inbox = redis_jobs.RedisJobBook(quick, sealed, lease_seconds=settings.lease_seconds, done_seconds=lifetime, breaker=breaker)
    intake = spool.Intake(inbox, celery_queue.Publisher(indexer), waiting)
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
        owner_lock=owner_lock,
        answers=cache.Cache(redis_client.write_clock(quick, breaker), time.time),
        uses=redis_use_log.RedisUseLog(quick, sealed, lifetime_seconds=_USES_DAYS * _DAY_SECONDS, breaker=breaker),
        tokens=known,
        audit=redis_audit.RedisAuditLog(
            quick, sealed, lifetime_seconds=_AUDIT_DAYS * _DAY_SECONDS, looks_lifetime_seconds=_LOOKS_DAYS * _DAY_SECONDS, breaker=breaker
        ),
        turns=turns,
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
    }
    if chat:
        pings[chat_model.NAME] = chat.ping
    injection = Injection(parts)
    injection.warm()
    consumer = Consumer(indexer, settings)
    doors = access.Access(settings, known)
    relay = Relay(settings, injection, doors=doors)
    app = create_app(
        parts,
        pings,
        doors=doors,
        spooled=lambda: len(waiting),
        selftests={"redis policy": lambda: redis_client.check_policy(client)},
        on_shutdown=[relay.close],
    )
    consumer.start()
    intake.start()
    known.start()
    sweeper.start()
    try:
        server = front.Server(front.served(app, relay, host=settings.host, port=settings.port, drain_seconds=_DRAIN_SECONDS))
        server.run()
        if not server.started:
            sys.exit(_NOT_STARTED)
    finally:
        injection.close()
        consumer.stop()
        intake.stop()
        known.stop()
        sweeper.stop()
        store.close()
        notes.close()
        sweeper.join()


def _asking(chat: chat_model.ChatModel) -> rewriting.Ask:
    return lambda talk, seconds: chat.ask(talk, rewriting.SCHEMA, most_tokens=rewriting.MOST_TOKENS, temperature=0.0, timeout_seconds=seconds).text


def main() -> None:
    try:
        settings = config.load()
        telemetry.configure_logging(settings.log_level)
        serve(settings)
    except errors.BrbError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - the supervisor shows this line
        sys.exit(1)


if __name__ == "__main__":
    main()
