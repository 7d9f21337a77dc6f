"""The HTTP contract of BRB's own routes: what they take and what they answer. Times are ISO 8601 in UTC; ids are UUID strings."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from services.core import health, messages, models, ports, rights

if TYPE_CHECKING:
    from services.core.recall import notes

Mode = Literal["hybrid", "bm25", "semantic"]
Kind = Literal["memories", "notes", "all"]
Whose = Literal["private", "proposed", "team", "all"]
Viewer = models.Principal | models.Scope

DEFAULT_PAGE = 100
LARGEST_PAGE = 1000
LONGEST_TEXT = 2000  # characters of one memory's text: a statement, not a document
LONGEST_QUERY = 20_000
LONGEST_NAME = 1_000  # characters of a project's name
LAST_OFFSET = 10_000_000  # behind the last memory or note there is nothing, however far


class Evidence(msgspec.Struct, frozen=True):
    quote: str
    turn: str
    said_at: datetime
    session: str = ""


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """`models.Memory` with readable times, as it is shown to whoever asks (`rights.shown`)."""

    id: str
    text: str
    category: models.Category
    confidence: float
    status: models.Status
    visibility: models.Visibility
    team: str
    owner: str
    project: str
    subject: str
    attribute: str
    value: str
    functional: bool
    polarity: bool
    entities: tuple[str, ...]
    qualifiers: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    mentions: int
    lineage: str
    supersedes: str
    superseded_by: str
    created_at: datetime
    said_at: datetime
    reinforced_at: datetime
    accessed_at: datetime
    when: str
    valid_from: datetime | None
    valid_to: datetime | None
    replaces: str = ""
    held: str = ""
    review: models.Review = models.Review.NONE
    reviewed_by: str = ""
    reviewed_at: datetime | None = None
    edited_by: str = ""


class Memories(msgspec.Struct, frozen=True):
    """One page, newest first; `total` counts all pages."""

    memories: tuple[Memory, ...]
    total: int
    limit: int
    offset: int


class Lineage(msgspec.Struct, frozen=True):
    """All versions of one memory, newest first."""

    id: str
    memories: tuple[Memory, ...]


class Signals(msgspec.Struct, frozen=True):
    """What made the score. Ranks count from 1; null where that leg did not find the memory. cosine: null when recalled by words alone."""

    similarity: float
    cosine: float | None
    dense_rank: int | None
    lexical_rank: int | None
    rrf: float
    strength: float
    recency: float
    temporal: float
    matched: tuple[str, ...]


class Found(Memory, frozen=True, kw_only=True):
    score: float
    signals: Signals


class Dropped(Found, frozen=True, kw_only=True):
    """A candidate that was not recalled, and why."""

    reason: str


class PassageSignals(msgspec.Struct, frozen=True):
    """What made the score: cosine, and agreement (a share of the best BM25 score), both raised by the boosts, by cause. words: the share of the
    question's words in it."""

    cosine: float | None
    dense_rank: int | None
    lexical_rank: int | None
    rrf: float
    words: float
    agreement: float
    boosts: Mapping[str, float]
    matched: tuple[str, ...]


class FoundPassage(msgspec.Struct, frozen=True, kw_only=True):
    """headings: those that the text stands under, outermost first. position: its place in the note, from 0."""

    headings: tuple[str, ...]
    position: int
    text: str
    score: float
    signals: PassageSignals


class FoundNote(msgspec.Struct, frozen=True, kw_only=True):
    """passages: the best ones, best first; none if only a name led to the note. links: how many other notes link to it."""

    id: str
    title: str
    tags: tuple[str, ...]
    source: str
    path: str
    owner: str
    project: str
    visibility: models.Visibility
    dated_at: datetime
    score: float
    links: int
    passages: tuple[FoundPassage, ...]


class DroppedPassage(FoundPassage, frozen=True, kw_only=True):
    """A passage that no answer was made of, the note it is of, and why."""

    note: str
    title: str
    reason: str


