"""How BRB is doing: what it depends on, what waits, what failed, and how memory grows."""

from litestar import Response, get, post
from litestar.params import FromPath

from services.core import api, engine_api, ports, rights
from services.proxy.routes import engine, given, jobs, operations
from services.proxy.web import drawing, visits


@get("/status", sync_to_thread=True)
def status(visit: visits.Given, watch: given.Watching) -> Response[str]:
    """What concerns the machine as a whole is for who runs it."""
    health: api.Health = operations.healthy.fn(visit.parts, watch)  # type: ignore[assignment]
    stats: engine_api.Stats = visit.ask(engine.figures)
    return visit.page("status.html", health=health, stats=stats, bars=_growth(visit), runs=rights.administers(visit.principal))


def _growth(visit: visits.Visit) -> tuple[drawing.Bar, ...]:
    """Of the memories that are current, how many there were by when."""
    store, scope = visit.parts.store, rights.managed(visit.principal)
    count = store.count(scope)
    oldest = store.find(scope, limit=1, offset=count - 1) if count else []
    if not oldest:
        return ()
    ends = drawing.ends(oldest[0].created_at, visit.now)
    return drawing.bars(ends, [store.count(scope, ports.Where(before=end)) for end in ends[:-1]] + [count])


@get("/jobs", sync_to_thread=True)
def queues(visit: visits.Given, watch: given.Watching) -> Response[str]:
    return _jobs(visit, watch)


@post("/jobs/{job_id:str}/retry", sync_to_thread=True)
def retried(visit: visits.Given, watch: given.Watching, job_id: FromPath[str]) -> Response[str]:
    again: api.Retried = visit.ask(jobs.retried, job_id)
    return _jobs(visit, watch, f"{again.task} waits again.")


def _jobs(visit: visits.Visit, watch: given.Watch, said: str = "") -> Response[str]:
    state: api.Jobs = visit.ask(jobs.listed, watch)
    dead: api.DeadJobs = visit.ask(jobs.dead)
    return visit.page("jobs.html", state=state, dead=dead.jobs, said=said)


HANDLERS = (status, queues, retried)
