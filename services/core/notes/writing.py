"""Writing notes: only pieces that are new are embedded."""

import hashlib
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from msgspec.structs import replace

from services.core import errors, models, note_api, ports
from services.core.notes import page

TIME_DIGITS = 6
"""Of a time in seconds: Qdrant keeps microseconds exactly, but not all that a float can tell apart."""
_EMBEDDED_AT_ONCE = 16  # each request to the embedder has a deadline of its own, and long texts take it a while
OwnerLock = Callable[[models.Principal], AbstractContextManager[object]]
Vectors = Mapping[str, Sequence[float]]


class _Draft(NamedTuple):
    """A note to be put, as its page was understood; `digests` of its pieces, in order."""

    given: note_api.PutNote
    page: page.Page
    digests: tuple[str, ...]

    @classmethod
    def of(cls, given: note_api.PutNote) -> "_Draft":
        parsed = page.parse(given.text, title=given.title, tags=given.tags, metadata=given.metadata, path=given.path)
        texts = (models.embedded_text(piece.headings, piece.text, parsed.title) for piece in parsed.pieces)
        return cls(given, parsed, tuple(map(digest_of, texts)))

    @classmethod
    def again(cls, note: models.Note) -> "_Draft":
        """Of a note as it was stored."""
        return cls.of(note_api.PutNote(text=note.text, id=note.id, title=note.title if note.titled else "", path=note.path))


class NoteWriter:
    """Writers of one owner's notes go one after the other. What is embedded anywhere in the owner's sight is not embedded again: neither when a
    note moves, nor when a piece of it goes to another note."""

    def __init__(self, store: ports.NoteStore, embedder: ports.Embedder, *, owner_lock: OwnerLock, clock: Callable[[], float]) -> None:
        self._store = store
        self._embedder = embedder
        self._owner_lock = owner_lock
        self._clock = clock

    def put(self, principal: models.Principal, notes: Sequence[note_api.PutNote]) -> list[note_api.Put]:
        """Create or replace notes, in order. Their texts are redacted already, their digests those of the texts before that.

        `Denied` for the id of somebody else's note. A note whose writing breaks off has no digest until it is put again.
        """
        drafts = [_Draft.of(given) for given in notes]
        vectors, new = self._vectors(principal, drafts)  # before the lock: it may take long
        with self._owner_lock(principal):
            return [self._put(principal, draft, vectors, new) for draft in drafts]

    def restore(self, principal: models.Principal, notes: Sequence[models.Note]) -> None:
        """Put whole notes of the principal's own as they are, with their times and digests; their passages are made of the texts again, which are
        redacted already. `Denied` for the id of somebody else's note."""
        drafts = [_Draft.again(note) for note in notes]
        vectors, _ = self._vectors(principal, drafts)
        with self._owner_lock(principal):
            for note, draft in zip(notes, drafts, strict=True):
                former = self._former(principal, draft.given)
                passages = list(_passages(note, draft))
                self._write(principal, note, former, ports.EmbeddedPassage.of_note(passages, [vectors[one.digest] for one in passages]))

    def annotate(self, principal: models.Principal, note_id: str, changes: Mapping[str, Any]) -> models.Note:
        """Change metadata alone: None takes a field away, fields that are not named stay. Nothing is embedded, `updated_at` stays."""
        with self._owner_lock(principal):
            note = self._own(principal, note_id)
            merged = note.metadata | dict(changes)
            changed = replace(note, metadata={name: value for name, value in merged.items() if value is not None})
            self._store.put([changed])
            return changed

    def show(self, owner: models.Principal, note_id: str, visibility: models.Visibility) -> models.Note:
        """Let others see a note of the owner's, or no longer. Nothing is embedded, `updated_at` stays. Who may: the caller's business."""
        with self._owner_lock(owner):
            note = replace(self._own(owner, note_id), visibility=visibility)
            rescope(self._store, owner, note)
            return note

    def delete(self, principal: models.Principal, ids: Sequence[str]) -> int:
        """Erase notes of the caller's own; how many there were."""
        with self._owner_lock(principal):
            where = ports.NoteWhere(ids=tuple(ids), owner=principal.user)
            mine = self._store.find(_sight(principal), where, limit=len(ids))
            return self._store.delete(_sight(principal), [note.id for note in mine])

    def _vectors(self, principal: models.Principal, drafts: Sequence[_Draft]) -> tuple[Vectors, set[str]]:
        """Of all pieces by digest, and which had to be embedded."""
        texts = {
            digest: models.embedded_text(piece.headings, piece.text, draft.page.title)
            for draft in drafts
            for digest, piece in zip(draft.digests, draft.page.pieces, strict=True)
        }
        known = self._store.embeddings(_sight(principal), list(texts))
        new = [digest for digest in texts if digest not in known]
        embedded = [
            vector
            for start in range(0, len(new), _EMBEDDED_AT_ONCE)
            for vector in self._embedder.embed([texts[digest] for digest in new[start : start + _EMBEDDED_AT_ONCE]], "document")
        ]
        return {**known, **dict(zip(new, embedded, strict=True))}, set(new)

    def _put(self, principal: models.Principal, draft: _Draft, vectors: Vectors, new: set[str]) -> note_api.Put:
        former = self._former(principal, draft.given)
        note = _note(principal, draft, former, self._clock())
        embedded = len(new.intersection(draft.digests))
        new.difference_update(draft.digests)  # counted once
        if former is None or replace(note, updated_at=former.updated_at) != former:
            passages = list(_passages(note, draft))
            self._write(principal, note, former, ports.EmbeddedPassage.of_note(passages, [vectors[one.digest] for one in passages]))
        return note_api.Put(note.id, note.path, note.title, former is None, len(draft.digests), embedded, draft.page.notices)

    def _write(self, principal: models.Principal, note: models.Note, former: models.Note | None, passages: list[ports.EmbeddedPassage]) -> None:
        if former is None:
            self._store.put([note], passages)
            return
        self._store.put([replace(note, digest="")], passages)
        self._store.prune(_sight(principal), note.id, [one.passage.id for one in passages])
        self._store.put([note])

    def _former(self, principal: models.Principal, given: note_api.PutNote) -> models.Note | None:
        if given.id:
            seen = self._store.get(_sight(principal), given.id)
            if seen is None and self._store.taken(given.id):
                raise errors.Denied(f"{given.id} is the id of something else: put the note without an id")
            return None if seen is None else _checked_own(principal, seen)
        if not given.path:
            return None
        where = ports.NoteWhere(owner=principal.user, source=given.source, path=given.path)
        found = self._store.find(_sight(principal), where, limit=1)
        return self._store.get(_sight(principal), found[0].id) if found else None

    def _own(self, principal: models.Principal, note_id: str) -> models.Note:
        note = self._store.get(_sight(principal), note_id)
        if note is None:
            raise errors.NotFound(f"there is no note {note_id}")
        return _checked_own(principal, note)


