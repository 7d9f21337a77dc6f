"""Composition root of the worker: a Celery app for the `learn` queue, with the schedule of upkeep for a beat beside it."""

import threading
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from celery import Celery, signals

from services.core import config, jobs, messages, ports, seal, signs, telemetry
from services.core.adapters import celery_queue, heartbeat, redis_client, redis_jobs
from services.worker import tasks
from services.worker.redaction import turns

if TYPE_CHECKING:
    from spacy.language import Language

    from services.worker.extraction import engines


def create_worker(settings: config.Settings) -> Celery:
    """Nothing is loaded or connected yet: spaCy loads after the fork, in each process of the pool."""
    app = celery_queue.create_celery(settings, "brb-worker")
    app.set_default()
    publish = celery_queue.Publisher(app)
    client = redis_client.connect(settings.redis_address, timeout_seconds=2)
    heart = heartbeat.Heart("worker", client, signs.path(settings.run_dir, "worker"))
    celery_queue.schedule(app, heartbeat.scheduler(heartbeat.Heart("beat", client, signs.path(settings.run_dir, "beat"))))

    @cache
    def book() -> ports.JobBook:
        client = redis_client.connect(settings.redis_address, timeout_seconds=5)
        sealed = seal.Seal(seal.secret_of(settings))
        return redis_jobs.RedisJobBook(client, sealed, lease_seconds=settings.lease_seconds, done_seconds=settings.ledger_days * 86400)

    policy = settings.redaction_policy
    loading = threading.Lock()

    @cache
    def nlp() -> "Language":
        from services.worker.extraction import rules  # spaCy: seconds and 100 MB that only the processes of the pool need

        return rules.load_nlp(settings.spacy_model, names=turns.needs_names(policy))

    @cache
    def redacting() -> turns.Turns:
        if not turns.needs_names(policy):
            return turns.Turns(seal.secret_of(settings), policy)
        from services.worker.redaction import engine  # Presidio and lists of names, only where they have something to do

        return turns.Turns(seal.secret_of(settings), policy, engine.Engine(nlp()).look)

    @cache
    def loaded() -> "engines.Engines":
        from services.worker.extraction import engines

        model = None
        if settings.engines != "rules":
            from services.core.adapters import chat_model

            model = chat_model.ChatModel(settings.extract_address, model=settings.extract_model or chat_model.UNNAMED)
        return engines.load(settings, model, nlp())

    def extractor() -> "engines.Engines":
        with loading:
            redacting()
            return loaded()

    def learn(payload: messages.Payload) -> Sequence[messages.Job]:
        assert isinstance(payload, messages.LearnTurn)  # noqa: S101 - the book decodes by task
        extract = extractor().first
        done = redacting().redacted(payload)
        return tasks.learn_turn(payload, extractor=extract, redact=done.__getitem__, policy=policy, more=settings.engines == "both")

    def learn_beside(payload: messages.Payload) -> Sequence[messages.Job]:
        assert isinstance(payload, messages.LearnMore)  # noqa: S101
        return tasks.learn_more(payload, extract=extractor().more, policy=policy)

    @app.task(name=str(messages.Task.LEARN_TURN), shared=False)
    def learn_turn(job_id: str) -> str:
        return jobs.run(job_id, learn, book=book(), publish=publish, lease_seconds=settings.lease_seconds)

    @app.task(name=str(messages.Task.LEARN_IMPORTED), shared=False)
    def learn_imported(job_id: str) -> str:
        return jobs.run(job_id, learn, book=book(), publish=publish, lease_seconds=settings.lease_seconds)

    @app.task(name=str(messages.Task.LEARN_MORE), shared=False)
    def learn_more(job_id: str) -> str:
        return jobs.run(job_id, learn_beside, book=book(), publish=publish, lease_seconds=settings.lease_seconds)

    @signals.worker_ready.connect(weak=False)
    def ready(sender: object, **_: object) -> None:
        heart.follow(sender)

    @signals.worker_process_init.connect(weak=False)
    def warm(**_: object) -> None:
        telemetry.configure_logging(settings.log_level)
        threading.Thread(target=extractor, name="load-spacy", daemon=True).start()  # a job that comes first waits for it

    return app
