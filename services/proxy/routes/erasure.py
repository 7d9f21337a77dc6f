"""Forgetting what is named, found, said in a conversation, or all there is; with a receipt."""

import uuid

from litestar import Router, post
from litestar.params import JSONBody
from msgspec.structs import replace

from services.core import api, erasure_api, errors, models, rights
from services.core.erasing import Plan
from services.proxy import erasing
from services.proxy.parts import Parts
from services.proxy.routes import failures, given
from services.proxy.routes.recall import recalled

_MOST_FOUND = 100


def router() -> Router:
    return Router("/", route_handlers=failures.told(forgotten), tags=["erasure"])


@post("/forget", status_code=200, sync_to_thread=True)
def forgotten(parts: given.Parts, principal: given.Principal, data: JSONBody[erasure_api.Forget]) -> erasure_api.Forgotten:
    """Erase memories with all their history, and notes: from the store, from what was inserted and is remembered of it, and from what waits to be
    learnt. `ids` go at once; `query` lists what a search finds; `session`, `all` and `team` list what would go, until `confirm`."""
    _check(data)
    if data.ids:
        return _ids(parts, principal, data.ids)
    if data.query:
        return _listed(parts, principal, data)
    if data.team:
        erasing.check_confirmed(principal, data.team)
        return _done(erasing.whole_team(parts, principal)) if data.confirm else _preview(principal, erasing.team_plan(parts, principal))
    if data.session:
        return _done(erasing.session(parts, principal, data.session)) if data.confirm else _session_preview(parts, principal, data.session)
    if data.confirm:
        return _done(erasing.everything(parts, principal, notes=data.notes))
    return _preview(principal, erasing.own_plan(parts, principal), erasing.own_notes(parts, principal) if data.notes else [])


def _uuid(one_id: str) -> str:
    try:
        return str(uuid.UUID(one_id))
    except ValueError:
        raise errors.BadInput(f"{one_id[:80]!r} is not the id of a memory or note: ids are UUIDs") from None


def _check(data: erasure_api.Forget) -> None:
    asked = [name for name in ("ids", "query", "session", "all", "team") if getattr(data, name)]
    if len(asked) != 1:
        raise errors.BadInput(f"give just one of ids, query, session, all and team (given: {', '.join(asked) or 'none'})")
    if len(data.ids) > erasure_api.MOST_IDS:
        raise errors.BadInput(f"{len(data.ids)} ids at once: at most {erasure_api.MOST_IDS} are taken")
    if data.query and data.confirm:
        raise errors.BadInput("a query only lists what it finds: send the ids of those that are to go")


def _ids(parts: Parts, principal: models.Principal, ids: tuple[str, ...]) -> erasure_api.Forgotten:
    what = erasing.chosen(parts, principal, map(_uuid, ids))
    if not what.memories and not what.notes:
        return erasure_api.Forgotten(None, missing=what.missing)
    return replace(_done(erasing.forget(parts, principal, what)), missing=what.missing)


def _listed(parts: Parts, principal: models.Principal, data: erasure_api.Forget) -> erasure_api.Forgotten:
    """Those among what a search finds that the caller may erase."""
    ask = api.Ask(query=data.query, kind="all" if data.notes else "memories", limit=_MOST_FOUND)
    found = recalled(parts, models.Scope(principal.team, principal.user, projects=None), ask)
    seen = rights.managed(principal)
    memories = [memory for one in found.memories if (memory := parts.store.get(seen, one.id)) and rights.changes(principal, memory)]
    notes = [note for one in found.notes if (note := parts.notes.get(seen, one.id)) and rights.changes(principal, note)]
    return _preview(principal, Plan(gone=tuple(memories)), notes)


def _session_preview(parts: Parts, principal: models.Principal, session: str) -> erasure_api.Forgotten:
    return _preview(principal, erasing.session_plan(parts, principal, session))


def _preview(principal: models.Principal, plan: Plan, notes: list[models.Note] | None = None) -> erasure_api.Forgotten:
    sight = rights.managed(principal)
    going = [
        *(erasure_api.going_of(memory, sight) for memory in plan.gone),
        *(erasure_api.going_of(memory, sight, whole=False) for memory in plan.changed),
        *map(erasure_api.going_note, notes or []),
    ]
    return erasure_api.Forgotten(None, tuple(going[: erasure_api.MOST_SHOWN]), len(going), left=erasing.left_of(plan))


def _done(receipt: erasure_api.Receipt) -> erasure_api.Forgotten:
    return erasure_api.Forgotten(receipt, count=receipt.deleted + receipt.changed + receipt.notes, left=receipt.left)
