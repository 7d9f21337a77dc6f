"""Composition root of the indexer: a Celery app for the `index` and `upkeep` queues, over parts that its process owns."""

import threading
import time
from contextlib import AbstractContextManager
from typing import NamedTuple

import structlog
from celery import Celery, signals
from celery.worker import WorkController, state

from services.core import config, jobs, messages, ports, seal, sharing, signs
from services.core.adapters import (
    celery_queue,
    heartbeat,
    redis_audit,
    redis_client,
    redis_figures,
    redis_jobs,
    redis_ledger,
    redis_turn_log,
    store_gate,
)
from services.indexer import canary, tasks, upkeep
from services.indexer.retention import Retention
from services.indexer.upkeep import Upkeep
from services.indexer.writing import Writer

_DAY_SECONDS = 86_400
_QUEUES = (str(messages.Queue.INDEX), str(messages.Queue.UPKEEP))
_log = structlog.get_logger()


class Indexer(NamedTuple):
    """upkeep: what its app's tasks of upkeep begin. Stop it before the stores are closed."""

    app: Celery
    upkeep: Upkeep


def compose(settings: config.Settings, *, store: ports.WholeStore, embedder: ports.Embedder) -> Indexer:
    """The indexer over the stores that its process has opened. Nothing connects yet."""
    client = redis_client.connect(settings.redis_address, timeout_seconds=1)
    sealed = seal.Seal(seal.secret_of(settings))
    book = redis_jobs.RedisJobBook(client, sealed, lease_seconds=settings.lease_seconds, done_seconds=settings.ledger_days * _DAY_SECONDS)
    writer = Writer(store, embedder, threshold=settings.dedup_threshold, clock=time.time, promotion=sharing.in_force(settings))
    owner_lock, figures = store_gate.owner_lock(client, settings.embed_model), redis_figures.RedisFigures(client)
    app = create_indexer(settings, writer=writer, book=book, owner_lock=owner_lock, figures=figures)
    keeper = Retention(
        store,
        book,
        ledger=redis_ledger.RedisLedger(client, sealed, lifetime_seconds=settings.ledger_days * _DAY_SECONDS),
        turns=redis_turn_log.RedisTurnLog(client, sealed, lifetime_seconds=settings.ledger_days * _DAY_SECONDS),
        figures=figures,
        audit=redis_audit.RedisAuditLog(
            client, sealed, lifetime_seconds=settings.audit_days * _DAY_SECONDS, looks_lifetime_seconds=settings.looks_days * _DAY_SECONDS
        ),
        owner_lock=owner_lock,
        clock=time.time,
        keep_superseded_days=settings.keep_superseded_days,
        keep_dead_days=settings.keep_dead_days,
        purge=[store.purge, lambda: redis_client.rewrite_log(client)],
    )
    ask = canary.asking(store, embedder, settings, time.time)
    bird = canary.Canary(store, book, celery_queue.Publisher(app), ask, owner_lock=owner_lock, clock=time.time)
    works = {
        upkeep.SURVEY: upkeep.survey_work(store, figures, time.time),
        upkeep.RETENTION: upkeep.retention_work(keeper),
        **({upkeep.CANARY: upkeep.canary_work(bird, figures)} if settings.canary else {}),
    }
    kept_up = Upkeep(works, figures)
    _add_upkeep(app, kept_up)
    return Indexer(app, kept_up)


