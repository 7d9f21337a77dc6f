"""A memory as the payload of a point, and the scope rule as a filter: what all stores share."""

import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from services.core import errors, models, ports

SCHEMA_VERSION = 1
DENSE = "dense"
LEXICAL = "bm25"
KEYWORDS = ("team", "owner", "project", "visibility", "status", "category", "lineage", "attribute", "subject")
TIMES = ("created_at", "accessed_at")

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


class AnyOf(NamedTuple):
    """One of the values in the field."""

    field: str
    values: tuple[str, ...]


Clause = tuple[AnyOf, ...]
"""At least one of these. A filter is a list of clauses, all of which must hold."""


def clauses(scope: models.Scope, where: ports.Where) -> list[Clause]:
    """`Scope.sees` and the filters, for a database."""
    seen: list[Clause] = [
        (AnyOf("team", (scope.team,)),),
        (AnyOf("owner", (scope.user,)), AnyOf("visibility", (str(models.Visibility.TEAM),))),
    ]
    if scope.projects is not None:
        seen.append((AnyOf("project", ("", *sorted(scope.projects))),))
    return seen + [(AnyOf(field, (str(value),)),) for field, value in msgspec.structs.asdict(where).items() if value is not None]


def matches(memory: models.Memory, where: ports.Where) -> bool:
    """Whether a memory passes the filters."""
    return all(value is None or getattr(memory, field) == value for field, value in msgspec.structs.asdict(where).items())


def encode(memory: models.Memory) -> dict[str, Any]:
    payload: dict[str, Any] = msgspec.to_builtins(memory)
    return payload


def decode(payload: Mapping[str, Any] | None) -> models.Memory:
    return msgspec.convert(payload, models.Memory)


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


def wrong_model(found: str, wanted: str) -> errors.WrongModel:
    return errors.WrongModel(
        f"the memories are stored with the embedding model {found}, but {wanted} is configured: run `brb reindex` to carry them over, "
        f"or set BRB_EMBED_MODEL={found.partition(' ')[0]}"
    )


def newest_first(memories: Iterable[models.Memory]) -> list[models.Memory]:
    return sorted(memories, key=lambda memory: (-memory.created_at, memory.id))


def page(newest: Callable[[int], list[models.Memory]], since: Callable[[float], list[models.Memory]], limit: int, offset: int) -> list[models.Memory]:
    """One page, in the order of `find`, from a database that sorts by time alone.

    newest(n): the n newest. since(t): all with `created_at >= t`, asked for only when the page ends among memories of one time.
    """
    if limit <= 0:
        return []
    end = max(0, offset) + limit
    found = newest(end + 1)
    if len(found) > end and found[end].created_at == found[end - 1].created_at:
        found = since(found[end].created_at)
    return newest_first(found)[max(0, offset) : end]
