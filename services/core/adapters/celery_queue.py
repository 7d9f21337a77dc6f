"""Celery on Redis: carries ids of jobs, never their content. Settings and their reasons: docs/adr/0002."""

from datetime import datetime

import structlog
from celery import Celery, beat, schedules
from kombu.entity import Queue
from kombu.transport import redis, virtual

from services.core import config, messages

_RECONCILE_EVERY_SECONDS = 2.0
_CANARY_EVERY_SECONDS = 20.0  # each only asks whether it is time; so long after the start comes the first round
_UPKEEP_EVERY_SECONDS = 60.0
_LATER, _LAST = 6, 9  # kombu takes 0 first from Redis, whatever waits of the others
_PRIORITIES = dict.fromkeys(messages.PATIENT, _LATER) | {messages.Task.LEARN_MORE: _LAST}
_KEPT_SECONDS = 0.1
_log = structlog.get_logger()


class Slots(redis.QoS):
    """How many messages a consumer may have at a time.

    kombu gives the slot of a message back once Redis knows that it is done. If Redis does not answer at that moment, the slot was lost for good, and
    with the last one the consumer took nothing more until it was started again (celery issue 2415). The message itself is delivered once more after
    `visibility_timeout`, and its job is done by then.
    """

    def ack(self, delivery_tag: str) -> None:
        try:
            super().ack(delivery_tag)  # type: ignore[no-untyped-call]
        finally:
            virtual.QoS.ack(self, delivery_tag)  # type: ignore[no-untyped-call]

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        try:
            super().reject(delivery_tag, requeue=requeue)  # type: ignore[no-untyped-call]
        finally:
            virtual.QoS.ack(self, delivery_tag)  # type: ignore[no-untyped-call]

    def last(self) -> int:
        """How many of those at work come after all others."""
        at_work = (message for tag, message in self._delivered.items() if tag not in self._dirty)
        return sum(message.properties.get("priority") == _LAST for message in at_work)


class Channel(redis.Channel):
    """A consumer with several slots keeps one free of what comes last: a language model that takes a minute for a turn holds up no other turn.

    It asks Redis for the rest in short pieces meanwhile, for the last may be wanted again at any moment.
    """

    QoS = Slots

    def _brpop_start(self, timeout: float | None = None) -> None:
        steps = self.priority_steps
        if 1 < self.qos.prefetch_count <= self.qos.last() + 1:
            self.priority_steps, timeout = steps[:-1], _KEPT_SECONDS
        try:
            super()._brpop_start(timeout)  # type: ignore[no-untyped-call]
        finally:
            self.priority_steps = steps


redis.Transport.Channel = Channel


def broker_url(redis_address: str) -> str:
    """kombu's spelling of a redis address."""
    return redis_address.replace("unix://", "redis+socket://", 1)


def create_celery(settings: config.Settings, name: str) -> Celery:
    """An app without tasks; nothing connects yet. One that is to consume is made the process's own by `set_default`."""
    app = Celery(name, set_as_current=False)
    app.conf.update(
        broker_url=broker_url(settings.redis_address),
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_pool_limit=4,
        broker_pool_acquire_timeout=2,
        visibility_timeout=900,  # at least three hard time limits, else a running task is started again
        broker_transport_options={
            "visibility_timeout": 900,
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
            "socket_timeout": 5,
            "socket_connect_timeout": 2,
            "socket_keepalive": True,
            "health_check_interval": 10,
            "retry_on_timeout": False,
        },
        task_queues=[Queue(str(queue)) for queue in messages.Queue],  # type: ignore[no-untyped-call]
        task_default_queue=str(messages.Queue.LEARN),
        task_create_missing_queues=False,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_acks_on_timeout=False,
        task_time_limit=300,
        task_soft_time_limit=270,
        task_ignore_result=True,
        worker_prefetch_multiplier=1,
        task_publish_retry_policy={"max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.1},
        task_serializer="json",
        accept_content=["json"],
        result_accept_content=["json"],
        event_serializer="json",
        worker_soft_shutdown_timeout=10,
        worker_enable_soft_shutdown_on_idle=False,  # it is for tasks with an ETA, and there are none
        worker_proc_alive_timeout=60,
        worker_max_tasks_per_child=settings.worker_recycle_jobs,  # a new process loads spaCy for seconds
        worker_max_memory_per_child=1_500_000,  # KiB
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_send_task_events=False,
        broker_heartbeat=0,
    )
    return app


def schedule(app: Celery, scheduler: type[beat.Scheduler] = beat.Scheduler) -> None:
    """What a beat of this app sends, and when. All of it may be sent twice, by two beats or after a restart: nothing is remembered between runs."""
    app.conf.beat_schedule = {
        "reconcile": _every(_RECONCILE_EVERY_SECONDS, messages.Task.RECONCILE),
        "canary": _every(_CANARY_EVERY_SECONDS, messages.Task.CANARY),
        "retention": _every(_UPKEEP_EVERY_SECONDS, messages.Task.RETENTION),
    }
    app.conf.beat_scheduler = scheduler
    app.conf.beat_max_loop_interval = _RECONCILE_EVERY_SECONDS


def _every(seconds: float, task: messages.Task) -> dict[str, object]:
    return {"task": str(task), "schedule": Every(seconds), "options": {"queue": str(messages.QUEUE_OF[task]), "expires": seconds}}


class Every(schedules.schedule):  # type: ignore[misc]  # Celery has no types
    """Every so many seconds, also when the clock was set back: Celery's own then waits until it is as late again as it was."""

    def is_due(self, last_run_at: datetime) -> tuple[bool, float]:
        ahead: bool = self.maybe_make_aware(last_run_at) > self.maybe_make_aware(self.now())
        found: tuple[bool, float] = schedules.schedstate(True, self.seconds) if ahead else super().is_due(last_run_at)
        return found


class Publisher:
    """Publishes ids. A publication that fails is no loss: the reconciler publishes the id again when it is overdue."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def __call__(self, job_id: str, task: messages.Task) -> None:
        try:
            queue, priority = str(messages.QUEUE_OF[task]), _PRIORITIES.get(task, 0)
            self._app.send_task(str(task), args=[job_id], queue=queue, priority=priority, ignore_result=True)
        except Exception as error:  # kombu raises the errors of every transport
            _log.warning("publish_failed", task=str(task), job=job_id, error=type(error).__name__)
