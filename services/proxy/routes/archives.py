"""Everything of one's own, out and in again."""

from litestar import MediaType, Router, get, post
from litestar.openapi import ResponseSpec
from litestar.params import FromQuery, JSONBody
from litestar.response import Stream

from services.core import archive, engine_api, import_api, models, ports
from services.proxy import archiving, auditing, importing
from services.proxy.parts import Parts
from services.proxy.routes import failures, given

_DOCUMENT = {200: ResponseSpec(archive.Archive, description="The whole document", generate_examples=False)}


def router() -> Router:
    handlers = failures.told(exported, imported, turns_imported, memories_exported, memories_imported)
    return Router("/", route_handlers=handlers, tags=["archives"], request_max_body_size=archive.LONGEST_BODY_BYTES)


@get("/export", sync_to_thread=True, responses=_DOCUMENT)
def exported(parts: given.Parts, principal: given.Principal, kind: FromQuery[archive.Kind] = "all") -> Stream:
    """The caller's own memories, with their history, and notes, as one JSON document that comes as it is read."""
    return _streamed(parts, principal, kind)


@get("/memories/export", sync_to_thread=True, responses=_DOCUMENT)
def memories_exported(parts: given.Parts, principal: given.Principal) -> Stream:
    """The same, of memories alone."""
    return _streamed(parts, principal, "memories")


@post("/import", status_code=200, sync_to_thread=True)
def imported(
    parts: given.Parts, principal: given.Principal, data: JSONBody[archive.Archive], existing: FromQuery[archiving.Existing] = "keep"
) -> engine_api.Imported:
    """Take in what an export wrote, as the caller's own; texts are redacted and embedded again. existing: what becomes of memories and notes that
    are there already. At most 500 at once: longer exports go in parts, each with the same head."""
    return archiving.imported(parts, principal, data, existing)


@post("/import/turns", status_code=200, sync_to_thread=True)
def turns_imported(parts: given.Parts, principal: given.Principal, data: JSONBody[import_api.Turns]) -> import_api.Taken:
    """Learn from what was said elsewhere. What is learnt waits (status `pending`) until its owner releases it. At most 64 turns at once; the same
    again changes nothing."""
    taken = importing.taken(parts, principal, data)
    if taken.new:
        auditing.note(parts, principal, ports.Act.IMPORTED, detail=data.source, count=taken.new)
    return taken


@post("/memories/import", status_code=200, sync_to_thread=True)
def memories_imported(
    parts: given.Parts, principal: given.Principal, data: JSONBody[archive.Archive], existing: FromQuery[archiving.Existing] = "keep"
) -> engine_api.Imported:
    """The same."""
    return archiving.imported(parts, principal, data, existing)


def _streamed(parts: Parts, principal: models.Principal, kind: archive.Kind) -> Stream:
    headers = {"content-disposition": 'attachment; filename="brb-export.json"'}
    return Stream(archiving.exported(parts, principal, kind), media_type=MediaType.JSON, headers=headers)
