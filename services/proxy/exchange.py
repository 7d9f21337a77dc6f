"""One call and its answer, on their way through BRB."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol, TypeVar

import structlog

from services.core import errors, models, telemetry, tracing
from services.proxy import access, tee, upstream
from services.proxy.upload import Upload
from services.proxy.wire import calls, credentials, headers, http1, refusals, routes, splice
from services.proxy.wire.headers import Header

if TYPE_CHECKING:
    from services.proxy.relay import Prepared, Relay

log = structlog.get_logger(__name__)

_T = TypeVar("_T")

_THREAD_BYTES = 1_000_000  # reading more than this at once would stall every stream on the loop
_HELD_UPLOAD_BYTES = 65_536  # of a body that passes unread, until there is a connection for it
_RECORD_SECONDS = 1.0  # how long a client waits at the end of its answer for the turn to be recorded
_REPEATABLE = frozenset({b"GET", b"HEAD", b"OPTIONS", b"TRACE", b"PUT", b"DELETE"})  # RFC 9110 §9.2.2


class Outcome(StrEnum):
    """How an exchange ended, for metrics and the log."""

    OK = "ok"
    UPSTREAM_ERROR = "upstream_error"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"  # by BRB itself: another protocol than HTTP, a request without one clear meaning
    DENIED = "denied"  # no valid token, or too many calls with it
    CUT = "cut"  # the upstream broke off in the middle of its answer
    CLIENT_CLOSED = "client_closed"


class Client(Protocol):
    """The connection that a call came by (`front.Front`)."""

    answering: "Exchange | None"

    @property
    def transport(self) -> asyncio.Transport: ...

    @property
    def flow(self) -> "Flow": ...

    def close(self) -> None:
        """Nothing more is said, and nothing more that the client says is taken."""

    def abort(self) -> None:
        """The client must notice that it was broken off."""

    def hold_upload(self) -> None:
        """Read nothing more of what the client sends, for now."""

    def take_upload(self) -> None: ...

    def on_response_complete(self) -> None:
        """The next request may be answered."""


class Flow(Protocol):
    """How it stands with what is written to a client."""

    write_paused: bool


class Exchange:
    """`upload` … `uploaded` from the client's side, `upstream.Taker` from the other.

    response_complete, keep_alive: what uvicorn's protocol looks at between two requests.
    """

    def __init__(
        self,
        relay: "Relay",
        client: Client,
        *,
        method: bytes,
        target: bytes,
        token: str | None,
        spelt: list[Header],
        chunks: bool,
        keep_alive: bool,
        websocket: bool,
    ) -> None:
        """target: in origin form. token: what stood in front of it. spelt: the request's headers. chunks: the client takes an answer in chunks.
        websocket: it wants to go on as one."""
        self._relay = relay
        self._client = client
        self._method = method
        self._target = target
        self._spelt = spelt
        self._named = headers.as_text(spelt)
        self._token = credentials.given(self._named, token, own=False)
        self._chunks = chunks
        self._websocket = websocket
        self.keep_alive = keep_alive
        self.response_complete = False
        self.began_answer = False

        path = target.partition(b"?")[0]
        self._route = routes.route(method.decode(), path)
        self._vendor = routes.vendor(path, self._named)
        self._upstream = relay.upstream(self._vendor)

        self._started = time.perf_counter()
        self._sent_at = 0.0
        self._upload = Upload(chunked="transfer-encoding" in self._named)  # held until it is whole if it is to be read
        self._begun = False
        self._caller: models.Principal | None = None
        self._principal: models.Principal | None = None  # whose memories the call has to do with; None: nobody's, it passes unread
        self._work: asyncio.Task[None] | None = None
        self._connection: upstream.Connection | None = None

        self._prepared: Prepared | None = None
        self._tee: tee.Tee | None = None
        self._telling: asyncio.Task[None] | None = None
        self._told_by = 0.0  # when a client has waited for it long enough
        self._status = 0
        self._framed = False  # the answer goes out in chunks
        self._left: int | None = None  # bytes of the answer's body that are still to come, if it has a length
        self._held = b""
        self._behind: list[bytes] = []  # what came with the last event of a stream, until the turn is recorded
        self._out: list[bytes] = []  # what one reading from the upstream brought goes out in one writing
        self._relayed: Outcome | None = None  # known once the upstream's answer is whole: clients may hang up a moment before the formal end
        self._over = False

    # the client's side

    def start(self) -> None:
        """The client may be answered now."""
        self._begun = True
        self._client.answering = self
        self._relay.exchanges.add(self)
        if routes.repeats_version(self._target):
            log.warning("wrong_base_url", cure="the client's calls begin with /v1/v1: leave /v1 off the end of its base URL")
        if self._route is routes.Route.PROBE:
            self._write_head(204, b"No Content", [])
            self._finish(Outcome.OK)
            return
        if self._websocket:
            self._refuse(404, "BRB relays HTTP, not WebSockets. Use the API over HTTP.", Outcome.REFUSED)
            return
        if self._named.get("transfer-encoding", "chunked").strip().lower() != "chunked":
            self.keep_alive = False
            self._refuse(501, "BRB knows no other transfer coding than chunked.", Outcome.REFUSED)
            return
        if sum(name.lower() == b"host" for name, _ in self._spelt) > 1:
            self.keep_alive = False
            self._refuse(400, "The request names more than one host.", Outcome.REFUSED)
            return
        if not self._admitted():
            return
        if self._expects:
            self._out.append(http1.CONTINUE)
            self.flush()
        self._principal = self._caller if self._may_remember() else None
        if self._principal is None:
            self._do(self._pass_on())
        elif self._upload.whole:
            self._do(self._decide(self._principal))
        else:
            self._client.take_upload()  # what has come behind another request may have been held

    def upload(self, data: bytes) -> None:
        """A piece of the request's body."""
        if self._over:
            return
        if self._connection is not None:
            self._upload.send(self._connection, data)
            return
        self._upload.hold(data)
        if self._principal is None:
            if self._upload.held_bytes > _HELD_UPLOAD_BYTES:
                self._client.hold_upload()
        elif self._upload.held_bytes > self._relay.settings.max_body_bytes:
            self._principal = None
            self._do(self._pass_on())

    def uploaded(self) -> None:
        """The request's body is whole."""
        self._upload.whole = True
        if self._over or not self._begun:
            return
        if self._connection is not None:
            self._upload.end(self._connection)
        elif self._principal is not None:
            self._do(self._decide(self._principal))

    def hold_answer(self) -> None:
        if self._connection is not None:
            self._connection.pause()

    def go_on(self) -> None:
        if self._connection is not None:
            self._connection.resume()

    def client_left(self) -> None:
        """The client has hung up: generating an answer for nobody costs the person money."""
        if not self._over:
            self._end(self._relayed or Outcome.CLIENT_CLOSED)

    def abort(self) -> None:
        """Break off: the client must not take what it has for the whole answer."""
        if not self._over:
            self._client.abort()
            self._end(Outcome.CUT)

    # to the upstream

    def _do(self, work: Coroutine[None, None, None]) -> None:
        self._work = asyncio.create_task(work)
        self._work.add_done_callback(self._done)

    def _done(self, work: asyncio.Task[None]) -> None:
        if not work.cancelled() and (error := work.exception()) is not None:
            log.error("exchange_failed", exc_info=error)
            self.broke(upstream.Broken("BRB made a mistake: see its log"))

    @property
    def _expects(self) -> bool:
        """Whether the client sends the body only when it is told to go on."""
        return self._chunks and self._named.get("expect", "").lower() == "100-continue"

    def _admitted(self) -> bool:
        """Find out who is calling; whoever may not is told so."""
        doors, settings = self._relay.doors, self._relay.settings
        if doors is None:
            self._caller = models.LOCAL
            return True
        if doors.needs_token and (reason := access.foreign_host(self._named, settings)):
            access.count_host()
            self._deny(access.MISDIRECTED, f"BRB: {reason}")
            return False
        peer = self._client.transport.get_extra_info("peername")
        try:
            admitted = doors.admit(self._token, peer[0] if peer else "", own=False)
        except errors.Unavailable:  # the tokens could not be read yet: no memory, but the call goes on
            log.warning("without_memory", reason="tokens_unknown")
            return True
        if isinstance(admitted, access.Refused):
            self._do(self._turn_away(admitted))
            return False
        self._caller = admitted.principal
        return True

    async def _turn_away(self, refused: access.Refused) -> None:
        await asyncio.sleep(refused.delay_seconds)
        more = [(b"Retry-After", b"%d" % refused.wait_seconds)] if refused.wait_seconds else []
        self._deny(refused.status, f"BRB: {refused.message}", more)

    def _deny(self, status: int, message: str, more: Sequence[Header] = ()) -> None:
        if self._expects:  # whether its body still comes is the client's choice: nothing could be read behind it
            self.keep_alive = False
        self._refuse(status, message, Outcome.DENIED, more)

    def _may_remember(self) -> bool:
        length = headers.content_length(self._spelt)
        if not self._route.holds_conversation or not headers.announces_body(self._spelt) or (length or 0) > self._relay.settings.max_body_bytes:
            return False
        if reason := access.refusal(self._named, self._relay.settings):
            log.info("without_memory", reason=reason)
            return False
        return True

    async def _decide(self, principal: models.Principal) -> None:
        """Have the whole body changed, and send it."""
        started = time.perf_counter()
        parts = await self._intercepted(self._upload.taken(), principal)
        telemetry.RELAY_OVERHEAD.observe(time.perf_counter() - started)
        await self._ask(parts, sum(map(len, parts)))

    async def _intercepted(self, body: bytes, principal: models.Principal) -> Sequence[upstream.Part]:
        """What is to be sent in place of the body, in parts: a large one is not copied for what is inserted."""
        try:
            call = await _apart(len(body), lambda: self._relay.reader.read(self._route, self._named, body, principal, self._relay.clock()))
            if call.kind is calls.Kind.OPAQUE:
                return [body]
            prepared = await self._relay.interceptor.before(call)
            changed = splice.parts(body, prepared.blocks) if prepared.blocks else [body]
        except Exception as error:
            log.warning("interceptor_failed", step="before", exc_info=error)
            return [body]
        self._prepared = prepared
        return changed

    async def _pass_on(self) -> None:
        """Send the body as it comes."""
        await self._ask(None if headers.announces_body(self._spelt) else [], None)

    async def _ask(self, body: Sequence[upstream.Part] | None, length: int | None, *, fresh: bool = False) -> None:
        """body: None if it passes as it comes. fresh: not on a connection that was kept."""
        connection = self._upstream.idle() if not fresh else None
        if connection is None:
            try:
                connection = await self._upstream.connect()
            except upstream.Broken as error:
                self.broke(error)
                return
        self._connection = connection
        self._sent_at = time.perf_counter()
        connection.ask(self, self._head(length), body, bodiless=self._method == b"HEAD")
        if body is None:
            self._client.take_upload()  # before what waits is sent, which may hold it again
            self._upload.send_held(connection)

    def _head(self, length: int | None) -> bytes:
        target = routes.target(self._upstream.url, self._target)
        return http1.request_head(self._method, target, headers.to_upstream(self._spelt, self._upstream.authority, length))

    @property
    def is_whole(self) -> bool:
        """Whether all of its request is there."""
        return self._upload.whole

    # from the upstream

    def upload_held(self) -> None:
        self._client.hold_upload()

    def upload_goes_on(self) -> None:
        self._client.take_upload()

    def interim(self, status: int, reason: bytes, raw: list[Header]) -> None:
        if self._chunks and status != 100:  # we have answered the expectation ourselves; HTTP/1.0 knows no informational answers
            self._out.append(http1.answer_head(status, reason, headers.to_client(raw, lengthless=True)))

    def began(self, status: int, reason: bytes, raw: list[Header]) -> None:
        if self._prepared is not None:
            telemetry.UPSTREAM_TTFB.observe(time.perf_counter() - self._sent_at)
        self._status = status
        if self._prepared is not None and status == 200:
            self._tee = tee.Tee(self._route, headers.as_text(raw))
        kept = headers.to_client(raw, self._prepared.headers if self._prepared else (), lengthless=status == 204)
        bodiless = self._method == b"HEAD" or status in (204, 304)
        self._left = headers.content_length(kept) if not bodiless else None
        if not bodiless and self._left is None:
            if self._chunks:
                self._framed = True
                kept = [header for header in kept if header[0].lower() != b"content-length"]
                kept.append((b"Transfer-Encoding", b"chunked"))
            else:
                self.keep_alive = False
        self._write_head(status, reason, kept)
        if self._client.flow.write_paused:
            self.hold_answer()

    def piece(self, data: bytes) -> None:
        if self._tee is not None:
            self._tee.append(data)
        if self._behind:
            self._behind.append(data)
        elif self._recorded and self._closes(data):
            self._behind = [data]
            self._do(self._let_go_recorded())
        else:
            self._pass(data)

    def _closes(self, data: bytes) -> bool:
        """Whether a reader of the stream takes the answer for whole with this piece: then it waits for the turn to be recorded, as the end does."""
        assert self._tee is not None  # noqa: S101 - the caller looked
        if not self._tee.closes(data):
            return False
        return self._tee.size <= _THREAD_BYTES and self._tee.read(whole=False).complete

    async def _let_go_recorded(self) -> None:
        await self._told_in_time()
        if not self._over:
            self._let_go()
            self.flush()

    def _let_go(self) -> None:
        behind, self._behind = self._behind, []
        for data in behind:
            self._pass(data)

    def _pass(self, data: bytes) -> None:
        if self._framed:
            self._out += http1.chunk(data)
        elif self._left is None or not self._recorded:
            self._out.append(data)
        else:
            self._left -= len(data)
            if self._left == 0:  # with its last byte the client has the whole answer: that waits for the turn to be recorded
                data, self._held = data[:-1], data[-1:]
            self._out.append(data)

    @property
    def _recorded(self) -> bool:
        """Whether the end of the answer waits until the turn is recorded."""
        return self._tee is not None and self._prepared is not None and self._prepared.call.is_recorded

    def ended(self) -> None:
        self._connection = None
        self._relayed = Outcome.OK if self._status < 400 else Outcome.UPSTREAM_ERROR
        if self._recorded:
            self.flush()
            self._do(self._finish_recorded(self._relayed))
        else:
            self._finish_answer(self._relayed)

    async def _told_in_time(self) -> None:
        """Until the turn is recorded, but no longer than a client may be kept waiting for its answer's end."""
        telling, self._told_by = self._told(), self._told_by or time.perf_counter() + _RECORD_SECONDS
        await asyncio.wait({telling}, timeout=max(0.0, self._told_by - time.perf_counter()))

    async def _finish_recorded(self, outcome: Outcome) -> None:
        await self._told_in_time()
        if not self._over:
            self._let_go()
            self._finish_answer(outcome)

    def _finish_answer(self, outcome: Outcome) -> None:
        self._out.append(http1.LAST_CHUNK if self._framed else self._held)
        self._finish(outcome)

    def broke(self, error: upstream.Broken) -> None:
        if self._over:
            return
        if isinstance(error, upstream.Unheard) and self._repeatable:
            self._connection = None
            self._do(self._ask([], None, fresh=True))
            return
        self._let_go()
        self.flush()
        if self.began_answer:  # close without its end, so that the client does not take it for the whole
            if self._framed or self._left is not None:
                self._client.close()
            else:
                self._client.abort()
            self._end(Outcome.CUT)
            return
        log.warning("upstream_unreachable", host=self._upstream.host, error=str(error))
        setting = f"BRB_{self._vendor.upper()}_URL"
        self._refuse(502, f"BRB can't reach {self._upstream.host} ({error}). Check the network, or the address in {setting}.", Outcome.UNREACHABLE)

    @property
    def _repeatable(self) -> bool:
        """Whether asking twice does no more than asking once. A message may have been read, and then it has been paid for."""
        return self._method in _REPEATABLE and not headers.announces_body(self._spelt)

    # to the client

    def _refuse(self, status: int, message: str, outcome: Outcome, more: Sequence[Header] = ()) -> None:
        self._status = status
        body = refusals.body(self._vendor, message, refusals.kind(self._vendor, status), refusals.code(status))
        phrase = HTTPStatus(status).phrase.encode()
        self._write_head(status, phrase, [(b"Content-Type", b"application/json"), (b"Content-Length", b"%d" % len(body)), *more])
        self._out.append(b"" if self._method == b"HEAD" else body)
        self._finish(outcome)

    def _write_head(self, status: int, reason: bytes, kept: list[Header]) -> None:
        self.began_answer = True
        if not self.keep_alive:
            kept.append((b"Connection", b"close"))
        self._out.append(http1.answer_head(status, reason, kept))

    def flush(self) -> None:
        if self._out and not self._client.transport.is_closing():
            self._client.transport.writelines(self._out)
        self._out = []

    # the end

    def _finish(self, outcome: Outcome) -> None:
        """The answer is whole."""
        self.flush()
        self.response_complete = True
        if not self.keep_alive:
            self._client.close()
        self._end(outcome)
        self._client.on_response_complete()

    def _end(self, outcome: Outcome) -> None:
        self._over = True
        self._upload.drop()
        self._client.answering = None
        self._relay.exchanges.discard(self)
        if self._connection is not None:
            self._connection.abort()
            self._connection = None
        if self._work is not None and self._work is not asyncio.current_task():
            self._work.cancel()
        telemetry.RELAY_REQUESTS.labels(self._route, outcome).inc()
        seconds = time.perf_counter() - self._started
        log.info("relayed", route=self._route, outcome=outcome, status=self._status, seconds=round(seconds, 3))
        turn = self._prepared.call.turn_id if self._prepared is not None and self._prepared.call.new_turn is not None else ""
        tracing.done("relay", seconds, turn=turn, route=self._route, outcome=outcome, status=self._status)
        if self._prepared is not None:
            self._told()

    def _told(self) -> asyncio.Task[None]:
        """Tell the interceptor how it went, once."""
        assert self._prepared is not None  # noqa: S101 - the callers looked
        if self._telling is None:
            self._telling = self._relay.keep(self._tell(self._prepared, whole=self._relayed is not None))
        return self._telling

    async def _tell(self, prepared: "Prepared", *, whole: bool) -> None:
        kept = self._tee
        try:
            answer = await _apart(kept.size, lambda: kept.read(whole=whole)) if kept is not None else calls.NO_ANSWER
            telemetry.CACHE_READ_TOKENS.inc(answer.usage.cache_read_input_tokens)
            telemetry.CACHE_WRITE_TOKENS.inc(answer.usage.cache_creation_input_tokens)
            await self._relay.interceptor.after(prepared, answer)
        except Exception as error:
            log.warning("interceptor_failed", step="after", exc_info=error)


async def _apart(size: int, work: Callable[[], _T]) -> _T:
    """Do CPU work on so many bytes: here if they are few, else off the event loop."""
    return await asyncio.to_thread(work) if size > _THREAD_BYTES else work()
