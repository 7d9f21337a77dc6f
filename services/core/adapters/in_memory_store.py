"""A store in this process's memory: for tests, demos and trying things out. Brute force."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from services.core import models, ports, reviewing
from services.core.adapters import brute_force, memory_payload, points
from services.core.adapters.bm25 import Bm25


class _Point(NamedTuple):
    memory: models.Memory
    dense: tuple[float, ...]
    terms: dict[int, float]


class InMemoryStore:
    """`ports.MemoryStore` without anything outside."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._bm25 = Bm25()
        self._points: dict[str, _Point] = {}
        self._lock = threading.Lock()

    def put(self, items: Sequence[ports.Embedded]) -> None:
        points.check_dimension((vector for _, vector in items), self._dimension)
        made: dict[str, _Point] = {memory.id: self._point(memory, vector) for memory, vector in items}
        with self._lock:
            self._points.update(made)

    def update(self, memories: Sequence[models.Memory]) -> None:
        with self._lock:
            for memory in memories:
                if memory.id in self._points:
                    self._points[memory.id] = self._points[memory.id]._replace(memory=memory)

    def get(self, scope: models.Scope, memory_id: str) -> models.Memory | None:
        return next((point.memory for point in self._seen(scope, ports.ANY, points.valid_ids([memory_id]))), None)

    def taken(self, memory_id: str) -> bool:
        with self._lock:
            return any(each in self._points for each in points.valid_ids([memory_id]))

    def find(self, scope: models.Scope, where: ports.Where = ports.CURRENT, *, limit: int = 100, offset: int = 0) -> list[models.Memory]:
        ordered = memory_payload.newest_first(point.memory for point in self._seen(scope, where))
        start = max(0, offset)
        return ordered[start : start + max(0, limit)]

    def count(self, scope: models.Scope, where: ports.Where = ports.CURRENT) -> int:
        return len(self._seen(scope, where))

    def nearest(
        self, scope: models.Scope, vector: Sequence[float], *, limit: int, where: ports.Where = ports.CURRENT, exact: bool = False
    ) -> list[models.Hit]:
        points.check_dimension([vector], self._dimension)
        wanted = brute_force.unit(vector)
        hits = [models.Hit(point.memory, brute_force.cosine(point.dense, wanted), point.dense) for point in self._seen(scope, where)]
        return _best(hits, limit)

    def lexical(self, scope: models.Scope, text: str, *, limit: int, where: ports.Where = ports.CURRENT) -> list[models.Hit]:
        seen = self._seen(scope, where)
        scores = brute_force.bm25(self._bm25.query(text).indices, [point.terms for point in seen])
        return _best([models.Hit(point.memory, score, point.dense) for point, score in zip(seen, scores, strict=True) if score], limit)

    def search(
        self, scope: models.Scope, vectors: Sequence[Sequence[float]], text: str, *, limit: int, where: ports.Where = ports.CURRENT
    ) -> ports.Legs[models.Hit]:
        dense = [self.nearest(scope, vector, limit=limit, where=where) for vector in vectors]
        return ports.Legs(dense, self.lexical(scope, text, limit=limit, where=where))

    def touch(self, scope: models.Scope, ids: Sequence[str], at: float) -> None:
        for memory in [point.memory for point in self._seen(scope, ports.ANY, points.valid_ids(ids))]:
            with self._lock:
                point = self._points.get(memory.id)
                if point is not None and point.memory.accessed_at < at:
                    self._points[memory.id] = point._replace(memory=msgspec.structs.replace(point.memory, accessed_at=at))

    def delete(self, scope: models.Scope, ids: Sequence[str]) -> int:
        seen = [point.memory.id for point in self._seen(scope, ports.ANY, points.valid_ids(ids))]
        with self._lock:
            return sum(self._points.pop(memory_id, None) is not None for memory_id in seen)

    def total(self) -> Mapping[models.Status, int]:
        found = Counter(memory.status for memory in self._peoples(ports.ANY))
        return {status: found[status] for status in models.Status}

    def census(self) -> ports.Census:
        found = self._peoples(ports.ANY)
        waiting = [memory.created_at for memory in found if reviewing.waits(memory)]
        return ports.Census(Counter((memory.visibility, memory.status) for memory in found), min(waiting, default=None))

    def anybody(self, where: ports.Where, *, limit: int) -> list[models.Memory]:
        return memory_payload.newest_first(self._peoples(where))[: max(0, limit)]

    def sample(self, where: ports.Where, *, limit: int) -> list[models.Memory]:
        return sorted(self._peoples(where), key=lambda memory: memory.id)[: max(0, limit)]

    def owners(self, team: str) -> list[str]:
        with self._lock:
            return sorted({point.memory.owner for point in self._points.values() if point.memory.team == team})

    def purge(self) -> None:
        return

    def ping(self) -> None:
        return

    def close(self) -> None:
        return

    def _point(self, memory: models.Memory, vector: Sequence[float]) -> _Point:
        terms = self._bm25.document(memory.text)
        return _Point(memory, brute_force.unit(vector), dict(zip(terms.indices, terms.values, strict=True)))

    def _peoples(self, where: ports.Where) -> list[models.Memory]:
        with self._lock:
            held = [point.memory for point in self._points.values()]
        return [memory for memory in held if memory.team not in models.CANARY_TEAMS and memory_payload.matches(memory, where)]

    def _seen(self, scope: models.Scope, where: ports.Where, ids: Sequence[str] | None = None) -> list[_Point]:
        with self._lock:
            held = list(self._points.values()) if ids is None else [self._points[each] for each in ids if each in self._points]
        return [point for point in held if scope.sees(point.memory) and memory_payload.matches(point.memory, where)]


def _best(hits: list[models.Hit], limit: int) -> list[models.Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.memory.id))[: max(0, limit)]
