"""Notes: putting, listing, reading and erasing them."""

import uuid
from collections.abc import Sequence

from litestar import Router, delete, get, patch, post
from litestar.params import FromPath, FromQuery, JSONBody
from msgspec.structs import replace

from services.core import api, archive, engine_api, errors, json_texts, models, note_api, ports
from services.core.notes.writing import NoteWriter, digest_of
from services.proxy import redacting, uses
from services.proxy.parts import Parts
from services.proxy.routes import failures, given


def router() -> Router:
    return Router("/notes", route_handlers=failures.told(listed, files, shown, put, put_many, annotated, erased), tags=["notes"])


def managed(principal: models.Principal) -> models.Scope:
    """All that the caller may look at, whatever its project."""
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
) -> note_api.Notes:
    """A page of notes without their texts, the last changed first. `limit` is held between 1 and 1000."""
    limit, offset = min(max(1, limit), api.LARGEST_PAGE), min(max(0, offset), api.LAST_OFFSET)
    tagged = None if tag is None else models.Entity(models.EntityKind.HASHTAG, tag.removeprefix("#"))
    where = ports.NoteWhere(source=source, path=path, entity=tagged)
    found = parts.notes.find(managed(principal), where, limit=limit, offset=offset)
    return note_api.Notes(tuple(map(note_api.listed_of, found)), parts.notes.count(managed(principal), where), limit, offset)


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
    note = found(parts, principal, note_id)
    uses.opened(parts, principal, note.id)
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
    return note_api.PutResult(tuple(done), _erase(parts, principal, data.gone) if data.gone else 0)


@patch("/{note_id:str}", sync_to_thread=True)
def annotated(parts: given.Parts, principal: given.Principal, note_id: FromPath[str], data: JSONBody[engine_api.Annotation]) -> note_api.Note:
    """Change the metadata alone. Nothing is embedded again, and the note counts as no newer for it."""
    if not data.metadata:
        raise errors.BadInput('nothing to change: give {"metadata": {"name": value}}')
    note = found(parts, principal, note_id)
    archive.check_metadata(note.metadata | data.metadata)
    redact = redacting.Redacting.of(parts.settings).within(principal.team)
    clean = json_texts.replaced(data.metadata, iter(redact([*json_texts.strings(data.metadata)])))
    return note_api.note_of(writer(parts).annotate(principal, note.id, clean))


@delete("/{note_id:str}", status_code=200, sync_to_thread=True)
def erased(parts: given.Parts, principal: given.Principal, note_id: FromPath[str]) -> note_api.Deleted:
    """Erase the note with its passages, and the questions on record that found it."""
    note = found(parts, principal, note_id)
    if note.owner != principal.user:
        raise errors.Denied(f"{note.id} is a note of {note.owner}: only its owner erases it")
    return note_api.Deleted(note.id, _erase(parts, principal, [note.id]))


def found(parts: Parts, principal: models.Principal, note_id: str) -> models.Note:
    note = parts.notes.get(managed(principal), _uuid(note_id))
    if note is None:
        raise errors.NotFound(f"there is no note {note_id}")
    return note


def _erase(parts: Parts, principal: models.Principal, ids: Sequence[str]) -> int:
    deleted = writer(parts).delete(principal, ids)
    parts.uses.forget(principal, ids)
    return deleted


def _put(parts: Parts, principal: models.Principal, notes: tuple[note_api.PutNote, ...]) -> list[note_api.Put]:
    redact = redacting.Redacting.of(parts.settings).within(principal.team)
    return writer(parts).put(principal, [_redacted(_checked(note, principal), redact) for note in notes])


def _checked(note: note_api.PutNote, principal: models.Principal) -> note_api.PutNote:
    if len(note.text) > note_api.LONGEST_NOTE:
        raise errors.BadInput(f"text has {len(note.text)} characters: a note has at most {note_api.LONGEST_NOTE}")
    for field in ("title", "source", "path", "project"):
        if len(getattr(note, field)) > note_api.LONGEST_NAME:
            raise errors.BadInput(f"{field} has {len(getattr(note, field))} characters: at most {note_api.LONGEST_NAME} are taken")
    if len(note.tags) > note_api.MOST_TAGS:
        raise errors.BadInput(f"{len(note.tags)} tags: at most {note_api.MOST_TAGS} are taken")
    if note.visibility is models.Visibility.TEAM and principal.role is models.Role.MEMBER:
        raise errors.Denied("a member's notes are private: a curator or admin shares notes with the team")
    return replace(note, id=_uuid(note.id) if note.id else "")


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
