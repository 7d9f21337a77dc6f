"""The JSON of the notes' routes: shared by the proxy, `brb index` and other clients."""

from typing import Any

import msgspec

from services.core import models

LONGEST_NOTE = 1_000_000
"""Characters of a note."""
MOST_PUT = 64
"""Notes in one request."""
LONGEST_NAME = 1_000
"""Characters of a title, a source or a path."""
MOST_TAGS = 100


class PutNote(msgspec.Struct, frozen=True, kw_only=True):
    """A note to create, or to replace as a whole: the one of `id`, else the one at `source` and `path`, else a new one.

    text: markdown; front matter in it states title, tags and metadata, which those given here override or add to.
    modified_at: of the file (epoch seconds), else now. digest: SHA-256 (hex) of the text in UTF-8 as the caller compares it, else made here.
    """

    text: str
    id: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    source: str = ""
    path: str = ""
    project: str = ""
    visibility: models.Visibility = models.Visibility.PRIVATE
    modified_at: float | None = None
    digest: str = ""


class PutNotes(msgspec.Struct, frozen=True, kw_only=True):
    """Notes to put, in order; then ids of notes to erase."""

    notes: tuple[PutNote, ...] = ()
    gone: tuple[str, ...] = ()


class Put(msgspec.Struct, frozen=True):
    """passages: how many the note has now; embedded: how many of them had to be embedded. notices: what was not understood."""

    id: str
    path: str
    title: str
    created: bool
    passages: int
    embedded: int
    notices: tuple[str, ...] = ()


class PutResult(msgspec.Struct, frozen=True):
    notes: tuple[Put, ...]
    deleted: int


class File(msgspec.Struct, frozen=True):
    """What is known of a file of an indexed folder. Times in epoch seconds."""

    id: str
    path: str
    digest: str
    modified_at: float
    updated_at: float


class Files(msgspec.Struct, frozen=True):
    files: tuple[File, ...]


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A note without its text. Times in epoch seconds."""

    id: str
    title: str
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    source: str
    path: str
    owner: str
    project: str
    visibility: models.Visibility
    created_at: float
    updated_at: float
    modified_at: float
    dated_at: float


class Note(Listed, frozen=True, kw_only=True):
    text: str
    entities: tuple[models.Entity, ...]


class Notes(msgspec.Struct, frozen=True):
    notes: tuple[Listed, ...]
    total: int
    limit: int
    offset: int


class Deleted(msgspec.Struct, frozen=True):
    id: str
    deleted: int


def listed_of(note: models.Note) -> Listed:
    return Listed(**{field: getattr(note, field) for field in Listed.__struct_fields__})


def note_of(note: models.Note) -> Note:
    return Note(**{field: getattr(note, field) for field in Note.__struct_fields__})
