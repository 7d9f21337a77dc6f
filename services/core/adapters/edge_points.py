"""Points in Qdrant Edge, a Qdrant shard in this process. One process at a time owns the folder.

    <directory>/<embedding model>/collection.json    what the shard holds: model, dimension, schema version; and its folder's name
    <directory>/<embedding model>/shard…/            Qdrant's own files

A search compares with every point of the scope. Measured on 20,000 of 384 dimensions, half of them in scope: 4.6 ms. An HNSW graph would
save 2 ms, and building it (`optimize`) stopped the whole process for 10 s: so there is none, and `optimize` only tidies up when the store opens.

What is deleted is found no more, but its bytes stay: in the write-ahead log, which is only ever cut by whole files of 32 MB, and in the pages of
payloads and vectors, whose room is used again but not cleared. So `purge` writes what is there to a new shard and removes the old one.
Measured: 0.35 s for 1,000 points of 384 dimensions.
"""

import contextlib
import errno
import os
import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec
import qdrant_edge as edge

from services.core import errors
from services.core.adapters import points
from services.core.adapters.bm25 import Sparse
from services.core.adapters.points import Found, Layout, Only, Payload, Point

FLUSH_SECONDS = 60.0
"""How often at most a write is followed by a flush. Measured: it stops every thread of the process, for 6 ms on an idle disk and 70 ms on a busy
one; without it a write takes 0.2 ms and is in the log all the same."""

ROOM_BYTES = 100_000_000
"""What must be free on the disk for a write. The shard writes to files that are mapped into memory: one that finds no room there ends the process
(SIGBUS), with every stream that it relays. Each log that is begun takes 32 MB."""

_SIDECAR = "collection.json"
_DRAFT = ".new-"
_PAGE = 1000
T = TypeVar("T")
_SHARD = "shard"
_COPIED = 32  # points at once: each write stops every thread of the process, so they are short


class Collection(msgspec.Struct, frozen=True):
    """What a folder holds, and where in it."""

    model: str
    dimension: int
    schema_version: int
    shard: str = _SHARD


