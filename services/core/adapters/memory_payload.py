"""A memory as the payload of a point, and its filters: what all stores of memories share."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from services.core import models, ports
from services.core.adapters import points

LAYOUT = points.Layout(
    what="memories",
    keywords=("team", "owner", "project", "visibility", "status", "category", "lineage", "attribute", "subject", points.REACH),
    numbers=("created_at", "accessed_at"),
)
WAITING: tuple[list[points.Clause], ...] = (
    [(points.AnyOf("status", (str(models.Status.QUARANTINED), str(models.Status.PENDING))),)],
    [(points.AnyOf("status", (str(models.Status.CURRENT),)),), (points.AnyOf("visibility", (str(models.Visibility.PROPOSED),)),)],
)
"""What waits for a decision (`reviewing.waits`), as two filters."""


def clauses(scope: models.Scope, where: ports.Where) -> list[points.Clause]:
    """`Scope.sees` and the filters, for a database."""
    wanted = _wanted(where)
    seen = points.seen_by(scope, map(str, models.Status) if where.status is None else (str(where.status),))
    if scope.projects is not None:
        wanted.pop("status", None)  # is in what the scope sees
    return seen + [_is(field, value) for field, value in wanted.items()]


def filters(where: ports.Where) -> list[points.Clause]:
    """The filters alone, whoever's it is."""
    return [_is(field, value) for field, value in _wanted(where).items()]


def matches(memory: models.Memory, where: ports.Where) -> bool:
    """Whether a memory passes the filters."""
    return all(getattr(memory, field) == value for field, value in _wanted(where).items()) and (
        where.before is None or memory.created_at < where.before
    )


def under(where: ports.Where) -> tuple[str, float] | None:
    """The bound of time among the filters, for a database."""
    return None if where.before is None else ("created_at", where.before)


def encode(memory: models.Memory) -> dict[str, Any]:
    return {**msgspec.to_builtins(memory), points.REACH: points.reach(memory, str(memory.status))}


def decode(payload: Mapping[str, Any] | None) -> models.Memory:
    return msgspec.convert(payload, models.Memory)


def newest_first(memories: Iterable[models.Memory]) -> list[models.Memory]:
    return sorted(memories, key=lambda memory: (-memory.created_at, memory.id))


def _is(field: str, value: object) -> points.Clause:
    return (points.AnyOf(field, (str(value),)),)


def _wanted(where: ports.Where) -> dict[str, object]:
    """The value that each field must have."""
    return {field: value for field, value in msgspec.structs.asdict(where).items() if value is not None and field != "before"}
