"""Browsing, searching and looking at memories; correcting and forgetting them."""

from typing import Any

from litestar import Response, get, post
from litestar.params import FromPath

from services.core import api, engine_api, erasure_api, errors, models, reviewing, rights, turn_api
from services.proxy import reviews
from services.proxy.routes import memories, recall, turns
from services.proxy.web import browsing, forms, visits

_FOUND = 20
_NEAR = 5
_USES = 20
_BACK = {"review": "/ui/review"}
_TYPING = "q"  # the id of the field that searches while somebody types


@get(sync_to_thread=True)
def browsed(visit: visits.Given) -> Response[str]:
    """All there is, or what a search finds."""
    filters = browsing.Filters.of(visit.request.query_params)
    categories = [each.value for each in models.Category]
    if filters.q:
        return visit.page("search.html", filters=filters, categories=categories, ages=browsing.AGES, **_searched(visit, filters))
    page = browsing.listed(visit, filters)
    return visit.page("browse.html", filters=filters, categories=categories, ages=browsing.AGES, listed=page)


def _searched(visit: visits.Visit, filters: browsing.Filters) -> dict[str, Any]:
    """What was typed so far is not on record as asked for: nobody asked for half a word."""
    typed = visit.request.htmx.trigger == _TYPING
    ask = api.Ask(query=filters.q, kind="memories", limit=_FOUND, explain=True)
    answer = recall.recalled(visit.parts, rights.managed(visit.principal), ask, on_record=not typed)
    found = [one for one in answer.memories if filters.takes(one, visit.now)]
    dropped = [one for one in answer.dropped or () if filters.takes(one, visit.now)]
    return {"found": found, "dropped": dropped, "notices": answer.notices}


@post("/memories", sync_to_thread=True)
def added(visit: visits.Given, form: forms.Given) -> Response[str]:
    add = api.Add(text=form.get("text", ""), category=forms.category(form), project=form.get("project", "").strip())
    made: Response[api.Memory] = visit.ask(memories.added, add)
    return visit.to(f"/ui/memories/{made.content.id}")


@get("/memories/{memory_id:str}", sync_to_thread=True)
def shown(visit: visits.Given, memory_id: FromPath[str]) -> Response[str]:
    """One memory, with all that is known of it."""
    return visit.page("memory.html", **_whole(visit, memory_id))


def _whole(visit: visits.Visit, memory_id: str) -> dict[str, Any]:
    parts, principal = visit.parts, visit.principal
    memory: api.Memory = visit.ask(memories.shown, memory_id)
    lineage: api.Lineage = visit.ask(memories.lineage, memory.id)
    stored = memories.found(parts, principal, memory.id)
    near, notice = _near(visit, memory.id)
    uses, known_turns, away = _told(visit, memory)
    return {
        "memory": memory,
        "versions": [one for one in lineage.memories if one.id != memory.id],
        "near": near,
        "notice": notice,
        "uses": uses,
        "known_turns": known_turns,
        "away": away,
        "may": reviewing.possible(stored, principal),
        "changes": rights.changes(principal, stored),
        "categories": [each.value for each in models.Category],
    }


def _near(visit: visits.Visit, memory_id: str) -> tuple[tuple[engine_api.SimilarMemory, ...], str]:
    try:
        found: engine_api.SimilarMemories = visit.ask(memories.similar, memory_id, limit=_NEAR)
    except (errors.Transient, TimeoutError) as error:
        return (), f"nothing is compared: {error}"
    return found.memories, ""


def _told(visit: visits.Visit, memory: api.Memory) -> tuple[tuple[turn_api.Brief, ...], set[str], str]:
    """Turns that were told of it, which turns of its evidence are on record, and why neither is known."""
    try:
        uses: turn_api.Turns = visit.ask(turns.uses, memory.id, limit=_USES)
        said_in = {one.turn for one in memory.evidence if one.turn and visit.parts.turns.find(visit.principal, one.turn) is not None}
    except errors.Transient as error:
        return (), set(), f"what turns were told is not known now: {error}"
    return uses.turns, said_in, ""


@post("/memories/{memory_id:str}", sync_to_thread=True)
def edited(visit: visits.Given, form: forms.Given, memory_id: FromPath[str]) -> Response[str]:
    """Correct it, and approve it at once if the form says so."""
    before = memories.found(visit.parts, visit.principal, memory_id)
    text, category = form.get("text", "").replace("\r\n", "\n").strip(), forms.category(form)
    then = forms.decision(form, "then") if form.get("then") else None
    changed = api.Edit(text=None if text == before.text else text, category=None if category == before.category else category)
    if changed != api.Edit():
        visit.ask(memories.edited, memory_id, changed)
    if then is not None:
        reviews.decide_one(visit.parts, visit.principal, then, memory_id)
    return visit.to(_BACK.get(form.get("back", ""), f"/ui/memories/{memory_id}"))


@post("/memories/{memory_id:str}/decide", sync_to_thread=True)
def decided(visit: visits.Given, form: forms.Given, memory_id: FromPath[str]) -> Response[str]:
    reviews.decide_one(visit.parts, visit.principal, forms.decision(form), memory_id, force=bool(form.get("force")))
    return visit.to(f"/ui/memories/{memory_id}")


@get("/memories/{memory_id:str}/forget", sync_to_thread=True)
def going(visit: visits.Given, memory_id: FromPath[str]) -> Response[str]:
    """What would go, before it goes."""
    memory: api.Memory = visit.ask(memories.shown, memory_id)
    rights.check_changes(visit.principal, memories.found(visit.parts, visit.principal, memory.id))
    lineage: api.Lineage = visit.ask(memories.lineage, memory.id)
    uses: turn_api.Turns = visit.ask(turns.uses, memory.id, limit=api.LARGEST_PAGE)
    return visit.page("forget.html", memory=memory, versions=lineage.memories, uses=uses.turns)


@post("/memories/{memory_id:str}/forget", sync_to_thread=True)
def forgotten(visit: visits.Given, memory_id: FromPath[str]) -> Response[str]:
    receipt: erasure_api.Receipt = visit.ask(memories.forgotten, memory_id)
    return visit.page("forgotten.html", receipt=receipt)


HANDLERS = (browsed, added, shown, edited, decided, going, forgotten)
