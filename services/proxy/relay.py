"""The I/O of the wire: calls go to the upstream and answers come back, byte for byte.

What is remembered is an `Interceptor`'s business: the relay asks it before a call and tells it of the answer. A mistake of the interceptor
never costs the call: the original body is forwarded.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from enum import StrEnum
from typing import Protocol, TypeVar

import aiohttp
import msgspec
import structlog
from litestar.enums import ScopeType
from litestar.types import HTTPScope, Receive, Scope, Send
from yarl import URL

from services.core import config, models, telemetry
from services.proxy import access
from services.proxy.wire import anthropic, calls, headers, routes, splice, sse

log = structlog.get_logger(__name__)

_T = TypeVar("_T")

_THREAD_BYTES = 1_000_000  # reading more than this at once would stall every stream on the loop
_MAX_TEE_BYTES = 33_554_432
_UPLOAD_BYTES = 65_536
_CONNECT_SECONDS = 10.0
_IDLE_SECONDS = 30.0
_RECORD_SECONDS = 1.0  # how long a client waits at the end of its answer for the turn to be recorded
_LONGEST_HEADER_BYTES = 65_536
_AUTOMATIC = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


class Prepared(msgspec.Struct, frozen=True):
    """What is to happen to a call. Interceptors may subclass it to keep what they need until `after`.

    blocks: texts to insert, by the spot of their turn. headers: added to the answer, lower-case names.
    """

    call: calls.Call
    blocks: Mapping[splice.Spot, str] = {}
    headers: tuple[tuple[str, str], ...] = ()


class Interceptor(Protocol):
    """Who changes calls. Asked for every readable `POST /v1/messages`; opaque calls are not shown."""

    async def before(self, call: calls.Call) -> Prepared:
        """Decide within the recall deadline. Runs on the event loop; anything raised means "no change"."""

    async def after(self, prepared: Prepared, answer: calls.Answer) -> None:
        """Told once, however the exchange ended (look at `answer.complete`), and finished even if the client leaves meanwhile.

        The client sees the end of a complete answer when this returns, so that what it has seen is recorded; but it won't wait for long.
        """


class Outcome(StrEnum):
    """How an exchange ended, for metrics and the log."""

    OK = "ok"
    UPSTREAM_ERROR = "upstream_error"
    UNREACHABLE = "unreachable"
    CUT = "cut"  # the upstream broke off in the middle of its answer
    CLIENT_CLOSED = "client_closed"


class _ClientLeft(Exception):
    """The client hung up while it was still sending its request."""


class Relay:
    """A raw ASGI app for the upstream's paths and the clients' probes.

    Calls of others than the person (a web page, say) are relayed without memory. Call `open` and `close` in the event loop that serves.
    """

    def __init__(self, settings: config.Settings, interceptor: Interceptor, clock: Callable[[], float] = time.time) -> None:
        self.settings = settings
        self.interceptor = interceptor
        self.clock = clock
        self._session: aiohttp.ClientSession | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            skip_auto_headers=_AUTOMATIC,
            max_line_size=_LONGEST_HEADER_BYTES,
            max_field_size=_LONGEST_HEADER_BYTES,
        )
        self._session._retry_connection = False  # aiohttp repeats idempotent calls by itself; whether to retry is the client's decision

    async def close(self) -> None:
        """Finish what is being recorded, then drop the connections."""
        await asyncio.gather(*self._tasks)
        if self._session is not None:
            await self._session.close()

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("the relay is not open")
        return self._session

    def keep(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """A task that goes on when the call that started it is cancelled."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.WEBSOCKET:
            await send({"type": "websocket.close", "code": 1000, "reason": ""})
            return
        route = routes.route(scope["method"], scope["raw_path"])
        if route is routes.Route.PROBE:
            await _start(send, 204, [])
            await _finish(send)
            return
        exchange = _Exchange(self, scope, route, _Client(receive), send)
        await exchange.run()


