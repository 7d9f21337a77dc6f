"""The JSON of what the memory engine offers beside memories, notes and recalls. Times are ISO 8601 in UTC."""

from datetime import datetime
from typing import Any, Literal

import msgspec

from services.core import api, models, note_api

LONGEST_TEXT = 1_000_000
"""Characters of a text whose tokens are counted or whose entities are extracted."""


class Count(msgspec.Struct, frozen=True):
    count: int


class Text(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: str


class Tokens(msgspec.Struct, frozen=True):
    """encoding: whose tokens: those that every budget of BRB is counted in."""

    tokens: int
    encoding: str = "cl100k_base"


class Entities(msgspec.Struct, frozen=True):
    """In the order of the text, each once."""

    entities: tuple[models.Entity, ...]


class Named(msgspec.Struct, frozen=True):
    """A value of a kind of entity, as it is compared, and how many notes name it."""

    value: str
    notes: int


class AllEntities(msgspec.Struct, frozen=True):
    """Most named first."""

    kind: models.EntityKind
    values: tuple[Named, ...]


class Relationship(msgspec.Struct, frozen=True):
    """An outgoing edge of a note. targets: ids of the notes that a wikilink means: none if it is not written yet, several if they share a name."""

    kind: models.EntityKind
    value: str
    raw: str
    targets: tuple[str, ...]


class Relationships(msgspec.Struct, frozen=True):
    id: str
    relationships: tuple[Relationship, ...]


class Annotation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Body of `PATCH /notes/{id}`: fields to set; null takes one away, those that are not named stay. visibility: who sees it from now on."""

    metadata: dict[str, Any] = {}
    visibility: models.Visibility | None = None


class SimilarMemory(api.Memory, frozen=True, kw_only=True):
    """score: the cosine of the two texts."""

    score: float


class SimilarMemories(msgspec.Struct, frozen=True):
    """Most similar first."""

    id: str
    memories: tuple[SimilarMemory, ...]


def similar_of(hit: models.Hit, viewer: api.Viewer) -> SimilarMemory:
    shown = msgspec.structs.asdict(api.memory_of(hit.memory, viewer))
    return SimilarMemory(**shown, score=round(hit.score, 4))


class SimilarNote(note_api.Listed, frozen=True, kw_only=True):
    """score: the cosine of the two notes, each the mean of its passages."""

    score: float


class SimilarNotes(msgspec.Struct, frozen=True):
    """Most similar first."""

    id: str
    notes: tuple[SimilarNote, ...]


class Dropped(msgspec.Struct, frozen=True):
    """How many answers or uses were dropped."""

    dropped: int


class Stats(msgspec.Struct, frozen=True):
    """What the caller has. memories: by status; categories: of the current ones. entities: different values by kind.
    answers: kept in the cache of this process, of the team."""

    memories: dict[models.Status, int]
    categories: dict[models.Category, int]
    notes: int
    entities: dict[models.EntityKind, int]
    answers: int
    embedding_model: str
    dimension: int


class Landed(msgspec.Struct, frozen=True):
    """What became of the memories or notes of an import. kept: there was one already, and it stayed as it was."""

    created: int = 0
    replaced: int = 0
    kept: int = 0


class Imported(msgspec.Struct, frozen=True):
    memories: Landed
    notes: Landed


class DeadQuery(msgspec.Struct, frozen=True):
    """Words that were asked for again and again and found nothing, up to the last time. Secrets and addresses in them are redacted."""

    words: str
    asked: int
    last_at: datetime


class Unopened(msgspec.Struct, frozen=True):
    """What recalls showed again and again and nobody ever opened. text: of the memory, or the title of the note."""

    id: str
    kind: Literal["memory", "note"]
    text: str
    surfaced: int
    last_at: datetime


class Report(msgspec.Struct, frozen=True):
    """asked, opened: how many uses are on record, since `since` (null: none). Most asked, most surfaced first."""

    asked: int
    opened: int
    since: datetime | None
    dead: tuple[DeadQuery, ...]
    unopened: tuple[Unopened, ...]
