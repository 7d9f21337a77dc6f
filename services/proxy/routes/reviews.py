"""Deciding about what waits: what is proposed to the team, what reads like an instruction, what was imported."""

import uuid

from litestar import Router, get, post
from litestar.params import FromPath, FromQuery, JSONBody

from services.core import api, errors, models, review_api, reviewing
from services.proxy import reviews
from services.proxy.routes import failures, given


def router() -> Router:
    return Router("/", route_handlers=failures.told(listed, decided, undone, approved, rejected, promoted), tags=["reviews"])


@get("/reviews", sync_to_thread=True)
def listed(
    parts: given.Parts,
    principal: given.Principal,
    limit: FromQuery[int] = review_api.DEFAULT_PAGE,
    offset: FromQuery[int] = 0,
    why: FromQuery[reviewing.Why | None] = None,
) -> review_api.Reviews:
    """What waits for the caller: his own memories that are quarantined, pending or proposed; for a curator, all that is proposed to the team. Each
    with what is near to it. `limit` is held between 1 and 100."""
    limit, offset = min(max(1, limit), review_api.LARGEST_PAGE), min(max(0, offset), api.LAST_OFFSET)
    return reviews.waiting(parts, principal, why=why, limit=limit, offset=offset)


@post("/reviews", status_code=200, sync_to_thread=True)
def decided(parts: given.Parts, principal: given.Principal, data: JSONBody[review_api.Decide]) -> review_api.Decided:
    """Decide about memories, each by itself. The answer names the event by which all of it can be undone."""
    if not data.ids or len(data.ids) > review_api.MOST_AT_ONCE:
        raise errors.BadInput(f"{len(data.ids)} memories at once: 1 to {review_api.MOST_AT_ONCE} are taken")
    as_of = models.within_calendar(data.as_of.timestamp()) if data.as_of else None
    return reviews.decide(parts, principal, reviewing.Decision(data.decision), [_uuid(each) for each in data.ids], force=data.force, as_of=as_of)


@post("/reviews/{event:str}/undo", status_code=200, sync_to_thread=True)
def undone(parts: given.Parts, principal: given.Principal, event: FromPath[str]) -> review_api.Decided:
    """Undo a decision: each memory that still is as the decision left it becomes as it was; of the others it is said why not."""
    return reviews.undo(parts, principal, event)


@post("/memories/{memory_id:str}/approve", status_code=200, sync_to_thread=True)
def approved(parts: given.Parts, principal: given.Principal, memory_id: FromPath[str], force: FromQuery[bool] = False) -> review_api.Decided:
    """A curator: the team has it from now on."""
    return reviews.decide_one(parts, principal, reviewing.Decision.APPROVE, _uuid(memory_id), force=force)


@post("/memories/{memory_id:str}/reject", status_code=200, sync_to_thread=True)
def rejected(parts: given.Parts, principal: given.Principal, memory_id: FromPath[str]) -> review_api.Decided:
    """A curator: it stays its author's, and is not proposed again."""
    return reviews.decide_one(parts, principal, reviewing.Decision.REJECT, _uuid(memory_id))


@post("/memories/{memory_id:str}/promote", status_code=200, sync_to_thread=True)
def promoted(parts: given.Parts, principal: given.Principal, memory_id: FromPath[str], force: FromQuery[bool] = False) -> review_api.Decided:
    """Its owner proposes it to the team. A curator's own is shared at once, unless it reads like an instruction."""
    return reviews.decide_one(parts, principal, reviewing.Decision.PROMOTE, _uuid(memory_id), force=force)


def _uuid(memory_id: str) -> str:
    try:
        return str(uuid.UUID(memory_id))
    except ValueError:
        raise errors.BadInput(f"{memory_id[:80]!r} is not the id of a memory: ids are UUIDs") from None
