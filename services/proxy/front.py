"""uvicorn's HTTP protocol with a side door: calls that belong to the upstream go to the relay as they were spelt, all others to the ASGI app.

ASGI lower-cases names, loses a bare `?` and the reason phrase, and costs a task, an event and a dictionary for each piece of an answer (ADR 10).
What is used of uvicorn's protocol beyond asyncio's interface: `cycle` (who answers now) and the `transport` of its own, `pipeline`, `flow`, and its
parser callbacks.
"""

import asyncio
import contextlib
import functools
import select
import signal
import socket
import threading
from collections.abc import Iterator
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

import httptools
import structlog
import uvicorn
from litestar.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from services.proxy.crowd import DEFAULT, Bounds, Crowd, Entry
from services.proxy.exchange import Exchange
from services.proxy.relay import Relay
from services.proxy.upstream import LONGEST_HEAD_BYTES, RESET
from services.proxy.wire import credentials, headers, refusals, routes
from services.proxy.wire.headers import Header

log = structlog.get_logger(__name__)

_HEAD_SECONDS = 75  # from the beginning of a connection, or its last answer, until there is a whole head: idle, or sent slowly on purpose
_BODY_SECONDS = 75.0  # without a byte of a body that is to come
_LOOK_SECONDS = 0.5
_LEFT = select.POLLHUP | select.POLLERR | getattr(select, "POLLRDHUP", 0)
_LINGER_SECONDS = 5.0
_LINGER_BYTES = 67_108_864  # twice what is taken for a message
_VERSIONS = ("1.0", "1.1")
_NOT_HTTP = refusals.last_answer(
    HTTPStatus.BAD_REQUEST, "This is no request that BRB understands. It serves HTTP/1.1 without TLS: http://, not https://."
)
_WRONG_VERSION = refusals.last_answer(HTTPStatus.BAD_REQUEST, "BRB serves HTTP/1.1 and HTTP/1.0, and no other version of HTTP.")
_FRAGMENT = refusals.last_answer(HTTPStatus.BAD_REQUEST, "A fragment (#) is no part of what a request asks for: leave it off the address.")
_TUNNEL = refusals.last_answer(HTTPStatus.NOT_IMPLEMENTED, "BRB opens no tunnels: it relays calls to the API that it was told of, and nothing else.")
_TOO_LONG = refusals.last_answer(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too long.")
_SLOW = refusals.last_answer(HTTPStatus.REQUEST_TIMEOUT, "The rest of the request did not come in time.")
_FULL = refusals.last_answer(
    HTTPStatus.SERVICE_UNAVAILABLE, "Too many clients are connected to BRB (BRB_MAX_CONNECTIONS, or the files that it may open): try again."
)
_MISTAKE = refusals.last_answer(HTTPStatus.INTERNAL_SERVER_ERROR, "BRB made a mistake: see its log.")


class _Refused(Exception):
    """A request that can't be taken. answer: what the client is told."""

    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self.answer = answer


def served(app: ASGIApp, relay: Relay, *, host: str, port: int, drain_seconds: int, bounds: Bounds = DEFAULT) -> uvicorn.Config:
    """How BRB is served. drain_seconds: how long running streams may go on after SIGTERM."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=functools.partial(Front, relay, Crowd(bounds.connections)),  # type: ignore[arg-type]  # called like a class
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=drain_seconds,
        timeout_keep_alive=_HEAD_SECONDS,
        backlog=bounds.backlog,
    )


class Server(uvicorn.Server):
    """Ends in order at the first SIGTERM or SIGINT and at once at the second; whoever runs it then goes on, to put away what is his."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, *_: object) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True


class Front(HttpToolsProtocol):
    """One connection of a client."""

    def __init__(
        self,
        relay: Relay,
        crowd: Crowd,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._relay = relay
        self._crowd = crowd
        self._turned_away = False
        self._spelt: list[Header] = []
        self.answering: Exchange | None = None
        """The exchange that may write to the client; those behind it in the pipeline wait."""
        self._own: RequestResponseCycle | None = None
        """The last call of BRB's own routes that was given to the app."""
        self._in_head = False
        self._in_body = False
        self._head_bytes = 0
        self._heard_at = 0.0
        self._late: asyncio.TimerHandle | None = None
        self._resuming = False
        self._watch: asyncio.TimerHandle | None = None
        self._lingering: asyncio.TimerHandle | None = None
        self._lingered_bytes = 0

    @property
    def _exchange(self) -> Exchange | None:
        """Whose request comes in now."""
        return self.cycle if isinstance(self.cycle, Exchange) else None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        entry = self._crowd.enter(self)
        if entry is Entry.SHUT_OUT:
            self.abort()
            return
        self._turned_away = entry is Entry.TURNED_AWAY
        self.timeout_keep_alive_task = self.loop.call_later(_LINGER_SECONDS if self._turned_away else _HEAD_SECONDS, self.timeout_keep_alive_handler)

    def give_way(self) -> bool:
        if self.transport.get_write_buffer_size():
            return False  # closing it would wait for its client, and nobody would count it any more
        if self._finds(select.POLLIN):
            return False  # what it asks for has come, and was not looked at yet
        self.transport.close()
        return True

    def timeout_keep_alive_handler(self) -> None:
        if self._in_head:
            self._reject(_SLOW)
        else:
            super().timeout_keep_alive_handler()

    def data_received(self, data: bytes) -> None:
        self._heard_at = self.loop.time()
        if self._lingering is not None:
            self._linger(len(data))
            return
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._stay(data[upgrade.args[0] :])
            return
        except httptools.HttpParserCallbackError as error:
            self._reject(_told(error))
            return
        except httptools.HttpParserError:
            self._reject(_NOT_HTTP)
            return
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > LONGEST_HEAD_BYTES:
                self._reject(_TOO_LONG)
            elif self.url and data.endswith(b"\n") and self.parser.get_http_version() == "0.0":
                self._reject(_WRONG_VERSION)  # a line without a version is a whole request of HTTP/0.9: nothing would follow

    def _stay(self, rest: bytes) -> None:
        """Go on with a request that asked for another protocol as if it had not (RFC 9110 §7.8). The parser takes what follows for that protocol:
        a new one is brought to where the body begins."""
        framing = [header for header in self.headers if header[0] in (b"content-length", b"transfer-encoding")]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's own
        self._resuming = True
        self.parser.feed_data(b"\r\n".join([b"POST / HTTP/1.1", *(b"%b: %b" % header for header in framing), b"", b""]))
        self._resuming = False
        if rest:
            self.data_received(rest)

    def _reject(self, answer: bytes) -> None:
        """What comes from the client can't be read any further. A good request before it is still answered."""
        if self._lingering is not None:
            return  # it is behind the last request
        if (good := self._good) is not None:
            good.keep_alive = False
            self.pipeline.clear()
            self.hold_upload()
            return
        began = self.answering is not None and self.answering.began_answer
        self._leave()
        if not self.transport.is_closing():
            self.transport.write(b"" if began else answer)
            self.close()

    @property
    def _good(self) -> Exchange | RequestResponseCycle | None:
        """Whose request is whole and is being answered."""
        if self.answering is not None:
            return self.answering if self.answering.is_whole else None
        return self._own if self._own is not None and not self._own.response_complete and not self._own.more_body else None

    def on_message_begin(self) -> None:
        if not self._resuming:
            super().on_message_begin()
            self._spelt = []
            self._in_head = True
            self._head_bytes = 0

    def on_url(self, url: bytes) -> None:
        if not self._resuming:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head and not self._resuming:  # else it is a trailer, or known
            self._spelt.append((name, value))
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._resuming:
            return
        self._in_head = False
        self._in_body = True
        self._unset_keepalive_if_required()
        if self._lingering is not None:
            return  # it came with what was answered last
        if self._turned_away:
            raise _Refused(_FULL)
        self._crowd.work(self)
        if self._late is None:
            self._late = self.loop.call_later(_BODY_SECONDS, self._look_for_body)
        version = self.parser.get_http_version()
        if version not in _VERSIONS:
            raise _Refused(_WRONG_VERSION)
        method = self.parser.get_method()
        if method == b"CONNECT":
            raise _Refused(_TUNNEL)
        if b"#" in self.url:
            raise _Refused(_FRAGMENT)
        self.url, authority = routes.asked(self.url)
        if authority is not None:
            self._spelt = headers.with_host(self._spelt, authority)
            self.headers[:] = headers.with_host(self.headers, authority)
        target, token = credentials.split(self.url)
        if not routes.relayed(method.decode(), target.partition(b"?")[0]):
            super().on_headers_complete()
            # what closes the connection behind its answer has to close it as the relay does
            self.cycle.transport = SimpleNamespace(write=self.transport.write, is_closing=self.transport.is_closing, close=self.close)  # type: ignore[assignment]
            return
        exchange = Exchange(
            self._relay,
            self,
            method=method,
            target=target,
            token=token,
            spelt=self._spelt,
            chunks=version != "1.0",
            keep_alive=version != "1.0" and self.parser.should_keep_alive(),
            websocket=self.parser.should_upgrade() and self._get_upgrade() == b"websocket",
        )
        before, self.cycle = self.cycle, exchange  # type: ignore[assignment]
        if before is None or before.response_complete:
            exchange.start()
        else:
            self.hold_upload()
            self.pipeline.appendleft((self.cycle, self.app))

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if isinstance(cycle, Exchange):
            self.loop.call_soon(self._start, cycle)  # not from within the end of the one before: a pipeline may be long
        else:
            self._own = cycle
            super()._start_asgi_task(cycle, app)

    def _start(self, exchange: Exchange) -> None:
        if not self.transport.is_closing() and self._lingering is None:
            exchange.start()

    def on_body(self, body: bytes) -> None:
        if (exchange := self._exchange) is not None:
            exchange.upload(body)
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return  # the parser has skipped the body: `_stay` goes on with it
        self._in_body = False
        if (exchange := self._exchange) is not None:
            exchange.uploaded()
        else:
            super().on_message_complete()
        self._rest()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._rest()

    def _rest(self) -> None:
        """Nothing of a request or an answer is under way any more."""
        if not self._in_body and not self.pipeline and self.cycle is not None and self.cycle.response_complete:
            self._crowd.wait(self)

    def close(self) -> None:
        """Behind the last answer: half, until the client has read it. What it still sends would take its answer from it (RFC 9112 §9.6)."""
        if self._lingering is None and not self.transport.is_closing():
            self.pipeline.clear()
            self.transport.write_eof()
            self._lingering = self.loop.call_later(_LINGER_SECONDS, self.transport.close)
            self.take_upload()

    def abort(self) -> None:
        """Break off. Whoever waits for the end of the connection for the end of its answer can tell the one from the other."""
        if not self.transport.is_closing():
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self.transport.abort()

    def _linger(self, count: int) -> None:
        self._lingered_bytes += count
        if self._lingered_bytes > _LINGER_BYTES:
            self.transport.close()

    def shutdown(self) -> None:
        if self._lingering is None:
            super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unset_keepalive_if_required()
        for timer in (self._lingering, self._late):
            if timer is not None:
                timer.cancel()
        self._crowd.leave(self)
        self._leave()
        if self._exchange is not None:
            self.cycle = None  # type: ignore[assignment]  # uvicorn's own cycles are told through it
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self.answering is not None:
            self.answering.hold_answer()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.answering is not None:
            self.answering.go_on()

    def hold_upload(self) -> None:
        self.flow.pause_reading()
        if self._watch is None:
            self._watch = self.loop.call_later(_LOOK_SECONDS, self._look)

    def take_upload(self) -> None:
        self.flow.resume_reading()

    def _look(self) -> None:
        """Whoever does not read does not notice the other's leaving."""
        self._watch = None
        if self.transport.is_closing() or not self.flow.read_paused:
            return
        if self._finds(_LEFT):
            self.transport.abort()
        else:
            self._watch = self.loop.call_later(_LOOK_SECONDS, self._look)

    def _finds(self, events: int) -> bool:
        """What the system knows of the connection by now."""
        found = select.poll()
        found.register(self.transport.get_extra_info("socket").fileno(), events)
        return bool(found.poll(0))

    def _look_for_body(self) -> None:
        """Whoever stays silent in the middle of a body holds a connection, and what has come so far, for nothing."""
        self._late = None
        if not self._in_body or self._lingering is not None or self.transport.is_closing():
            return
        if self.flow.read_paused:
            self._heard_at = self.loop.time()  # it is not the client that keeps us waiting
        left = self._heard_at + _BODY_SECONDS - self.loop.time()
        if left > 0:
            self._late = self.loop.call_later(left, self._look_for_body)
        elif self.cycle is None or self.cycle.response_complete:
            self.close()
        else:
            self._reject(_SLOW)

    def _leave(self) -> None:
        if self.answering is not None:
            self.answering.client_left()


def _told(error: httptools.HttpParserCallbackError) -> bytes:
    """What the client is told of that which was raised while its request was read."""
    cause = error.__context__
    if isinstance(cause, _Refused):
        return cause.answer
    if isinstance(cause, httptools.HttpParserInvalidURLError):
        return _NOT_HTTP
    log.error("request_failed", exc_info=cause or error)
    return _MISTAKE
