"""Notes, to be read."""

from collections.abc import Sequence

from litestar import Response, get
from litestar.params import FromPath

from services.core import engine_api, models, note_api
from services.core.notes import front_matter
from services.proxy.routes import graph, notes
from services.proxy.web import prose, visits

SIZE = 50


@get("/notes", sync_to_thread=True)
def listed(visit: visits.Given) -> Response[str]:
    query = visit.request.query_params
    tag, page = query.get("tag", "").strip(), visits.page_number(query.get("page", ""))
    found: note_api.Notes = visit.ask(notes.listed, limit=SIZE, offset=(page - 1) * SIZE, tag=tag or None)
    return visit.page("notes.html", notes=found.notes, total=found.total, tag=tag, page=page, more=page * SIZE < found.total)


@get("/notes/{note_id:str}", sync_to_thread=True)
def shown(visit: visits.Given, note_id: FromPath[str]) -> Response[str]:
    note: note_api.Note = visit.ask(notes.shown, note_id)
    links, back = _linked(visit, note)
    body = front_matter.split(note.text).body
    return visit.page(
        "note.html",
        note=note,
        html=prose.html(body),
        cut=len(body) > prose.LONGEST,
        links=[one for one in links if one.kind == "wikilink"],
        backlinks=back,
    )


def _linked(visit: visits.Visit, note: note_api.Note) -> tuple[Sequence[engine_api.Relationship], Sequence[note_api.Listed]]:
    """What it points at, and what points at it. What another has only proposed is part of no graph yet."""
    if note.visibility is models.Visibility.PROPOSED and note.owner != visit.principal.user:
        return (), ()
    links: engine_api.Relationships = visit.ask(graph.relationships, note.id)
    back: note_api.Notes = visit.ask(graph.backlinks, note.id)
    return links.relationships, back.notes


HANDLERS = (listed, shown)
