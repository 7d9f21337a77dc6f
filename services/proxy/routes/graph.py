"""What notes point at and what points at them, and notes that resemble one."""

import math
from collections.abc import Iterable, Sequence

from litestar import Router, get
from litestar.params import FromPath, FromQuery

from services.core import api, engine_api, errors, models, note_api, ports
from services.core.models import Entity, EntityKind
from services.core.notes import graph
from services.proxy.routes import failures, given, notes

_DEFAULT_SIMILAR = 10
_MOST_SIMILAR = 100
_PASSAGES_A_NOTE = 8  # looked at for each note wanted: long notes have many that resemble one another
_MOST_VALUES = 10_000


def router() -> Router:
    handlers = failures.told(counted, all_entities, named, linking, entities, relationships, backlinks, similar)
    return Router("/notes", route_handlers=handlers, tags=["notes"])


@get("/count", sync_to_thread=True)
def counted(parts: given.Parts, principal: given.Principal) -> engine_api.Count:
    """How many notes the caller sees."""
    return engine_api.Count(parts.notes.count(notes.managed(principal)))


@get("/entities", sync_to_thread=True)
def all_entities(
    parts: given.Parts, principal: given.Principal, kind: FromQuery[EntityKind], limit: FromQuery[int] = api.LARGEST_PAGE
) -> engine_api.AllEntities:
    """All values of a kind of entity in the caller's notes, most named first. `limit` is held between 1 and 10,000."""
    found = parts.notes.entities(notes.managed(principal), kind, limit=min(max(1, limit), _MOST_VALUES))
    return engine_api.AllEntities(kind, tuple(engine_api.Named(value, count) for value, count in found))


@get("/by-entity", sync_to_thread=True)
def named(
    parts: given.Parts,
    principal: given.Principal,
    kind: FromQuery[EntityKind],
    value: FromQuery[str],
    limit: FromQuery[int] = api.DEFAULT_PAGE,
    offset: FromQuery[int] = 0,
) -> note_api.Notes:
    """The notes that name an entity (`kind=hashtag&value=infra`), the last changed first."""
    return _page(parts.notes, principal, Entity(kind, _unmarked(kind, value)), limit, offset)


@get("/backlinks", sync_to_thread=True)
def linking(
    parts: given.Parts,
    principal: given.Principal,
    title: FromQuery[str],
    limit: FromQuery[int] = api.DEFAULT_PAGE,
    offset: FromQuery[int] = 0,
) -> note_api.Notes:
    """The notes with a wikilink to a title or file name, which need not exist."""
    return _page(parts.notes, principal, Entity(EntityKind.WIKILINK, _filled("title", title)), limit, offset)


@get("/{note_id:str}/entities", sync_to_thread=True)
def entities(parts: given.Parts, principal: given.Principal, note_id: FromPath[str]) -> engine_api.Entities:
    """What the note names, in the order of its text."""
    return engine_api.Entities(notes.found(parts, principal, note_id).entities)


@get("/{note_id:str}/relationships", sync_to_thread=True)
def relationships(parts: given.Parts, principal: given.Principal, note_id: FromPath[str]) -> engine_api.Relationships:
    """What the note names, and the notes that its wikilinks mean."""
    note = notes.found(parts, principal, note_id)
    edges = graph.relationships(parts.notes, notes.managed(principal), note)
    return engine_api.Relationships(note.id, tuple(engine_api.Relationship(one.kind, one.value, one.raw, one.targets) for one in edges))


@get("/{note_id:str}/backlinks", sync_to_thread=True)
def backlinks(
    parts: given.Parts,
    principal: given.Principal,
    note_id: FromPath[str],
    limit: FromQuery[int] = api.DEFAULT_PAGE,
    offset: FromQuery[int] = 0,
) -> note_api.Notes:
    """The other notes with a wikilink to this one, by its title or file name, the last changed first. `limit` is held between 1 and 1000."""
    limit, offset = _held(limit, offset)
    note = notes.found(parts, principal, note_id)
    scope = notes.managed(principal)
    linked = {one.id: one for name in note.names for one in graph.backlinks(parts.notes, scope, name) if one.id != note.id}
    listed = sorted(linked.values(), key=lambda one: (-one.updated_at, one.id))
    return note_api.Notes(tuple(map(note_api.listed_of, listed[offset : offset + limit])), len(listed), limit, offset)


@get("/{note_id:str}/similar", sync_to_thread=True)
def similar(
    parts: given.Parts, principal: given.Principal, note_id: FromPath[str], limit: FromQuery[int] = _DEFAULT_SIMILAR
) -> engine_api.SimilarNotes:
    """The notes of nearest meaning: by the mean of their passages, which are not embedded again. `limit` is held between 1 and 100."""
    note = notes.found(parts, principal, note_id)
    scope, limit = notes.managed(principal), min(max(1, limit), _MOST_SIMILAR)
    centre = _centre(parts.notes, scope, note.id)
    if centre is None:
        return engine_api.SimilarNotes(note.id, ())
    near = parts.notes.nearest(scope, centre, limit=(limit + 1) * _PASSAGES_A_NOTE)
    ids = list(dict.fromkeys(hit.passage.note for hit in near if hit.passage.note != note.id))
    scores = {each: _cosine(centre, other) for each in ids if (other := _centre(parts.notes, scope, each)) is not None}
    best = sorted(scores, key=lambda each: (-scores[each], each))[:limit]
    listed = {one.id: one for one in parts.notes.find(scope, ports.NoteWhere(ids=tuple(best)), limit=limit)}
    return engine_api.SimilarNotes(note.id, tuple(_scored(listed[each], scores[each]) for each in best if each in listed))


def _page(store: ports.NoteStore, principal: models.Principal, entity: Entity, limit: int, offset: int) -> note_api.Notes:
    limit, offset = _held(limit, offset)
    scope, where = notes.managed(principal), ports.NoteWhere(entity=entity)
    found = store.find(scope, where, limit=limit, offset=offset)
    return note_api.Notes(tuple(map(note_api.listed_of, found)), store.count(scope, where), limit, offset)


def _held(limit: int, offset: int) -> tuple[int, int]:
    return min(max(1, limit), api.LARGEST_PAGE), min(max(0, offset), api.LAST_OFFSET)


def _unmarked(kind: EntityKind, value: str) -> str:
    """Without the marks that it has in a text."""
    marks = {EntityKind.HASHTAG: "#", EntityKind.MENTION: "@"}.get(kind, "")
    plain = value.removeprefix(marks) if marks else value
    return _filled("value", plain.removeprefix("[[").removesuffix("]]") if kind is EntityKind.WIKILINK else plain)


def _filled(name: str, value: str) -> str:
    if not value.strip():
        raise errors.BadInput(f"{name} is empty")
    return value.strip()


def _scored(note: models.Note, score: float) -> engine_api.SimilarNote:
    fields = {field: getattr(note, field) for field in note_api.Listed.__struct_fields__}
    return engine_api.SimilarNote(**fields, score=round(score, 4))


def _centre(store: ports.NoteStore, scope: models.Scope, note_id: str) -> list[float] | None:
    """The mean of a note's passages, of unit length; None without any."""
    digests = [passage.digest for passage in store.passages(scope, note_id)]
    vectors = store.embeddings(scope, digests)
    return _unit([sum(column) for column in zip(*(vectors[digest] for digest in digests if digest in vectors), strict=True)])


def _unit(vector: Iterable[float]) -> list[float] | None:
    values = list(vector)
    length = math.hypot(*values)
    return [value / length for value in values] if length else None


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
