"""Notes: putting, listing, reading and erasing them."""

import uuid
from collections.abc import Sequence
from typing import Annotated, Literal

from litestar import Router, delete, get, patch, post
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from msgspec.structs import replace

from services.core import api, archive, engine_api, errors, json_texts, models, note_api, ports, rights
from services.core.notes.writing import NoteWriter, digest_of
from services.proxy import auditing, redacting, uses
from services.proxy.parts import Parts
from services.proxy.routes import failures, given

Whose = Literal["private", "proposed", "team", "all"]


def router() -> Router:
    return Router("/notes", route_handlers=failures.told(listed, files, shown, put, put_many, annotated, erased), tags=["notes"])


def managed(principal: models.Principal) -> models.Scope:
    """What a model may be told on the caller's behalf, whatever its project: nothing that others have only proposed."""
    return models.Scope(principal.team, principal.user, projects=None)


def writer(parts: Parts) -> NoteWriter:
    return NoteWriter(parts.notes, parts.embedder, owner_lock=parts.owner_lock, clock=parts.clock)


@get(sync_to_thread=True)
def listed(
    parts: given.Parts,
    principal: given.Principal,
    limit: FromQuery[int] = api.DEFAULT_PAGE,
    offset: FromQuery[int] = 0,
    source: FromQuery[str | None] = None,
    path: FromQuery[str | None] = None,
    tag: FromQuery[str | None] = None,
    whose: Annotated[Whose, QueryParameter(name="scope")] = "all",
) -> note_api.Notes:
    """A page of notes without their texts, the last changed first. `limit` is held between 1 and 1000."""
    limit, offset = min(max(1, limit), api.LARGEST_PAGE), min(max(0, offset), api.LAST_OFFSET)
    tagged = None if tag is None else models.Entity(models.EntityKind.HASHTAG, tag.removeprefix("#"))
    where = ports.NoteWhere(source=source, path=path, entity=tagged, visibility=None if whose == "all" else models.Visibility(whose))
    found = parts.notes.find(rights.managed(principal), where, limit=limit, offset=offset)
    return note_api.Notes(tuple(map(note_api.listed_of, found)), parts.notes.count(rights.managed(principal), where), limit, offset)


@get("/files", sync_to_thread=True)
def files(parts: given.Parts, principal: given.Principal, source: FromQuery[str]) -> note_api.Files:
    """What is known of the caller's files of an indexed folder."""
    where = ports.NoteWhere(source=source, owner=principal.user)
    total = parts.notes.count(managed(principal), where)
    found = parts.notes.find(managed(principal), where, limit=max(1, total))
    return note_api.Files(tuple(note_api.File(one.id, one.path, one.digest, one.modified_at, one.updated_at) for one in found))


@get("/{note_id:str}", sync_to_thread=True)
def shown(parts: given.Parts, principal: given.Principal, note_id: FromPath[str]) -> note_api.Note:
    """The whole note. It counts as opened."""
    note = found(parts, principal, note_id, rights.managed(principal))
    uses.opened(parts, principal, note.id)
    auditing.note(parts, principal, ports.Act.READ, [note.id])
    return note_api.note_of(note)


@post(sync_to_thread=True, status_code=200)
def put(parts: given.Parts, principal: given.Principal, data: JSONBody[note_api.PutNote]) -> note_api.Put:
    """Create a note, or replace one as a whole. Only its new pieces are embedded."""
    return _put(parts, principal, (data,))[0]


@post("/bulk", sync_to_thread=True, status_code=200)
def put_many(parts: given.Parts, principal: given.Principal, data: JSONBody[note_api.PutNotes]) -> note_api.PutResult:
    """Put notes, then erase others."""
    if len(data.notes) > note_api.MOST_PUT:
        raise errors.BadInput(f"{len(data.notes)} notes at once: at most {note_api.MOST_PUT} are taken")
    done = _put(parts, principal, data.notes)
    gone = _own(parts, principal, data.gone)
    erased = _erase(parts, principal, gone) if gone else 0
    if erased:
        auditing.note(parts, principal, ports.Act.FORGOT, gone)
    return note_api.PutResult(tuple(done), erased)


