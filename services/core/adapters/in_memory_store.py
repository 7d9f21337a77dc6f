"""A store in this process's memory: for tests, demos and trying things out. Brute force."""

import math
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import mul
from typing import NamedTuple

import msgspec

from services.core import models, ports
from services.core.adapters import memory_payload
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
        memory_payload.check_dimension((vector for _, vector in items), self._dimension)
        points: dict[str, _Point] = {memory.id: self._point(memory, vector) for memory, vector in items}
        with self._lock:
            self._points.update(points)

    def update(self, memories: Sequence[models.Memory]) -> None:
        with self._lock:
            for memory in memories:
                if memory.id in self._points:
                    self._points[memory.id] = self._points[memory.id]._replace(memory=memory)

    def get(self, scope: models.Scope, memory_id: str) -> models.Memory | None:
        return next((point.memory for point in self._seen(scope, ports.ANY, memory_payload.valid_ids([memory_id]))), None)

    def find(self, scope: models.Scope, where: ports.Where = ports.CURRENT, *, limit: int = 100, offset: int = 0) -> list[models.Memory]:
        ordered = memory_payload.newest_first(point.memory for point in self._seen(scope, where))
        start = max(0, offset)
        return ordered[start : start + max(0, limit)]

    def count(self, scope: models.Scope, where: ports.Where = ports.CURRENT) -> int:
        return len(self._seen(scope, where))

    def nearest(
        self, scope: models.Scope, vector: Sequence[float], *, limit: int, where: ports.Where = ports.CURRENT, exact: bool = False
    ) -> list[models.Hit]:
        memory_payload.check_dimension([vector], self._dimension)
        wanted = _unit(vector)
        hits = [models.Hit(point.memory, sum(map(mul, point.dense, wanted)), point.dense) for point in self._seen(scope, where)]
        return _best(hits, limit)

    def lexical(self, scope: models.Scope, text: str, *, limit: int, where: ports.Where = ports.CURRENT) -> list[models.Hit]:
        points = self._seen(scope, where)
        frequency = Counter(term for point in points for term in point.terms)
        weight = {term: math.log(1 + (len(points) - frequency[term] + 0.5) / (frequency[term] + 0.5)) for term in self._bm25.query(text).indices}
        hits = []
        for point in points:
            shared = point.terms.keys() & weight.keys()
            if shared:
                hits.append(models.Hit(point.memory, sum(point.terms[term] * weight[term] for term in shared), point.dense))
        return _best(hits, limit)

    def touch(self, scope: models.Scope, ids: Sequence[str], at: float) -> None:
        for memory in [point.memory for point in self._seen(scope, ports.ANY, memory_payload.valid_ids(ids))]:
            with self._lock:
                point = self._points.get(memory.id)
                if point is not None and point.memory.accessed_at < at:
                    self._points[memory.id] = point._replace(memory=msgspec.structs.replace(point.memory, accessed_at=at))

    def delete(self, scope: models.Scope, ids: Sequence[str]) -> int:
        seen = [point.memory.id for point in self._seen(scope, ports.ANY, memory_payload.valid_ids(ids))]
        with self._lock:
            return sum(self._points.pop(memory_id, None) is not None for memory_id in seen)

    def total(self) -> Mapping[models.Status, int]:
        with self._lock:
            found = Counter(point.memory.status for point in self._points.values())
        return {status: found[status] for status in models.Status}

    def ping(self) -> None:
        return

    def close(self) -> None:
        return

    def _point(self, memory: models.Memory, vector: Sequence[float]) -> _Point:
        terms = self._bm25.document(memory.text)
        return _Point(memory, _unit(vector), dict(zip(terms.indices, terms.values, strict=True)))

    def _seen(self, scope: models.Scope, where: ports.Where, ids: Sequence[str] | None = None) -> list[_Point]:
        with self._lock:
            points = list(self._points.values()) if ids is None else [self._points[each] for each in ids if each in self._points]
        return [point for point in points if scope.sees(point.memory) and memory_payload.matches(point.memory, where)]


def _unit(vector: Sequence[float]) -> tuple[float, ...]:
    length = math.sqrt(sum(map(mul, vector, vector)))
    return tuple(x / length for x in vector) if length else tuple(vector)


def _best(hits: list[models.Hit], limit: int) -> list[models.Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.memory.id))[: max(0, limit)]
