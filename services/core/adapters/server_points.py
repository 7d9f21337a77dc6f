"""Points on a Qdrant server. One collection for each embedding model; the team is the tenant."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence

import httpx
from qdrant_client import QdrantClient
from qdrant_client import models as q
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from services.core import errors
from services.core.adapters import points
from services.core.adapters.bm25 import Sparse
from services.core.adapters.points import Found, Layout, Only, Payload, Point

_CONFLICT = 409
_RETRYABLE = frozenset({408, 423, 429, 500, 502, 503, 504, 507})
_REFUSED = frozenset({401, 403})


class ServerPoints:
    """`points.Points`. A write returns when it can be read."""

    def __init__(self, client: QdrantClient, layout: Layout, *, prefix: str, model: str, dimension: int) -> None:
        """Creates the collection (its name: prefix and model) if there is none. `WrongModel` if only another model's is there."""
        self._client = client
        self._dimension = dimension
        self._layout = layout
        self._collection = prefix + points.collection_name(model)
        with _translated():
            self._prepare(prefix, model)

    @property
    def dimension(self) -> int:
        return self._dimension

    def upsert(self, items: Sequence[Point]) -> None:
        made = [_point(each) for each in items]
        with _translated():
            self._client.upsert(self._collection, made, wait=True)

    def overwrite(self, payloads: Mapping[str, Payload]) -> None:
        with _translated():
            for each, payload in payloads.items():
                self._client.overwrite_payload(self._collection, dict(payload), _filter(Only(ids=[each])), wait=True)

    def set_fields(self, only: Only, fields: Payload) -> None:
        with _translated():
            self._client.set_payload(self._collection, dict(fields), _filter(only), wait=True)

    def delete(self, only: Only) -> int:
        count = self.count(only)
        with _translated():
            self._client.delete(self._collection, q.FilterSelector(filter=_filter(only)), wait=True)
        return count

    def scroll(self, only: Only, *, limit: int, newest_by: str = "", without: Sequence[str] = (), dense: bool = False) -> list[Found]:
        with _translated():
            records, _ = self._client.scroll(
                self._collection,
                _filter(only),
                limit=limit,
                order_by=q.OrderBy(key=newest_by, direction=q.Direction.DESC) if newest_by else None,
                with_payload=q.PayloadSelectorExclude(exclude=list(without)) if without else True,
                with_vectors=[points.DENSE] if dense else False,
            )
        return [Found(record.payload or {}, dense=_dense(record.vector)) for record in records]

    def count(self, only: Only) -> int:
        with _translated():
            return self._client.count(self._collection, _filter(only), exact=True).count

    def nearest(self, vector: Sequence[float], only: Only, *, limit: int, exact: bool = False) -> list[Found]:
        return self._query(list(vector), points.DENSE, _filter(only), limit, q.SearchParams(exact=exact))

    def lexical(self, terms: Sparse, only: Only, *, limit: int) -> list[Found]:
        wanted = _filter(only)
        return self._query(_sparse(terms), points.LEXICAL, wanted, limit, q.SearchParams(idf=q.IdfCorpusParams(corpus=wanted)))

    def values(self, field: str, only: Only, *, limit: int) -> list[tuple[str, int]]:
        with _translated():
            answer = self._client.facet(self._collection, field, _filter(only), limit=limit, exact=True)
        return [(str(hit.value), hit.count) for hit in answer.hits]

    def purge(self) -> None:
        """Left to the server: it clears a segment when a fifth of it is deleted, and its log as it goes on."""

    def ping(self) -> None:
        with _translated():
            self._client.get_collection(self._collection)

    def close(self) -> None:
        self._client.close()

    def _prepare(self, prefix: str, model: str) -> None:
        names = {each.name for each in self._client.get_collections().collections}
        if self._collection not in names:
            for other in sorted(name for name in names if name.startswith(prefix)):
                raise points.wrong_model(self._layout.what, other.removeprefix(prefix), model)
            self._create()
        self._check(model)
        self._index()

    def _create(self) -> None:
        try:
            self._client.create_collection(
                self._collection,
                vectors_config={points.DENSE: q.VectorParams(size=self._dimension, distance=q.Distance.COSINE)},
                sparse_vectors_config={points.LEXICAL: q.SparseVectorParams(modifier=q.Modifier.IDF)},
                hnsw_config=q.HnswConfigDiff(m=0, payload_m=16),  # a graph for each team, none over all
            )
        except UnexpectedResponse as error:
            if error.status_code != _CONFLICT:  # another process was faster: its collection is as good
                raise

    def _check(self, model: str) -> None:
        vectors = self._client.get_collection(self._collection).config.params.vectors
        size = vectors[points.DENSE].size if isinstance(vectors, dict) and points.DENSE in vectors else 0
        if size != self._dimension:
            raise points.wrong_model(self._layout.what, f"{model} ({size} dimensions)", f"{model} ({self._dimension} dimensions)")

    def _index(self) -> None:
        """Before the first point: a filterable graph has edges only for the indexes that were there when it was built."""
        for field in self._layout.keywords:
            schema = q.KeywordIndexParams(type=q.KeywordIndexType.KEYWORD, is_tenant=field == "team")
            self._client.create_payload_index(self._collection, field, schema, wait=True)
        for field in self._layout.numbers:
            self._client.create_payload_index(self._collection, field, q.PayloadSchemaType.FLOAT, wait=True)

    def _query(self, query: list[float] | q.SparseVector, using: str, only: q.Filter, limit: int, params: q.SearchParams) -> list[Found]:
        if limit <= 0:
            return []
        with _translated():
            answer = self._client.query_points(
                self._collection, query, using=using, query_filter=only, search_params=params, limit=limit, with_vectors=[points.DENSE]
            )
        return [Found(point.payload or {}, point.score, _dense(point.vector)) for point in answer.points]


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except UnexpectedResponse as error:
        if error.status_code in _REFUSED:
            raise errors.SetupError("Qdrant refuses the key: set BRB_QDRANT_API_KEY") from None
        if error.status_code is None or error.status_code in _RETRYABLE:
            raise errors.Unavailable("Qdrant", f"status {error.status_code}") from error
        raise errors.Permanent(f"Qdrant refuses a request: {error.status_code} {error.reason_phrase}") from error
    except (ResponseHandlingException, QdrantException, httpx.HTTPError, OSError) as error:
        raise errors.Unavailable("Qdrant", error) from error


