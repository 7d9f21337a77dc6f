"""Why something was, or was not, in a conversation."""

from litestar import Response, get
from litestar.params import FromPath

from services.core import turn_api
from services.proxy.routes import turns
from services.proxy.web import visits

_SHOWN = 100
OUTCOMES = {
    "injected": "told",
    "empty": "nothing fitted",
    "deadline": "recall took too long",
    "ledger_away": "the record of what was told was away",
    "error": "recall failed",
}


@get("/turns", sync_to_thread=True)
def latest(visit: visits.Given) -> Response[str]:
    found: turn_api.Turns = visit.ask(turns.latest, limit=_SHOWN)
    return visit.page("turns.html", turns=found.turns, outcomes=OUTCOMES)


@get("/turns/{turn:str}", sync_to_thread=True)
def explained(visit: visits.Given, turn: FromPath[str]) -> Response[str]:
    found: turn_api.Turn = visit.ask(turns.explained, turn)
    return visit.page("turn.html", turn=found, outcomes=OUTCOMES)


HANDLERS = (latest, explained)
