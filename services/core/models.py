"""The frozen values that every service speaks of. Times are UTC epoch seconds (float); ids are UUID strings."""

from enum import StrEnum
from typing import Any, Literal, NewType

import msgspec

MemoryId = NewType("MemoryId", str)
NoteId = NewType("NoteId", str)

_FIRST_SECONDS, _LAST_SECONDS = -62_104_060_800.0, 253_370_764_799.0  # of the years 2 and 9998: what lies between can be written in any zone


def within_calendar(seconds: float) -> float:
    """A time as it was given, or the nearest that can be written as a date: one that can't would be in the way of all that it is listed with."""
    return min(max(seconds, _FIRST_SECONDS), _LAST_SECONDS)


class Role(StrEnum):
    MEMBER = "member"
    CURATOR = "curator"
    ADMIN = "admin"


class Category(StrEnum):
    """The seven kinds of durable statement that are kept."""

    PREFERENCE = "preference"
    PROJECT_CONTEXT = "project_context"
    TECHNICAL_CHOICE = "technical_choice"
    PERSONAL_INFO = "personal_info"
    DECISION = "decision"
    CONSTRAINT = "constraint"
    TODO = "todo"


PERSONAL_CATEGORIES = frozenset({Category.PREFERENCE, Category.PERSONAL_INFO})
"""Categories that belong to the person and so hold in every project; the others are bound to the project they were said in."""


class Visibility(StrEnum):
    """Who sees it: its owner; its owner and whoever decides for the team whether all shall have it; all of the team."""

    PRIVATE = "private"
    PROPOSED = "proposed"
    TEAM = "team"


class Status(StrEnum):
    """Only what is current is recalled. pending: imported, its owner has not said yes; quarantined: reads like an instruction to whoever is told of
    it, and nobody has said that it is none."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    PENDING = "pending"
    QUARANTINED = "quarantined"


class Review(StrEnum):
    """What was decided last about a memory that waited for somebody's decision. kept: its owner keeps it to himself."""

    NONE = ""
    APPROVED = "approved"
    REJECTED = "rejected"
    KEPT = "kept"


class Decision(StrEnum):
    """What may be decided about a memory that waits for somebody (`reviewing`)."""

    APPROVE = "approve"
    REJECT = "reject"
    KEEP = "keep"
    RELEASE = "release"
    PROMOTE = "promote"


Why = Literal["proposed", "quarantined", "pending"]
"""What a memory waits for."""


class Principal(msgspec.Struct, frozen=True):
    """Who is calling: a user of a team, in a role."""

    team: str
    user: str
    role: Role = Role.MEMBER


LOCAL = Principal(team="local", user="me", role=Role.ADMIN)
"""The one principal of `BRB_AUTH=off`."""


CANARY_TEAMS = ("~canary-1", "~canary-2")
"""Teams of nobody, whose facts probe writing and recall: `~` is in no name that a token can have. They are in no total and no gauge."""


class Scope(msgspec.Struct, frozen=True):
    """What a caller may see: own memories and those approved for the team, in the given projects.

    `projects=None` means every project of the caller (managing one's memories); a set means memories bound to one of these
    projects or to none (recall). The empty set is the scope of a caller whose project is unknown. curates: what others
    propose is seen, too.
    """

    team: str
    user: str
    projects: frozenset[str] | None = frozenset()
    curates: bool = False

    @property
    def shared(self) -> tuple[Visibility, ...]:
        """What is seen of others."""
        return (Visibility.TEAM, Visibility.PROPOSED) if self.curates else (Visibility.TEAM,)

    def sees(self, one: "Memory | Note | Passage") -> bool:
        """The reference meaning of a scope; each store filters by the same rule in the database."""
        mine = one.owner == self.user or one.visibility in self.shared
        here = self.projects is None or one.project == "" or one.project in self.projects
        return one.team == self.team and mine and here


class Fact(msgspec.Struct, frozen=True):
    """A candidate memory: one durable statement and the person's own words that prove it.

    text: self-contained, in the person's own words wherever these stand alone. quote: verbatim in the person's words.
    attribute: what is stated, normalised ("name", "release deadline", "uses"), "" if none; subject: whose it is ("user", "team", an entity).
    functional: the attribute has one value at a time, so that a new value replaces the old one. replaces: a value that the statement says is over.
    correction: the words correct something said before without naming it ("actually it's X").
    qualifiers: words that make two like statements different facts ("staging", "production"), lower case, sorted.
    when: the time as it was stated ("since 2021", "until Friday"), "" if none; valid_from, valid_to: what it means, where that is certain.
    closes: the words ask to forget this: what says it ends, and nothing takes its place. Without an attribute and with a value alone, all about it.
    """

    text: str
    category: Category
    confidence: float
    quote: str
    subject: str = "user"
    attribute: str = ""
    value: str = ""
    functional: bool = False
    polarity: bool = True
    entities: tuple[str, ...] = ()
    qualifiers: tuple[str, ...] = ()
    replaces: str = ""
    correction: bool = False
    when: str = ""
    valid_from: float | None = None
    valid_to: float | None = None
    closes: bool = False


