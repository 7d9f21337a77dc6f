"""Memories as points: the store of memories over either Qdrant."""

from collections.abc import Mapping, Sequence
from operator import attrgetter

from services.core import models, ports
from services.core.adapters import memory_payload, points
from services.core.adapters.bm25 import Bm25
from services.core.adapters.points import Found, Only


class PointMemories:
    """`ports.MemoryStore`."""

    def __init__(self, collection: points.Points) -> None:
        self._points = collection
        self._bm25 = Bm25()

    def put(self, items: Sequence[ports.Embedded]) -> None:
        points.check_dimension((vector for _, vector in items), self._points.dimension)
        if items:
            self._points.upsert([self._point(memory, vector) for memory, vector in items])

    def update(self, memories: Sequence[models.Memory]) -> None:
        self._points.overwrite({memory.id: memory_payload.encode(memory) for memory in memories})

    def get(self, scope: models.Scope, memory_id: str) -> models.Memory | None:
        ids = points.valid_ids([memory_id])
        found = self._points.scroll(_only(scope, ports.ANY, ids), limit=1) if ids else []
        return memory_payload.decode(found[0].payload) if found else None

    def taken(self, memory_id: str) -> bool:
        ids = points.valid_ids([memory_id])
        return bool(ids) and self._points.count(Only(ids=ids)) > 0

    def find(self, scope: models.Scope, where: ports.Where = ports.CURRENT, *, limit: int = 100, offset: int = 0) -> list[models.Memory]:
        wanted = _only(scope, where)

        def newest(count: int, only: Only = wanted) -> list[models.Memory]:
            return [memory_payload.decode(found.payload) for found in self._points.scroll(only, limit=count, newest_by="created_at")]

        def since(moment: float) -> list[models.Memory]:
            only = wanted._replace(at_least=("created_at", moment))
            return newest(max(1, self._points.count(only)), only)

        return points.page(newest, since, limit, offset, at=attrgetter("created_at"), ordered=memory_payload.newest_first)

    def count(self, scope: models.Scope, where: ports.Where = ports.CURRENT) -> int:
        return self._points.count(_only(scope, where))

    def nearest(
        self, scope: models.Scope, vector: Sequence[float], *, limit: int, where: ports.Where = ports.CURRENT, exact: bool = False
    ) -> list[models.Hit]:
        points.check_dimension([vector], self._points.dimension)
        return _hits(self._points.nearest(vector, _only(scope, where), limit=limit, exact=exact))

    def lexical(self, scope: models.Scope, text: str, *, limit: int, where: ports.Where = ports.CURRENT) -> list[models.Hit]:
        terms = self._bm25.query(text)
        return _hits(self._points.lexical(terms, _only(scope, where), limit=limit)) if terms.indices else []

    def search(
        self, scope: models.Scope, vectors: Sequence[Sequence[float]], text: str, *, limit: int, where: ports.Where = ports.CURRENT
    ) -> ports.Legs[models.Hit]:
        points.check_dimension(vectors, self._points.dimension)
        terms = self._bm25.query(text)
        dense, lexical = self._points.search(vectors, terms if terms.indices else None, _only(scope, where), limit=limit)
        return ports.Legs([_hits(each) for each in dense], _hits(lexical))

    def touch(self, scope: models.Scope, ids: Sequence[str], at: float) -> None:
        valid = points.valid_ids(ids)
        if valid:
            self._points.set_fields(_only(scope, ports.ANY, valid)._replace(under=("accessed_at", at)), {"accessed_at": at})

    def delete(self, scope: models.Scope, ids: Sequence[str]) -> int:
        valid = points.valid_ids(ids)
        return self._points.delete(_only(scope, ports.ANY, valid)) if valid else 0

    def total(self) -> Mapping[models.Status, int]:
        return {status: self._points.count(_PEOPLES._replace(clauses=[_is("status", status)])) for status in models.Status}

    def census(self) -> ports.Census:
        counts = {
            (visibility, models.Status(status)): count
            for visibility in models.Visibility
            for status, count in self._points.values("status", _PEOPLES._replace(clauses=[_is("visibility", visibility)]), limit=len(models.Status))
        }
        oldest = [
            memory_payload.decode(found.payload).created_at
            for waiting in memory_payload.WAITING
            for found in self._points.scroll(_PEOPLES._replace(clauses=waiting), limit=1, oldest_by="created_at")
        ]
        return ports.Census({key: count for key, count in counts.items() if count}, min(oldest, default=None))

    def anybody(self, where: ports.Where, *, limit: int) -> list[models.Memory]:
        found = self._points.scroll(_peoples(where), limit=limit, newest_by="created_at") if limit > 0 else []
        return memory_payload.newest_first(memory_payload.decode(each.payload) for each in found)

    def sample(self, where: ports.Where, *, limit: int) -> list[models.Memory]:
        return [memory_payload.decode(found.payload) for found in self._points.scroll(_peoples(where), limit=limit)] if limit > 0 else []

    def owners(self, team: str) -> list[str]:
        return [owner for owner, _ in self._points.values("owner", Only([(points.AnyOf("team", (team,)),)]), limit=points.MOST_OWNERS)]

    def purge(self) -> None:
        self._points.purge()

    def ping(self) -> None:
        self._points.ping()

    def close(self) -> None:
        self._points.close()

    def _point(self, memory: models.Memory, vector: Sequence[float]) -> points.Point:
        return points.Point(memory.id, memory_payload.encode(memory), vector, self._bm25.document(memory.text))


def _only(scope: models.Scope, where: ports.Where, ids: Sequence[str] | None = None) -> Only:
    return Only(memory_payload.clauses(scope, where), ids, under=memory_payload.under(where))


_PEOPLES = Only(none_of=[points.AnyOf("team", models.CANARY_TEAMS)])
"""Of all scopes but the canaries'."""


def _peoples(where: ports.Where) -> Only:
    return _PEOPLES._replace(clauses=memory_payload.filters(where), under=memory_payload.under(where))


def _is(field: str, value: str) -> points.Clause:
    return (points.AnyOf(field, (str(value),)),)


def _hits(found: Sequence[Found]) -> list[models.Hit]:
    return [models.Hit(memory_payload.decode(each.payload), each.score, each.dense) for each in found]
