"""HTTP/1.1 on bare sockets: a client and an upstream whose every byte is the test's own, and what the other side made of them."""

import contextlib
import select
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

DEADLINE_SECONDS = 10.0
Pairs = list[tuple[bytes, bytes]]

_PIECE = 262_144
_BODILESS = frozenset({204, 304})
# Those that frame a message or name its next stop: each hop has its own.
FRAMING = frozenset({b"host", b"content-length", b"transfer-encoding", b"expect"})
# RFC 9110 section 7.6.1; `Connection` may name more.
HOP_BY_HOP = frozenset({b"connection", b"proxy-connection", b"keep-alive", b"te", b"transfer-encoding", b"upgrade"})


class Cut(Exception):
    """The other end closed its connection in the middle of a message."""


@dataclass(frozen=True)
class Head:
    """A request line or status line, and the header lines in order: names as they were written, values without the blanks around them."""

    start: bytes
    pairs: Pairs

    @property
    def method(self) -> bytes:
        return self.start.split(b" ")[0]

    @property
    def target(self) -> bytes:
        return self.start.split(b" ")[1]

    @property
    def status(self) -> int:
        return int(self.start.split(b" ")[1])

    @property
    def reason(self) -> bytes:
        return b" ".join(self.start.split(b" ")[2:])

    @property
    def lower(self) -> Pairs:
        return [(name.lower(), value) for name, value in self.pairs]

    def all(self, name: bytes) -> list[bytes]:
        return [value for key, value in self.lower if key == name]

    @property
    def end_to_end(self) -> Pairs:
        """Lower-case names and values of what passes a proxy, framing aside."""
        return [pair for pair in self.lower if pair[0] not in FRAMING | HOP_BY_HOP]


class Wire:
    """One end of a connection. Every read waits for `DEADLINE_SECONDS` and no longer."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.socket.settimeout(DEADLINE_SECONDS)
        if connection.family != socket.AF_UNIX:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def fileno(self) -> int:
        return self.socket.fileno()

    # saying

    def send(self, data: bytes | bytearray | memoryview) -> None:
        self.socket.sendall(data)

    @contextlib.contextmanager
    def sending(self, data: bytes) -> Iterator[None]:
        """Send in the background: more than sockets hold can only go while the other side is read."""
        failed: list[OSError] = []

        def send() -> None:
            try:
                self.send(data)
            except OSError as error:
                failed.append(error)

        thread = threading.Thread(target=send, name="sending")
        thread.start()
        try:
            yield
        except BaseException:
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)
            raise
        finally:
            thread.join(DEADLINE_SECONDS)
        assert not thread.is_alive(), "not everything was taken"
        if failed:
            raise failed[0]

    def half_close(self) -> None:
        self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.socket.close()

    def abort(self) -> None:
        """Hang up with a reset, as a killed process or a lost network does it."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    # hearing

    def _more(self) -> None:
        piece = self.socket.recv(_PIECE)
        if not piece:
            raise Cut(self._read[-200:])
        self._read += piece

    def until(self, wanted: bytes) -> bytes:
        """Up to and with these bytes."""
        while wanted not in self._read:
            self._more()
        end = self._read.index(wanted) + len(wanted)
        taken, self._read = self._read[:end], self._read[end:]
        return taken

    def exactly(self, count: int) -> bytes:
        return b"".join(self._counted(count))

    def rest(self) -> bytes:
        """All until the other end closes its connection."""
        return b"".join(self._unframed())

    def head(self) -> Head:
        start, *lines = self.until(b"\r\n\r\n")[:-4].split(b"\r\n")
        return Head(start, [(name, value.strip(b" \t")) for name, _, value in (line.partition(b":") for line in lines)])

    def request(self) -> "Message":
        head = self.head()
        return Message(head, b"".join(self.pieces(head, length_needed=True)))

    def answer(self, method: str = "POST") -> "Message":
        """A whole final answer. `Cut`: it broke off."""
        head = self.head()
        return Message(head, b"".join(self.answer_pieces(head, method)))

    def answer_pieces(self, head: Head, method: str = "POST") -> Iterator[bytes]:
        """The body of an answer as it comes."""
        return iter(()) if method == "HEAD" or head.status in _BODILESS or head.status < 200 else self.pieces(head)

    def pieces(self, head: Head, *, length_needed: bool = False) -> Iterator[bytes]:
        lengths, codings = head.all(b"content-length"), head.all(b"transfer-encoding")
        assert len(lengths) + len(codings) <= 1, head
        if codings:
            return self._chunked()
        if lengths:
            return self._counted(int(lengths[0]))
        return iter(()) if length_needed else self._unframed()

    def gone(self, seconds: float = DEADLINE_SECONDS) -> bool:
        """Whether the other end hangs up within this time; what it says before is dropped."""
        self.socket.settimeout(seconds)
        try:
            while self.socket.recv(_PIECE):
                pass
        except TimeoutError:
            return False
        except ConnectionError:
            pass
        finally:
            self.socket.settimeout(DEADLINE_SECONDS)
        return True

    def lost(self, seconds: float) -> bool:
        """Whether the connection is broken off within this time, without reading from it."""
        ready = select.poll()
        ready.register(self, 0)  # errors and hang-ups are always told
        return bool(ready.poll(seconds * 1000))

    def silent(self, seconds: float) -> bool:
        """Whether nothing has come when this time is over."""
        return not self._read and not select.select([self], [], [], seconds)[0]

    def _counted(self, count: int) -> Iterator[bytes]:
        while count:
            if not self._read:
                self._more()
            piece, self._read = self._read[:count], self._read[count:]
            count -= len(piece)
            yield piece

    def _chunked(self) -> Iterator[bytes]:
        while size := int(self.until(b"\r\n").partition(b";")[0], 16):
            yield from self._counted(size)
            assert self.exactly(2) == b"\r\n"
        while self.until(b"\r\n") != b"\r\n":
            pass

    def _unframed(self) -> Iterator[bytes]:
        if self._read:
            yield self._read
            self._read = b""
        while piece := self.socket.recv(_PIECE):
            yield piece


