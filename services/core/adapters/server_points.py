"""Points on a Qdrant server: one collection for each embedding model (`server_collections`)."""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from qdrant_client import QdrantClient
from qdrant_client import models as q

from services.core import errors
from services.core.adapters import points, server_collections
from services.core.adapters.bm25 import Sparse
from services.core.adapters.points import Found, Only, Payload, Point
from services.core.adapters.server_collections import translated

_PAGE = 1000


class ServerPoints:
    """`points.Points`. A write returns when it can be read."""

    def __init__(self, client: QdrantClient, space: server_collections.Space, *, later: bool = False) -> None:
        """Creates the collection if there is none. `WrongModel` if only another model's is there.

        later: a server that is away now is no error, and the first `ping` that reaches it does this.
        """
        self._client = client
        self._space = space
        self._dimension = space.dimension
        self._collection = space.alias
        self._opened = False
        try:
            self._open()
        except errors.Unavailable:
            if not later:
                raise

    @property
    def dimension(self) -> int:
        return self._dimension

    def upsert(self, items: Sequence[Point]) -> None:
        with translated():
            for start in range(0, len(items), server_collections.MOST_AT_ONCE):
                made = [point_of(each) for each in items[start : start + server_collections.MOST_AT_ONCE]]
                self._client.upsert(self._collection, made, wait=True)

    def overwrite(self, payloads: Mapping[str, Payload]) -> None:
        changes: list[q.UpdateOperation] = [
            q.OverwritePayloadOperation(overwrite_payload=q.SetPayload(payload=dict(payload), filter=filter_of(Only(ids=[each]))))
            for each, payload in payloads.items()
        ]
        with translated():
            if changes:
                self._client.batch_update_points(self._collection, changes, wait=True)

    def set_fields(self, only: Only, fields: Payload) -> None:
        with translated():
            self._client.set_payload(self._collection, dict(fields), filter_of(only), wait=True)

    def delete(self, only: Only) -> int:
        count = self.count(only)
        with translated():
            self._client.delete(self._collection, q.FilterSelector(filter=filter_of(only)), wait=True)
        return count

    def scroll(
        self, only: Only, *, limit: int, newest_by: str = "", oldest_by: str = "", without: Sequence[str] = (), dense: bool = False
    ) -> list[Found]:
        order = _order(newest_by, oldest_by)
        with translated():
            records = self._ordered(only, limit, order, without, dense) if order else self._pages(only, limit, without, dense)
            return [Found(record.payload or {}, dense=_dense(record.vector)) for record in records]

    def count(self, only: Only) -> int:
        with translated():
            return self._client.count(self._collection, filter_of(only), exact=True).count

    def nearest(self, vector: Sequence[float], only: Only, *, limit: int, exact: bool = False) -> list[Found]:
        return self._query(list(vector), points.DENSE, filter_of(only), limit, q.SearchParams(exact=exact))

    def lexical(self, terms: Sparse, only: Only, *, limit: int) -> list[Found]:
        wanted = filter_of(only)
        return self._query(_sparse(terms), points.LEXICAL, wanted, limit, _idf(wanted))

    def search(self, vectors: Sequence[Sequence[float]], terms: Sparse | None, only: Only, *, limit: int) -> tuple[list[list[Found]], list[Found]]:
        wanted = filter_of(only)
        asked = [_request(list(vector), points.DENSE, wanted, limit, q.SearchParams(exact=False)) for vector in vectors]
        if terms is not None:
            asked.append(_request(_sparse(terms), points.LEXICAL, wanted, limit, _idf(wanted)))
        if limit <= 0 or not asked:
            return [[] for _ in vectors], []
        with translated():
            answers = [_found(answer.points) for answer in self._client.query_batch_points(self._collection, asked)]
        return answers[: len(vectors)], answers[-1] if terms is not None else []

    def values(self, field: str, only: Only, *, limit: int) -> list[tuple[str, int]]:
        with translated():
            answer = self._client.facet(self._collection, field, filter_of(only), limit=limit, exact=True)
        return [(str(hit.value), hit.count) for hit in answer.hits]

    def purge(self) -> None:
        """Left to the server: it clears a segment when a fifth of it is deleted, and its log as it goes on."""

    def ping(self) -> None:
        self._open()
        with translated():
            self._client.get_collection(self._collection)

    def close(self) -> None:
        self._client.close()

    def _open(self) -> None:
        if not self._opened:
            with translated():
                server_collections.opened(self._client, self._space)
            self._opened = True

    def _ordered(self, only: Only, limit: int, order: q.OrderBy, without: Sequence[str], dense: bool) -> list[q.Record]:
        return self._client.scroll(
            self._collection, filter_of(only), limit=limit, order_by=order, with_payload=_fields(without), with_vectors=_vectors(dense)
        )[0]

    def _pages(self, only: Only, limit: int, without: Sequence[str], dense: bool) -> Iterator[q.Record]:
        found = scrolled(self._client, self._collection, filter_of(only), page=min(limit, _PAGE), without=without, dense=dense)
        return itertools.islice(found, limit)

    def _query(self, query: list[float] | q.SparseVector, using: str, only: q.Filter, limit: int, params: q.SearchParams) -> list[Found]:
        if limit <= 0:
            return []
        with translated():
            answer = self._client.query_points(
                self._collection, query, using=using, query_filter=only, search_params=params, limit=limit, with_vectors=[points.DENSE]
            )
        return _found(answer.points)


