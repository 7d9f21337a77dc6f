"""The few outside things that have more than one implementation. All are synchronous; all raise `errors.Unavailable` when the thing is away."""

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

import msgspec

from services.core import messages, models

T = TypeVar("T")


class Where(msgspec.Struct, frozen=True):
    """Filters beside the scope. None means any. before: created earlier than this (epoch seconds)."""

    status: models.Status | None = models.Status.CURRENT
    owner: str | None = None
    category: models.Category | None = None
    visibility: models.Visibility | None = None
    lineage: str | None = None
    subject: str | None = None
    attribute: str | None = None
    before: float | None = None


CURRENT = Where()
ANY = Where(status=None)


class Census(NamedTuple):
    """counts: of memories, by visibility and status; none if 0. waiting_since: when the oldest of those that wait for a decision was made (epoch
    seconds), None if none waits."""

    counts: Mapping[tuple[models.Visibility, models.Status], int] = {}
    waiting_since: float | None = None

    @property
    def waiting(self) -> Mapping[models.Why, int]:
        """How many memories wait, and for what (`reviewing.waits`)."""
        of_status = {status: sum(count for (_, each), count in self.counts.items() if each is status) for status in models.Status}
        return {
            "proposed": self.counts.get((models.Visibility.PROPOSED, models.Status.CURRENT), 0),
            "quarantined": of_status[models.Status.QUARANTINED],
            "pending": of_status[models.Status.PENDING],
        }


class Embedded(NamedTuple):
    """A memory with the embedding of its text (unit length)."""

    memory: models.Memory
    vector: Sequence[float]


class Legs(NamedTuple, Generic[T]):
    """What the legs of a hybrid search found: of each vector by cosine, of the text by BM25."""

    dense: list[list[T]]
    lexical: list[T]


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

    def taken(self, memory_id: str) -> bool:
        """Whether there is a memory of that id in any scope: a new one must not take its place."""

    def find(self, scope: models.Scope, where: Where = CURRENT, *, limit: int = 100, offset: int = 0) -> list[models.Memory]:
        """Newest first (`created_at`, then id)."""

    def count(self, scope: models.Scope, where: Where = CURRENT) -> int: ...

    def nearest(self, scope: models.Scope, vector: Sequence[float], *, limit: int, where: Where = CURRENT, exact: bool = False) -> list[models.Hit]:
        """By cosine, best first. `Hit.score` is the cosine. `exact` forbids an approximate index."""

    def lexical(self, scope: models.Scope, text: str, *, limit: int, where: Where = CURRENT) -> list[models.Hit]:
        """By BM25 (OR of the words, IDF), best first; memories that share no word are not returned."""

    def search(self, scope: models.Scope, vectors: Sequence[Sequence[float]], text: str, *, limit: int, where: Where = CURRENT) -> Legs[models.Hit]:
        """What `nearest` finds for each of the vectors, and `lexical` for the text ("": not asked), in one request where the store is a server."""

    def touch(self, scope: models.Scope, ids: Sequence[str], at: float) -> None:
        """Move `accessed_at` of those that the scope sees forward to `at`; nothing else of them changes."""

    def delete(self, scope: models.Scope, ids: Sequence[str]) -> int:
        """Erase those that the scope sees; how many there were."""

    def total(self) -> Mapping[models.Status, int]:
        """How many memories there are of each status, over all scopes but the canaries': a gauge, never shown with content."""

    def census(self) -> Census:
        """The same by visibility, too, and since when what waits for a decision does."""

    def owners(self, team: str) -> list[str]:
        """Who of a team owns memories: for erasing a whole team alone."""

    def purge(self) -> None:
        """Leave nothing on the disk of what was deleted or replaced, as far as that is in the hands of this process. It may take long."""

    def ping(self) -> None: ...

    def close(self) -> None: ...


@runtime_checkable
class WholeStore(MemoryStore, Protocol):
    """A store as upkeep has it, over all scopes but the canaries'. Nothing that answers a person is given one."""

    def anybody(self, where: Where, *, limit: int) -> list[models.Memory]:
        """As `find`, whoever's they are."""

    def sample(self, where: Where, *, limit: int) -> list[models.Memory]:
        """So many of these, chosen by their ids, which say nothing about them."""


class NoteWhere(msgspec.Struct, frozen=True):
    """Filters of notes and of their passages beside the scope. None means any.

    ids: of notes. entity: one that the note names (a passage: that the passage names, or a tag of its note). name: what a wikilink calls the note.
    before: updated earlier than this (epoch seconds; passages know of no such time).
    """

    ids: tuple[str, ...] | None = None
    owner: str | None = None
    visibility: models.Visibility | None = None
    source: str | None = None
    path: str | None = None
    entity: models.Entity | None = None
    name: str | None = None
    before: float | None = None


ANY_NOTE = NoteWhere()