def _point(point: Point) -> q.PointStruct:
    vectors: dict[str, q.Vector] = {}
    if point.dense is not None:
        vectors[points.DENSE] = list(point.dense)
    if point.lexical is not None:
        vectors[points.LEXICAL] = _sparse(point.lexical)
    return q.PointStruct(id=point.id, vector=vectors, payload=dict(point.payload))


def _filter(only: Only) -> q.Filter:
    must: list[q.Condition] = [_one(clause) for clause in only.clauses]
    if only.ids is not None:
        must.append(q.HasIdCondition(has_id=list(only.ids)))
    if only.at_least is not None:
        must.append(q.FieldCondition(key=only.at_least[0], range=q.Range(gte=only.at_least[1])))
    if only.under is not None:
        must.append(q.FieldCondition(key=only.under[0], range=q.Range(lt=only.under[1])))
    return q.Filter(must=must, must_not=[q.HasIdCondition(has_id=list(only.but))] if only.but else None)


def _one(clause: points.Clause) -> q.Condition:
    conditions: list[q.Condition] = [q.FieldCondition(key=each.field, match=q.MatchAny(any=list(each.values))) for each in clause]
    return conditions[0] if len(conditions) == 1 else q.Filter(should=conditions)


def _sparse(terms: Sparse) -> q.SparseVector:
    return q.SparseVector(indices=terms.indices, values=terms.values)


def _dense(vector: object) -> tuple[float, ...] | None:
    return tuple(vector[points.DENSE]) if isinstance(vector, dict) and points.DENSE in vector else None
