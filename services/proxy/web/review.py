"""What waits for a decision: one beside the other with what is near, decided with a key, and undone with another."""

from typing import Any, NamedTuple, get_args

from litestar import Response, get, post
from litestar.params import FromPath

from services.core import review_api, reviewing
from services.proxy.routes import reviews
from services.proxy.web import differing, forms, visits

SIZE = 20
DONE = {
    reviewing.Decision.APPROVE: "approved",
    reviewing.Decision.REJECT: "rejected",
    reviewing.Decision.KEEP: "kept private",
    reviewing.Decision.RELEASE: "released",
    reviewing.Decision.PROMOTE: "proposed",
}
KEYS = {
    reviewing.Decision.APPROVE: "a",
    reviewing.Decision.RELEASE: "a",
    reviewing.Decision.REJECT: "r",
    reviewing.Decision.KEEP: "p",
}


class Said(NamedTuple):
    """What was just done. event: by which it can be undone, "" if it can't be."""

    text: str
    event: str = ""
    failed: tuple[review_api.Result, ...] = ()
    decision: str = ""


class Beside(NamedTuple):
    memory: review_api.Beside
    pieces: tuple[differing.Piece, ...]


class Item(NamedTuple):
    """pieces: its words, marked where the nearest beside it has others."""

    waiting: review_api.Waiting
    pieces: tuple[differing.Piece, ...]
    beside: tuple[Beside, ...]


@get("/review", sync_to_thread=True)
def queue(visit: visits.Given) -> Response[str]:
    return _page(visit)


@post("/review", sync_to_thread=True)
def decided(visit: visits.Given, form: forms.Given) -> Response[str]:
    """Decide about one or several."""
    ids = tuple(dict.fromkeys(form.getall("ids", [])))
    if not ids:
        return _page(visit, Said("Nothing was selected."))
    choice = forms.decision(form)
    body = review_api.Decide(decision=choice.value, ids=ids, force=bool(form.get("force")), as_of=forms.moment(form, "as_of"))  # type: ignore[arg-type]
    done: review_api.Decided = visit.ask(reviews.decided, body)
    return _page(visit, _said(done, DONE[choice], undoable=True))


@post("/review/{event:str}/undo", sync_to_thread=True)
def undone(visit: visits.Given, event: FromPath[str]) -> Response[str]:
    done: review_api.Decided = visit.ask(reviews.undone, event)
    return _page(visit, _said(done, "as it was before"))


def _said(done: review_api.Decided, what: str, *, undoable: bool = False) -> Said:
    count = sum(one.outcome == "done" for one in done.results)
    failed = tuple(one for one in done.results if one.outcome != "done")
    text = f"{count} {'memory' if count == 1 else 'memories'} {what}." if count else "Nothing was changed."
    return Said(text, done.event if undoable else "", failed, done.decision.value)


def _page(visit: visits.Visit, said: Said | None = None) -> Response[str]:
    query = visit.request.query_params
    why = query.get("why") if query.get("why") in get_args(reviewing.Why) else None
    page = visits.page_number(query.get("page", ""))
    found: review_api.Reviews = visit.ask(reviews.listed, limit=SIZE, offset=(page - 1) * SIZE, why=why)
    if not found.waiting and page > 1:  # the last of a page was decided
        page = max(1, -(-found.total // SIZE))
        found = visit.ask(reviews.listed, limit=SIZE, offset=(page - 1) * SIZE, why=why)
    return visit.page("review.html", items=[_item(one) for one in found.waiting], why=why or "", page=page, said=said, **_of(found))


def _of(found: review_api.Reviews) -> dict[str, Any]:
    choices = sorted({decision for one in found.waiting for decision in one.may}, key=list(reviewing.Decision).index)
    more = found.offset + len(found.waiting) < found.total
    return {"total": found.total, "as_of": found.as_of.isoformat(), "notices": found.notices, "choices": choices, "keys": KEYS, "more": more}


def _item(waiting: review_api.Waiting) -> Item:
    text = waiting.memory.text
    beside = tuple(Beside(one, differing.pieces(one.text, text)) for one in waiting.beside)
    return Item(waiting, differing.pieces(text, waiting.beside[0].text if waiting.beside else ""), beside)


HANDLERS = (queue, decided, undone)
