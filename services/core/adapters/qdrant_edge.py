"""The embedded store: Qdrant Edge, a Qdrant shard in this process. One process at a time owns the folder.

    <directory>/<embedding model>/collection.json    what the shard holds: model, dimension, schema version
    <directory>/<embedding model>/shard/             Qdrant's own files

A search compares with every memory of the scope. Measured on 20,000 of 384 dimensions, half of them in scope: 4.6 ms. An HNSW graph would
save 2 ms, and building it (`optimize`) stopped the whole process for 10 s: so there is none, and `optimize` only tidies up when the store opens.
"""

import contextlib
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import msgspec
import qdrant_edge as edge

from services.core import errors, models, ports
from services.core.adapters import memory_payload
from services.core.adapters.bm25 import Bm25, Sparse

FLUSH_SECONDS = 60.0
"""How often at most a write is followed by a flush. Measured: it stops every thread of the process, for 6 ms on an idle disk and 70 ms on a busy
one; without it a write takes 0.2 ms and is in the log all the same."""

_SIDECAR = "collection.json"
_BATCH = 16
_PAGE = 1000
_SHARD = "shard"


class Collection(msgspec.Struct, frozen=True):
    """What a folder holds."""

    model: str
    dimension: int
    schema_version: int


class EdgeStore:
    """`ports.MemoryStore`. An acknowledged write is in the write-ahead log: it survives a killed process. Flushed at least every
    `FLUSH_SECONDS` of writing, and by `close`: what a power cut can cost."""

    def __init__(self, shard: edge.EdgeShard, dimension: int) -> None:
        self._shard = shard
        self._dimension = dimension
        self._bm25 = Bm25()
        self._writing = threading.Lock()
        self._flushed_at = time.monotonic()

    @classmethod
    def open(cls, directory: Path, *, model: str, dimension: int) -> Self:
        """Create or load. `WrongModel` if the folder holds memories of another model, `SetupError` if another process owns it or can't be used."""
        folder = directory / memory_payload.collection_name(model)
        try:
            if not folder.exists():
                _refuse_others(directory, folder, Collection(model, dimension, memory_payload.SCHEMA_VERSION))
                _create(directory, folder, Collection(model, dimension, memory_payload.SCHEMA_VERSION))
            _check(folder, Collection(model, dimension, memory_payload.SCHEMA_VERSION))
            return cls(_load(folder), dimension)
        except OSError as error:
            raise errors.SetupError(f"the store in {directory} can't be used: {error}; check BRB_DATA_DIR and its permissions") from error

    def put(self, items: Sequence[ports.Embedded]) -> None:
        memory_payload.check_dimension((vector for _, vector in items), self._dimension)
        if items:
            self._write(edge.UpdateOperation.upsert_points([self._point(memory, vector) for memory, vector in items]))

    def update(self, memories: Sequence[models.Memory]) -> None:
        self._write(*(edge.UpdateOperation.overwrite_payload_by_filter(_ids([memory.id]), memory_payload.encode(memory)) for memory in memories))

    def get(self, scope: models.Scope, memory_id: str) -> models.Memory | None:
        ids = memory_payload.valid_ids([memory_id])
        if not ids:
            return None
        with _translated():
            records, _ = self._shard.scroll(edge.ScrollRequest(limit=1, filter=_filter(scope, ports.ANY, ids), with_payload=True))
        return memory_payload.decode(records[0].payload) if records else None

    def find(self, scope: models.Scope, where: ports.Where = ports.CURRENT, *, limit: int = 100, offset: int = 0) -> list[models.Memory]:
        wanted = _filter(scope, where)

        def newest(count: int, only: edge.Filter = wanted) -> list[models.Memory]:
            order = edge.OrderBy(key="created_at", direction=edge.Direction.Desc)
            with _translated():
                records, _ = self._shard.scroll(edge.ScrollRequest(limit=count, filter=only, order_by=order, with_payload=True))
            return [memory_payload.decode(record.payload) for record in records]

        def since(moment: float) -> list[models.Memory]:
            only = edge.Filter(must=[wanted, edge.FieldCondition(key="created_at", range=edge.RangeFloat(gte=moment))])
            return newest(max(1, self._count(only)), only)

        return memory_payload.page(newest, since, limit, offset)

    def count(self, scope: models.Scope, where: ports.Where = ports.CURRENT) -> int:
        return self._count(_filter(scope, where))

    def nearest(
        self, scope: models.Scope, vector: Sequence[float], *, limit: int, where: ports.Where = ports.CURRENT, exact: bool = False
    ) -> list[models.Hit]:
        memory_payload.check_dimension([vector], self._dimension)
        query = edge.Query.Nearest(list(vector), using=memory_payload.DENSE)
        return self._query(query, _filter(scope, where), limit, edge.SearchParams(exact=True))

    def lexical(self, scope: models.Scope, text: str, *, limit: int, where: ports.Where = ports.CURRENT) -> list[models.Hit]:
        terms = self._bm25.query(text)
        wanted = _filter(scope, where)
        if not terms.indices:
            return []
        query = edge.Query.Nearest(_sparse(terms), using=memory_payload.LEXICAL)
        return self._query(query, wanted, limit, edge.SearchParams(idf=edge.IdfParams(corpus=wanted)))

    def touch(self, scope: models.Scope, ids: Sequence[str], at: float) -> None:
        valid = memory_payload.valid_ids(ids)
        if valid:
            earlier = edge.FieldCondition(key="accessed_at", range=edge.RangeFloat(lt=at))
            only = edge.Filter(must=[_filter(scope, ports.ANY, valid), earlier])
            self._write(edge.UpdateOperation.set_payload_by_filter(only, {"accessed_at": at}))

    def delete(self, scope: models.Scope, ids: Sequence[str]) -> int:
        valid = memory_payload.valid_ids(ids)
        if not valid:
            return 0
        only = _filter(scope, ports.ANY, valid)
        with self._writing, _translated():
            count = self._shard.count(edge.CountRequest(exact=True, filter=only))
            self._apply(edge.UpdateOperation.delete_points_by_filter(only))
        return count

    def total(self) -> Mapping[models.Status, int]:
        return {status: self._count(edge.Filter(must=[_any_of("status", (str(status),))])) for status in models.Status}

    def ping(self) -> None:
        with _translated():
            self._shard.info()

    def close(self) -> None:
        """Flush and give the folder back. Every later call raises `Unavailable`."""
        with self._writing, _translated():
            self._shard.flush()
            self._shard.close()

    def _point(self, memory: models.Memory, vector: Sequence[float]) -> edge.Point:
        vectors: dict[str, edge.NamedVector] = {
            memory_payload.DENSE: list(vector),
            memory_payload.LEXICAL: _sparse(self._bm25.document(memory.text)),
        }
        return edge.Point(id=memory.id, vector=dict(vectors), payload=memory_payload.encode(memory))

    def _write(self, *operations: edge.UpdateOperation) -> None:
        with self._writing, _translated():
            self._apply(*operations)

    def _apply(self, *operations: edge.UpdateOperation) -> None:
        for operation in operations:
            self._shard.update(operation)
        if time.monotonic() - self._flushed_at >= FLUSH_SECONDS:
            self._shard.flush()
            self._flushed_at = time.monotonic()

    def _count(self, only: edge.Filter) -> int:
        with _translated():
            return self._shard.count(edge.CountRequest(exact=True, filter=only))

    def _query(self, query: edge.Query, only: edge.Filter, limit: int, params: edge.SearchParams) -> list[models.Hit]:
        if limit <= 0:
            return []
        request = edge.QueryRequest(limit=limit, query=query, filter=only, params=params, with_payload=True, with_vector=[memory_payload.DENSE])
        with _translated():
            points = self._shard.query(request)
        return [models.Hit(memory_payload.decode(point.payload), point.score, _dense(point.vector)) for point in points]


