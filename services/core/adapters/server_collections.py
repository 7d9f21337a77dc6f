"""Collections on a Qdrant server: what they are called, how they are made, and how one takes the place of another.

    brb_<model>           alias: what processes open. Points are read and written by this name, so that a switch reaches everybody at once
    brb_<model>~<n>       collection; `n` counts up with each rebuilding of the same model's
    brb_<model>~next      alias: of one that is being built
    brb_<model>~former    alias: of the one whose place was taken, kept until it is dropped

Indexes, graphs and limits: docs/adr/0014.
"""

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import httpx
from qdrant_client import QdrantClient
from qdrant_client import models as q
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from services.core import errors
from services.core.adapters import points
from services.core.adapters.points import Layout

MOST_AT_ONCE = 500
"""Points in one write: the server takes 32 MB in a request, and one of 768 dimensions with its texts takes up to 30 KB."""
_TENANT = "team"
_WITH_GRAPH = frozenset({_TENANT, points.REACH})
_LIMITS = q.StrictModeConfig(
    enabled=True,
    unindexed_filtering_retrieve=False,
    unindexed_filtering_update=False,
    max_query_limit=1_000_000,  # a listing asks for everything up to the end of its page
    max_timeout=60,
    search_allow_exact=True,  # what decides whether a fact is known must not miss a neighbour; counts are exact, too
    upsert_max_batchsize=MOST_AT_ONCE,
    search_max_batchsize=32,
    filter_max_conditions=32,
    condition_max_size=100_000,  # ids of a prune, digests of a long note
)
_CONFLICT = 409
_RETRYABLE = frozenset({408, 423, 429, 500, 502, 503, 504, 507})
_REFUSED = frozenset({401, 403})


class Space(NamedTuple):
    """The vectors of one embedding model, of what a layout is for. prefix: of all names of that layout."""

    layout: Layout
    prefix: str
    model: str
    dimension: int

    @property
    def alias(self) -> str:
        return self.prefix + points.collection_name(self.model)

    @property
    def next(self) -> str:
        return f"{self.alias}~next"

    @property
    def former(self) -> str:
        return f"{self.alias}~former"

    def generation(self, number: int) -> str:
        return f"{self.alias}~{number}"


def opened(client: QdrantClient, space: Space) -> str:
    """The name to read and write by. Makes the collection if there is none. `WrongModel` if there is only another model's, or it does not fit."""
    known = aliases(client)
    if space.alias not in known:
        for other in in_use(known, space.prefix):
            raise points.wrong_model(space.layout.what, other, space.model)
        made(client, space, space.generation(1))
        _point(client, known, {space.alias: space.generation(1)})  # another process that was as fast has made the same
    else:
        fitted(client, space, known[space.alias])
    return space.alias


def made(client: QdrantClient, space: Space, name: str) -> None:
    """An empty collection, unless it is there already."""
    try:
        client.create_collection(
            name,
            vectors_config={points.DENSE: q.VectorParams(size=space.dimension, distance=q.Distance.COSINE)},
            sparse_vectors_config={points.LEXICAL: q.SparseVectorParams(modifier=q.Modifier.IDF)},
            hnsw_config=q.HnswConfigDiff(m=0, payload_m=16),  # a graph for each team and scope, none over all
            strict_mode_config=_LIMITS,
            metadata={"model": space.model, "schema_version": points.SCHEMA_VERSION},
        )
    except (UnexpectedResponse, ValueError) as error:
        if not _there_already(error):
            raise
    fitted(client, space, name)


def fitted(client: QdrantClient, space: Space, name: str) -> None:
    """A collection with the indexes and limits of this version. `WrongModel` if its vectors are of another dimension, or another version wrote it."""
    info = client.get_collection(name)
    _check(info, space, name)
    for field, schema in _schemas(space.layout).items():
        there = info.payload_schema.get(field)
        if there is None or not _same(there.params, schema):
            client.create_payload_index(name, field, schema, wait=True)
    if (limits := info.config.strict_mode_config) is not None and not _same(limits, _LIMITS):
        client.update_collection(name, strict_mode_config=_LIMITS)


def aliases(client: QdrantClient) -> dict[str, str]:
    """What each alias stands for."""
    return {each.alias_name: each.collection_name for each in client.get_aliases().aliases}


def in_use(known: Iterable[str], prefix: str) -> list[str]:
    """The models (as in names) that have a collection of this prefix."""
    return sorted(name.removeprefix(prefix) for name in known if name.startswith(prefix) and "~" not in name)


def model_of(client: QdrantClient, name: str) -> str:
    return str((client.get_collection(name).config.metadata or {}).get("model", ""))


