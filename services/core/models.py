"""The frozen values that every service speaks of. Times are UTC epoch seconds (float); ids are UUID strings."""

from enum import StrEnum
from typing import Any, NewType

import msgspec

MemoryId = NewType("MemoryId", str)


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
    PRIVATE = "private"
    TEAM = "team"


class Status(StrEnum):
    CURRENT = "current"
    SUPERSEDED = "superseded"


class Principal(msgspec.Struct, frozen=True):
    """Who is calling: a user of a team, in a role."""

    team: str
    user: str
    role: Role = Role.MEMBER


LOCAL = Principal(team="local", user="me", role=Role.ADMIN)
"""The one principal of `BRB_AUTH=off`."""


class Scope(msgspec.Struct, frozen=True):
    """What a caller may see: own memories and those approved for the team, in the given projects.

    `projects=None` means every project of the caller (managing one's memories); a set means memories bound to one of these
    projects or to none (recall). The empty set is the scope of a caller whose project is unknown.
    """

    team: str
    user: str
    projects: frozenset[str] | None = frozenset()

    def sees(self, memory: "Memory") -> bool:
        """The reference meaning of a scope; each store filters by the same rule in the database."""
        mine = memory.owner == self.user or memory.visibility is Visibility.TEAM
        here = self.projects is None or memory.project == "" or memory.project in self.projects
        return memory.team == self.team and mine and here


class Fact(msgspec.Struct, frozen=True):
    """A candidate memory: one durable statement and the person's own words that prove it.

    text: self-contained, in the person's own words wherever these stand alone. quote: verbatim in the person's words.
    attribute: what is stated, normalised ("name", "release deadline", "uses"), "" if none; subject: whose it is ("user", "team", an entity).
    functional: the attribute has one value at a time, so that a new value replaces the old one. replaces: a value that the statement says is over.
    correction: the words correct something said before without naming it ("actually it's X").
    qualifiers: words that make two like statements different facts ("staging", "production"), lower case, sorted.
    when: the time as it was stated ("since 2021", "until Friday"), "" if none; valid_from, valid_to: what it means, where that is certain.
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


class Evidence(msgspec.Struct, frozen=True):
    """The person's own (redacted) words behind a memory, the turn they were said in, and when."""

    quote: str
    turn: str
    said_at: float


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """A stored statement. `lineage` is the id of the first memory of its history: superseded and edited versions share it.

    valid_to: when it ceased to hold, or will cease to (as stated). A memory past that time is not recalled, whatever its status.
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


def to_builtins(value: Any) -> Any:
    """JSON-ready form of a value of this module."""
    return msgspec.to_builtins(value)
