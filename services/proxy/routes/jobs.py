"""Durable jobs: what waits, what failed for good, and trying it again."""

from litestar import Router, get, post
from litestar.params import FromPath, FromQuery

from services.core import api, errors, ports
from services.proxy.routes import failures, given

_ALL = 10_000


def router() -> Router:
    return Router("/jobs", route_handlers=failures.told(listed, dead, retried), tags=["jobs"])


@get(sync_to_thread=True)
def listed(parts: given.Parts, watch: given.Watching) -> api.Jobs:
    """Jobs that are recorded and not done, by queue."""
    return queues(parts.book, watch.spooled())


@get("/dead", sync_to_thread=True)
def dead(parts: given.Parts, limit: FromQuery[int] = api.DEFAULT_PAGE) -> api.DeadJobs:
    """Dead letters, newest first."""
    return api.DeadJobs(tuple(map(api.dead_of, parts.book.dead(min(max(1, limit), api.LARGEST_PAGE)))))


@post("/{job_id:str}/retry", status_code=202, sync_to_thread=True)
def retried(parts: given.Parts, job_id: FromPath[str]) -> api.Retried:
    """Make a dead letter pending again: it is due at once, and published within seconds."""
    task = parts.book.revive(job_id)
    if task is None:
        raise errors.NotFound(f"there is no dead job {job_id[:80]}")
    return api.Retried(job_id, task)


def queues(book: ports.JobBook, spooled: int) -> api.Jobs:
    """The state of all queues; `errors.Unavailable` after one timeout when the book is away."""
    return api.Jobs(book.pending(), book.oldest_seconds(), len(book.dead(_ALL)), spooled)