class Evidence(msgspec.Struct, frozen=True):
    """The person's own (redacted) words behind a memory, the turn they were said in, when, and in which of the client's sessions ("": unknown)."""

    quote: str
    turn: str
    said_at: float
    session: str = ""


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """A stored statement. `lineage` is the id of the first memory of its history: superseded and edited versions share it.

    valid_to: when it ceased to hold, or will cease to (as stated). A memory past that time is not recalled, whatever its status.
    replaces: as in `Fact`, while it waits: until then it puts an end to nothing.
    held: why it is quarantined. review, reviewed_by, reviewed_at: the last decision about it, whose, and when. edited_by: who worded it last, if that
    was not its owner.
    """

    id: MemoryId
    team: str
    owner: str
    project: str = ""
    visibility: Visibility = Visibility.PRIVATE
    status: Status = Status.CURRENT
    text: str
    category: Category
    confidence: float
    subject: str = "user"
    attribute: str = ""
    value: str = ""
    functional: bool = False
    polarity: bool = True
    entities: tuple[str, ...] = ()
    qualifiers: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    mentions: int = 1
    lineage: str
    supersedes: str = ""
    superseded_by: str = ""
    created_at: float
    said_at: float
    reinforced_at: float
    accessed_at: float
    when: str = ""
    valid_from: float | None = None
    valid_to: float | None = None
    replaces: str = ""
    held: str = ""
    review: Review = Review.NONE
    reviewed_by: str = ""
    reviewed_at: float | None = None
    edited_by: str = ""


class Hit(msgspec.Struct, frozen=True):
    """A memory found by one leg of a search: `score` is the cosine (dense) or the BM25 score (lexical); `vector` the stored embedding, if any."""

    memory: Memory
    score: float
    vector: tuple[float, ...] | None = None


class Ranked(msgspec.Struct, frozen=True):
    """A memory with every signal that made its rank, for `--explain`. Ranks count from 1; None where that leg did not find it.

    similarity: what the score was made of: the cosine (None when recalled by words alone), raised by words and identifiers in common.
    """

    memory: Memory
    score: float
    similarity: float
    dense_rank: int | None
    lexical_rank: int | None
    rrf: float
    strength: float
    recency: float
    temporal: float
    matched: tuple[str, ...] = ()
    cosine: float | None = None


class EntityKind(StrEnum):
    """What a note's text points at."""

    WIKILINK = "wikilink"
    HASHTAG = "hashtag"
    MENTION = "mention"
    URL = "url"


class Entity(msgspec.Struct, frozen=True):
    """Something that a note names: `value` without its marks (`[[Project X|alias]]` is "Project X", `#infra` is "infra"), `raw` with them."""

    kind: EntityKind
    value: str
    raw: str = ""

    @property
    def key(self) -> str:
        """What two spellings of the same have in common. A wikilink means the last part of its path, without `.md`; addresses stay as they are."""
        if self.kind is EntityKind.URL:
            return f"{self.kind}:{self.value}"
        named = page_name(self.value) if self.kind is EntityKind.WIKILINK else self.value.casefold()
        return f"{self.kind}:{named}"


def page_name(text: str) -> str:
    """A title or path as links compare it."""
    return " ".join(text.rsplit("/", 1)[-1].removesuffix(".md").split()).casefold()


def names(title: str, path: str) -> tuple[str, ...]:
    """What links may call a note: its title, or the last part of its path."""
    return tuple(dict.fromkeys(filter(None, (page_name(title), page_name(path)))))


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A page: a markdown file of an indexed folder (`source` and the `path` in it, with "/"), or put through the API (both "").

    titled: the title was given beside the text, and leads the headings of its passages. text: the markdown as it was given, redacted. tags: stated
    ones and those in the text, without "#". metadata: JSON values of the front matter and of the API beside title and tags. digest: SHA-256 (hex)
    of the text as it was given; "" while a write is unfinished. modified_at: of the file, or when it was put. dated_at: the date that the note
    states, else modified_at.
    """

    id: NoteId
    team: str
    owner: str
    project: str = ""
    visibility: Visibility = Visibility.PRIVATE
    title: str
    titled: bool = False
    tags: tuple[str, ...] = ()
    text: str = ""
    metadata: dict[str, Any] = {}
    source: str = ""
    path: str = ""
    digest: str = ""
    entities: tuple[Entity, ...] = ()
    created_at: float
    updated_at: float
    modified_at: float
    dated_at: float

    @property
    def names(self) -> tuple[str, ...]:
        """What a wikilink may call it."""
        return names(self.title, self.path)


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a note: `text` verbatim, the headings it stands under (outermost first; a stated title leads), and its place (from 0).

    title, tags, source, path, dated_at and the scope are the note's. entities: those in this piece.
    digest: of what is embedded (headings and text): equal digests have equal vectors.
    """

    id: str
    note: NoteId
    team: str
    owner: str
    project: str = ""
    visibility: Visibility = Visibility.PRIVATE
    title: str
    tags: tuple[str, ...] = ()
    source: str = ""
    path: str = ""
    headings: tuple[str, ...] = ()
    position: int
    text: str
    digest: str
    entities: tuple[Entity, ...] = ()
    dated_at: float

    @property
    def embedded(self) -> str:
        """What its vector is made of."""
        return embedded_text(self.headings, self.text, self.title)


def embedded_text(headings: tuple[str, ...], text: str, title: str) -> str:
    """A piece as an embedding model reads it: under its headings; the title alone stands for a page without either."""
    return "\n".join(filter(None, (" > ".join(headings), text))) or title


class PassageHit(msgspec.Struct, frozen=True):
    """A passage found by one leg of a search: `score` is the cosine (dense) or the BM25 score (lexical); `vector` the stored embedding, if any."""

    passage: Passage
    score: float
    vector: tuple[float, ...] | None = None


def to_builtins(value: Any) -> Any:
    """JSON-ready form of a value of this module."""
    return msgspec.to_builtins(value)
