"""Who did what: an admin sees the team's, everybody else his own."""

from litestar import Router, get
from litestar.params import FromQuery

from services.core import api, erasure_api, models, ports, rights
from services.proxy.parts import Parts
from services.proxy.routes import failures, given

_PAGE = 500
_MOST_PAGES = 40  # looked through for one's own events: what lies farther back comes with `before`


def router() -> Router:
    return Router("/", route_handlers=failures.told(listed), tags=["audit"])


@get("/audit", sync_to_thread=True)
def listed(parts: given.Parts, principal: given.Principal, limit: FromQuery[int] = 100, before: FromQuery[str] = "") -> erasure_api.Audit:
    """Events, newest first. `limit` is held between 1 and 1000; `before`: those older than the event of that id, `next` of the page before."""
    limit = min(max(1, limit), api.LARGEST_PAGE)
    if rights.administers(principal):
        events = parts.audit.read(principal.team, limit=limit, before=before)
        return _page(events, events[-1].id if len(events) == limit else None)
    return _own(parts, principal, limit, before)


def _own(parts: Parts, principal: models.Principal, limit: int, before: str) -> erasure_api.Audit:
    found: list[ports.Event] = []
    for _ in range(_MOST_PAGES):
        events = parts.audit.read(principal.team, limit=_PAGE, before=before)
        for event in events:
            before = event.id
            if event.user == principal.user:
                found.append(event)
                if len(found) == limit:
                    return _page(found, before)
        if len(events) < _PAGE:
            return _page(found, None)
    return _page(found, before)


def _page(events: list[ports.Event], following: str | None) -> erasure_api.Audit:
    return erasure_api.Audit(tuple(map(_shown, events)), following)


def _shown(event: ports.Event) -> erasure_api.AuditEvent:
    at = api.time_of(event.at)
    return erasure_api.AuditEvent(event.id, at, event.user, event.act, event.ids, event.count, event.detail, event.before)