def begun(client: QdrantClient, space: Space) -> str:
    """The collection that is being built for this space: the one that was begun earlier, else a new one beside what is in use."""
    known = aliases(client)
    if space.next not in known:
        name = free(client, space)
        made(client, space, name)
        _point(client, known, {space.next: name})
        return name
    fitted(client, space, known[space.next])
    return known[space.next]


def free(client: QdrantClient, space: Space) -> str:
    """A name for one more collection of the space."""
    taken = {each.name for each in client.get_collections().collections}
    return next(name for number in range(1, len(taken) + 2) if (name := space.generation(number)) not in taken)


def place(client: QdrantClient, space: Space, name: str) -> None:
    """Put a collection in the place of what is in use."""
    known = aliases(client)
    _point(client, known, {space.alias: name} | ({space.former: known[space.alias]} if space.alias in known else {}))


def switch(client: QdrantClient, spaces: Iterable[Space]) -> None:
    """What was built takes its place, in one step for all of them. Again, it changes nothing."""
    known = aliases(client)
    pointed: dict[str, str] = {}
    gone: list[str] = []
    for space in spaces:
        if space.next in known:
            pointed[space.alias] = known[space.next]
            gone.append(space.next)
            if space.alias in known:
                pointed[space.former] = known[space.alias]
    if pointed:
        _point(client, known, pointed, gone)


def drop_others(client: QdrantClient, spaces: Iterable[Space]) -> list[str]:
    """Delete every collection of these prefixes but those in use by these models; their names."""
    kept = list(spaces)
    known = aliases(client)
    in_place = {known.get(space.alias) for space in kept}
    dropped = [
        each.name
        for each in client.get_collections().collections
        if any(each.name.startswith(space.prefix) for space in kept) and each.name not in in_place
    ]
    for name in dropped:
        client.delete_collection(name)  # and with it its aliases
    return sorted(dropped)


def _point(client: QdrantClient, known: Mapping[str, str], pointed: Mapping[str, str], gone: Sequence[str] = ()) -> None:
    """All at once: nobody sees a name without a collection."""
    changes: list[q.AliasOperations] = [
        q.DeleteAliasOperation(delete_alias=q.DeleteAlias(alias_name=name)) for name in (*gone, *pointed) if name in known
    ]
    changes += [
        q.CreateAliasOperation(create_alias=q.CreateAlias(alias_name=name, collection_name=collection)) for name, collection in pointed.items()
    ]
    client.update_collection_aliases(changes)


def _check(info: q.CollectionInfo, space: Space, name: str) -> None:
    vectors = info.config.params.vectors
    size = vectors[points.DENSE].size if isinstance(vectors, dict) and points.DENSE in vectors else 0
    if size != space.dimension:
        raise points.wrong_model(space.layout.what, f"{space.model} ({size} dimensions)", f"{space.model} ({space.dimension} dimensions)")
    version = (info.config.metadata or {}).get("schema_version", points.SCHEMA_VERSION)
    if version != points.SCHEMA_VERSION:
        raise errors.WrongModel(
            f"{name} was written by another version of BRB (schema {version}, not {points.SCHEMA_VERSION}): use that version, or run `brb reindex`"
        )


def _schemas(layout: Layout) -> dict[str, q.KeywordIndexParams | q.FloatIndexParams]:
    """There before the first point: graphs have edges only for the indexes that were there when they were built."""
    keywords = {
        field: q.KeywordIndexParams(type=q.KeywordIndexType.KEYWORD, is_tenant=field == _TENANT, enable_hnsw=field in _WITH_GRAPH)
        for field in layout.keywords
    }
    return {**keywords, **{field: q.FloatIndexParams(type=q.FloatIndexType.FLOAT, enable_hnsw=False) for field in layout.numbers}}


def _same(found: Any, wanted: Any) -> bool:
    """Whether all that is asked for is so already."""
    return found is not None and all(getattr(found, field, None) == value for field, value in wanted.model_dump(exclude_none=True).items())


def _there_already(error: UnexpectedResponse | ValueError) -> bool:
    return error.status_code == _CONFLICT if isinstance(error, UnexpectedResponse) else "already exists" in str(error)


@contextlib.contextmanager
def translated() -> Iterator[None]:
    try:
        yield
    except UnexpectedResponse as error:
        if error.status_code in _REFUSED:
            raise errors.SetupError("Qdrant refuses the key: set BRB_QDRANT_API_KEY") from None
        if error.status_code is None or error.status_code in _RETRYABLE:
            raise errors.Unavailable("Qdrant", f"status {error.status_code}") from error
        raise errors.Permanent(f"Qdrant refuses a request: {error.status_code} {error.reason_phrase}") from error
    except (ResponseHandlingException, QdrantException, httpx.HTTPError, OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise errors.Unavailable("Qdrant", error) from error
