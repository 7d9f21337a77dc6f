"""The store of a team: a Qdrant server. One collection for each embedding model; the team is the tenant."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

import httpx
from qdrant_client import QdrantClient
from qdrant_client import models as q
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from services.core import errors, models, ports
from services.core.adapters import memory_payload
from services.core.adapters.bm25 import Bm25, Sparse

PREFIX = "brb_"
_CONFLICT = 409
_RETRYABLE = frozenset({408, 423, 429, 500, 502, 503, 504, 507})
_REFUSED = frozenset({401, 403})


class QdrantServerStore:
    """`ports.MemoryStore`. A write returns when it can be read."""

    def __init__(self, client: QdrantClient, *, model: str, dimension: int) -> None:
        """Creates the collection if there is none. `WrongModel` if the server holds another model's memories only."""
        self._client = client
        self._dimension = dimension
        self._collection = PREFIX + memory_payload.collection_name(model)
        self._bm25 = Bm25()
        with _translated():
            self._prepare(model)

    @classmethod
    def connect(cls, url: str, *, api_key: str | None, model: str, dimension: int, timeout_seconds: int = 10) -> Self:
        client = QdrantClient(url=url, api_key=api_key, timeout=timeout_seconds, check_compatibility=False)
        try:
            return cls(client, model=model, dimension=dimension)
        except BaseException:
            client.close()
            raise

    def put(self, items: Sequence[ports.Embedded]) -> None:
        memory_payload.check_dimension((vector for _, vector in items), self._dimension)
        if items:
            points = [self._point(memory, vector) for memory, vector in items]
            with _translated():
                self._client.upsert(self._collection, points, wait=True)

    def update(self, memories: Sequence[models.Memory]) -> None:
        with _translated():
            for memory in memories:
                only = q.Filter(must=[q.HasIdCondition(has_id=[memory.id])])
                self._client.overwrite_payload(self._collection, memory_payload.encode(memory), only, wait=True)

    def get(self, scope: models.Scope, memory_id: str) -> models.Memory | None:
        ids = memory_payload.valid_ids([memory_id])
        if not ids:
            return None
        with _translated():
            records, _ = self._client.scroll(self._collection, _filter(scope, ports.ANY, ids), limit=1)
        return memory_payload.decode(records[0].payload) if records else None

    def find(self, scope: models.Scope, where: ports.Where = ports.CURRENT, *, limit: int = 100, offset: int = 0) -> list[models.Memory]:
        wanted = _filter(scope, where)

        def newest(count: int, only: q.Filter = wanted) -> list[models.Memory]:
            order = q.OrderBy(key="created_at", direction=q.Direction.DESC)
            with _translated():
                records, _ = self._client.scroll(self._collection, only, limit=count, order_by=order)
            return [memory_payload.decode(record.payload) for record in records]

        def since(time: float) -> list[models.Memory]:
            only = q.Filter(must=[wanted, q.FieldCondition(key="created_at", range=q.Range(gte=time))])
            return newest(max(1, self._count(only)), only)

        return memory_payload.page(newest, since, limit, offset)

    def count(self, scope: models.Scope, where: ports.Where = ports.CURRENT) -> int:
        return self._count(_filter(scope, where))

    def nearest(
        self, scope: models.Scope, vector: Sequence[float], *, limit: int, where: ports.Where = ports.CURRENT, exact: bool = False
    ) -> list[models.Hit]:
        memory_payload.check_dimension([vector], self._dimension)
        return self._query(list(vector), memory_payload.DENSE, _filter(scope, where), limit, q.SearchParams(exact=exact))

    def lexical(self, scope: models.Scope, text: str, *, limit: int, where: ports.Where = ports.CURRENT) -> list[models.Hit]:
        terms = self._bm25.query(text)
        wanted = _filter(scope, where)
        if not terms.indices:
            return []
        params = q.SearchParams(idf=q.IdfCorpusParams(corpus=wanted))
        return self._query(_sparse(terms), memory_payload.LEXICAL, wanted, limit, params)

    def touch(self, scope: models.Scope, ids: Sequence[str], at: float) -> None:
        valid = memory_payload.valid_ids(ids)
        if valid:
            earlier = q.FieldCondition(key="accessed_at", range=q.Range(lt=at))
            only = q.Filter(must=[_filter(scope, ports.ANY, valid), earlier])
            with _translated():
                self._client.set_payload(self._collection, {"accessed_at": at}, only, wait=True)

    def delete(self, scope: models.Scope, ids: Sequence[str]) -> int:
        valid = memory_payload.valid_ids(ids)
        if not valid:
            return 0
        only = _filter(scope, ports.ANY, valid)
        count = self._count(only)
        with _translated():
            self._client.delete(self._collection, q.FilterSelector(filter=only), wait=True)
        return count

    def total(self) -> Mapping[models.Status, int]:
        return {status: self._count(q.Filter(must=[_any_of("status", (str(status),))])) for status in models.Status}

    def ping(self) -> None:
        with _translated():
            self._client.get_collection(self._collection)

    def close(self) -> None:
        self._client.close()

    def _prepare(self, model: str) -> None:
        names = {each.name for each in self._client.get_collections().collections}
        if self._collection not in names:
            for other in sorted(name for name in names if name.startswith(PREFIX)):
                raise memory_payload.wrong_model(other.removeprefix(PREFIX), model)
            self._create()
        self._check(model)
        self._index()

    def _create(self) -> None:
        try:
            self._client.create_collection(
                self._collection,
                vectors_config={memory_payload.DENSE: q.VectorParams(size=self._dimension, distance=q.Distance.COSINE)},
                sparse_vectors_config={memory_payload.LEXICAL: q.SparseVectorParams(modifier=q.Modifier.IDF)},
                hnsw_config=q.HnswConfigDiff(m=0, payload_m=16),  # a graph for each team, none over all
            )
        except UnexpectedResponse as error:
            if error.status_code != _CONFLICT:  # another process was faster: its collection is as good
                raise

    def _check(self, model: str) -> None:
        vectors = self._client.get_collection(self._collection).config.params.vectors
        size = vectors[memory_payload.DENSE].size if isinstance(vectors, dict) and memory_payload.DENSE in vectors else 0
        if size != self._dimension:
            raise memory_payload.wrong_model(f"{model} ({size} dimensions)", f"{model} ({self._dimension} dimensions)")

    def _index(self) -> None:
        """Before the first point: a filterable graph has edges only for the indexes that were there when it was built."""
        for field in memory_payload.KEYWORDS:
            schema = q.KeywordIndexParams(type=q.KeywordIndexType.KEYWORD, is_tenant=field == "team")
            self._client.create_payload_index(self._collection, field, schema, wait=True)
        for field in memory_payload.TIMES:
            self._client.create_payload_index(self._collection, field, q.PayloadSchemaType.FLOAT, wait=True)

    def _point(self, memory: models.Memory, vector: Sequence[float]) -> q.PointStruct:
        vectors: dict[str, q.Vector] = {
            memory_payload.DENSE: list(vector),
            memory_payload.LEXICAL: _sparse(self._bm25.document(memory.text)),
        }
        return q.PointStruct(id=memory.id, vector=vectors, payload=memory_payload.encode(memory))

    def _count(self, only: q.Filter) -> int:
        with _translated():
            return self._client.count(self._collection, only, exact=True).count

    def _query(self, query: list[float] | q.SparseVector, using: str, only: q.Filter, limit: int, params: q.SearchParams) -> list[models.Hit]:
        if limit <= 0:
            return []
        with _translated():
            answer = self._client.query_points(
                self._collection, query, using=using, query_filter=only, search_params=params, limit=limit, with_vectors=[memory_payload.DENSE]
            )
        return [models.Hit(memory_payload.decode(point.payload), point.score, _dense(point.vector)) for point in answer.points]


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


def _filter(scope: models.Scope, where: ports.Where, ids: Sequence[str] | None = None) -> q.Filter:
    must: list[q.Condition] = [_one(clause) for clause in memory_payload.clauses(scope, where)]
    return q.Filter(must=must if ids is None else [*must, q.HasIdCondition(has_id=list(ids))])


def _one(clause: memory_payload.Clause) -> q.Condition:
    conditions: list[q.Condition] = [_any_of(*each) for each in clause]
    return conditions[0] if len(conditions) == 1 else q.Filter(should=conditions)


def _any_of(field: str, values: tuple[str, ...]) -> q.FieldCondition:
    return q.FieldCondition(key=field, match=q.MatchAny(any=list(values)))


def _sparse(terms: Sparse) -> q.SparseVector:
    return q.SparseVector(indices=terms.indices, values=terms.values)


def _dense(vector: object) -> tuple[float, ...] | None:
    return tuple(vector[memory_payload.DENSE]) if isinstance(vector, dict) else None
