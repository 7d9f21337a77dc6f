"""Connections to one upstream: HTTP/1.1 as bytes, so that nothing of an answer is lost or respelt on its way (ADR 10).

The parser is llhttp (`httptools`), the one that reads the client's side. An answer is given to its taker piece by piece, as it comes in.
"""

import asyncio
import contextlib
import os
import select
import socket
import ssl
import struct
import threading
from collections.abc import Iterator, Sequence
from typing import Protocol, cast
from urllib.parse import urlsplit

import aiohappyeyeballs
import httptools
import structlog

log = structlog.get_logger(__name__)

Header = tuple[bytes, bytes]
Part = bytes | memoryview
_Found = list[aiohappyeyeballs.AddrInfoType]

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 30.0
"""Connections are kept no longer than servers keep theirs, so that none is used that the other side is about to close."""
_SECOND_FAMILY_SECONDS = 0.25  # RFC 8305: how long a slow address keeps the next one waiting
_PORTS = {"http": 80, "https": 443}
_MOST_IDLE = 100
_MOST_AT_ONCE_BYTES = 262_144  # of a body: TLS makes copies of what it is given, and holds up all streams meanwhile
RESET = struct.pack("ii", 1, 0)
"""What SO_LINGER is set to so that an abort is a reset, and can't be taken for an end."""
LONGEST_HEAD_BYTES = 262_144
"""Of the headers of a request or an answer, and what one reading adds to them: real ones have some kilobytes."""


class Broken(Exception):
    """The upstream can't be reached, or its connection ended before its answer did. The text says why, for people."""


class Unheard(Broken):
    """A connection that was kept has ended without a byte of an answer: most likely the upstream closed it before it read the request."""


class Taker(Protocol):
    """Who takes an answer. Called on the event loop; `broke` may come at any time and is the last call, as `ended` is."""

    def interim(self, status: int, reason: bytes, headers: list[Header]) -> None:
        """An informational answer (1xx) before the proper one."""

    def began(self, status: int, reason: bytes, headers: list[Header]) -> None: ...

    def piece(self, data: bytes) -> None: ...

    def flush(self) -> None:
        """There is nothing more for now."""

    def ended(self) -> None: ...

    def broke(self, error: Broken) -> None: ...

    def upload_held(self) -> None:
        """The upstream takes no more for now: what is sent nevertheless fills the memory."""

    def upload_goes_on(self) -> None: ...


class Upstream:
    """The server behind a base URL, and the connections to it that are free."""

    def __init__(self, url: str) -> None:
        self.url = url
        parts = urlsplit(url)
        self.host = parts.hostname or ""
        self.port = parts.port or _PORTS[parts.scheme]
        host = self.host.encode("idna") if not self.host.isascii() else self.host.encode()
        self.authority = (b"[%b]" if b":" in host else b"%b") % host + (b":%d" % parts.port if parts.port else b"")
        self._tls = parts.scheme == "https"
        self._context: ssl.SSLContext | None = None
        self._idle: list[Connection] = []
        self._lookup: asyncio.Future[_Found] | None = None

    def idle(self) -> "Connection | None":
        """A connection that is open and free, the most recently used first."""
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                return connection
            connection.abort()
        return None

    async def connect(self) -> "Connection":
        """A new connection. `Broken` if there is none within `CONNECT_SECONDS`."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await self._connected()
        except TimeoutError:
            raise Broken(f"no connection within {CONNECT_SECONDS:.0f} s") from None
        except (socket.gaierror, UnicodeError):
            raise Broken("its name can't be resolved") from None
        except ssl.SSLCertVerificationError as error:
            raise Broken(f"its certificate is not trusted: {error.verify_message}") from None
        except ssl.SSLError as error:
            raise Broken(f"TLS failed: {error.reason or 'no reason given'}") from None
        except OSError as error:
            raise Broken(os.strerror(error.errno).lower() if error.errno else "no connection") from None

    async def _connected(self) -> "Connection":
        loop = asyncio.get_running_loop()
        found = _literal(self.host, self.port) or await self._addresses()
        connected = await aiohappyeyeballs.start_connection(found, happy_eyeballs_delay=_SECOND_FAMILY_SECONDS, loop=loop)
        if self._tls and self._context is None:
            self._context = ssl.create_default_context()
            self._context.set_alpn_protocols(["http/1.1"])
        try:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _, connection = await loop.create_connection(
                lambda: Connection(self), sock=connected, ssl=self._context, server_hostname=self.host if self._tls else None
            )
        except BaseException:
            connected.close()
            raise
        return connection

    async def _addresses(self) -> _Found:
        """Looked up in a thread of its own, once for all that wait: one name that can't be looked up must hold up nobody who asks for another."""
        if self._lookup is None or self._lookup.done():
            self._lookup = asyncio.get_running_loop().create_future()
            threading.Thread(target=_look_up, args=(self._lookup, self.host, self.port), name=f"lookup {self.host}", daemon=True).start()
        return await asyncio.shield(self._lookup)

    def keep(self, connection: "Connection") -> None:
        """Take a free connection back."""
        if len(self._idle) < _MOST_IDLE:
            self._idle.append(connection)
        else:
            connection.abort()

    def drop(self, connection: "Connection") -> None:
        if connection in self._idle:
            self._idle.remove(connection)

    def close(self) -> None:
        for connection in self._idle[:]:
            connection.abort()


