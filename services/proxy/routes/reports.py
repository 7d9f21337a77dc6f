"""What became of recalls: words that find nothing, and what is shown and never looked at."""

from collections.abc import Iterator, Sequence

from litestar import Router, delete, get

from services.core import api, engine_api, models, ports
from services.core.recall import report
from services.proxy.parts import Parts
from services.proxy.routes import failures, given, memories

_MOST = 100


def router() -> Router:
    return Router("/recall/report", route_handlers=failures.told(reported, dropped), tags=["recall"])


@get(sync_to_thread=True)
def reported(parts: given.Parts, principal: given.Principal) -> engine_api.Report:
    """Of the caller's own last uses: words that found nothing twice or more, and what was shown three times or more and never opened."""
    uses = parts.uses.read(principal)
    return engine_api.Report(
        asked=sum(isinstance(use, ports.Asked) for use in uses),
        opened=sum(isinstance(use, ports.Opened) for use in uses),
        since=api.time_of(uses[0].at) if uses else None,
        dead=tuple(engine_api.DeadQuery(one.words, one.asked, api.time_of(one.last_at)) for one in report.dead(uses)[:_MOST]),
        unopened=tuple(_there(parts, principal, report.unopened(uses)))[:_MOST],
    )


@delete(status_code=200, sync_to_thread=True)
def dropped(parts: given.Parts, principal: given.Principal) -> engine_api.Dropped:
    """Drop all that is on record of the caller's uses."""
    return engine_api.Dropped(parts.uses.clear(principal))


def _there(parts: Parts, principal: models.Principal, unopened: Sequence[report.Unopened]) -> Iterator[engine_api.Unopened]:
    """Those that still exist."""
    scope = memories.managed(principal)
    titles = {note.id: note.title for note in parts.notes.find(scope, ports.NoteWhere(ids=tuple(one.id for one in unopened)), limit=len(unopened))}
    for one in unopened:
        if one.id in titles:
            yield engine_api.Unopened(one.id, "note", titles[models.NoteId(one.id)], one.surfaced, api.time_of(one.last_at))
        elif (memory := parts.store.get(scope, one.id)) and memory.status is models.Status.CURRENT:
            yield engine_api.Unopened(one.id, "memory", memory.text, one.surfaced, api.time_of(one.last_at))