def carry_over(
    directory: Path,
    backups: Path,
    *,
    model: str,
    dimension: int,
    embed: Callable[[Sequence[str]], list[list[float]]],
    progress: Callable[[float], None],
) -> int:
    """Give the memories of the one collection in `directory`, of whatever model, the embeddings of this model; how many memories.

    The new collection is built beside and moved into place whole; the former one goes to `backups`. No process may have the store open.
    """
    sidecars = sorted(path for path in directory.glob(f"*/{_SIDECAR}") if not path.parent.name.startswith("."))
    if not sidecars:
        raise errors.NotFound(f"{directory} holds no memories to carry over")
    if len(sidecars) > 1:
        held = " and ".join(_read(path).model for path in sidecars)
        raise errors.SetupError(f"{directory} holds collections of {held}: move the one away that you don't want")
    former = sidecars[0].parent
    memories = _everything(_load(former))
    with tempfile.TemporaryDirectory(prefix=".new-", dir=directory) as draft:
        store = EdgeStore.open(Path(draft), model=model, dimension=dimension)
        for start in range(0, len(memories), _BATCH):
            batch = memories[start : start + _BATCH]
            store.put([ports.Embedded(memory, vector) for memory, vector in zip(batch, embed([m.text for m in batch]), strict=True)])
            progress((start + len(batch)) / len(memories))
        store.close()
        backups.mkdir(mode=0o700, parents=True, exist_ok=True)
        former.rename(backups / f"{former.name}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}")
        name = memory_payload.collection_name(model)
        (Path(draft) / name).rename(directory / name)
    return len(memories)


