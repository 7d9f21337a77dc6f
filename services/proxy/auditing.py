"""Noting who did what in the audit log of the team, with ids and never with a text.

Called after the deed; before it, where the event is what undoes it, and where something is erased: nobody could tell any more what it was.
"""

from collections.abc import Mapping, Sequence

import structlog

from services.core import errors, models, ports, telemetry
from services.proxy.parts import Parts

MOST_IDS = 100
"""Named in one event; of more it says how many."""

_log = structlog.get_logger()


def note(
    parts: Parts,
    principal: models.Principal,
    act: ports.Act,
    ids: Sequence[str] = (),
    *,
    detail: str = "",
    before: Mapping[str, tuple[str, ...]] | None = None,
    count: int | None = None,
) -> str:
    """The id of the event, "" if it could not be recorded.

    ids: of memories, notes or tokens. count: how many, where that is known and the ids are not. detail, before: as in `ports.Event`.

    Never raises because Redis is away. A read goes on then. So does a change: it is done by the time it is noted, and refusing it afterwards
    would tell of a failure that did not happen. Before it is done it is refused, for nothing is changed without the owner's lock, which
    Redis holds as well. What slips between the two is in the log of the process, as a warning.
    """
    event = ports.Event(
        at=parts.clock(),
        team=principal.team,
        user=principal.user,
        act=act,
        ids=tuple(ids[:MOST_IDS]),
        count=len(ids) if count is None else count,
        detail=detail,
        before=before or {},
    )
    try:
        written = parts.audit.add(event)
        telemetry.AUDITED.labels(act).inc()
        return written
    except errors.Unavailable:
        _log.warning("audit_not_recorded", act=str(act), count=event.count)
        return ""
