"""A relay of bytes between a client and a server that keeps what passes: what the client really sent, whatever the server makes of it."""

import contextlib
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

_CHUNK_BYTES = 1 << 16


@dataclass
class Tapped:
    """A request as it left the client, and the raw bytes that came back until the next one on its connection."""

    head: bytes
    body: bytes = b""
    answer: bytearray = field(default_factory=bytearray)

    @property
    def method(self) -> str:
        return self.head.split(b" ")[0].decode()

    @property
    def target(self) -> str:
        return self.head.split(b" ")[1].decode()

    @property
    def headers(self) -> Mapping[str, str]:
        return _headers(self.head)

    @property
    def status(self) -> int:
        return int(self.answer.split(b" ")[1])

    @property
    def answer_headers(self) -> Mapping[str, str]:
        return _headers(bytes(self.answer).partition(b"\r\n\r\n")[0])


class Wiretap:
    """Listens on a port of its own and connects to `port`. `calls` is in the order in which the calls began."""

    def __init__(self, port: int) -> None:
        self.calls: list[Tapped] = []
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = [self._listener]
        self._threads: list[threading.Thread] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._spawn(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join()

    def _spawn(self, target: object, *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                self._sockets += [client, server]
                calls = _Calls(self.calls)
                self._spawn(_pump, client, server, calls.sent)
                self._spawn(_pump, server, client, calls.answered)


class _Calls:
    """The calls of one connection: one at a time, their bodies with a length."""

    def __init__(self, calls: list[Tapped]) -> None:
        self._all = calls
        self._bytes = b""
        self._newest: Tapped | None = None
        self._missing = 0

    def sent(self, chunk: bytes) -> None:
        self._bytes += chunk
        while self._bytes:
            if not self._missing:
                head, ended, rest = self._bytes.partition(b"\r\n\r\n")
                if not ended:
                    return
                self._newest = Tapped(head)
                self._all.append(self._newest)
                self._missing, self._bytes = int(self._newest.headers.get("content-length", "0")), rest
            body, self._bytes = self._bytes[: self._missing], self._bytes[self._missing :]
            assert self._newest is not None
            self._newest.body += body
            self._missing -= len(body)

    def answered(self, chunk: bytes) -> None:
        assert self._newest is not None
        self._newest.answer += chunk


def _pump(source: socket.socket, target: socket.socket, keep: object) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(_CHUNK_BYTES):
            keep(chunk)  # type: ignore[operator]
            target.sendall(chunk)
    for one, how in ((source, socket.SHUT_RD), (target, socket.SHUT_WR)):
        with contextlib.suppress(OSError):
            one.shutdown(how)


def _headers(head: bytes) -> Mapping[str, str]:
    lines = head.decode("latin-1").split("\r\n")[1:]
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
