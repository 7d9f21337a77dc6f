"""Notes and passages as payloads of points, and their filters: what all stores of notes share.

Both carry `kind`, `note` (the note's id), and what their filters look for: `named` (the keys of the entities) and `names` (what links call the note).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

import msgspec

from services.core import models, ports
from services.core.adapters import points

Kind = Literal["note", "passage"]
LAYOUT = points.Layout(
    what="notes",
    keywords=("team", "owner", "project", "visibility", "kind", "note", "source", "path", "digest", "named", "names", points.REACH),
    numbers=("updated_at",),
)
TEXT = "text"


def clauses(scope: models.Scope, where: ports.NoteWhere = ports.ANY_NOTE, kind: Kind | None = None) -> list[points.Clause]:
    """`Scope.sees` and the filters, for a database. kind: None for notes with their passages."""
    wanted = _wanted(where, kind)
    seen = points.seen_by(scope, get_args(Kind) if kind is None else (kind,))
    if scope.projects is not None:
        wanted.pop("kind", None)  # is in what the scope sees
    return seen + [(points.AnyOf(field, values),) for field, values in wanted.items()]


def matches(one: models.Note | models.Passage, where: ports.NoteWhere) -> bool:
    """Whether it passes the filters."""
    payload = encode_note(one) if isinstance(one, models.Note) else encode_passage(one)
    named = all(not {*values}.isdisjoint(_listed(payload[field])) for field, values in _wanted(where, None).items())
    return named and (where.before is None or not isinstance(one, models.Note) or one.updated_at < where.before)


def under(where: ports.NoteWhere) -> tuple[str, float] | None:
    """The bound of time among the filters of notes, for a database."""
    return None if where.before is None else ("updated_at", where.before)


def encode_note(note: models.Note) -> dict[str, Any]:
    own = {"kind": "note", "note": note.id, "named": [*_keys(note.entities)], "names": [*note.names], points.REACH: points.reach(note, "note")}
    return {**msgspec.to_builtins(note), **own}


def decode_note(payload: Mapping[str, Any]) -> models.Note:
    return msgspec.convert(payload, models.Note)


def encode_passage(passage: models.Passage) -> dict[str, Any]:
    tags = (models.Entity(models.EntityKind.HASHTAG, tag) for tag in passage.tags)
    named = _keys([*passage.entities, *tags])
    names = models.names(passage.title, passage.path)
    return {**msgspec.to_builtins(passage), "kind": "passage", "named": [*named], "names": [*names], points.REACH: points.reach(passage, "passage")}


def decode_passage(payload: Mapping[str, Any]) -> models.Passage:
    return msgspec.convert(payload, models.Passage)


def newest_first(notes: Iterable[models.Note]) -> list[models.Note]:
    return sorted(notes, key=lambda note: (-note.updated_at, note.id))


def in_order(passages: Iterable[models.Passage]) -> list[models.Passage]:
    return sorted(passages, key=lambda passage: (passage.position, passage.id))


def most_named_first(values: Iterable[tuple[str, int]], kind: models.EntityKind) -> list[tuple[str, int]]:
    """Of keys, those of the kind: the values without it."""
    mine = f"{kind}:"
    return sorted(((key.removeprefix(mine), count) for key, count in values if key.startswith(mine)), key=lambda one: (-one[1], one[0]))


def _wanted(where: ports.NoteWhere, kind: Kind | None) -> dict[str, tuple[str, ...]]:
    """The values that each field may have."""
    wanted: dict[str, tuple[str, ...]] = {}
    for field in ("owner", "visibility", "source", "path"):
        if (value := getattr(where, field)) is not None:
            wanted[field] = (str(value),)
    if kind is not None:
        wanted["kind"] = (kind,)
    if where.ids is not None:
        wanted["note"] = tuple(points.valid_ids(where.ids))
    if where.entity is not None:
        wanted["named"] = (where.entity.key,)
    if where.name is not None:
        wanted["names"] = (models.page_name(where.name),)
    return wanted


def _keys(entities: Iterable[models.Entity]) -> dict[str, None]:
    return dict.fromkeys(entity.key for entity in entities)


def _listed(value: object) -> Iterable[object]:
    return value if isinstance(value, list) else [value]