@dataclass(frozen=True)
class Message:
    head: Head
    body: bytes


class Upstream:
    """An upstream of which the test plays every move. It takes one request at a time, from a new connection or one that was kept."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._kept: list[Wire] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.accepted = 0

    @property
    def netloc(self) -> bytes:
        return urlsplit(self.url).netloc.encode()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()
        self._listener.close()

    def hang_up(self) -> None:
        """Close the connections that were kept."""
        for wire in self._kept:
            wire.close()
        self._kept.clear()

    def keep(self, wire: Wire) -> None:
        """Further requests may come on it."""
        self._kept.append(wire)

    def take(self, seconds: float = DEADLINE_SECONDS) -> Wire:
        """A connection on which a request has begun to come; the taker closes it or has it kept."""
        while True:
            waiting: list[socket.socket | Wire] = [self._listener, *self._kept]
            ready = select.select(waiting, [], [], seconds)[0]
            if not ready:
                raise TimeoutError("no call came")
            for one in ready:
                if isinstance(one, Wire):
                    self._kept.remove(one)
                    if _says_something(one):
                        return one
                    one.close()
                else:
                    self.accepted += 1
                    self._kept.append(Wire(self._listener.accept()[0]))

    def unasked(self, seconds: float) -> bool:
        """Whether no call has come when this time is over."""
        try:
            self.keep(self.take(seconds))
        except TimeoutError:
            return True
        return False


def _says_something(wire: Wire) -> bool:
    try:
        return bool(wire.socket.recv(1, socket.MSG_PEEK))
    except ConnectionError:
        return False


def connect(base: str) -> Wire:
    where = urlsplit(base)
    return Wire(socket.create_connection((str(where.hostname), where.port or 0), timeout=DEADLINE_SECONDS))


def call(target: bytes = b"/v1/messages", pairs: Pairs | None = None, body: bytes | None = None, *, method: bytes = b"POST") -> bytes:
    """The bytes of a request. A body goes with its length unless the pairs frame it themselves."""
    pairs = [(b"host", b"127.0.0.1"), *(pairs or [])]
    if body is not None and not any(name.lower() in (b"content-length", b"transfer-encoding") for name, _ in pairs):
        pairs.append((b"content-length", b"%d" % len(body)))
    return b"%b %b HTTP/1.1\r\n" % (method, target) + lines(pairs) + b"\r\n" + (body or b"")


def reply(body: bytes = b"{}", status: bytes = b"200 OK", pairs: Pairs | None = None) -> bytes:
    """The bytes of an answer with its length."""
    return b"HTTP/1.1 %b\r\n" % status + lines([*(pairs or []), (b"content-length", b"%d" % len(body))]) + b"\r\n" + body


def opening(status: bytes = b"200 OK", pairs: Pairs | None = None) -> bytes:
    """The head of a chunked stream of events."""
    framed = [(b"content-type", b"text/event-stream"), *(pairs or []), (b"transfer-encoding", b"chunked")]
    return b"HTTP/1.1 %b\r\n" % status + lines(framed) + b"\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


END = b"0\r\n\r\n"


def lines(pairs: Pairs) -> bytes:
    return b"".join(b"%b: %b\r\n" % pair for pair in pairs)
