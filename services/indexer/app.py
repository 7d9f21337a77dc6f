"""Composition root of the indexer: a Celery app for the `index` and `upkeep` queues, over parts that its process owns."""

import threading
from contextlib import AbstractContextManager

import structlog
from celery import Celery
from celery.worker import WorkController, state

from services.core import config, jobs, messages, ports
from services.core.adapters import celery_queue, heartbeat, redis_client
from services.indexer import tasks
from services.indexer.writing import Writer

_log = structlog.get_logger()


def create_indexer(settings: config.Settings, *, writer: Writer, book: ports.JobBook, owner_lock: tasks.OwnerLock) -> Celery:
    """An app whose tasks write with `writer`. Nothing connects yet."""
    app = celery_queue.create_celery(settings, "brb-indexer")
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
        return tuple(tasks.touch(payload, writer=writer))

    @app.task(name=str(messages.Task.STORE_FACTS), shared=False)
    def store_facts(job_id: str) -> str:
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


class Consumer:
    """The consumer of the indexer's queues in a thread of this process, one task at a time: the Edge shard has one owner."""

    def __init__(self, app: Celery, settings: config.Settings) -> None:
        self._app = app
        self._ready = heartbeat.keeper("indexer", redis_client.connect(settings.redis_address, timeout_seconds=2))
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="indexer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout_seconds: float = 15.0) -> None:
        """Finish the running task, give back the rest."""
        self._stopping.set()
        state.should_stop = True
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
            queues=[str(messages.Queue.INDEX), str(messages.Queue.UPKEEP)],
            hostname="indexer@brb",
            without_gossip=True,
            without_mingle=True,
            loglevel="WARNING",
            ready_callback=self._ready,
        )
        controller.start()
