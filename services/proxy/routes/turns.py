"""What one's own turns were told, and why."""

from litestar import Router, get
from litestar.params import FromPath, FromQuery

from services.core import api, errors, models, ports, rights, turn_api
from services.proxy import auditing
from services.proxy.parts import Parts
from services.proxy.routes import failures, given, memories


def router() -> Router:
    return Router("/", route_handlers=failures.told(latest, explained, uses), tags=["turns"])


@get("/turns", sync_to_thread=True)
def latest(parts: given.Parts, principal: given.Principal, limit: FromQuery[int] = api.DEFAULT_PAGE) -> turn_api.Turns:
    """The caller's last turns, newest first. `limit` is held between 1 and 1000."""
    return turn_api.Turns(tuple(map(turn_api.brief_of, parts.turns.latest(principal, limit=memories.page(limit)))))


@get("/turns/{turn:str}", sync_to_thread=True)
def explained(parts: given.Parts, principal: given.Principal, turn: FromPath[str]) -> turn_api.Turn:
    """One turn of the caller's: the id that its answer had in `x-brb-turn`, or the first characters of it, or `latest`."""
    told = _found(parts, principal, turn)
    scope = rights.managed(principal)
    there = {one.id: memory for one in told.considered if (memory := parts.store.get(scope, one.id)) is not None}
    auditing.note(parts, principal, ports.Act.READ, list(there), detail="turn")
    return turn_api.turn_of(told, there)


@get("/memories/{memory_id:str}/uses", sync_to_thread=True)
def uses(parts: given.Parts, principal: given.Principal, memory_id: FromPath[str], limit: FromQuery[int] = api.DEFAULT_PAGE) -> turn_api.Turns:
    """The caller's turns that were told of the memory, newest first. `limit` is held between 1 and 1000."""
    memory = memories.found(parts, principal, memory_id)
    return turn_api.Turns(tuple(map(turn_api.brief_of, parts.turns.showing(principal, memory.id, limit=memories.page(limit)))))


def _found(parts: Parts, principal: models.Principal, turn: str) -> ports.Told:
    if turn == "latest":
        newest = parts.turns.latest(principal, limit=1)
        if not newest:
            raise errors.NotFound("no turn is on record: say something through BRB first")
        return newest[0]
    if (whole := parts.turns.find(principal, turn)) is not None:
        return whole
    if len(turn) < turn_api.SHORTEST_PREFIX:
        raise errors.BadInput(f"{turn!r} is too short: give at least {turn_api.SHORTEST_PREFIX} characters of the id")
    matching = parts.turns.beginning(principal, turn)
    if len(matching) > 1:
        raise errors.BadInput(f"{len(matching)} turns begin with {turn}: give more of the id")
    found = parts.turns.find(principal, matching[0]) if matching else None
    if found is None:
        raise errors.NotFound(f"there is no turn {turn[:80]} of yours on record: what turns were told is kept for BRB_LEDGER_DAYS days")
    return found