def _everything(shard: edge.EdgeShard) -> list[models.Memory]:
    """Every memory of every scope, which nothing but `carry_over` may read."""
    found: list[models.Memory] = []
    after: edge.PointId | None = None
    try:
        while True:
            records, after = shard.scroll(edge.ScrollRequest(offset=after, limit=_PAGE, with_payload=True))
            found += [memory_payload.decode(record.payload) for record in records]
            if after is None:
                return found
    finally:
        shard.close()


def _config(dimension: int) -> edge.EdgeConfig:
    return edge.EdgeConfig(
        vectors={memory_payload.DENSE: edge.EdgeVectorParams(size=dimension, distance=edge.Distance.Cosine)},
        sparse_vectors={memory_payload.LEXICAL: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
        optimizers=edge.EdgeOptimizersConfig(indexing_threshold=0),
    )


def _refuse_others(directory: Path, folder: Path, wanted: Collection) -> None:
    """Never start empty beside the memories of another model."""
    for sidecar in sorted(directory.glob(f"*/{_SIDECAR}")):
        if sidecar.parent != folder:
            found = _read(sidecar)
            raise memory_payload.wrong_model(found.model, wanted.model)


def _check(folder: Path, wanted: Collection) -> None:
    found = _read(folder / _SIDECAR)
    if (found.model, found.dimension) != (wanted.model, wanted.dimension):
        raise memory_payload.wrong_model(f"{found.model} ({found.dimension} dimensions)", f"{wanted.model} ({wanted.dimension} dimensions)")
    if found.schema_version != wanted.schema_version:
        raise errors.WrongModel(
            f"{folder} was written by another version of BRB (schema {found.schema_version}, not {wanted.schema_version}): "
            "use that version, or run `brb reindex`"
        )


def _read(sidecar: Path) -> Collection:
    try:
        return msgspec.json.decode(sidecar.read_bytes(), type=Collection)
    except (msgspec.DecodeError, FileNotFoundError) as error:
        raise errors.SetupError(f"{sidecar.parent} is not a store of BRB ({error}): restore it from a backup or move it away") from error


def _create(directory: Path, folder: Path, collection: Collection) -> None:
    """Built beside and moved into place whole, so that a crash leaves no half-made store."""
    directory.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".new-", dir=directory))
    try:
        (draft / _SHARD).mkdir()
        shard = edge.EdgeShard.create(str(draft / _SHARD), _config(collection.dimension))
        for field in memory_payload.KEYWORDS:
            shard.update(edge.UpdateOperation.create_field_index(field, edge.PayloadSchemaType.Keyword))
        for field in memory_payload.TIMES:
            shard.update(edge.UpdateOperation.create_field_index(field, edge.PayloadSchemaType.Float))
        shard.close()
        (draft / _SIDECAR).write_bytes(msgspec.json.encode(collection))
        with contextlib.suppress(FileExistsError):  # another opener was faster: its store is as good
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _load(folder: Path) -> edge.EdgeShard:
    try:
        shard = edge.EdgeShard.load(str(folder / _SHARD), None)
    except Exception as error:  # the binding raises bare exceptions
        if "WouldBlock" in str(error):
            raise errors.SetupError(f"another BRB owns {folder}: stop it with `brb down`, or set another BRB_DATA_DIR") from None
        raise errors.SetupError(f"the store in {folder} does not load: {error}; restore it from a backup") from error
    shard.optimize()
    return shard


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # the binding raises bare exceptions
        raise errors.Unavailable("Qdrant Edge", error) from error


def _filter(scope: models.Scope, where: ports.Where, ids: Sequence[str] | None = None) -> edge.Filter:
    must: list[edge.ConditionType] = [_one(clause) for clause in memory_payload.clauses(scope, where)]
    return edge.Filter(must=must if ids is None else [*must, edge.HasIdCondition(set(ids))])


def _ids(ids: Sequence[str]) -> edge.Filter:
    return edge.Filter(must=[edge.HasIdCondition(set(ids))])


def _one(clause: memory_payload.Clause) -> "edge.ConditionType":  # an alias that the stubs alone have
    conditions: list[edge.ConditionType] = [_any_of(*each) for each in clause]
    return conditions[0] if len(conditions) == 1 else edge.Filter(should=conditions)


def _any_of(field: str, values: tuple[str, ...]) -> edge.FieldCondition:
    return edge.FieldCondition(key=field, match=edge.MatchAny(list(values)))


def _sparse(terms: Sparse) -> edge.SparseVector:
    return edge.SparseVector(indices=terms.indices, values=terms.values)


def _dense(vector: object) -> tuple[float, ...] | None:
    return tuple(vector[memory_payload.DENSE]) if isinstance(vector, dict) else None