class EdgePoints:
    """`points.Points`. An acknowledged write is in the write-ahead log: it survives a killed process. Flushed at least every
    `FLUSH_SECONDS` of writing, and by `close`: what a power cut can cost."""

    def __init__(self, folder: Path, shard: edge.EdgeShard, layout: Layout, dimension: int) -> None:
        self._folder = folder
        self._shard = shard
        self._layout = layout
        self._dimension = dimension
        self._writing = threading.Lock()
        self._flushed_at = time.monotonic()
        self._closing = False
        self._unclean = True  # as far as is known of what was written before

    @classmethod
    def open(cls, directory: Path, layout: Layout, *, model: str, dimension: int) -> Self:
        """Create or load. `WrongModel` if the folder holds another model's collection, `SetupError` if another process owns it or can't be used."""
        folder = directory / points.collection_name(model)
        wanted = Collection(model, dimension, points.SCHEMA_VERSION)
        try:
            if not folder.exists():
                _refuse_others(directory, folder, wanted, layout)
                _create(directory, folder, wanted, layout)
            _check(folder, wanted, layout)
            opened = cls(folder, _load(folder), layout, dimension)
            _remove_drafts(directory)
            return opened
        except OSError as error:
            raise errors.SetupError(f"the store in {directory} can't be used: {error}; check BRB_DATA_DIR and its permissions") from error

    @classmethod
    def open_any(cls, folder: Path, collection: Collection) -> Self:
        """One of the `collections`, of whatever model and version: to be read."""
        return cls(folder, _load(folder), Layout("", (), ()), collection.dimension)

    @property
    def dimension(self) -> int:
        return self._dimension

    def upsert(self, items: Sequence[Point]) -> None:
        self._write(edge.UpdateOperation.upsert_points([_point(each) for each in items]))

    def overwrite(self, payloads: Mapping[str, Payload]) -> None:
        self._write(*(edge.UpdateOperation.overwrite_payload_by_filter(_filter(Only(ids=[id])), dict(load)) for id, load in payloads.items()))

    def set_fields(self, only: Only, fields: Payload) -> None:
        self._write(edge.UpdateOperation.set_payload_by_filter(_filter(only), dict(fields)))

    def delete(self, only: Only) -> int:
        wanted = _filter(only)
        with self._writing, _translated():
            count = self._shard.count(edge.CountRequest(exact=True, filter=wanted))
            self._apply(edge.UpdateOperation.delete_points_by_filter(wanted))
        return count

    def scroll(
        self, only: Only, *, limit: int, newest_by: str = "", oldest_by: str = "", without: Sequence[str] = (), dense: bool = False
    ) -> list[Found]:
        request = edge.ScrollRequest(
            limit=limit,
            filter=_filter(only),
            order_by=_order(newest_by, oldest_by),
            with_payload=edge.PayloadSelector.Exclude(list(without)) if without else True,
            with_vector=[points.DENSE] if dense else False,
        )
        records, _ = self._read(lambda shard: shard.scroll(request))
        return [Found(record.payload or {}, dense=_dense(record.vector)) for record in records]

    def count(self, only: Only) -> int:
        request = edge.CountRequest(exact=True, filter=_filter(only))
        return self._read(lambda shard: shard.count(request))

    def nearest(self, vector: Sequence[float], only: Only, *, limit: int, exact: bool = False) -> list[Found]:
        return self._query(edge.Query.Nearest(list(vector), using=points.DENSE), _filter(only), limit, edge.SearchParams(exact=True))

    def lexical(self, terms: Sparse, only: Only, *, limit: int) -> list[Found]:
        wanted = _filter(only)
        query = edge.Query.Nearest(_sparse(terms), using=points.LEXICAL)
        return self._query(query, wanted, limit, edge.SearchParams(idf=edge.IdfParams(corpus=wanted)))

    def search(self, vectors: Sequence[Sequence[float]], terms: Sparse | None, only: Only, *, limit: int) -> tuple[list[list[Found]], list[Found]]:
        dense = [self.nearest(vector, only, limit=limit) for vector in vectors]
        return dense, self.lexical(terms, only, limit=limit) if terms else []

    def values(self, field: str, only: Only, *, limit: int) -> list[tuple[str, int]]:
        request = edge.FacetRequest(key=field, limit=limit, exact=True, filter=_filter(only))
        answer = self._read(lambda shard: shard.facet(request))
        return [(str(hit.value), hit.count) for hit in answer.hits]

    def everything(self) -> Iterator[Payload]:
        """The payload of every point of every scope: for carrying over to another model alone."""
        with _translated():
            yield from (record.payload or {} for records in _pages(self._shard, _PAGE) for record in records)

    def purge(self) -> None:
        """Writes wait meanwhile, reads go on. Killed at any moment it leaves one whole shard, the old one or the new; `close` breaks it off."""
        with self._writing, _translated():
            if not self._unclean:
                return
            self._check_room()
            name = f"{_SHARD}-{uuid.uuid4().hex}"
            try:
                purged = _empty(self._folder / name, self._layout, self._dimension)
                self._copy_to(purged)
                describe(self._folder, msgspec.structs.replace(_read(self._folder / _SIDECAR), shard=name))
            except BaseException:
                shutil.rmtree(self._folder / name, ignore_errors=True)
                raise
            former, self._shard = self._shard, purged
            self._unclean = False
            former.close()
            _remove_others(self._folder, name)

    def ping(self) -> None:
        self._read(lambda shard: shard.info())

    def close(self) -> None:
        """Flush and give the folder back. Every later call raises `Unavailable`."""
        self._closing = True
        with self._writing, _translated():
            self._shard.flush()
            self._shard.close()

    def _read(self, ask: Callable[[edge.EdgeShard], T]) -> T:
        """The answer of the shard; of the one that has taken its place, if it was closed under the question."""
        while True:
            shard = self._shard
            try:
                return ask(shard)
            except Exception as error:  # the binding raises bare exceptions
                if shard is self._shard:
                    raise errors.Unavailable("Qdrant Edge", error) from error

    def _copy_to(self, shard: edge.EdgeShard) -> None:
        for records in _pages(self._shard, _COPIED, vectors=True):
            if self._closing:
                raise errors.Unavailable("Qdrant Edge", "it is being closed")
            shard.update(edge.UpdateOperation.upsert_points([edge.Point(id=one.id, vector=one.vector or {}, payload=one.payload) for one in records]))
        shard.flush()

    def _write(self, *operations: edge.UpdateOperation) -> None:
        with self._writing, _translated():
            self._apply(*operations)

    def _apply(self, *operations: edge.UpdateOperation) -> None:
        self._check_room()
        self._unclean = True
        for operation in operations:
            self._shard.update(operation)
        if time.monotonic() - self._flushed_at >= FLUSH_SECONDS:
            self._shard.flush()
            self._flushed_at = time.monotonic()

    def _check_room(self) -> None:
        if shutil.disk_usage(self._folder).free < ROOM_BYTES:
            raise errors.Unavailable("Qdrant Edge", f"less than {ROOM_BYTES // 1_000_000} MB are free for {self._folder}")

    def _query(self, query: edge.Query, only: edge.Filter, limit: int, params: edge.SearchParams) -> list[Found]:
        if limit <= 0:
            return []
        request = edge.QueryRequest(limit=limit, query=query, filter=only, params=params, with_payload=True, with_vector=[points.DENSE])
        found = self._read(lambda shard: shard.query(request))
        return [Found(point.payload or {}, point.score, _dense(point.vector)) for point in found]