@patch("/{note_id:str}", sync_to_thread=True)
def annotated(parts: given.Parts, principal: given.Principal, note_id: FromPath[str], data: JSONBody[engine_api.Annotation]) -> note_api.Note:
    """Change the metadata, or who sees it. Nothing is embedded again, and the note counts as no newer for it. A member proposes his notes to the
    team, or keeps them; a curator shares his own, and decides about those that are proposed or shared."""
    if not data.metadata and data.visibility is None:
        raise errors.BadInput('nothing to change: give {"metadata": {"name": value}} or {"visibility": "proposed"}')
    note = found(parts, principal, note_id, rights.managed(principal))
    if data.metadata:
        archive.check_metadata(note.metadata | data.metadata)
        redact = redacting.Redacting.of(parts.settings).within(principal.team)
        clean = json_texts.replaced(data.metadata, iter(redact([*json_texts.strings(data.metadata)])))
        note = writer(parts).annotate(principal, note.id, clean)
    if data.visibility is not None:
        _check_visibility(data.visibility, principal)
        rights.check_changes(principal, note)
        note = writer(parts).show(models.Principal(note.team, note.owner), note.id, data.visibility)
    auditing.note(parts, principal, ports.Act.EDITED, [note.id])
    return note_api.note_of(note)


@delete("/{note_id:str}", status_code=200, sync_to_thread=True)
def erased(parts: given.Parts, principal: given.Principal, note_id: FromPath[str]) -> note_api.Deleted:
    """Erase the note with its passages, and the questions on record that found it."""
    note = found(parts, principal, note_id, rights.managed(principal))
    rights.check_changes(principal, note)
    deleted = _erase(parts, models.Principal(note.team, note.owner), [note.id])
    parts.uses.forget(principal, [note.id])
    auditing.note(parts, principal, ports.Act.FORGOT, [note.id])
    return note_api.Deleted(note.id, deleted)


def found(parts: Parts, principal: models.Principal, note_id: str, scope: models.Scope | None = None) -> models.Note:
    """scope: where it is looked for, if that is more than a model may be told."""
    note = parts.notes.get(scope or managed(principal), _uuid(note_id))
    if note is None:
        raise errors.NotFound(f"there is no note {note_id}")
    return note


def _erase(parts: Parts, principal: models.Principal, ids: Sequence[str]) -> int:
    swept = parts.sweeper.due(principal.team, ids)
    deleted = writer(parts).delete(principal, ids)
    parts.uses.forget(principal, ids)
    parts.sweeper.done(swept)
    return deleted


def _own(parts: Parts, principal: models.Principal, ids: Sequence[str]) -> list[str]:
    """The ids of the caller's own notes among these. Of any other nothing is to be erased, the traces neither."""
    where = ports.NoteWhere(ids=tuple(ids), owner=principal.user)
    return [note.id for note in parts.notes.find(managed(principal), where, limit=len(ids))] if ids else []


def _put(parts: Parts, principal: models.Principal, notes: tuple[note_api.PutNote, ...]) -> list[note_api.Put]:
    redact = redacting.Redacting.of(parts.settings).within(principal.team)
    done = writer(parts).put(principal, [_redacted(_checked(note, principal), redact) for note in notes])
    auditing.note(parts, principal, ports.Act.ADDED, [one.id for one in done])
    return done


def _checked(note: note_api.PutNote, principal: models.Principal) -> note_api.PutNote:
    if len(note.text) > note_api.LONGEST_NOTE:
        raise errors.BadInput(f"text has {len(note.text)} characters: a note has at most {note_api.LONGEST_NOTE}")
    for field in ("title", "source", "path", "project"):
        if len(getattr(note, field)) > note_api.LONGEST_NAME:
            raise errors.BadInput(f"{field} has {len(getattr(note, field))} characters: at most {note_api.LONGEST_NAME} are taken")
    if len(note.tags) > note_api.MOST_TAGS:
        raise errors.BadInput(f"{len(note.tags)} tags: at most {note_api.MOST_TAGS} are taken")
    _check_visibility(note.visibility, principal)
    return replace(note, id=_uuid(note.id) if note.id else "")


def _check_visibility(wanted: models.Visibility, principal: models.Principal) -> None:
    if wanted is models.Visibility.TEAM and not rights.curates(principal):
        raise errors.Denied("a member's notes are private, or proposed to the team: a curator or admin shares them")


def _redacted(note: note_api.PutNote, redact: redacting.Redact) -> note_api.PutNote:
    """The digest is that of the text before, so that a client can tell whether its file has changed."""
    strings = [note.text, note.title, *note.tags, *json_texts.strings(note.metadata)]
    clean = iter(redact(strings))
    return replace(
        note,
        text=next(clean),
        title=next(clean),
        tags=tuple(next(clean) for _ in note.tags),
        metadata=json_texts.replaced(note.metadata, clean),
        digest=note.digest or digest_of(note.text),
    )


def _uuid(note_id: str) -> str:
    try:
        return str(uuid.UUID(note_id))
    except ValueError:
        raise errors.BadInput(f"{note_id[:80]!r} is not the id of a note: ids are UUIDs") from None