class _Exchange:
    """One call and its answer."""

    def __init__(self, relay: Relay, scope: HTTPScope, route: routes.Route, client: "_Client", send: Send) -> None:
        self._relay = relay
        self._scope = scope
        self._route = route
        self._client = client
        self._send = send
        self._prepared: Prepared | None = None
        self._tee = _Tee()
        self._telling: asyncio.Task[None] | None = None
        self._status = 0
        self._relayed: Outcome | None = None  # known once every byte has been passed on: clients may hang up a moment before the formal end

    async def run(self) -> None:
        """Race the exchange against the client's hanging up: generating an answer for nobody costs the person money."""
        started = time.perf_counter()
        work = asyncio.create_task(self._work())
        gone = asyncio.create_task(self._client.gone())
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            closed = not work.done()
            work.cancel()
            await asyncio.wait({work})
        finally:
            gone.cancel()
            work.cancel()
        outcome = (self._relayed or Outcome.CLIENT_CLOSED) if closed or work.cancelled() else work.result()
        telemetry.RELAY_REQUESTS.labels(self._route, outcome).inc()
        log.info("relayed", route=self._route, outcome=outcome, status=self._status, seconds=round(time.perf_counter() - started, 3))
        await self._told()

    async def _work(self) -> Outcome:
        try:
            length, upload = await self._upload()
        except _ClientLeft:
            return Outcome.CLIENT_CLOSED
        sent = time.perf_counter()
        try:
            response = await self._call(length, upload)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if self._client.left:
                return Outcome.CLIENT_CLOSED
            await self._refuse(error)
            return Outcome.UNREACHABLE
        if self._route is routes.Route.MESSAGES:
            telemetry.UPSTREAM_TTFB.observe(time.perf_counter() - sent)
        return await self._answer(response)

    async def _call(self, length: int | None, upload: AsyncIterator[bytes | memoryview] | None) -> aiohttp.ClientResponse:
        query = self._scope["query_string"]
        target = self._scope["raw_path"] + (b"?" + query if query else b"")
        return await self._relay.session.request(
            self._scope["method"],
            URL(self._relay.settings.anthropic_url + target.decode("latin-1"), encoded=True),
            headers=headers.to_upstream(self._scope["headers"], length),
            data=upload,
            allow_redirects=False,
        )

    async def _upload(self) -> tuple[int | None, AsyncIterator[bytes | memoryview] | None]:
        """The length of the request's body, if it has been read, and the body; None and None if it has none."""
        if not headers.announces_body(self._scope["headers"]):
            self._client.skip_body()
            return None, None
        principal = self._principal()
        limit = self._relay.settings.max_body_bytes
        if principal is None or headers.content_length(self._scope["headers"]) > limit:
            return None, self._client.body()
        body, rest = await _taken(self._client.body(), limit)
        if rest is not None:
            return None, _chained(body, rest)
        started = time.perf_counter()
        body = await self._intercepted(body, principal)
        telemetry.RELAY_OVERHEAD.observe(time.perf_counter() - started)
        return len(body), _slices(body)

    def _principal(self) -> models.Principal | None:
        """Whose memories a call has to do with; None: nobody's."""
        if self._route is not routes.Route.MESSAGES or access.refusal(headers.as_text(self._scope["headers"]), self._relay.settings):
            return None
        return models.LOCAL

    async def _intercepted(self, body: bytes, principal: models.Principal) -> bytes:
        try:
            call = await _apart(len(body), lambda: anthropic.read(headers.as_text(self._scope["headers"]), body, principal, self._relay.clock()))
            if call.kind is calls.Kind.OPAQUE:
                return body
            prepared = await self._relay.interceptor.before(call)
            changed = await _apart(len(body), lambda: splice.insert(body, prepared.blocks)) if prepared.blocks else body
        except Exception as error:
            log.warning("interceptor_failed", step="before", exc_info=error)
            return body
        self._prepared = prepared
        return changed

    async def _answer(self, response: aiohttp.ClientResponse) -> Outcome:
        self._status = response.status
        added = self._prepared.headers if self._prepared else ()
        tee = self._tee if self._prepared is not None and response.status == 200 else None
        if tee is not None:
            tee.describe(response.headers)
        try:
            await _start(self._send, response.status, headers.to_client(response.raw_headers, added))
            async for chunk in response.content.iter_any():
                if tee is not None:
                    tee.append(chunk)
                    if tee.size == response.content_length:
                        await self._told(_RECORD_SECONDS)
                await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
        except (aiohttp.ClientError, OSError):
            return Outcome.CUT  # returning without an end makes the server close the connection: the client must not take this for the whole
        finally:
            if not response.content.at_eof():
                response.close()
        self._relayed = Outcome.OK if response.status < 400 else Outcome.UPSTREAM_ERROR
        await self._told(_RECORD_SECONDS)
        await _finish(self._send)
        return self._relayed

    async def _refuse(self, error: Exception) -> None:
        self._status = 502
        host = URL(self._relay.settings.anthropic_url).host
        log.warning("upstream_unreachable", host=host, error=type(error).__name__)
        message = f"BRB can't reach {host} ({_cause(error)}). Check the network, or the address in BRB_ANTHROPIC_URL."
        body = msgspec.json.encode({"type": "error", "error": {"type": "api_error", "message": message}})
        await _start(self._send, 502, [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())])
        await _finish(self._send, body)

    async def _told(self, patience_seconds: float | None = None) -> None:
        """Tell the interceptor how it went, once, and wait for it."""
        if self._prepared is None:
            return
        if self._telling is None:
            self._telling = self._relay.keep(self._tell(self._prepared))
        await asyncio.wait({self._telling}, timeout=patience_seconds)

    async def _tell(self, prepared: Prepared) -> None:
        try:
            answer = await _apart(self._tee.size, self._tee.read)
            telemetry.CACHE_READ_TOKENS.inc(answer.usage.cache_read_input_tokens or 0)
            telemetry.CACHE_WRITE_TOKENS.inc(answer.usage.cache_creation_input_tokens or 0)
            await self._relay.interceptor.after(prepared, answer)
        except Exception as error:
            log.warning("interceptor_failed", step="after", exc_info=error)