class EmbeddedPassage(NamedTuple):
    """A passage with the embedding of `Passage.embedded` (unit length). context: the texts beside it, whose words count a little for it, too."""

    passage: models.Passage
    vector: Sequence[float]
    context: str = ""

    @classmethod
    def of_note(cls, passages: Sequence[models.Passage], vectors: Sequence[Sequence[float]]) -> "list[EmbeddedPassage]":
        """All passages of a note, in order, each with those before and behind it as context."""
        return [
            cls(one, vector, "\n".join(beside.text for beside in (*passages[max(0, place - 1) : place], *passages[place + 1 : place + 2])))
            for place, (one, vector) in enumerate(zip(passages, vectors, strict=True))
        ]


@runtime_checkable
class NoteStore(Protocol):
    """Notes, and their passages with dense and BM25 vectors. Every read takes a scope and filters by it in the database.

    Writes are visible to the next read of the same store. Thread-safe.
    """

    def put(self, notes: Sequence[models.Note], passages: Sequence[EmbeddedPassage] = ()) -> None:
        """Insert or replace whole notes and passages by id, together."""

    def get(self, scope: models.Scope, note_id: str) -> models.Note | None:
        """The whole note."""

    def taken(self, note_id: str) -> bool:
        """Whether there is anything of that id in any scope: a new note must not take its place."""

    def find(self, scope: models.Scope, where: NoteWhere = ANY_NOTE, *, limit: int = 100, offset: int = 0) -> list[models.Note]:
        """Newest first (`updated_at`, then id), without their texts."""

    def count(self, scope: models.Scope, where: NoteWhere = ANY_NOTE) -> int: ...

    def passages(self, scope: models.Scope, note_id: str) -> list[models.Passage]:
        """Those of a note, in order."""

    def embeddings(self, scope: models.Scope, digests: Sequence[str]) -> dict[str, tuple[float, ...]]:
        """The vectors of passages of these digests, of those that are there."""

    def nearest(
        self, scope: models.Scope, vector: Sequence[float], *, limit: int, where: NoteWhere = ANY_NOTE, exact: bool = False
    ) -> list[models.PassageHit]:
        """By cosine, best first. `exact` forbids an approximate index."""

    def lexical(self, scope: models.Scope, text: str, *, limit: int, where: NoteWhere = ANY_NOTE) -> list[models.PassageHit]:
        """By BM25 (OR of the words, IDF; a word of the title counts 10, of the tags 5, of the text 1), best first."""

    def search(
        self, scope: models.Scope, vectors: Sequence[Sequence[float]], text: str, *, limit: int, where: NoteWhere = ANY_NOTE
    ) -> Legs[models.PassageHit]:
        """As `MemoryStore.search`."""

    def entities(self, scope: models.Scope, kind: models.EntityKind, *, limit: int = 1000) -> list[tuple[str, int]]:
        """Values of a kind as compared (`Entity.key`), and how many notes name each; most named first, then by value."""

    def prune(self, scope: models.Scope, note_id: str, keep: Sequence[str]) -> None:
        """Erase the passages of the note but those of these ids."""

    def delete(self, scope: models.Scope, ids: Sequence[str]) -> int:
        """Erase notes that the scope sees, with their passages; how many notes there were."""

    def owners(self, team: str) -> list[str]:
        """Who of a team owns notes: for erasing a whole team alone."""

    def purge(self) -> None:
        """As `MemoryStore.purge`."""

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


FORGOTTEN = Entry("", (), answered=True)
"""What is left of an answered entry that was forgotten: nothing is inserted there any more, neither what another conversation that begins alike was
told later."""


def follows(entry: Entry) -> bool:
    """Whether it repeats, after the answer, what was written before it and may have been forgotten while the answer came."""
    return entry.answered and bool(entry.block) and bool(entry.memories)


@runtime_checkable
class Ledger(Protocol):
    """What was inserted where: keys are hashes of principal and conversation prefix."""

    def read(self, keys: Sequence[str]) -> dict[str, Entry]: ...

    def write(self, entries: Mapping[str, Entry]) -> None:
        """An entry that `follows` and was forgotten meanwhile stays so: `FORGOTTEN`."""

    def forget(self, memory_ids: Sequence[str]) -> int:
        """Drop every entry that showed one of these memories, under all its keys; how many entries. An answered one is `FORGOTTEN` then."""

    def ping(self) -> None: ...


class Asked(msgspec.Struct, frozen=True, tag="asked"):
    """A recall that somebody asked for: the redacted words, and the ids of what it showed. at: epoch seconds."""

    words: str
    found: tuple[str, ...]
    at: float


class Opened(msgspec.Struct, frozen=True, tag="opened"):
    """A memory or note that somebody looked at by itself."""

    id: str
    at: float


Use = Asked | Opened


