"""How BRB is doing: for people and `brb status` (`/health`), for supervisors (`/healthz`, `/readyz`), for Prometheus (`/metrics`)."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from litestar import MediaType, Response, get
from litestar.openapi import ResponseSpec
from prometheus_client import CONTENT_TYPE_LATEST

from services.core import api, errors, health, messages, models, telemetry
from services.proxy.parts import Parts
from services.proxy.routes import failures, given, jobs

_STALE_SECONDS = 60.0  # a job that waits longer than this means that nobody works on its queue
_UNKNOWN = float("nan")
_DOWN = ResponseSpec(str, description="What does not answer, one a line", media_type=MediaType.TEXT, generate_examples=False)
T = TypeVar("T")


@get("/health", sync_to_thread=True, tags=["operations"])
def healthy(parts: given.Parts, watch: given.Watching) -> api.Health:
    """One entry for each dependency; always 200. `degraded`: calls still go through, but something is not remembered or recalled."""
    dependencies = health.check(watch.pings)
    spooled = watch.spooled()
    queues = _known(lambda: jobs.queues(parts.book, spooled))
    totals = _known(parts.store.total)
    return api.Health(
        status="degraded" if degraded(dependencies, queues) or spooled else "ok",
        version=watch.version,
        dependencies=dependencies,
        memories=None if totals is None else totals.get(models.Status.CURRENT, 0),
        pending=queues.pending if queues else {},
        oldest_seconds=queues.oldest_seconds if queues else {},
        dead=queues.dead if queues else None,
        spooled=spooled,
        notices=noticed(dependencies, queues),
    )


@get("/healthz", media_type=MediaType.TEXT, sync_to_thread=False, tags=["operations"])
def alive() -> str:
    """The process answers."""
    return "ok"


@get("/readyz", media_type=MediaType.TEXT, sync_to_thread=True, tags=["operations"], responses={503: _DOWN})
def ready(watch: given.Watching) -> Response[str]:
    """200 when every dependency answers, else 503 and the names of those that don't. Calls are relayed either way."""
    down = [f"{name}: {report.reason}" for name, report in health.check(watch.pings).items() if report.state != "ok"]
    return Response("\n".join(down) or "ok", status_code=503 if down else 200, media_type=MediaType.TEXT)


@get("/metrics", sync_to_thread=True, include_in_schema=False)
def metrics(parts: given.Parts, watch: given.Watching) -> Response[bytes]:
    """Prometheus text. Gauges of queues and memories are read now; one whose source is away is NaN."""
    return Response(exposed(parts, watch), headers={"content-type": CONTENT_TYPE_LATEST})


HANDLERS = (*failures.told(healthy), alive, ready, metrics)


def degraded(dependencies: Mapping[str, health.Report], queues: api.Jobs | None) -> bool:
    """Whether something does not work now. A dead letter is worth a notice, yet nothing is broken any more."""
    return bool(_down(dependencies) or _stuck(queues))


def noticed(dependencies: Mapping[str, health.Report], queues: api.Jobs | None) -> tuple[str, ...]:
    """What a person should look at, one line each; nothing when all is well."""
    lost = [f"{queues.dead} jobs failed for good: see `brb jobs dead`"] if queues and queues.dead else []
    return (*_down(dependencies), *_stuck(queues), *lost)


def _down(dependencies: Mapping[str, health.Report]) -> list[str]:
    return [f"{name} is down: {report.reason}" for name, report in dependencies.items() if report.state != "ok"]


def _stuck(queues: api.Jobs | None) -> list[str]:
    ages = queues.oldest_seconds if queues else {}
    stale = {queue: age for queue, age in ages.items() if age > _STALE_SECONDS and queue != messages.Lane.PATIENT}
    return [f"the oldest job of queue {queue} waits for {age:.0f} s: is its worker running?" for queue, age in stale.items()]


def exposed(parts: Parts, watch: given.Watch) -> bytes:
    refresh(parts, watch)
    return telemetry.exposed()


def refresh(parts: Parts, watch: given.Watch) -> None:
    """Set the gauges that mirror what is elsewhere."""
    spooled = watch.spooled()
    queues = _known(lambda: jobs.queues(parts.book, spooled))
    for queue in messages.Lane:
        telemetry.QUEUE_DEPTH.labels(queue).set(queues.pending.get(queue, 0) if queues else _UNKNOWN)
        telemetry.QUEUE_OLDEST.labels(queue).set(queues.oldest_seconds.get(queue, 0) if queues else _UNKNOWN)
    telemetry.DEAD_LETTERS.set(queues.dead if queues else _UNKNOWN)
    telemetry.SPOOLED.set(spooled)
    watch.mirror.refresh(parts, watch.pings)


def _known(read: Callable[[], T]) -> T | None:
    """What `read` returns, or None while its dependency is away."""
    try:
        return read()
    except errors.Unavailable:
        return None