class _Client:
    """The receiving side of an ASGI connection: the request's body, then whether the client is still there."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._over = asyncio.Event()
        self.left = False

    async def body(self) -> AsyncIterator[bytes]:
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self.left = True
                self._over.set()
                raise _ClientLeft
            more = message["type"] == "http.request" and message["more_body"]
            if message["type"] == "http.request" and message["body"]:
                yield message["body"]
        self._over.set()

    def skip_body(self) -> None:
        self._over.set()

    async def gone(self) -> None:
        """Returns when the client has hung up. Waits for the end of the body first: only one can receive."""
        await self._over.wait()
        while not self.left:
            self.left = (await self._receive())["type"] == "http.disconnect"


class _Tee:
    """References to the chunks of an answer, to be read once it has been relayed."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._content_type = self._content_encoding = ""
        self.size = 0

    def describe(self, answer_headers: Mapping[str, str]) -> None:
        self._content_type = answer_headers.get("content-type", "")
        self._content_encoding = answer_headers.get("content-encoding", "")

    def append(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self.size <= _MAX_TEE_BYTES:
            self._chunks.append(chunk)
        else:
            self._chunks.clear()

    def read(self) -> calls.Answer:
        return sse.read(self._content_type, self._content_encoding, self._chunks) if self._chunks else calls.NO_ANSWER


async def _start(send: Send, status: int, raw_headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": raw_headers})


async def _finish(send: Send, body: bytes = b"") -> None:
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def _apart(size: int, work: Callable[[], _T]) -> _T:
    """Do CPU work on so many bytes: here if they are few, else off the event loop."""
    return await asyncio.to_thread(work) if size > _THREAD_BYTES else work()


async def _taken(chunks: AsyncIterator[bytes], limit: int) -> tuple[bytes, AsyncIterator[bytes] | None]:
    """The whole body and None; or, if it is longer than the limit, its beginning and the rest."""
    taken = []
    size = 0
    async for chunk in chunks:
        taken.append(chunk)
        size += len(chunk)
        if size > limit:
            return b"".join(taken), chunks
    return b"".join(taken), None


async def _chained(beginning: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes | memoryview]:
    async for piece in _slices(beginning):
        yield piece
    async for chunk in rest:
        yield chunk


async def _slices(body: bytes) -> AsyncIterator[memoryview]:
    """In pieces, so that a large upload waits for the socket instead of filling its buffer."""
    view = memoryview(body)
    for start in range(0, len(body), _UPLOAD_BYTES):
        yield view[start : start + _UPLOAD_BYTES]


def _cause(error: Exception) -> str:
    match error:
        case aiohttp.ClientConnectorDNSError():
            return "its name can't be resolved"
        case aiohttp.ClientConnectorCertificateError():
            return "its certificate is not trusted"
        case aiohttp.ClientSSLError():
            return "TLS failed"
        case TimeoutError():
            return f"no connection within {_CONNECT_SECONDS:.0f} s"
        case aiohttp.ClientConnectorError():
            return os.strerror(error.errno).lower() if error.errno else "no connection"
        case aiohttp.ServerDisconnectedError():
            return "it closed the connection without an answer"
    return type(error).__name__