def collections(directory: Path) -> list[tuple[Path, Collection]]:
    """The collections in a folder, each with its own folder."""
    sidecars = sorted(path for path in directory.glob(f"*/{_SIDECAR}") if not path.parent.name.startswith("."))
    return [(path.parent, _read(path)) for path in sidecars]


@contextlib.contextmanager
def replaced(directory: Path, backups: Path, model: str) -> Iterator[tuple[Iterator[Payload], Path]]:
    """What the one collection in `directory` holds, and an empty folder for the one that takes its place when the block has ended well.

    The former one goes to `backups`. `NotFound` if there is none. No process may have the store open.
    """
    held = collections(directory)
    if not held:
        raise errors.NotFound(f"{directory} holds nothing to carry over: nothing was stored yet")
    if len(held) > 1:
        names = " and ".join(collection.model for _, collection in held)
        raise errors.SetupError(f"{directory} holds collections of {names}: move the one away that you don't want")
    former, collection = held[0]
    _remove_drafts(directory)
    with tempfile.TemporaryDirectory(prefix=_DRAFT, dir=directory) as draft:
        source = EdgePoints.open_any(former, collection)
        try:
            yield source.everything(), Path(draft)
        finally:
            source.close()
        backups.mkdir(mode=0o700, parents=True, exist_ok=True)
        aside = backups / f"{directory.name}-{former.name}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}"
        name = points.collection_name(model)
        if former.name == name:
            _exchange(former, collection, Path(draft) / name, aside)
        else:  # killed between the two there are both, and nothing is lost
            (Path(draft) / name).rename(directory / name)
            _move(former, aside)


def _exchange(folder: Path, former: Collection, draft: Path, aside: Path) -> None:
    """Killed at any moment there is a whole store in the folder: the former one until it says otherwise, then the one of the draft."""
    new = _read(draft / _SIDECAR)
    name = f"{_SHARD}-{uuid.uuid4().hex}"
    aside.mkdir(mode=0o700)  # first: where that fails, nothing is done
    (draft / new.shard).rename(folder / name)
    describe(folder, msgspec.structs.replace(new, shard=name))
    _move(folder / former.shard, aside / former.shard)
    describe(aside, former)


def _move(folder: Path, to: Path) -> None:
    """Backups may be on another disk."""
    try:
        folder.rename(to)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.move(folder, to)