def scrolled(
    client: QdrantClient, collection: str, only: q.Filter | None = None, *, page: int = _PAGE, without: Sequence[str] = (), dense: bool = False
) -> Iterator[q.Record]:
    """All points, or those that pass the filter, in the order of their ids."""
    after: q.ExtendedPointId | None = None
    while True:
        records, after = client.scroll(collection, only, limit=page, offset=after, with_payload=_fields(without), with_vectors=_vectors(dense))
        yield from records
        if after is None:
            return


def point_of(point: Point) -> q.PointStruct:
    vectors: dict[str, q.Vector] = {}
    if point.dense is not None:
        vectors[points.DENSE] = list(point.dense)
    if point.lexical is not None:
        vectors[points.LEXICAL] = _sparse(point.lexical)
    return q.PointStruct(id=point.id, vector=vectors, payload=dict(point.payload))


def filter_of(only: Only) -> q.Filter:
    must: list[q.Condition] = [_one(clause) for clause in only.clauses]
    if only.ids is not None:
        must.append(q.HasIdCondition(has_id=list(only.ids)))
    if only.at_least is not None:
        must.append(q.FieldCondition(key=only.at_least[0], range=q.Range(gte=only.at_least[1])))
    if only.under is not None:
        must.append(q.FieldCondition(key=only.under[0], range=q.Range(lt=only.under[1])))
    must_not: list[q.Condition] = [q.HasIdCondition(has_id=list(only.but))] if only.but else []
    must_not += [q.FieldCondition(key=each.field, match=q.MatchAny(any=list(each.values))) for each in only.none_of]
    return q.Filter(must=must, must_not=must_not or None)


def _order(newest_by: str, oldest_by: str) -> q.OrderBy | None:
    if newest_by or oldest_by:
        return q.OrderBy(key=newest_by or oldest_by, direction=q.Direction.DESC if newest_by else q.Direction.ASC)
    return None


def _one(clause: points.Clause) -> q.Condition:
    conditions: list[q.Condition] = [q.FieldCondition(key=each.field, match=q.MatchAny(any=list(each.values))) for each in clause]
    return conditions[0] if len(conditions) == 1 else q.Filter(should=conditions)


def _sparse(terms: Sparse) -> q.SparseVector:
    return q.SparseVector(indices=terms.indices, values=terms.values)


def _dense(vector: object) -> tuple[float, ...] | None:
    return tuple(vector[points.DENSE]) if isinstance(vector, dict) and points.DENSE in vector else None


def _request(query: list[float] | q.SparseVector, using: str, only: q.Filter, limit: int, params: q.SearchParams) -> q.QueryRequest:
    return q.QueryRequest(query=query, using=using, filter=only, params=params, limit=limit, with_payload=True, with_vector=[points.DENSE])


def _idf(corpus: q.Filter) -> q.SearchParams:
    """A word is as rare as it is among those that pass the filter."""
    return q.SearchParams(idf=q.IdfCorpusParams(corpus=corpus))


def _found(scored: Sequence[q.ScoredPoint]) -> list[Found]:
    return [Found(point.payload or {}, point.score, _dense(point.vector)) for point in scored]


def _fields(without: Sequence[str]) -> q.PayloadSelectorExclude | bool:
    return q.PayloadSelectorExclude(exclude=list(without)) if without else True


def _vectors(dense: bool) -> list[str] | bool:
    return [points.DENSE] if dense else False
