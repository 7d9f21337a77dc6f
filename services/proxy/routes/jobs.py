"""Durable jobs: what waits, what failed for good, and trying it again. For the operator of the machine, and for admins: these see how many there are
in all, and the dead letters of their own team."""

from litestar import Router, get, post
from litestar.params import FromPath, FromQuery

from services.core import api, erasing, errors, models, ports, rights
from services.proxy.parts import Parts
from services.proxy.routes import failures, given

_ALL = 10_000


def router() -> Router:
    return Router("/jobs", route_handlers=failures.told(listed, dead, retried), tags=["jobs"])


@get(sync_to_thread=True)
def listed(parts: given.Parts, principal: given.Principal, watch: given.Watching) -> api.Jobs:
    """Jobs that are recorded and not done, by queue."""
    rights.check_administers(principal)
    return queues(parts.book, watch.spooled())


@get("/dead", sync_to_thread=True)
def dead(parts: given.Parts, principal: given.Principal, limit: FromQuery[int] = api.DEFAULT_PAGE) -> api.DeadJobs:
    """Dead letters, newest first: of the caller's team; for the machine's operator, of all."""
    rights.check_administers(principal)
    return api.DeadJobs(tuple(map(api.dead_of, parts.book.dead(min(max(1, limit), api.LARGEST_PAGE), _concerns(parts, principal)))))


@post("/{job_id:str}/retry", status_code=202, sync_to_thread=True)
def retried(parts: given.Parts, principal: given.Principal, job_id: FromPath[str]) -> api.Retried:
    """Make a dead letter pending again: it is due at once, and published within seconds."""
    rights.check_administers(principal)
    concerns = _concerns(parts, principal)
    shown = concerns is None or any(one.id == job_id for one in parts.book.dead(_ALL, concerns))
    task = parts.book.revive(job_id) if shown else None
    if task is None:
        raise errors.NotFound(f"there is no dead job {job_id[:80]}")
    return api.Retried(job_id, task)


def _concerns(parts: Parts, principal: models.Principal) -> erasing.Concerns | None:
    """Which jobs the caller may know of; None for all."""
    return None if principal == rights.OPERATOR or parts.settings.auth == "off" else erasing.concerns_team(principal.team)


def queues(book: ports.JobBook, spooled: int) -> api.Jobs:
    """The state of all queues; `errors.Unavailable` after one timeout when the book is away."""
    return api.Jobs(book.pending(), book.oldest_seconds(), len(book.dead(_ALL)), spooled)