class Connection(asyncio.Protocol):
    """One connection, for one exchange after the other."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._socket = -1
        self._parser: httptools.HttpResponseParser | None = None
        self._taker: Taker | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._sent_all = self._bodiless = self._began = self._delimited = self._over = False
        self._kept = self._heard = self._ended = False
        self._paused = self._full = False
        self._head_bytes = 0
        self._unsent: Iterator[Sequence[Part]] | None = None

    # for whoever holds it

    @property
    def usable(self) -> bool:
        """Whether the other side still listens: nothing may have come since the last answer, neither bytes nor the end."""
        if self._transport is None or self._transport.is_closing():
            return False
        return not self._waits(select.POLLIN)

    def _waits(self, event: int) -> bool:
        """Whether something has happened to the socket that the event loop has not told of yet."""
        waiting = select.poll()
        waiting.register(self._socket, event)
        return bool(waiting.poll(0))

    def ask(self, taker: Taker, head: bytes, body: Sequence[Part] | None, *, bodiless: bool) -> None:
        """Send a request. body: the whole of it, in parts; None if it comes by `send`. bodiless: answers to this method have no body (HEAD)."""
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        self._taker = taker
        self._parser = httptools.HttpResponseParser(self)
        self._bodiless = bodiless
        self._sent_all = False
        self._heard = self._began = self._over = False
        self._head_bytes = 0
        self._new_message()
        if body is None:
            self.send(head)
        else:
            self._unsent = _batches(body)
            self.send(head, *next(self._unsent))
            self._send_on()

    def _send_on(self) -> None:
        """Send of a body that is there whole what the other side takes now."""
        while self._unsent is not None and not self._full:
            if (batch := next(self._unsent, None)) is not None:
                self.send(*batch)
            else:
                self._unsent = None
                self._sent_all = True

    def send(self, *pieces: Part) -> None:
        """In one call of the system if it can be. Nothing to a connection that was reset: a failed write would lose what was said on it before."""
        if self._transport is not None and not self._transport.is_closing() and not self._waits(select.POLLERR):
            self._transport.writelines(pieces)

    def sent(self) -> None:
        """The request is complete."""
        self._sent_all = True

    def pause(self) -> None:
        """Take nothing more of the answer for now."""
        if self._transport is not None and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None and self._paused:
            self._paused = False
            self._transport.resume_reading()

    def abort(self) -> None:
        """Hang up; the taker hears nothing more. What is half done is reset, so that the other side learns of it whatever it still has to read."""
        self._upstream.drop(self)
        if self._transport is not None and not self._transport.is_closing():
            if self._taker is not None:
                self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self._transport.abort()
        self._taker = self._unsent = None

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # what a stream protocol gets
        self._socket = transport.get_extra_info("socket").fileno()

    def eof_received(self) -> None:
        """The other side has said all it wanted to. Over TLS it has said so itself: an end of the connection alone anybody may cause."""
        self._ended = True

    def connection_lost(self, exc: Exception | None) -> None:
        self._upstream.drop(self)
        if self._expiry is not None:
            self._expiry.cancel()
        taker, self._taker = self._taker, None
        self._unsent = None
        if taker is None:
            return
        if self._began and not self._delimited and self._ended:
            taker.ended()
        elif self._began:
            taker.broke(Broken("it broke off in the middle of its answer"))
        else:
            kind = Unheard if self._kept and not self._heard else Broken
            taker.broke(kind("it closed the connection without an answer"))

    def data_received(self, data: bytes) -> None:
        if self._parser is None or self._over:
            self.abort()  # nobody asked for this
            return
        taker = self._taker
        self._heard = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:
            log.error("exchange_failed", exc_info=error.__context__ or error)
            self.abort()
            if taker is not None:
                taker.broke(Broken("BRB made a mistake: see its log"))
            return
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._give_up("its answer is not HTTP")
            return
        if not self._began:
            self._head_bytes += len(data)
            if self._head_bytes > LONGEST_HEAD_BYTES:
                self._give_up("its headers have no end")
        if self._taker is not None:
            self._taker.flush()

    def _give_up(self, why: str) -> None:
        taker = self._taker
        self.abort()
        if taker is not None:
            taker.broke(Broken(why))

    def pause_writing(self) -> None:
        self._full = True
        if self._taker is not None:
            self._taker.upload_held()

    def resume_writing(self) -> None:
        self._full = False
        self._send_on()
        if self._taker is not None and not self._full:
            self._taker.upload_goes_on()

    # the parser's side

    def _new_message(self) -> None:
        self._reason = b""
        self._headers: list[Header] = []

    def on_message_begin(self) -> None:
        if self._over:
            self.abort()  # an answer that nobody asked for: it must not become that to the next call
        self._new_message()

    def on_status(self, reason: bytes) -> None:
        self._reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._began:  # else it is a trailer
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        assert self._parser is not None  # noqa: S101 - it calls
        status = self._parser.get_status_code()
        if status < 100:
            self._give_up("its answer is not HTTP")
            return
        if status < 200:
            if self._taker is not None and status != 101:
                self._taker.interim(status, self._reason, self._headers)
            return
        self._began = True
        if any(name.lower() == b"transfer-encoding" and value.strip().lower() != b"chunked" for name, value in self._headers):
            self._give_up("its answer is coded in a way that BRB does not know")
            return
        self._delimited = self._bodiless or status in (204, 304) or any(name.lower() in _LENGTHS for name, _ in self._headers)
        if self._taker is not None:
            self._taker.began(status, self._reason, self._headers)
        if self._bodiless:
            self._complete(reusable=False)

    def on_body(self, data: bytes) -> None:
        if self._taker is not None:
            self._taker.piece(data)

    def on_message_complete(self) -> None:
        assert self._parser is not None  # noqa: S101 - it calls
        if self._began:
            self._complete(reusable=self._is_sent and self._delimited and self._parser.should_keep_alive())

    @property
    def _is_sent(self) -> bool:
        """Whether the request has gone out to its last byte: what still waits to would come before the next one."""
        return self._sent_all and self._transport is not None and self._transport.get_write_buffer_size() == 0

    def _complete(self, *, reusable: bool) -> None:
        if self._over:
            return
        self._over = True
        taker, self._taker = self._taker, None
        if reusable and self._transport is not None and not self._transport.is_closing():
            self.resume()
            self._kept = True
            self._expiry = self._loop.call_later(IDLE_SECONDS, self.abort)
            self._upstream.keep(self)
        else:
            self.abort()
        if taker is not None:
            taker.ended()


_LENGTHS = (b"content-length", b"transfer-encoding")


def _batches(body: Sequence[Part]) -> Iterator[Sequence[Part]]:
    """The parts of a body: all of a small one at once, of a large one so much that nobody waits for it."""
    if sum(map(len, body)) <= _MOST_AT_ONCE_BYTES:
        yield body
        return
    for part in body:
        view = memoryview(part)
        for start in range(0, len(view), _MOST_AT_ONCE_BYTES):
            yield [view[start : start + _MOST_AT_ONCE_BYTES]]


def _literal(host: str, port: int) -> _Found:
    """The address that is written out; it must not wait for those that are looked up. Empty if it is a name."""
    try:
        return list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST))
    except socket.gaierror:
        return []


def _look_up(answer: "asyncio.Future[_Found]", host: str, port: int) -> None:
    """In a thread."""
    try:
        found: _Found | Exception = list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError) as error:
        found = error
    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
        answer.get_loop().call_soon_threadsafe(_answered, answer, found)


def _answered(answer: "asyncio.Future[_Found]", found: _Found | Exception) -> None:
    if isinstance(found, Exception):
        answer.set_exception(found)
    else:
        answer.set_result(found)
