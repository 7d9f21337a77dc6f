"""A server that answers Qdrant's REST calls as far as BRB makes them: what they mean is left to qdrant-client's local mode.

Each request must be one that qdrant-client's models of the API know, to the last field, and keep to the limits of its collection (strict mode,
as Qdrant 1.19 checks it: lib/collection/src/operations/verification). It can't say anything about speed, graphs or several nodes.
Run by itself it prints its address: `python -m tests.support.qdrant_rest`.
"""

import contextlib
import http.server
import io
import json
import re
import sys
import threading
import time
import urllib.parse
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pydantic
from qdrant_client import QdrantClient
from qdrant_client.http import models as m

_NAME = r"(?P<name>[^/]+)"
_FILTERED = re.compile(r'"key":\s*"([^"]+)"')


class Request(NamedTuple):
    method: str
    path: str
    query: dict[str, str]
    body: Any


class Refused(Exception):
    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Qdrant:
    """requests: as they came, oldest first. away: while set, every call is answered so."""

    def __init__(self, api_key: str = "") -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.local = QdrantClient(":memory:")
        self.requests: list[Request] = []
        self.api_key = api_key
        self.away = 0
        self.url = ""
        self.before: Callable[[Request], None] = lambda _: None
        self._made: dict[str, dict[str, Any]] = {}
        self._indexes: dict[str, dict[str, Any]] = {}
        self._snapshots: dict[tuple[str, str], bytes] = {}
        self._lock = threading.RLock()
        self._routes: list[tuple[str, re.Pattern[str], Callable[..., Any]]] = [
            (method, re.compile(f"{path}$"), handler)
            for method, path, handler in (
                ("GET", "/collections", self._collections),
                ("GET", "/aliases", lambda body, query: self.local.get_aliases()),
                ("POST", "/collections/aliases", self._alias),
                ("GET", f"/collections/{_NAME}", self._info),
                ("PUT", f"/collections/{_NAME}", self._create),
                ("PATCH", f"/collections/{_NAME}", self._update),
                ("DELETE", f"/collections/{_NAME}", self._drop),
                ("PUT", f"/collections/{_NAME}/index", self._index),
                ("PUT", f"/collections/{_NAME}/points", self._upsert),
                ("POST", f"/collections/{_NAME}/points/batch", self._batch),
                ("POST", f"/collections/{_NAME}/points/payload", self._set_payload),
                ("POST", f"/collections/{_NAME}/points/delete", self._delete),
                ("POST", f"/collections/{_NAME}/points/scroll", self._scroll),
                ("POST", f"/collections/{_NAME}/points/count", self._count),
                ("POST", f"/collections/{_NAME}/points/query", self._query),
                ("POST", f"/collections/{_NAME}/points/query/batch", self._query_batch),
                ("POST", f"/collections/{_NAME}/facet", self._facet),
                ("POST", f"/collections/{_NAME}/snapshots", self._snapshot),
                ("GET", f"/collections/{_NAME}/snapshots/(?P<file>[^/]+)", self._download),
                ("DELETE", f"/collections/{_NAME}/snapshots/(?P<file>[^/]+)", self._delete_snapshot),
                ("POST", f"/collections/{_NAME}/snapshots/upload", self._upload),
            )
        ]

    def answer(self, request: Request) -> Any:
        """What the call gives: a value for `result`, or bytes. Raises `Refused`."""
        self.before(request)
        with self._lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.requests.append(request)
            if self.away:
                raise Refused(self.away, "away")
            for method, pattern, handler in self._routes:
                if method == request.method and (found := pattern.match(request.path)):
                    names = {key: urllib.parse.unquote(value) for key, value in found.groupdict().items()}
                    try:
                        return handler(body=request.body, query=request.query, **names)
                    except pydantic.ValidationError as error:
                        raise Refused(400, f"Format error in JSON body: {error}") from error
                    except ValueError as error:
                        raise Refused(404 if "not found" in str(error) else 409 if "already exists" in str(error) else 400, str(error)) from error
            raise Refused(404, f"no such call: {request.method} {request.path}")

    def sent(self, method: str, ending: str) -> list[Request]:
        return [each for each in self.requests if each.method == method and each.path.endswith(ending)]

    # collections

    def _collections(self, body: Any, query: dict[str, str]) -> Any:
        return self.local.get_collections()

    def _alias(self, body: Any, query: dict[str, str]) -> Any:
        return self.local.update_collection_aliases(m.ChangeAliasesOperation.model_validate(body).actions)

    def _info(self, body: Any, query: dict[str, str], name: str) -> Any:
        info = _plain(self.local.get_collection(name))
        real = self._real(name)
        info["payload_schema"] = self._indexes[real]
        info["config"]["strict_mode_config"] = self._made[real].get("strict_mode_config")
        info["config"]["hnsw_config"] |= self._made[real].get("hnsw_config") or {}
        return info

    def _create(self, body: Any, query: dict[str, str], name: str) -> Any:
        made = m.CreateCollection.model_validate(body)
        self.local.create_collection(name, vectors_config=made.vectors, sparse_vectors_config=made.sparse_vectors, metadata=made.metadata)
        self._made[name], self._indexes[name] = body, {}
        return True

    def _update(self, body: Any, query: dict[str, str], name: str) -> Any:
        m.UpdateCollection.model_validate(body)
        made = self._made[self._real(name)]
        made["strict_mode_config"] = {**(made.get("strict_mode_config") or {}), **(body.get("strict_mode_config") or {})}
        return True

    def _drop(self, body: Any, query: dict[str, str], name: str) -> Any:
        self._made.pop(name, None), self._indexes.pop(name, None)
        return self.local.delete_collection(name)

    def _index(self, body: Any, query: dict[str, str], name: str) -> Any:
        made = m.CreateFieldIndex.model_validate(body)
        schema = body["field_schema"]
        kind = schema if isinstance(schema, str) else schema["type"]
        self._indexes[self._real(name)][made.field_name] = {"data_type": kind, "points": 0} | ({} if isinstance(schema, str) else {"params": schema})
        return _written(query)

    # points

    def _upsert(self, body: Any, query: dict[str, str], name: str) -> Any:
        self._check(name, batch=len(body["points"]))
        self.local.upsert(name, m.PointsList.model_validate(body).points)
        return _written(query)

    def _batch(self, body: Any, query: dict[str, str], name: str) -> Any:
        for operation in m.UpdateOperations.model_validate(body).operations:
            self._check(name, written=_plain(operation))
            self.local.batch_update_points(name, [operation])
        return [_written(query)]

    def _set_payload(self, body: Any, query: dict[str, str], name: str) -> Any:
        self._check(name, written=body.get("filter"))
        made = m.SetPayload.model_validate(body)
        self.local.set_payload(name, made.payload, made.filter or made.points)  # type: ignore[arg-type]
        return _written(query)

    def _delete(self, body: Any, query: dict[str, str], name: str) -> Any:
        self._check(name, written=body.get("filter"))
        selector = m.FilterSelector.model_validate(body) if "filter" in body else m.PointIdsList.model_validate(body)
        self.local.delete(name, selector)
        return _written(query)

    def _scroll(self, body: Any, query: dict[str, str], name: str) -> Any:
        asked = m.ScrollRequest.model_validate(body)
        self._check(name, read=body.get("filter"), limit=asked.limit)
        if asked.order_by is not None and str(getattr(asked.order_by, "key", asked.order_by)) not in self._indexes[self._real(name)]:
            raise Refused(400, "No range index for `order_by` key")
        records, after = self.local.scroll(
            name,
            asked.filter,
            asked.limit or 10,
            asked.order_by,
            asked.offset,
            asked.with_payload or False,
            asked.with_vector or False,  # type: ignore[arg-type]
        )
        return {"points": _plain(records), "next_page_offset": None if asked.order_by else after}

    def _count(self, body: Any, query: dict[str, str], name: str) -> Any:
        self._check(name, read=body.get("filter"), exact=body.get("exact", True))
        asked = m.CountRequest.model_validate(body)
        return self.local.count(name, asked.filter, exact=True)

    def _query(self, body: Any, query: dict[str, str], name: str) -> Any:
        asked = m.QueryRequest.model_validate(body)
        params = body.get("params") or {}
        self._check(name, read=[body.get("filter"), params.get("idf")], limit=asked.limit, exact=params.get("exact"))
        return self.local.query_points(
            name,
            query=asked.query,  # type: ignore[arg-type]
            using=asked.using,
            query_filter=asked.filter,
            search_params=asked.params,
            limit=asked.limit or 10,
            with_payload=asked.with_payload or False,  # type: ignore[arg-type]
            with_vectors=asked.with_vector or False,  # type: ignore[arg-type]
        )

    def _query_batch(self, body: Any, query: dict[str, str], name: str) -> Any:
        m.QueryRequestBatch.model_validate(body)
        self._check(name, searches=len(body["searches"]))
        return [_plain(self._query(each, query, name)) for each in body["searches"]]

    def _facet(self, body: Any, query: dict[str, str], name: str) -> Any:
        asked = m.FacetRequest.model_validate(body)
        self._check(name, read=body.get("filter"), limit=asked.limit, exact=asked.exact)
        if asked.key not in self._indexes[self._real(name)]:
            raise Refused(400, f"No keyword index for facet of {asked.key}")
        return self.local.facet(name, asked.key, asked.filter, asked.limit or 10)

    def _real(self, name: str) -> str:
        known = {each.alias_name: each.collection_name for each in self.local.get_aliases().aliases}
        return known.get(name, name)

    def _check(
        self,
        name: str,
        *,
        read: Any = None,
        written: Any = None,
        limit: int | None = None,
        exact: bool | None = None,
        batch: int = 0,
        searches: int = 0,
    ) -> None:
        if self._real(name) not in self._made:
            raise Refused(404, f"Not found: Collection `{name}` doesn't exist!")
        strict = self._made[self._real(name)].get("strict_mode_config") or {}
        if not strict.get("enabled"):
            return
        for used, allowed in ((read, strict.get("unindexed_filtering_retrieve")), (written, strict.get("unindexed_filtering_update"))):
            unindexed = set(_FILTERED.findall(json.dumps(used))) - set(self._indexes[self._real(name)])
            if allowed is False and unindexed:
                raise Refused(400, f"Index required but not found for {sorted(unindexed)}")
        for what, value, most in (
            ("limit", limit or 0, strict.get("max_query_limit")),
            ("upsert limit", batch, strict.get("upsert_max_batchsize")),
            ("search batch size", searches, strict.get("search_max_batchsize")),
        ):
            if most is not None and value > most:
                raise Refused(400, f"Limit exceeded {value} > {most} for {what}")
        if exact and strict.get("search_allow_exact") is False:
            raise Refused(400, "Exact search disabled!")

    # snapshots

    def _snapshot(self, body: Any, query: dict[str, str], name: str) -> Any:
        records, _ = self.local.scroll(name, limit=1_000_000, with_vectors=True)
        real = self._real(name)
        whole = {"made": self._made[real], "indexes": self._indexes[real], "points": _plain(records)}
        file = f"{real}-{len(self._snapshots)}.snapshot"
        self._snapshots[name, file] = data = json.dumps(whole).encode()
        return {"name": file, "creation_time": "2026-01-01T00:00:00", "size": len(data)}

    def _download(self, body: Any, query: dict[str, str], name: str, file: str) -> Any:
        if (name, file) not in self._snapshots:
            raise Refused(404, "no such snapshot")
        return self._snapshots[name, file]

    def _delete_snapshot(self, body: Any, query: dict[str, str], name: str, file: str) -> Any:
        del self._snapshots[name, file]
        return True

    def _upload(self, body: Any, query: dict[str, str], name: str) -> Any:
        try:
            whole = json.loads(_part(body))
        except ValueError as error:
            raise Refused(400, "the snapshot can't be read") from error
        if name in self._made:
            self._drop(None, {}, name)
        self._create(whole["made"], {}, name)
        self._indexes[name] = whole["indexes"]
        self.local.upsert(name, [m.PointStruct(id=one["id"], vector=one["vector"], payload=one["payload"]) for one in whole["points"]])
        return True