def concerns(use: Use, ids: Collection[str]) -> bool:
    """Whether a use has to do with one of these memories or notes."""
    return use.id in ids if isinstance(use, Opened) else not set(use.found).isdisjoint(ids)


@runtime_checkable
class UseLog(Protocol):
    """What was asked for and looked at, kept for each principal alone. It holds the latest uses and is no ledger: the oldest go."""

    def add(self, principal: models.Principal, use: Use) -> None: ...

    def read(self, principal: models.Principal) -> list[Use]:
        """Oldest first."""

    def forget(self, principal: models.Principal, ids: Sequence[str]) -> int:
        """Drop every use that has to do with one of these memories or notes; how many."""

    def clear(self, principal: models.Principal) -> int:
        """Drop all; how many."""


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a token; the token itself is known to its bearer alone. id: public, part of the token. Times: epoch seconds, None for never.

    used_at: the last call with it, to the minute.
    """

    id: str
    team: str
    user: str
    role: models.Role
    label: str = ""
    created_by: str = ""
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None
    used_at: float | None = None

    @property
    def principal(self) -> models.Principal:
        return models.Principal(self.team, self.user, self.role)

    def valid(self, now: float) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class StoredToken(NamedTuple):
    """digest: SHA-256 of the whole token. It has 256 random bits: a slow hash would add nothing but time. signed_out_at: when a session of the page
    that was begun with it was ended last (epoch seconds)."""

    token: Token
    digest: bytes
    signed_out_at: float | None = None


@runtime_checkable
class TokenBook(Protocol):
    """The tokens of all teams. Whoever asks checks for himself what he may see."""

    def add(self, token: Token, digest: bytes) -> None: ...

    def find(self, token_id: str) -> StoredToken | None: ...

    def all(self) -> list[StoredToken]:
        """Oldest first."""

    def revoke(self, token_id: str, at: float) -> bool:
        """Whether there was a valid one. A revoked token stays known, and stays revoked."""

    def signed_out(self, token_id: str, at: float) -> None:
        """Sessions of the page that were begun with it until then have ended."""

    def used(self, token_id: str, at: float) -> None: ...

    def ping(self) -> None: ...


class Act(StrEnum):
    """What the audit log tells of: a closed set."""

    READ = "read"
    SEARCHED = "searched"
    ADDED = "added"
    EDITED = "edited"
    FORGOT = "forgot"
    DECIDED = "decided"
    UNDID = "undid"
    EXPORTED = "exported"
    IMPORTED = "imported"
    MADE_TOKEN = "made_token"  # noqa: S105 - a name
    REVOKED_TOKEN = "revoked_token"  # noqa: S105
    REMOVED_MEMBER = "removed_member"
    UNREADABLE = "unreadable"  # sealed with another secret key: it is known when, and of which team


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Who did what to which memories, notes or tokens. Never a text of one. id: "" until it is written. count: how many, if `ids` are but the first.
    detail: of a closed set for each act ("approve", "private > team"). before: what a decision changed, by memory (`reviewing.change`)."""

    id: str = ""
    at: float
    team: str
    user: str
    act: Act
    ids: tuple[str, ...] = ()
    count: int = 0
    detail: str = ""
    before: Mapping[str, tuple[str, ...]] = {}


@runtime_checkable
class AuditLog(Protocol):
    """Who changed or read what, of each team. It can only be added to."""

    def add(self, event: Event) -> str:
        """Its id."""

    def read(self, team: str, *, limit: int = 100, before: str = "") -> list[Event]:
        """Newest first; `before`: those older than the event of that id."""

    def find(self, team: str, event_id: str) -> Event | None: ...

    def ping(self) -> None: ...


class Considered(msgspec.Struct, frozen=True):
    """A memory that a turn's recall looked at. reason: why it was not told; "" if it was."""

    id: str
    score: float
    similarity: float
    cosine: float | None = None
    reason: str = ""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn was told, and why. words: the redacted question; asked: what was looked up, where it differs. outcome: as in the metric
    `brb_recall_outcome_total`. block: the exact text that was inserted, "" for none. took_ms: of the recall. gate: the similarity that it took to be
    told, None if nothing was looked up. notices: why it was not looked up by meaning, or not at all."""

    turn: str
    at: float
    project: str = ""
    session: str = ""
    words: str = ""
    asked: str = ""
    outcome: str
    block: str = ""
    tokens: int = 0
    took_ms: float = 0.0
    gate: float | None = None
    notices: tuple[str, ...] = ()
    considered: tuple[Considered, ...] = ()


@runtime_checkable
class TurnLog(Protocol):
    """What each turn was told, kept for its principal alone, as long as the ledger keeps its block."""

    def add(self, principal: models.Principal, told: Told) -> None: ...

    def find(self, principal: models.Principal, turn: str) -> Told | None: ...

    def beginning(self, principal: models.Principal, prefix: str) -> list[str]:
        """The ids of the principal's turns that begin so, newest first."""

    def latest(self, principal: models.Principal, *, limit: int = 100) -> list[Told]:
        """Newest first."""

    def showing(self, principal: models.Principal, memory_id: str, *, limit: int = 100) -> list[Told]:
        """Turns of the principal that were told of the memory, newest first."""

    def forget(self, team: str, memory_ids: Sequence[str]) -> int:
        """Drop every record of anybody of the team that speaks of one of these memories; how many."""

    def drop(self, principal: models.Principal, concerns: Callable[[Told], bool]) -> int:
        """Drop those of the principal's records that concern what is forgotten; how many."""

    def clear(self, principal: models.Principal) -> int:
        """Drop all; how many."""

    def ping(self) -> None: ...


