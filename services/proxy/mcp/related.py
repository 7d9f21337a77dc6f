"""What a memory, a note or a question has to do with: what resembles it, and what is linked with it."""

from collections.abc import Sequence
from functools import partial
from typing import Literal

import msgspec
from msgspec.structs import asdict

from services.core import api, engine_api, errors, models, note_api, ports
from services.proxy.mcp import shown
from services.proxy.mcp.shown import Hit
from services.proxy.mcp.tools import Caller, as_json, body
from services.proxy.routes import graph, memories, notes
from services.proxy.routes.recall import recalled

_EACH = 5  # of what is similar, linked, or about it
_LONGEST_QUERY = 500  # characters of a memory that notes are looked up with


class Related(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str | msgspec.UnsetType = msgspec.UNSET
    query: str | msgspec.UnsetType = msgspec.UNSET


class RelatedHit(Hit, frozen=True, kw_only=True):
    """how: what it has to do with what was asked for."""

    how: str


class RelatedHits(msgspec.Struct, frozen=True):
    about: str
    hits: tuple[RelatedHit, ...]


def related(caller: Caller, asked: Related) -> RelatedHits:
    """Around a memory: what resembles it, and notes about it. Around a note: what resembles it, what it links to and what links to it, and memories
    about it. Around words: the best memory and the best note for them, and what is around those."""
    one_id, query = (None if each is msgspec.UNSET else each for each in (asked.id, asked.query))
    if bool(one_id) == bool(query):
        raise errors.BadInput("give either the id of a memory or note, or a query")
    if one_id:
        return _fitted([one for one in _around(caller, one_id, seen(caller, one_id)[0]) if one.id != one_id])
    best = recalled(caller.parts, caller.scope, api.Ask(query=query or "", limit=1))
    seeds = shown.hits(best, now=caller.parts.clock(), clean=caller.clean)
    return _fitted([*_because("found", seeds), *(hit for one in seeds for hit in _around(caller, one.id, one.kind))], best.notices)


def told(found: RelatedHits) -> str:
    return "\n".join([found.about, *(f"{shown.line(one)} ({one.how})" for one in found.hits)])


def seen(caller: Caller, one_id: str) -> tuple[Literal["memory", "note"], models.Memory | models.Note]:
    """What the caller may look at by this id."""
    try:
        return "memory", memories.found(caller.parts, caller.principal, one_id)
    except errors.NotFound:
        pass
    try:
        return "note", notes.found(caller.parts, caller.principal, one_id, caller.managed)
    except errors.NotFound:
        raise errors.NotFound(f"there is no memory or note {one_id}: ids come from brb_search") from None


def _around(caller: Caller, one_id: str, kind: str) -> list[RelatedHit]:
    return _around_memory(caller, one_id) if kind == "memory" else _around_note(caller, one_id)


def _around_memory(caller: Caller, memory_id: str) -> list[RelatedHit]:
    parts, now = caller.parts, caller.parts.clock()
    memory = memories.found(parts, caller.principal, memory_id)
    near: engine_api.SimilarMemories = body(memories.similar)(parts, caller.principal, memory_id, limit=_EACH)
    similar = [shown.memory(one, now=now, score=one.score) for one in near.memories]
    about = recalled(parts, caller.scope, api.Ask(query=memory.text[:_LONGEST_QUERY], kind="notes", limit=_EACH), on_record=False)
    return [
        *_because("similar", shown.cleaned(similar, caller.clean)),
        *_because("about it", shown.hits(about, now=now, clean=caller.clean)),
    ]


def _around_note(caller: Caller, note_id: str) -> list[RelatedHit]:
    parts, principal, now = caller.parts, caller.principal, caller.parts.clock()
    note = notes.found(parts, principal, note_id)
    edges: engine_api.Relationships = body(graph.relationships)(parts, principal, note_id)
    targets = tuple(dict.fromkeys(target for edge in edges.relationships for target in edge.targets))[:_EACH]
    linked = map(note_api.listed_of, parts.notes.find(notes.managed(principal), ports.NoteWhere(ids=targets), limit=_EACH) if targets else [])
    linking: note_api.Notes = body(graph.backlinks)(parts, principal, note_id, limit=_EACH)
    near: engine_api.SimilarNotes = body(graph.similar)(parts, principal, note_id, limit=_EACH)
    of_note = partial(shown.note, now=now)
    about = recalled(parts, caller.scope, api.Ask(query=shown.title(note_api.listed_of(note)), kind="memories", limit=_EACH), on_record=False)
    return [
        *_because("linked from it", shown.cleaned([of_note(one) for one in linked], caller.clean)),
        *_because("links to it", shown.cleaned([of_note(one) for one in linking.notes], caller.clean)),
        *_because("similar", shown.cleaned([of_note(one, score=one.score) for one in near.notes], caller.clean)),
        *_because("about it", shown.hits(about, now=now, clean=caller.clean)),
    ]


def _because(how: str, found: Sequence[Hit]) -> list[RelatedHit]:
    return [RelatedHit(**asdict(one), how=how) for one in found]


def _fitted(found: Sequence[RelatedHit], notices: Sequence[str] = ()) -> RelatedHits:
    """Each under its first reason, as many as fit."""
    once: dict[str, RelatedHit] = {}
    for one in found:
        once.setdefault(one.id, one)
    every = list(once.values())
    kept = shown.fit(every, shown.DEFAULT_TOKENS, lambda some: as_json(RelatedHits(shown.about(every, some, notices), tuple(some))))
    return RelatedHits(shown.about(every, kept, notices), kept)
