"""Exports and imports: everything of one's own, out and in again."""

from collections.abc import Callable, Iterator, Sequence, Set
from typing import Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from services.core import api, archive, engine_api, errors, instructions, memory_add, models, ports, sharing, walking
from services.core.notes.writing import NoteWriter
from services.proxy import auditing, redacting
from services.proxy.parts import Parts

Existing = Literal["keep", "replace"]
Given = TypeVar("Given", bound=msgspec.Struct)
Made = TypeVar("Made")
_TOGETHER = 64  # embedded and written


def exported(parts: Parts, principal: models.Principal, kind: archive.Kind) -> Iterator[bytes]:
    """The caller's own memories, all versions, and notes: not those of others that the team shares."""
    scope = models.Scope(principal.team, principal.user, projects=None)
    mine = principal.user
    memories = walking.memories(parts.store, scope, ports.Where(status=None, owner=mine)) if kind != "notes" else iter(())
    notes = walking.notes(parts.notes, scope, ports.NoteWhere(owner=mine)) if kind != "memories" else iter(())
    count = parts.store.count(scope, ports.Where(status=None, owner=mine)) if kind != "notes" else 0
    count += parts.notes.count(scope, ports.NoteWhere(owner=mine)) if kind != "memories" else 0
    auditing.note(parts, principal, ports.Act.EXPORTED, detail=kind, count=count)
    return archive.document(api.time_of(parts.clock()), scope, memories, notes)


def imported(parts: Parts, principal: models.Principal, given: archive.Archive, existing: Existing) -> engine_api.Imported:
    """`BadInput` before anything is written; otherwise all of it lands. Doing it again changes nothing more."""
    count = len(given.memories) + len(given.notes)
    if count > archive.MOST_AT_ONCE:
        raise errors.BadInput(
            f"{count} memories and notes at once: at most {archive.MOST_AT_ONCE} are taken. `brb memories import` sends a file in parts"
        )
    memories = _each("memories", given.memories, lambda one: memory_add.as_read(archive.memory_of(one, principal)))
    notes = _each("notes", given.notes, lambda one: archive.note_of(one, principal))
    redact = redacting.Redacting.of(parts.settings).within(principal.team)
    landing = _Landing(parts, principal, existing)
    landed = engine_api.Imported(
        landing.memories([_looked_at(archive.with_texts(one, redact(archive.texts_of(one)))) for one in memories]),
        landing.notes([archive.with_note_texts(one, redact(archive.texts_of_note(one))) for one in notes]),
    )
    written = sum(each.created + each.replaced for each in (landed.memories, landed.notes))
    auditing.note(parts, principal, ports.Act.IMPORTED, count=written)
    return landed


def _looked_at(memory: models.Memory) -> models.Memory:
    """Anybody may have written a file that says that its memories were reviewed: what reads like an instruction waits for its new owner."""
    looked = instructions.guarded(replace(memory, held=""))
    if not looked.held or memory.status is models.Status.SUPERSEDED:
        return memory
    private = memory.visibility is models.Visibility.PRIVATE
    return replace(looked, review=models.Review.NONE, reviewed_by="", reviewed_at=None) if private else sharing.proposed(looked, "review")


class _Place(NamedTuple):
    """Where one goes: the id it gets, and whether there is one of the caller's own."""

    id: str
    mine: bool


class _Landing:
    def __init__(self, parts: Parts, principal: models.Principal, existing: Existing) -> None:
        self._parts = parts
        self._principal = principal
        self._replacing = existing == "replace"
        self._scope = models.Scope(principal.team, principal.user, projects=None)

    def memories(self, given: Sequence[models.Memory]) -> engine_api.Landed:
        landed = engine_api.Landed()
        for some in _batches(list({one.id: archive.renamed(one, lambda each: self._memory(each).id) for one in given}.values())):
            new = [one for one in some if self._replacing or not self._memory(one.id).mine]
            vectors = self._parts.embedder.embed([one.text for one in new], "document") if new else []
            with self._parts.owner_lock(self._principal):
                there = {one.id for one in some if self._memory(one.id).mine}
                put = [ports.Embedded(one, vector) for one, vector in zip(new, vectors, strict=True) if self._replacing or one.id not in there]
                self._parts.store.put(put)
            landed = _sum(landed, _counted([one.id for one, _ in put], there, len(some)))
        return landed

    def notes(self, given: Sequence[models.Note]) -> engine_api.Landed:
        landed = engine_api.Landed()
        writer = NoteWriter(self._parts.notes, self._parts.embedder, owner_lock=self._parts.owner_lock, clock=self._parts.clock)
        places = [(one, self._note(one)) for one in given]
        for some in _batches(list({place.id: (replace(one, id=models.NoteId(place.id)), place) for one, place in places}.values())):
            put = [note for note, place in some if self._replacing or not place.mine]
            writer.restore(self._principal, put)
            landed = _sum(landed, _counted([note.id for note in put], {place.id for _, place in some if place.mine}, len(some)))
        return landed

    def _memory(self, wanted: str) -> _Place:
        """Its own id, unless that is somebody else's memory."""
        held = self._parts.store.get(self._scope, wanted)
        if held is not None and held.owner == self._principal.user:
            return _Place(wanted, mine=True)
        if not self._parts.store.taken(wanted):
            return _Place(wanted, mine=False)
        other = archive.own_id(self._principal, wanted)
        return _Place(other, mine=self._parts.store.get(self._scope, other) is not None)

    def _note(self, note: models.Note) -> _Place:
        """That of the caller's note of the same file; its own id, unless that is somebody else's note."""
        if note.path:
            where = ports.NoteWhere(owner=self._principal.user, source=note.source, path=note.path)
            if found := self._parts.notes.find(self._scope, where, limit=1):
                return _Place(found[0].id, mine=True)
        held = self._parts.notes.get(self._scope, note.id)
        if held is not None and held.owner == self._principal.user:
            return _Place(note.id, mine=True)
        if not self._parts.notes.taken(note.id):
            return _Place(note.id, mine=False)
        other = archive.own_id(self._principal, note.id)
        return _Place(other, mine=self._parts.notes.get(self._scope, other) is not None)


def _each(what: str, given: Sequence[Given], made: Callable[[Given], Made]) -> list[Made]:
    return [_one(f"{what}[{n}]", one, made) for n, one in enumerate(given)]


def _one(where: str, given: Given, made: Callable[[Given], Made]) -> Made:
    try:
        return made(given)
    except errors.BadInput as error:
        raise errors.BadInput(f"{where}: {error}; nothing was imported") from None


def _batches(items: Sequence[Made]) -> Iterator[Sequence[Made]]:
    return (items[start : start + _TOGETHER] for start in range(0, len(items), _TOGETHER))


def _counted(put: Sequence[str], there: Set[str], asked: int) -> engine_api.Landed:
    replaced = len(there & set(put))
    return engine_api.Landed(created=len(put) - replaced, replaced=replaced, kept=asked - len(put))


def _sum(one: engine_api.Landed, other: engine_api.Landed) -> engine_api.Landed:
    return engine_api.Landed(one.created + other.created, one.replaced + other.replaced, one.kept + other.kept)
