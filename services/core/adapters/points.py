"""What the two Qdrants have in common for their callers: points with a payload, a dense and a BM25 vector, and filters over payloads."""

import itertools
import json
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from services.core import errors, models
from services.core.adapters.bm25 import Sparse

DENSE = "dense"
LEXICAL = "bm25"
SCHEMA_VERSION = 2
REACH = "reach"
"""The field of `reach`."""
MOST_OWNERS = 100_000

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
T = TypeVar("T")
Payload = Mapping[str, Any]


class Layout(NamedTuple):
    """What a collection is for: `what` it holds (in words of an error), the payload fields that filters use as keywords, and as numbers."""

    what: str
    keywords: tuple[str, ...]
    numbers: tuple[str, ...]


class AnyOf(NamedTuple):
    """One of the values in the field."""

    field: str
    values: tuple[str, ...]


Clause = tuple[AnyOf, ...]
"""At least one of these."""


class Only(NamedTuple):
    """A filter: all clauses hold, the id is one of `ids` (None: any) and none of `but`, a number is at least or under a bound, and nothing of
    `none_of` holds."""

    clauses: Sequence[Clause] = ()
    ids: Sequence[str] | None = None
    but: Sequence[str] = ()
    at_least: tuple[str, float] | None = None
    under: tuple[str, float] | None = None
    none_of: Sequence[AnyOf] = ()


class Point(NamedTuple):
    """To be stored. Without vectors no search finds it."""

    id: str
    payload: Payload
    dense: Sequence[float] | None = None
    lexical: Sparse | None = None


class Found(NamedTuple):
    payload: Payload
    score: float = 0.0
    dense: tuple[float, ...] | None = None


class Points(Protocol):
    """One collection. Thread-safe; a write is visible to the next read. Raises `errors.Unavailable` when it is away."""

    @property
    def dimension(self) -> int: ...

    def upsert(self, items: Sequence[Point]) -> None:
        """Insert or replace by id, in one operation."""

    def overwrite(self, payloads: Mapping[str, Payload]) -> None:
        """Replace the whole payload of those of these ids that are there."""

    def set_fields(self, only: Only, fields: Payload) -> None: ...

    def delete(self, only: Only) -> int:
        """How many there were."""

    def scroll(
        self, only: Only, *, limit: int, newest_by: str = "", oldest_by: str = "", without: Sequence[str] = (), dense: bool = False
    ) -> list[Found]:
        """In no order (that of the ids, which say nothing), or by a number field, largest or smallest first. without: payload fields to leave out.
        dense: with the dense vectors."""

    def count(self, only: Only) -> int: ...

    def nearest(self, vector: Sequence[float], only: Only, *, limit: int, exact: bool = False) -> list[Found]:
        """By cosine, best first, with the dense vectors."""

    def lexical(self, terms: Sparse, only: Only, *, limit: int) -> list[Found]:
        """By BM25, best first, with the dense vectors. A word is as rare as it is among those that pass the filter."""

    def search(self, vectors: Sequence[Sequence[float]], terms: Sparse | None, only: Only, *, limit: int) -> tuple[list[list[Found]], list[Found]]:
        """What `nearest` finds for each of the vectors, and `lexical` for the terms, asked together."""

    def values(self, field: str, only: Only, *, limit: int) -> list[tuple[str, int]]:
        """The values of a keyword field and how many points have each, most frequent first."""

    def purge(self) -> None:
        """Leave nothing on the disk of what was deleted or replaced, where that is in the hands of this process."""

    def ping(self) -> None: ...

    def close(self) -> None: ...


def reach(one: models.Memory | models.Note | models.Passage, state: str) -> list[str]:
    """Who finds it, in which project, and what it is: its owner, and whomever it was shown to.

    All of a scope in the values of one field. A filter is looked at point by point, condition by condition: by its own four fields a search
    over 11,800 of 100,000 memories took 12 ms, and the counting of their words 11; by this one it takes 5 and 2.
    """
    shared = [] if one.visibility is models.Visibility.PRIVATE else [str(one.visibility)]
    return [_reach(one.team, audience, one.project, state) for audience in (f"own {one.owner}", *shared)]


def seen_by(scope: models.Scope, states: Iterable[str]) -> list[Clause]:
    """`Scope.sees`, for a database. states: the ones that are wanted."""
    audiences = (f"own {scope.user}", *map(str, scope.shared))
    if scope.projects is not None:
        projects = ("", *sorted(scope.projects))
        return [(AnyOf(REACH, tuple(_reach(scope.team, *each) for each in itertools.product(audiences, projects, states))),)]
    return [
        (AnyOf("team", (scope.team,)),),
        (AnyOf("owner", (scope.user,)), AnyOf("visibility", tuple(map(str, scope.shared)))),
    ]


def _reach(team: str, audience: str, project: str, state: str) -> str:
    """Of names that may hold whatever they like: none can pose as another."""
    return json.dumps((team, audience, project, state), ensure_ascii=False)


def valid_ids(ids: Iterable[str]) -> list[str]:
    """The ids that can exist, in canonical form, each once."""
    return list(dict.fromkeys(valid for each in ids if (valid := _canonical(each))))


def _canonical(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return ""


def check_dimension(vectors: Iterable[Sequence[float]], dimension: int) -> None:
    for vector in vectors:
        if len(vector) != dimension:
            raise errors.WrongModel(f"an embedding has {len(vector)} dimensions, the store {dimension}: check BRB_EMBED_MODEL and BRB_EMBED_URL")


def collection_name(model: str) -> str:
    """A folder or collection name for an embedding model."""
    return _UNSAFE.sub("_", model).lstrip(".") or "_"


def wrong_model(what: str, found: str, wanted: str) -> errors.WrongModel:
    return errors.WrongModel(
        f"the {what} are stored with the embedding model {found}, but {wanted} is configured: run `brb reindex` to carry them over, "
        f"or set BRB_EMBED_MODEL={found.partition(' ')[0]}"
    )


def page(
    newest: Callable[[int], list[T]],
    since: Callable[[float], list[T]],
    limit: int,
    offset: int,
    *,
    at: Callable[[T], float],
    ordered: Callable[[Iterable[T]], list[T]],
) -> list[T]:
    """One page, newest first, from a database that sorts by time alone.

    newest(n): the n newest. since(t): all whose time is `t` or later, asked for only when the page ends among those of one time.
    at: the time of one. ordered: by time, then by what tells those of one time apart.
    """
    if limit <= 0:
        return []
    end = max(0, offset) + limit
    found = newest(end + 1)
    if len(found) > end and at(found[end]) == at(found[end - 1]):
        found = since(at(found[end]))
    return ordered(found)[max(0, offset) : end]
