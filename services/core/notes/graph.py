"""What notes point at, and what points at them."""

from collections.abc import Sequence

import msgspec

from services.core import models, ports
from services.core.models import Entity, EntityKind

_MOST_TARGETS = 20


class Relationship(msgspec.Struct, frozen=True):
    """An outgoing edge of a note: what it names, and the ids of the notes that a wikilink means (none: not written yet; several of one name: all)."""

    kind: EntityKind
    value: str
    raw: str
    targets: tuple[str, ...] = ()


def relationships(store: ports.NoteStore, scope: models.Scope, note: models.Note) -> tuple[Relationship, ...]:
    """In the order of the text."""
    return tuple(Relationship(one.kind, one.value, one.raw, _targets(store, scope, one)) for one in note.entities)


def backlinks(store: ports.NoteStore, scope: models.Scope, title: str) -> list[models.Note]:
    """The notes with a wikilink to the note of that title or file name (which need not exist), newest first, without texts."""
    return _all(store, scope, ports.NoteWhere(entity=Entity(EntityKind.WIKILINK, title)))


def backlink_counts(store: ports.NoteStore, scope: models.Scope, notes: Sequence[models.Note]) -> dict[str, int]:
    """How many other notes link to each, by id."""
    return {note.id: len({one.id for name in note.names for one in backlinks(store, scope, name)} - {note.id}) for note in notes}


def _targets(store: ports.NoteStore, scope: models.Scope, entity: Entity) -> tuple[str, ...]:
    if entity.kind is not EntityKind.WIKILINK:
        return ()
    return tuple(note.id for note in store.find(scope, ports.NoteWhere(name=entity.value), limit=_MOST_TARGETS))


def _all(store: ports.NoteStore, scope: models.Scope, where: ports.NoteWhere) -> list[models.Note]:
    return store.find(scope, where, limit=max(1, store.count(scope, where)))