def rescope(store: ports.NoteStore, owner: models.Principal, note: models.Note) -> None:
    """Put a note of the owner's with another owner or visibility, and its passages with it. Under the owner's lock."""
    passages = store.passages(_sight(owner), note.id)
    vectors = store.embeddings(_sight(owner), [one.digest for one in passages])
    moved = [replace(one, owner=note.owner, visibility=note.visibility) for one in passages if one.digest in vectors]
    store.put([note], ports.EmbeddedPassage.of_note(moved, [vectors[one.digest] for one in moved]))


def digest_of(text: str) -> str:
    """SHA-256 (hex) of a text in UTF-8."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _sight(principal: models.Principal) -> models.Scope:
    return models.Scope(principal.team, principal.user, projects=None)


def _checked_own(principal: models.Principal, note: models.Note) -> models.Note:
    if note.owner != principal.user:
        raise errors.Denied(f"{note.id} is a note of {note.owner}: only its owner changes it")
    return note


def _note(principal: models.Principal, draft: _Draft, former: models.Note | None, now: float) -> models.Note:
    given, parsed = draft.given, draft.page
    now = round(now, TIME_DIGITS)
    modified_at = now if given.modified_at is None else round(given.modified_at, TIME_DIGITS)
    return models.Note(
        id=former.id if former else models.NoteId(given.id or str(uuid.uuid4())),
        team=principal.team,
        owner=principal.user,
        project=given.project,
        visibility=given.visibility,
        title=parsed.title,
        titled=bool(given.title.split()),
        tags=parsed.tags,
        text=given.text,
        metadata=parsed.metadata,
        source=given.source,
        path=given.path,
        digest=given.digest or digest_of(given.text),
        entities=parsed.entities,
        created_at=former.created_at if former else now,
        updated_at=now,
        modified_at=modified_at,
        dated_at=modified_at if parsed.dated_at is None else parsed.dated_at,
    )


def _passages(note: models.Note, draft: _Draft) -> Iterable[models.Passage]:
    """Their ids come from what they say: a piece that only moved within the note stays the same point."""
    said: Counter[str] = Counter()
    for position, (piece, digest) in enumerate(zip(draft.page.pieces, draft.digests, strict=True)):
        said[digest] += 1
        yield models.Passage(
            id=str(uuid.uuid5(uuid.UUID(note.id), f"{digest} {said[digest]}")),
            note=note.id,
            team=note.team,
            owner=note.owner,
            project=note.project,
            visibility=note.visibility,
            title=note.title,
            tags=note.tags,
            source=note.source,
            path=note.path,
            headings=piece.headings,
            position=position,
            text=piece.text,
            digest=digest,
            entities=piece.entities,
            dated_at=note.dated_at,
        )
