"""Notes in this process's memory: for tests and for trying things out. Brute force."""

import threading
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from services.core import models, ports
from services.core.adapters import brute_force, note_payload, points
from services.core.adapters.passage_terms import PassageTerms


class _Held(NamedTuple):
    passage: models.Passage
    dense: tuple[float, ...]
    terms: dict[int, float]


class InMemoryNoteStore:
    """`ports.NoteStore` without anything outside."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._terms = PassageTerms()
        self._notes: dict[str, models.Note] = {}
        self._passages: dict[str, _Held] = {}
        self._lock = threading.Lock()

    def put(self, notes: Sequence[models.Note], passages: Sequence[ports.EmbeddedPassage] = ()) -> None:
        points.check_dimension((one.vector for one in passages), self._dimension)
        made: dict[str, _Held] = {one.passage.id: self._held(one) for one in passages}
        with self._lock:
            self._notes.update({note.id: note for note in notes})
            self._passages.update(made)

    def get(self, scope: models.Scope, note_id: str) -> models.Note | None:
        return next(iter(self._seen(scope, ports.NoteWhere(ids=(note_id,)))), None)

    def taken(self, note_id: str) -> bool:
        with self._lock:
            return any(each in self._notes or each in self._passages for each in points.valid_ids([note_id]))

    def find(self, scope: models.Scope, where: ports.NoteWhere = ports.ANY_NOTE, *, limit: int = 100, offset: int = 0) -> list[models.Note]:
        ordered = note_payload.newest_first(self._seen(scope, where))
        start = max(0, offset)
        return [msgspec.structs.replace(note, text="") for note in ordered[start : start + max(0, limit)]]

    def count(self, scope: models.Scope, where: ports.NoteWhere = ports.ANY_NOTE) -> int:
        return len(self._seen(scope, where))

    def passages(self, scope: models.Scope, note_id: str) -> list[models.Passage]:
        return note_payload.in_order(held.passage for held in self._pieces(scope, ports.NoteWhere(ids=(note_id,))))

    def embeddings(self, scope: models.Scope, digests: Sequence[str]) -> dict[str, tuple[float, ...]]:
        return {held.passage.digest: held.dense for held in self._pieces(scope, ports.ANY_NOTE) if held.passage.digest in set(digests)}

    def nearest(
        self, scope: models.Scope, vector: Sequence[float], *, limit: int, where: ports.NoteWhere = ports.ANY_NOTE, exact: bool = False
    ) -> list[models.PassageHit]:
        points.check_dimension([vector], self._dimension)
        wanted = brute_force.unit(vector)
        seen = self._pieces(scope, where)
        return _best([models.PassageHit(held.passage, brute_force.cosine(held.dense, wanted), held.dense) for held in seen], limit)

    def lexical(self, scope: models.Scope, text: str, *, limit: int, where: ports.NoteWhere = ports.ANY_NOTE) -> list[models.PassageHit]:
        seen = self._pieces(scope, where)
        scores = brute_force.bm25(self._terms.query(text).indices, [held.terms for held in seen])
        return _best([models.PassageHit(held.passage, score, held.dense) for held, score in zip(seen, scores, strict=True) if score], limit)

    def search(
        self, scope: models.Scope, vectors: Sequence[Sequence[float]], text: str, *, limit: int, where: ports.NoteWhere = ports.ANY_NOTE
    ) -> ports.Legs[models.PassageHit]:
        dense = [self.nearest(scope, vector, limit=limit, where=where) for vector in vectors]
        return ports.Legs(dense, self.lexical(scope, text, limit=limit, where=where))

    def entities(self, scope: models.Scope, kind: models.EntityKind, *, limit: int = 1000) -> list[tuple[str, int]]:
        found = Counter(key for note in self._seen(scope, ports.ANY_NOTE) for key in {entity.key for entity in note.entities})
        return note_payload.most_named_first(found.items(), kind)[: max(0, limit)]

    def prune(self, scope: models.Scope, note_id: str, keep: Sequence[str]) -> None:
        kept = set(points.valid_ids(keep))
        stale = [held.passage.id for held in self._pieces(scope, ports.NoteWhere(ids=(note_id,))) if held.passage.id not in kept]
        with self._lock:
            for passage_id in stale:
                self._passages.pop(passage_id, None)

    def delete(self, scope: models.Scope, ids: Sequence[str]) -> int:
        where = ports.NoteWhere(ids=tuple(ids))
        notes, pieces = self._seen(scope, where), self._pieces(scope, where)
        with self._lock:
            for held in pieces:
                self._passages.pop(held.passage.id, None)
            return sum(self._notes.pop(note.id, None) is not None for note in notes)

    def owners(self, team: str) -> list[str]:
        with self._lock:
            return sorted({note.owner for note in self._notes.values() if note.team == team})

    def purge(self) -> None:
        return

    def ping(self) -> None:
        return

    def close(self) -> None:
        return

    def _held(self, one: ports.EmbeddedPassage) -> _Held:
        terms = self._terms.document(one.passage, one.context)
        return _Held(one.passage, brute_force.unit(one.vector), dict(zip(terms.indices, terms.values, strict=True)))

    def _seen(self, scope: models.Scope, where: ports.NoteWhere) -> list[models.Note]:
        with self._lock:
            notes = list(self._notes.values())
        return [note for note in notes if scope.sees(note) and note_payload.matches(note, where)]

    def _pieces(self, scope: models.Scope, where: ports.NoteWhere) -> list[_Held]:
        with self._lock:
            passages = list(self._passages.values())
        return [held for held in passages if scope.sees(held.passage) and note_payload.matches(held.passage, where)]


def _best(hits: list[models.PassageHit], limit: int) -> list[models.PassageHit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))[: max(0, limit)]
