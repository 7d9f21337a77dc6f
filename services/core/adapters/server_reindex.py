"""Carrying the memories and notes of a Qdrant server over to an embedding model while BRB goes on serving.

New collections are built beside those in use, by comparing the two: what is missing or differs in the new one is written, what is gone from the
old one is erased. That again and again, until little is left; then writers wait for one last comparison, and the new ones take their place.
Nothing is remembered between two runs: one that was killed is gone on with by comparing.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol
from uuid import UUID

import msgspec
from qdrant_client import QdrantClient
from qdrant_client import models as q

from services.core import errors, ports
from services.core.adapters import memory_payload, note_payload, server_collections
from services.core.adapters.bm25 import Bm25
from services.core.adapters.counting import PEOPLES, of_kind
from services.core.adapters.passage_terms import PassageTerms
from services.core.adapters.points import AnyOf, Only, Point
from services.core.adapters.server_collections import Space, translated
from services.core.adapters.server_points import filter_of, point_of, scrolled

LITTLE = 50
"""So few differences that the last comparison, for which writers wait, is about as short as it can be."""
_MOST_ROUNDS = 10
_BATCH = 16
_PAGE = 256
Embed = Callable[[Sequence[str]], list[list[float]]]
Payload = dict[str, Any]
Hold = Callable[[], AbstractContextManager[Callable[[], bool]]]


class Changed(NamedTuple):
    """It is to be as `payload` says. anew: its text is another, or it is not there yet."""

    id: str
    payload: Payload
    anew: bool


class Gone(NamedTuple):
    id: str
    payload: Payload


Difference = Changed | Gone


class Carried(NamedTuple):
    """memories, notes: how many there are now. rounds: comparisons, with the last. held_seconds: for how long writers waited."""

    memories: int
    notes: int
    rounds: int
    held_seconds: float


class Kind(Protocol):
    """Memories or notes."""

    def wanted(self, payload: Payload) -> Payload:
        """The payload that this version would store."""

    def text(self, payload: Payload) -> object:
        """What its vectors are made of."""

    def write(self, build: "Building", found: Sequence[Difference]) -> None: ...


class Building(NamedTuple):
    """From one collection to another one (real names)."""

    client: QdrantClient
    source: str
    target: str
    embed: Embed

    def put(self, made: Sequence[Point]) -> None:
        with translated():
            for start in range(0, len(made), server_collections.MOST_AT_ONCE):
                self.client.upsert(self.target, [point_of(one) for one in made[start : start + server_collections.MOST_AT_ONCE]], wait=True)

    def rewrite(self, changes: Sequence[Changed]) -> None:
        operations: list[q.UpdateOperation] = [
            q.OverwritePayloadOperation(overwrite_payload=q.SetPayload(payload=one.payload, filter=filter_of(Only(ids=[one.id])))) for one in changes
        ]
        if operations:
            with translated():
                self.client.batch_update_points(self.target, operations, wait=True)

    def erase(self, ids: Sequence[str]) -> None:
        if ids:
            with translated():
                self.client.delete(self.target, q.FilterSelector(filter=filter_of(Only(ids=ids))), wait=True)


def differences(
    source: Iterable[tuple[str, Payload]], target: Iterable[tuple[str, Payload]], text: Callable[[Payload], object]
) -> Iterator[Difference]:
    """What makes the target like the source. Both in the order of their ids (as numbers)."""
    left, right = iter(source), iter(target)
    mine, theirs = next(left, None), next(right, None)
    while mine is not None or theirs is not None:
        if theirs is None or (mine is not None and UUID(mine[0]).int < UUID(theirs[0]).int):
            assert mine is not None  # noqa: S101 - one of them is there
            yield Changed(*mine, anew=True)
            mine = next(left, None)
        elif mine is None or UUID(theirs[0]).int < UUID(mine[0]).int:
            yield Gone(*theirs)
            theirs = next(right, None)
        else:
            if mine[1] != theirs[1]:
                yield Changed(*mine, anew=text(mine[1]) != text(theirs[1]))
            mine, theirs = next(left, None), next(right, None)


def run(
    client: QdrantClient,
    pairs: Sequence[tuple[Space, Space]],
    *,
    embed: Embed,
    progress: Callable[[str, float], None],
    alone: Hold,
    hold: Hold,
    give: Callable[[], None],
    clock: Callable[[], float],
) -> Carried:
    """pairs: of memories and of notes, the space that is in use and the one that is to be. alone: while nobody else does this. hold: while nobody
    writes. give: from now on only processes of the new model write. `NotFound` if there is nothing to carry over."""
    with alone() as still_alone:

        def carried(build: Building, space: Space, stage: str) -> int:
            return _round(build, space, f"{space.layout.what}, {stage}", progress, still_alone)

        builds = [(build, new) for old, new in pairs if (build := _begun(client, old, new, embed)) is not None]
        if not builds:
            raise errors.NotFound("the Qdrant server holds no memories and no notes to carry over")
        for number in itertools.count(1):
            changed = sum(carried(build, new, f"round {number}") for build, new in builds)
            if changed <= LITTLE or number == _MOST_ROUNDS:
                break
        with hold() as still_held:
            started = clock()
            for build, new in builds:
                carried(build, new, "while writers wait")
            if not still_held():
                raise _disturbed()
            with translated():
                server_collections.switch(client, [new for _, new in pairs])
            give()
            took = clock() - started
        return Carried(_count(client, pairs[0][1], PEOPLES), _count(client, pairs[1][1], of_kind("note")), number + 1, took)


def _disturbed() -> errors.Unavailable:
    return errors.Unavailable("the store", "Redis was away for too long, others may have gone on: run it again, it goes on from here")


def _begun(client: QdrantClient, old: Space, new: Space, embed: Embed) -> Building | None:
    with translated():
        known = server_collections.aliases(client)
        if old.alias not in known:
            return None
        there = known.get(new.alias) if new.alias != old.alias else None
        if there is not None:
            server_collections.fitted(client, new, there)
        return Building(client, known[old.alias], there or server_collections.begun(client, new), embed)


def _round(build: Building, space: Space, stage: str, progress: Callable[[str, float], None], alone: Callable[[], bool]) -> int:
    """How many points differed. alone: asked before anything is changed."""
    kind = _kind(space)
    with translated():
        total = max(1, build.client.count(build.source, exact=True).count)
    seen = 0

    def source() -> Iterator[tuple[str, Payload]]:
        nonlocal seen
        for record in _records(build.client, build.source):
            seen += 1
            if seen % _PAGE == 0:
                progress(stage, min(1.0, seen / total))
            yield record[0], msgspec.json.decode(msgspec.json.encode(kind.wanted(record[1])))

    found = differences(source(), _records(build.client, build.target), kind.text)
    count = 0
    while batch := list(itertools.islice(found, _BATCH)):
        count += len(batch)
        if not alone():
            raise _disturbed()
        kind.write(build, batch)
        build.erase([each.id for each in batch if isinstance(each, Gone)])
        progress(stage, min(1.0, seen / total))
    progress(stage, 1.0)
    return count


def _records(client: QdrantClient, collection: str) -> Iterator[tuple[str, Payload]]:
    with translated():
        for record in scrolled(client, collection, page=_PAGE):
            yield str(record.id), record.payload or {}


def _count(client: QdrantClient, space: Space, only: Only) -> int:
    with translated():
        return client.count(space.alias, filter_of(only), exact=True).count if space.alias in server_collections.aliases(client) else 0


def _kind(space: Space) -> Kind:
    return _Memories() if space.layout is memory_payload.LAYOUT else _Notes()


class _Memories:
    def __init__(self) -> None:
        self._bm25 = Bm25()

    def wanted(self, payload: Payload) -> Payload:
        return memory_payload.encode(memory_payload.decode(payload))

    def text(self, payload: Payload) -> object:
        return payload.get("text")

    def write(self, build: Building, found: Sequence[Difference]) -> None:
        changed = [one for one in found if isinstance(one, Changed)]
        anew = [one for one in changed if one.anew]
        texts = [one.payload["text"] for one in anew]
        vectors = build.embed(texts) if texts else []
        build.put([Point(one.id, one.payload, vector, self._bm25.document(text)) for one, vector, text in zip(anew, vectors, texts, strict=True)])
        build.rewrite([one for one in changed if not one.anew])


class _Notes:
    """The words of a passage count a little for those beside it: if one differs, all of its note are made anew."""

    def __init__(self) -> None:
        self._terms = PassageTerms()
        self._made: set[str] = set()

    def wanted(self, payload: Payload) -> Payload:
        if payload["kind"] == "note":
            return note_payload.encode_note(note_payload.decode_note(payload))
        return note_payload.encode_passage(note_payload.decode_passage(payload))

    def text(self, payload: Payload) -> object:
        return None if payload["kind"] == "note" else payload

    def write(self, build: Building, found: Sequence[Difference]) -> None:
        for note in {one.payload["note"] for one in found if one.payload["kind"] == "passage"} - self._made:
            build.put(list(self._passages(build, note)))
            self._made.add(note)
        notes = [one for one in found if isinstance(one, Changed) and one.payload["kind"] == "note"]
        build.put([Point(one.id, one.payload) for one in notes if one.anew])
        build.rewrite([one for one in notes if not one.anew])

    def _passages(self, build: Building, note: str) -> Iterator[Point]:
        only = filter_of(Only([(AnyOf("note", (note,)),), (AnyOf("kind", ("passage",)),)]))
        with translated():
            found = [note_payload.decode_passage(record.payload or {}) for record in scrolled(build.client, build.source, only, page=_PAGE)]
        pieces = note_payload.in_order(found)
        vectors = [
            vector for start in range(0, len(pieces), _BATCH) for vector in build.embed([one.embedded for one in pieces[start : start + _BATCH]])
        ]
        for one, vector, context in ports.EmbeddedPassage.of_note(pieces, vectors):
            yield Point(one.id, note_payload.encode_passage(one), vector, self._terms.document(one, context))