class Recalled(msgspec.Struct, frozen=True, omit_defaults=True):
    """Best first. `mode` is the one that was used; `notices` say why it is not the one asked for. `dropped` only when asked to explain."""

    query: str
    mode: str
    notices: tuple[str, ...]
    memories: tuple[Found, ...]
    notes: tuple[FoundNote, ...]
    dropped: tuple[Dropped, ...] | None = None
    dropped_passages: tuple[DroppedPassage, ...] | None = None


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Body of `POST /recall`. Without a project only memories and notes that belong to no project are recalled.

    scope: of what the caller sees, only what is private to him, what he proposes, or what the team has.
    limit: at most so many memories, and so many notes. min_score: under it a memory is dropped, and a passage of which neither the cosine nor the
    share of the words reaches it, where the settings have another. token_budget: the whole JSON of the answer takes at most so many cl100k tokens.
    """

    query: str
    kind: Kind = "all"
    scope: Whose = "all"
    mode: Mode = "hybrid"
    limit: int | None = None
    min_score: float | None = None
    token_budget: int | None = None
    project: str = ""
    explain: bool = False


class Add(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Body of `POST /memories`. category: without one, what the text says when it is read, and `project_context` until then.
    project: where it holds; what is about the person (`preference`, `personal_info`) holds everywhere."""

    text: str
    category: models.Category | None = None
    project: str = ""


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Body of `PATCH /memories/{id}`: at least one field."""

    text: str | None = None
    category: models.Category | None = None


class Health(msgspec.Struct, frozen=True):
    """`memories` and `dead` are null while the dependency that knows them is away."""

    status: Literal["ok", "degraded"]
    version: str
    dependencies: Mapping[str, health.Report]
    memories: int | None
    pending: Mapping[messages.Lane, int]
    oldest_seconds: Mapping[messages.Lane, float]
    dead: int | None
    spooled: int
    notices: tuple[str, ...] = ()


class Jobs(msgspec.Struct, frozen=True):
    """Jobs that are recorded and not done. `spooled` wait on this machine for Redis."""

    pending: Mapping[messages.Lane, int]
    oldest_seconds: Mapping[messages.Lane, float]
    dead: int
    spooled: int


class Dead(msgspec.Struct, frozen=True):
    id: str
    task: messages.Task
    attempts: int
    error: str
    died_at: datetime
    team: str


class DeadJobs(msgspec.Struct, frozen=True):
    jobs: tuple[Dead, ...]


class Retried(msgspec.Struct, frozen=True):
    """The job is pending again; a worker takes it within seconds."""

    id: str
    task: messages.Task


class Trouble(msgspec.Struct, frozen=True):
    type: str
    message: str


class Problem(msgspec.Struct, frozen=True):
    """Body of every error of our own routes. The message names the cure."""

    error: Trouble


def time_of(seconds: float) -> datetime:
    return datetime.fromtimestamp(models.within_calendar(seconds), UTC)


def memory_of(memory: models.Memory, viewer: Viewer) -> Memory:
    return msgspec.convert(_readable(memory, viewer), Memory)


def found_of(ranked: models.Ranked, viewer: Viewer) -> Found:
    return msgspec.convert(_readable(ranked.memory, viewer) | _scored(ranked), Found)


def dropped_of(ranked: models.Ranked, reason: str, viewer: Viewer) -> Dropped:
    return msgspec.convert(_readable(ranked.memory, viewer) | _scored(ranked) | {"reason": reason}, Dropped)


def found_note_of(note: models.Note, ranked: "notes.RankedNote") -> FoundNote:
    fields = {name: getattr(note, name) for name in ("id", "title", "tags", "source", "path", "owner", "project", "visibility")}
    passages = tuple(FoundPassage(**_passage(one)) for one in ranked.passages)
    return FoundNote(**fields, dated_at=time_of(note.dated_at), score=ranked.score, links=ranked.links, passages=passages)


def dropped_passage_of(ranked: "notes.RankedPassage", reason: str) -> DroppedPassage:
    return DroppedPassage(**_passage(ranked), note=ranked.passage.note, title=ranked.passage.title, reason=reason)


def dead_of(dead: ports.Dead) -> Dead:
    return Dead(id=dead.id, task=dead.task, attempts=dead.attempts, error=dead.error, died_at=time_of(dead.died_at), team=dead.team)


def _readable(whole: models.Memory, viewer: Viewer) -> dict[str, object]:
    memory = rights.shown(viewer, whole)
    fields: dict[str, object] = msgspec.structs.asdict(memory)
    for name in ("created_at", "said_at", "reinforced_at", "accessed_at"):
        fields[name] = time_of(getattr(memory, name))
    for name in ("valid_from", "valid_to", "reviewed_at"):
        at = getattr(memory, name)
        fields[name] = None if at is None else time_of(at)
    fields["evidence"] = tuple(Evidence(e.quote, e.turn, time_of(e.said_at), e.session) for e in memory.evidence)
    return fields


def _passage(ranked: "notes.RankedPassage") -> dict[str, Any]:
    signals = PassageSignals(**{name: getattr(ranked, name) for name in PassageSignals.__struct_fields__})
    own = {name: getattr(ranked.passage, name) for name in ("headings", "position", "text")}
    return {**own, "score": ranked.score, "signals": signals}


def _scored(ranked: models.Ranked) -> dict[str, object]:
    signals = {name: getattr(ranked, name) for name in Signals.__struct_fields__}
    return {"score": ranked.score, "signals": Signals(**signals)}