def _written(query: dict[str, str]) -> dict[str, Any]:
    if query.get("wait") != "true":
        raise Refused(400, "BRB waits for its writes")
    return {"operation_id": 1, "status": "completed"}


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=lambda one: one.model_dump(mode="json", exclude_none=True)))


def _part(body: bytes) -> bytes:
    """The one file of a multipart form."""
    boundary = body.split(b"\r\n", 1)[0]
    return body.split(b"\r\n\r\n", 1)[1].split(b"\r\n" + boundary, 1)[0]


def _handler(qdrant: Qdrant) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self._body()
            path = urllib.parse.urlsplit(self.path)
            try:
                if qdrant.api_key and self.headers.get("api-key") != qdrant.api_key:
                    raise Refused(401, "Must provide an API key or an Authorization bearer token")
                parsed = json.loads(body) if body and "json" in self.headers.get("content-type", "") else body or None
                result = qdrant.answer(Request(self.command, path.path, dict(urllib.parse.parse_qsl(path.query)), parsed))
            except Refused as refused:
                return self._send(refused.status, json.dumps({"status": {"error": str(refused)}, "time": 0}).encode())
            if isinstance(result, bytes):
                return self._send(200, result, "application/octet-stream")
            self._send(200, json.dumps({"result": _plain(result), "status": "ok", "time": 0.001}).encode())

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer

        def _body(self) -> bytes:
            if self.headers.get("transfer-encoding", "") != "chunked":
                return self.rfile.read(int(self.headers.get("content-length", 0)))
            whole = io.BytesIO()
            while size := int(self.rfile.readline(), 16):
                whole.write(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return whole.getvalue()

        def _send(self, status: int, data: bytes, kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@contextlib.contextmanager
def running(api_key: str = "") -> Iterator[Qdrant]:
    qdrant = Qdrant(api_key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(qdrant))
    server.daemon_threads = True
    qdrant.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield qdrant
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


if __name__ == "__main__":
    with running() as served:
        sys.stdout.write(f"{served.url}\n")
        sys.stdout.flush()
        while True:
            time.sleep(3600)
