"""The HTTP contract of BRB's own routes: what they take and what they answer. Times are ISO 8601 in UTC; ids are UUID strings."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal

import msgspec

from services.core import health, messages, models, ports

Mode = Literal["hybrid", "bm25", "semantic"]

DEFAULT_PAGE = 100
LARGEST_PAGE = 1000
LONGEST_TEXT = 2000  # characters of one memory's text: a statement, not a document
LONGEST_QUERY = 20_000


class Evidence(msgspec.Struct, frozen=True):
    quote: str
    turn: str
    said_at: datetime


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """`models.Memory` with readable times."""

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
    valid_to: datetime | None


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
    """What made the score. Ranks count from 1; null where that leg did not find the memory."""

    similarity: float
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


class Recalled(msgspec.Struct, frozen=True, omit_defaults=True):
    """Best first. `mode` is the one that was used; `notices` say why it is not the one asked for. `dropped` only when asked to explain."""

    query: str
    mode: str
    notices: tuple[str, ...]
    memories: tuple[Found, ...]
    dropped: tuple[Dropped, ...] | None = None


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Body of `POST /recall`. Without a project only memories that belong to no project are recalled."""

    query: str
    mode: Mode = "hybrid"
    limit: int | None = None
    project: str = ""
    explain: bool = False


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Body of `PATCH /memories/{id}`: at least one field."""

    text: str | None = None
    category: models.Category | None = None


class Receipt(msgspec.Struct, frozen=True):
    """What was erased: versions of the memory from the store, and inserted blocks that showed one of them from the ledger."""

    id: str
    deleted: int
    ledger: int


class Health(msgspec.Struct, frozen=True):
    """`memories` and `dead` are null while the dependency that knows them is away."""

    status: Literal["ok", "degraded"]
    version: str
    dependencies: Mapping[str, health.Report]
    memories: int | None
    pending: Mapping[messages.Queue, int]
    oldest_seconds: Mapping[messages.Queue, float]
    dead: int | None
    spooled: int
    notices: tuple[str, ...] = ()


class Jobs(msgspec.Struct, frozen=True):
    """Jobs that are recorded and not done. `spooled` wait on this machine for Redis."""

    pending: Mapping[messages.Queue, int]
    oldest_seconds: Mapping[messages.Queue, float]
    dead: int
    spooled: int


class Dead(msgspec.Struct, frozen=True):
    id: str
    task: messages.Task
    attempts: int
    error: str
    died_at: datetime


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
    return datetime.fromtimestamp(seconds, UTC)


def memory_of(memory: models.Memory) -> Memory:
    return msgspec.convert(_readable(memory), Memory)


def found_of(ranked: models.Ranked) -> Found:
    return msgspec.convert(_readable(ranked.memory) | _scored(ranked), Found)


def dropped_of(ranked: models.Ranked, reason: str) -> Dropped:
    return msgspec.convert(_readable(ranked.memory) | _scored(ranked) | {"reason": reason}, Dropped)


def dead_of(dead: ports.Dead) -> Dead:
    return Dead(id=dead.id, task=dead.task, attempts=dead.attempts, error=dead.error, died_at=time_of(dead.died_at))


def _readable(memory: models.Memory) -> dict[str, object]:
    fields: dict[str, object] = msgspec.structs.asdict(memory)
    for name in ("created_at", "said_at", "reinforced_at", "accessed_at"):
        fields[name] = time_of(getattr(memory, name))
    fields["valid_to"] = None if memory.valid_to is None else time_of(memory.valid_to)
    fields["evidence"] = tuple(Evidence(quote=e.quote, turn=e.turn, said_at=time_of(e.said_at)) for e in memory.evidence)
    return fields


def _scored(ranked: models.Ranked) -> dict[str, object]:
    signals = {name: getattr(ranked, name) for name in Signals.__struct_fields__}
    return {"score": ranked.score, "signals": Signals(**signals)}
