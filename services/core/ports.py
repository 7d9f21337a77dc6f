"""The few outside things that have more than one implementation. All are synchronous; all raise `errors.Unavailable` when the thing is away."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import msgspec

from services.core import messages, models


class Where(msgspec.Struct, frozen=True):
    """Filters beside the scope. None means any."""

    status: models.Status | None = models.Status.CURRENT
    owner: str | None = None
    category: models.Category | None = None
    visibility: models.Visibility | None = None
    lineage: str | None = None
    subject: str | None = None
    attribute: str | None = None


CURRENT = Where()
ANY = Where(status=None)


class Embedded(NamedTuple):
    """A memory with the embedding of its text (unit length)."""

    memory: models.Memory
    vector: Sequence[float]


@runtime_checkable
class MemoryStore(Protocol):
    """Memories with dense and BM25 vectors. Every read takes a scope and filters by it in the database.

    Writes are visible to the next read of the same store. Thread-safe.
    """

    def put(self, items: Sequence[Embedded]) -> None:
        """Insert or replace whole memories by id."""

    def update(self, memories: Sequence[models.Memory]) -> None:
        """Replace the fields of existing memories whose text did not change; vectors stay. Unknown ids are ignored."""

    def get(self, scope: models.Scope, memory_id: str) -> models.Memory | None: ...

    def find(self, scope: models.Scope, where: Where = CURRENT, *, limit: int = 100, offset: int = 0) -> list[models.Memory]:
        """Newest first (`created_at`, then id)."""

    def count(self, scope: models.Scope, where: Where = CURRENT) -> int: ...

    def nearest(self, scope: models.Scope, vector: Sequence[float], *, limit: int, where: Where = CURRENT, exact: bool = False) -> list[models.Hit]:
        """By cosine, best first. `Hit.score` is the cosine. `exact` forbids an approximate index."""

    def lexical(self, scope: models.Scope, text: str, *, limit: int, where: Where = CURRENT) -> list[models.Hit]:
        """By BM25 (OR of the words, IDF), best first; memories that share no word are not returned."""

    def touch(self, scope: models.Scope, ids: Sequence[str], at: float) -> None:
        """Move `accessed_at` of those that the scope sees forward to `at`; nothing else of them changes."""

    def delete(self, scope: models.Scope, ids: Sequence[str]) -> int:
        """Erase those that the scope sees; how many there were."""

    def total(self) -> Mapping[models.Status, int]:
        """How many memories there are of each status, over all scopes: a gauge, never shown with content."""

    def ping(self) -> None: ...

    def close(self) -> None: ...


@runtime_checkable
class Embedder(Protocol):
    """Text to unit vectors. `model` names the vector space: two embedders of one name give comparable vectors."""

    @property
    def model(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str], kind: Literal["query", "document"], *, timeout_seconds: float | None = None) -> list[list[float]]: ...

    def ping(self) -> None: ...


class Entry(msgspec.Struct, frozen=True):
    """What was inserted at one human turn: the exact text of the block and the memories it showed (none: recalled, found nothing).

    turn: its id. answered: whether its answer came to the end. at: when the turn came (epoch seconds).
    """

    block: str
    memories: tuple[str, ...]
    answered: bool = False
    turn: str = ""
    at: float = 0.0


@runtime_checkable
class Ledger(Protocol):
    """What was inserted where: keys are hashes of principal and conversation prefix."""

    def read(self, keys: Sequence[str]) -> dict[str, Entry]: ...

    def write(self, entries: Mapping[str, Entry]) -> None: ...

    def forget(self, memory_ids: Sequence[str]) -> int:
        """Drop every entry that showed one of these memories; how many entries."""

    def ping(self) -> None: ...


class Dead(msgspec.Struct, frozen=True):
    """A job that failed for good. `error` is a type name and a message without the person's words."""

    id: str
    task: messages.Task
    attempts: int
    error: str
    died_at: float


class Claim(NamedTuple):
    """A job taken by one worker; `token` proves the lease when it is finished."""

    job: messages.Job
    token: str
    attempt: int


@runtime_checkable
class JobBook(Protocol):
    """Durable records of jobs. A job is done once in effect: claims are exclusive, `finish` checks the claim and hands over atomically."""

    def add(self, jobs: Sequence[messages.Job]) -> list[str]:
        """Record the jobs that are new (not pending, not done before); their ids."""

    def claim(self, job_id: str) -> Claim | None:
        """Take the job, or None if it is gone, done, or held by another."""

    def extend(self, claim: Claim) -> bool:
        """Keep the claim alive; False if it was lost."""

    def finish(self, claim: Claim, then: Sequence[messages.Job] = ()) -> bool:
        """Mark done and record what follows from it in one step; False (and nothing written) if the claim was lost."""

    def postpone(self, claim: Claim, delay_seconds: float, *, counted: bool) -> None:
        """Give the claim back, due again after a delay; `counted=False` when the cause lies outside the job (a dependency is away)."""

    def bury(self, claim: Claim, error: str) -> None:
        """Make it a dead letter."""

    def overdue(self, limit: int = 100) -> list[tuple[str, messages.Task]]:
        """Jobs that are due and that nobody holds."""

    def dead(self, limit: int = 100) -> list[Dead]: ...

    def revive(self, job_id: str) -> messages.Task | None:
        """Make a dead letter pending again; its task, or None if there is none of that id."""

    def pending(self) -> Mapping[messages.Queue, int]: ...

    def oldest_seconds(self) -> Mapping[messages.Queue, float]: ...

    def ping(self) -> None: ...


@runtime_checkable
class Extractor(Protocol):
    """Statements worth keeping, from one turn's words. Raises rather than returning nothing when it could not do its work."""

    def extract(self, turn: messages.LearnTurn) -> tuple[models.Fact, ...]: ...