class Dead(msgspec.Struct, frozen=True):
    """A job that failed for good. `error` is a type name and a message without the person's words. team: whose it was, "" if that can't be read."""

    id: str
    task: messages.Task
    attempts: int
    error: str
    died_at: float
    team: str = ""


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

    def known(self, ids: Sequence[str]) -> set[str]:
        """Which of these are recorded or were done."""

    def claim(self, job_id: str) -> Claim | None:
        """Take the job, or None if it is gone, done, held by another, or postponed until later."""

    def extend(self, claim: Claim) -> bool:
        """Keep the claim alive; False if it was lost."""

    def finish(self, claim: Claim, then: Sequence[messages.Job] = ()) -> bool:
        """Mark done and record what follows from it in one step; False (and nothing written) if the claim was lost."""

    def postpone(self, claim: Claim, delay_seconds: float, *, counted: bool) -> None:
        """Give the claim back, due again after a delay; `counted=False` when the cause lies outside the job (a dependency is away)."""

    def bury(self, claim: Claim, error: str) -> None:
        """Make it a dead letter."""

    def overdue(self, limit: int = 100) -> list[tuple[str, messages.Task]]:
        """Jobs that are due and that nobody holds; each again after the time of a lease, doubled as long as nobody takes it."""

    def dead(self, limit: int = 100, concerns: Callable[[messages.Job], bool] | None = None) -> list[Dead]:
        """Newest first; with `concerns`, those that do. What can't be read concerns nobody."""

    def forget(self, concerns: Callable[[messages.Job], bool]) -> int:
        """Erase the jobs (pending, held and dead) that concern what is forgotten; how many. Whoever holds one then finds its claim lost."""

    def revive(self, job_id: str) -> messages.Task | None:
        """Make a dead letter pending again; its task, or None if there is none of that id."""

    def pending(self) -> Mapping[messages.Lane, int]: ...

    def oldest_seconds(self) -> Mapping[messages.Lane, float]: ...

    def ping(self) -> None: ...


class Canary(msgspec.Struct, frozen=True):
    """What a round of probes found. at: when it ended (epoch seconds). recall: the share of the known-item probes found among the first k, by k.
    silent: the share of the negative probes that were told nothing. crossings: memories of another scope that were told."""

    at: float
    recall: Mapping[int, float]
    mrr: float
    silent: float
    crossings: int
    write_to_read_seconds: float


class Survey(msgspec.Struct, frozen=True):
    """What a look over all memories found; None where there was nothing to look at. at: epoch seconds. zombies: by `telemetry.Zombie`."""

    at: float
    zombies: Mapping[str, float] | None = None
    top_share: float | None = None


class Room(NamedTuple):
    """Bytes; limit: 0 for none."""

    used: int
    limit: int


@runtime_checkable
class Figures(Protocol):
    """What is counted and found out about the memory as a whole, by one process for all: numbers, and ids of memories, never a text."""

    def told(self, ids: Collection[str], at: float) -> None:
        """Count that a turn was told of these memories. A count is kept for `figures.TALLY_DAYS`."""

    def most_told(self, at: float, count: int) -> tuple[list[int], int]:
        """How often each of the most told memories was told lately, and how often all were."""

    def forget(self, ids: Collection[str]) -> None:
        """Count these memories no more."""

    def keep(self, found: Canary | Survey) -> None: ...

    def canary(self) -> Canary | None:
        """The last one that was kept."""

    def survey(self) -> Survey | None: ...

    def due(self, work: str, seconds: float) -> bool:
        """Whether it is time for a piece of work, which is nobody else's then for so many seconds."""

    def again(self, work: str, seconds: float) -> None:
        """It is due again so many seconds from now; 0: at once."""

    def room(self) -> Room:
        """The memory that what keeps jobs and blocks takes."""


@runtime_checkable
class Extractor(Protocol):
    """Statements worth keeping, from one turn's words. Raises rather than returning nothing when it could not do its work."""

    def extract(self, turn: messages.LearnTurn) -> tuple[models.Fact, ...]: ...