def create_indexer(settings: config.Settings, *, writer: Writer, book: ports.JobBook, owner_lock: tasks.OwnerLock, figures: ports.Figures) -> Celery:
    """An app whose tasks write with `writer`. Nothing connects yet."""
    app = celery_queue.create_celery(settings, "brb-indexer")
    app.set_default()
    publish = celery_queue.Publisher(app)

    def run(job_id: str, handle: jobs.Handler) -> str:
        return jobs.run(job_id, handle, book=book, publish=publish, lease_seconds=settings.lease_seconds, within=owner_locked)

    def owner_locked(payload: messages.Payload) -> AbstractContextManager[object]:
        return owner_lock(tasks.owner_of(payload))

    def store(payload: messages.Payload) -> tuple[messages.Job, ...]:
        assert isinstance(payload, messages.StoreFacts)  # noqa: S101 - the book decodes by task
        return tuple(tasks.store_facts(payload, writer=writer))

    def settle_one(payload: messages.Payload) -> tuple[messages.Job, ...]:
        assert isinstance(payload, messages.Settle)  # noqa: S101
        return tuple(tasks.settle(payload, writer=writer))

    def mark(payload: messages.Payload) -> tuple[messages.Job, ...]:
        assert isinstance(payload, messages.Touch)  # noqa: S101
        return tuple(tasks.touch(payload, writer=writer, figures=figures))

    @app.task(name=str(messages.Task.STORE_FACTS), shared=False)
    def store_facts(job_id: str) -> str:
        return run(job_id, store)

    @app.task(name=str(messages.Task.STORE_IMPORTED), shared=False)
    def store_imported(job_id: str) -> str:
        return run(job_id, store)

    @app.task(name=str(messages.Task.SETTLE), shared=False)
    def settle(job_id: str) -> str:
        return run(job_id, settle_one)

    @app.task(name=str(messages.Task.TOUCH), shared=False)
    def touch(job_id: str) -> str:
        return run(job_id, mark)

    @app.task(name=str(messages.Task.RECONCILE), shared=False)
    def reconcile() -> int:
        return jobs.reconcile(book, publish)

    return app


def _add_upkeep(app: Celery, kept_up: Upkeep) -> None:
    """Its tasks: they begin what is due, and return at once."""

    @app.task(name=str(messages.Task.CANARY), shared=False)
    def probe() -> None:
        kept_up.beat(upkeep.CANARY)

    @app.task(name=str(messages.Task.RETENTION), shared=False)
    def tidy() -> None:
        kept_up.beat(upkeep.SURVEY)
        kept_up.beat(upkeep.RETENTION)


def consume(indexer: Indexer, settings: config.Settings) -> None:
    """Work on the indexer's queues until SIGTERM or SIGINT, several tasks at a time, with a store that others use as well."""
    heart = _heart(settings)

    @signals.worker_ready.connect(weak=False)
    def ready(sender: object, **_: object) -> None:
        heart.follow(sender)

    options = ["worker", f"--queues={','.join(_QUEUES)}", "--pool=threads", f"--concurrency={settings.indexer_threads}"]
    try:
        indexer.app.worker_main([*options, "--without-gossip", "--without-mingle", "--hostname=indexer@%h", "--loglevel=WARNING"])
    finally:
        indexer.upkeep.stop()


def _heart(settings: config.Settings) -> heartbeat.Heart:
    client = redis_client.connect(settings.redis_address, timeout_seconds=2)
    return heartbeat.Heart("indexer", client, signs.path(settings.run_dir, "indexer"))


class Consumer:
    """The consumer of the indexer's queues in a thread of this process, one task at a time: the Edge shard has one owner."""

    def __init__(self, indexer: Indexer, settings: config.Settings) -> None:
        self._app = indexer.app
        self._upkeep = indexer.upkeep
        self._ready = _heart(settings).follow
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="indexer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout_seconds: float = 15.0) -> None:
        """Finish the running task, give back the rest."""
        self._stopping.set()
        state.should_stop = True
        self._upkeep.stop()
        self._thread.join(timeout_seconds)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._consume()
            except BaseException as error:  # Celery ends with SystemExit and its own exceptions; the queues must go on being consumed
                if not self._stopping.wait(1.0):
                    _log.error("indexer_restarts", exc_info=error)

    def _consume(self) -> None:
        controller = WorkController(
            app=self._app,
            pool_cls="solo",
            concurrency=1,
            queues=list(_QUEUES),
            hostname="indexer@brb",
            without_gossip=True,
            without_mingle=True,
            loglevel="WARNING",
            ready_callback=self._ready,
        )
        controller.start()