def in_batches(items: Sequence[Any], size: int, progress: Callable[[float], None]) -> Iterator[Sequence[Any]]:
    """Told of the share that is done after each batch."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
        progress(min(1.0, (start + size) / len(items)))


def _config(dimension: int) -> edge.EdgeConfig:
    return edge.EdgeConfig(
        vectors={points.DENSE: edge.EdgeVectorParams(size=dimension, distance=edge.Distance.Cosine)},
        sparse_vectors={points.LEXICAL: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
        optimizers=edge.EdgeOptimizersConfig(indexing_threshold=0),
    )


def _refuse_others(directory: Path, folder: Path, wanted: Collection, layout: Layout) -> None:
    """Never start empty beside the collection of another model."""
    for other, found in collections(directory):
        if other != folder:
            raise points.wrong_model(layout.what, found.model, wanted.model)


def _check(folder: Path, wanted: Collection, layout: Layout) -> None:
    found = _read(folder / _SIDECAR)
    if (found.model, found.dimension) != (wanted.model, wanted.dimension):
        raise points.wrong_model(layout.what, f"{found.model} ({found.dimension} dimensions)", f"{wanted.model} ({wanted.dimension} dimensions)")
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


def _create(directory: Path, folder: Path, collection: Collection, layout: Layout) -> None:
    """Built beside and moved into place whole, so that a crash leaves no half-made store."""
    directory.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=directory))
    try:
        _empty(draft / collection.shard, layout, collection.dimension).close()
        describe(draft, collection)
        with contextlib.suppress(FileExistsError):  # another opener was faster: its store is as good
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _empty(folder: Path, layout: Layout, dimension: int) -> edge.EdgeShard:
    """A new shard."""
    folder.mkdir()
    shard = edge.EdgeShard.create(str(folder), _config(dimension))
    for field in layout.keywords:
        shard.update(edge.UpdateOperation.create_field_index(field, edge.PayloadSchemaType.Keyword))
    for field in layout.numbers:
        shard.update(edge.UpdateOperation.create_field_index(field, edge.PayloadSchemaType.Float))
    return shard


def describe(folder: Path, collection: Collection) -> None:
    """Written whole or not at all."""
    draft = folder / f".{_SIDECAR}"
    with draft.open("wb") as file:
        file.write(msgspec.json.encode(collection))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / _SIDECAR)


def _pages(shard: edge.EdgeShard, size: int, *, vectors: bool = False) -> Iterator[Sequence[edge.Record]]:
    """All points, in no order."""
    after: edge.PointId | None = None
    while True:
        records, after = shard.scroll(edge.ScrollRequest(offset=after, limit=size, with_payload=True, with_vector=vectors))
        if records:
            yield records
        if after is None:
            return


def _remove_drafts(directory: Path) -> None:
    """What a killed one was building: it may hold what was forgotten since. For the owner of the store beside it."""
    for path in directory.glob(f"{_DRAFT}*"):
        shutil.rmtree(path, ignore_errors=True)


def _remove_others(folder: Path, name: str) -> None:
    """The shards of a folder but for the one that is used: what a purge has left, or one that was killed."""
    for path in folder.glob(f"{_SHARD}*"):
        if path.name != name:
            shutil.rmtree(path, ignore_errors=True)


def _load(folder: Path) -> edge.EdgeShard:
    name = _read(folder / _SIDECAR).shard
    try:
        shard = edge.EdgeShard.load(str(folder / name), None)
    except Exception as error:  # the binding raises bare exceptions
        if "WouldBlock" in str(error):
            raise errors.SetupError(f"another BRB owns {folder}: stop it with `brb down`, or set another BRB_DATA_DIR") from None
        raise errors.SetupError(f"the store in {folder} does not load: {error}; restore it from a backup") from error
    _remove_others(folder, name)  # nobody else has it open
    shard.optimize()
    return shard


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # the binding raises bare exceptions
        raise errors.Unavailable("Qdrant Edge", error) from error


def _point(point: Point) -> edge.Point:
    vectors: dict[str, edge.NamedVector] = {}
    if point.dense is not None:
        vectors[points.DENSE] = list(point.dense)
    if point.lexical is not None:
        vectors[points.LEXICAL] = _sparse(point.lexical)
    return edge.Point(id=point.id, vector=dict(vectors), payload=dict(point.payload))


def _filter(only: Only) -> edge.Filter:
    must: list[edge.ConditionType] = [_one(clause) for clause in only.clauses]
    if only.ids is not None:
        must.append(edge.HasIdCondition(set(only.ids)))
    if only.at_least is not None:
        must.append(edge.FieldCondition(key=only.at_least[0], range=edge.RangeFloat(gte=only.at_least[1])))
    if only.under is not None:
        must.append(edge.FieldCondition(key=only.under[0], range=edge.RangeFloat(lt=only.under[1])))
    must_not: list[edge.ConditionType] = [edge.HasIdCondition(set(only.but))] if only.but else []
    must_not += [edge.FieldCondition(key=each.field, match=edge.MatchAny(list(each.values))) for each in only.none_of]
    return edge.Filter(must=must, must_not=must_not or None)


def _order(newest_by: str, oldest_by: str) -> edge.OrderBy | None:
    if newest_by or oldest_by:
        return edge.OrderBy(key=newest_by or oldest_by, direction=edge.Direction.Desc if newest_by else edge.Direction.Asc)
    return None


def _one(clause: points.Clause) -> "edge.ConditionType":  # an alias that the stubs alone have
    conditions: list[edge.ConditionType] = [edge.FieldCondition(key=each.field, match=edge.MatchAny(list(each.values))) for each in clause]
    return conditions[0] if len(conditions) == 1 else edge.Filter(should=conditions)


def _sparse(terms: Sparse) -> edge.SparseVector:
    return edge.SparseVector(indices=terms.indices, values=terms.values)


def _dense(vector: object) -> tuple[float, ...] | None:
    return tuple(vector[points.DENSE]) if isinstance(vector, dict) and points.DENSE in vector else None
