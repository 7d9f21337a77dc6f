"""A recording upstream on a raw socket: it says exactly the bytes that a test scripts, and keeps exactly the bytes it was sent."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

DEADLINE_SECONDS = 10


@dataclass
class Recorded:
    """One request as it came: `head` up to the blank line, `body` without its transfer coding."""

    head: bytes
    body: bytes = b""

    @property
    def target(self) -> bytes:
        return self.head.split(b" ")[1]

    @property
    def method(self) -> bytes:
        return self.head.split(b" ")[0]

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        lines = self.head.split(b"\r\n")[1:]
        return [(name.lower(), value.strip()) for name, _, value in (line.partition(b":") for line in lines if line)]

    def all(self, name: bytes) -> list[bytes]:
        return [value for key, value in self.headers if key == name]


@dataclass
class Hold:
    """A step that waits until the test lets it go on."""

    released: threading.Event = field(default_factory=threading.Event)


class Cut:
    """A step that breaks the connection off."""


Step = bytes | Hold | Cut
Script = Sequence[Step]


def answer(body: bytes, status: str = "200 OK", headers: Sequence[str] = ("content-type: application/json",)) -> Script:
    """A whole answer with its length."""
    return [head(status, [*headers, f"content-length: {len(body)}"]) + body]


def stream(pieces: Sequence[Step], headers: Sequence[str] = ("content-type: text/event-stream; charset=utf-8",)) -> Script:
    """A chunked answer, one chunk for each piece of bytes."""
    steps: list[Step] = [head("200 OK", [*headers, "transfer-encoding: chunked"])]
    steps += [f"{len(piece):x}\r\n".encode() + piece + b"\r\n" if isinstance(piece, bytes) else piece for piece in pieces]
    return [*steps, b"0\r\n\r\n"]


def head(status: str, headers: Sequence[str]) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode("latin-1")


class Upstream:
    """Runs in its own thread. Each request takes the next script; the last one is used again and again."""

    def __init__(self) -> None:
        self.requests: list[Recorded] = []
        self.gone = threading.Event()  # a client hung up before its answer was complete
        self.scripts: list[Script] = [answer(b"{}")]
        self.read_bodies = True
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="upstream", daemon=True)

    def says(self, *scripts: Script) -> None:
        self.scripts = list(scripts)

    @property
    def last(self) -> Recorded:
        return self.requests[-1]

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(DEADLINE_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(DEADLINE_SECONDS)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=1 << 20)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._stop.wait()
        server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                request = Recorded((await reader.readuntil(b"\r\n\r\n"))[:-4])
                self.requests.append(request)
                if self.read_bodies:
                    request.body = await _body(request, reader)
                script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
                if not await self._play(script, reader, writer):
                    break
        writer.close()

    async def _play(self, script: Script, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        for step in script:
            if isinstance(step, Cut):
                writer.transport.abort()
                return False
            if isinstance(step, Hold):
                if not await self._held(step, reader):
                    return False
                continue
            writer.write(step)
            await writer.drain()
        return True

    async def _held(self, hold: Hold, reader: asyncio.StreamReader) -> bool:
        left = asyncio.ensure_future(reader.read(1))
        while not hold.released.is_set():
            done, _ = await asyncio.wait({left}, timeout=0.005)
            if done:
                self.gone.set()
                return False
        left.cancel()
        await asyncio.gather(left, return_exceptions=True)
        return True


async def _body(request: Recorded, reader: asyncio.StreamReader) -> bytes:
    if request.all(b"transfer-encoding"):
        pieces = []
        while size := int((await reader.readline()).strip(), 16):
            pieces.append(await reader.readexactly(size))
            await reader.readline()
        await reader.readline()
        return b"".join(pieces)
    lengths = request.all(b"content-length")
    return await reader.readexactly(int(lengths[0])) if lengths else b""


@contextlib.contextmanager
def released(*holds: Hold) -> Iterator[None]:
    """Let the holds go when the block ends, also if it fails."""
    try:
        yield
    finally:
        for hold in holds:
            hold.released.set()


def wait_for(condition: Callable[[], bool], seconds: float = DEADLINE_SECONDS) -> bool:
    """Poll until the condition holds; whether it did before the deadline."""
    ticker = threading.Event()
    for _ in range(int(seconds / 0.005)):
        if condition():
            return True
        ticker.wait(0.005)
    return condition()
