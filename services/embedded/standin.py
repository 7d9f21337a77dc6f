"""A stand-in for the Anthropic API: answers deterministically, records every call, fails on request. What the demo and the tests talk to.

`python -m services.embedded.standin --port 0` prints its address as one JSON line. `GET /_recorded` gives the recorded calls,
`DELETE /_recorded` forgets them. A call is steered by its `x-standin` header, the JSON of a `Script`.
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import re
import signal
import sys
import threading
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from aiohttp import web

from services.core import block

_RECORDED_CALLS = 1000
_LARGEST_MESSAGE_BYTES = 33_554_432  # as the real API: larger ones are answered with 413
_BLOCK = re.compile(rf"<{block.TAG}[^>]*>(.*?){block.CLOSE}", re.DOTALL)
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Recorded(msgspec.Struct, frozen=True):
    """One call as it arrived: `path` is the raw target with its query, `headers` are in order, `body` is base64 in JSON."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to answer one call. `error` is the whole body, sent as it is; `chunks` are the pieces to send instead of the proper answer;
    the connection is cut after `cut_after_chunks` pieces (an event is a piece)."""

    status: int = 200
    error: str | None = None
    text: str | None = None
    headers: dict[str, str] = {}
    delay_ms: int = 0
    chunks: tuple[str, ...] | None = None
    chunk_delay_ms: int = 0
    cut_after_chunks: int | None = None
    gzip: bool = False


class Answer(msgspec.Struct, frozen=True):
    """A body in pieces. A stream has no length of its own and comes chunked."""

    pieces: tuple[bytes, ...]
    status: int = 200
    stream: bool = False


class StandIn:
    """The server and what it recorded. Start and stop belong to one event loop; `recorded` may be read from any thread."""

    def __init__(self, record: Path | None = None) -> None:
        self.recorded: deque[Recorded] = deque(maxlen=_RECORDED_CALLS)
        self.abandoned = 0
        """Calls whose client went away before the answer was complete."""
        self.url = ""
        self._record = record
        self._runner: web.AppRunner | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0 takes a free one. `url` then says where."""
        app = web.Application(client_max_size=0)
        app.router.add_get("/_recorded", self._show)
        app.router.add_delete("/_recorded", self._forget)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._loop = asyncio.get_running_loop()
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=1.0, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        self.url = f"http://{host}:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Nobody listens meanwhile. For another thread than that of the server."""
        if self._loop is None:
            raise RuntimeError("not started")
        port = int(self.url.rpartition(":")[2])
        asyncio.run_coroutine_threadsafe(self.stop(), self._loop).result()
        try:
            yield
        finally:
            asyncio.run_coroutine_threadsafe(self.start(port=port), self._loop).result()

    async def _show(self, _: web.Request) -> web.Response:
        return web.Response(body=msgspec.json.encode(list(self.recorded)), content_type="application/json")

    async def _forget(self, _: web.Request) -> web.Response:
        self.recorded.clear()
        return web.Response(status=204)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self._keep(Recorded(request.method, request.raw_path, tuple(_decoded(request.raw_headers)), body))
        try:
            script = msgspec.json.decode(request.headers.get("x-standin", "{}"), type=Script)
        except msgspec.DecodeError as error:
            return await _send(request, _failure(400, f"x-standin: {error}"), Script())
        try:
            await asyncio.sleep(script.delay_ms / 1000)
            return await _send(request, answer(request.method, request.raw_path, body, script), script)
        except (asyncio.CancelledError, ConnectionError):
            self.abandoned += 1
            raise

    def _keep(self, call: Recorded) -> None:
        self.recorded.append(call)
        if self._record is not None:
            with self._record.open("ab") as file:
                file.write(msgspec.json.encode(call) + b"\n")


def answer(method: str, target: str, body: bytes, script: Script) -> Answer:
    """What the API says to a call; the same call gets the same answer."""
    path = target.partition("?")[0]
    if script.error is not None:
        return Answer((script.error.encode(),), script.status)
    if script.status >= 400:
        return _failure(script.status, "as the script says")
    if script.chunks is not None:
        return Answer(tuple(chunk.encode() for chunk in script.chunks), script.status, stream=True)
    if (method, path) == ("GET", "/v1/models"):
        return _json({"data": [{"type": "model", "id": "claude-standin", "display_name": "Stand-in", "created_at": "2026-01-01T00:00:00Z"}],
                      "has_more": False, "first_id": "claude-standin", "last_id": "claude-standin"})  # fmt: skip
    if (method, path) == ("POST", "/v1/messages/count_tokens"):
        return _json({"input_tokens": _tokens(body)})
    if (method, path) == ("POST", "/v1/messages"):
        return _message(body, script)
    if path.startswith("/v1/"):
        return _json({"method": method, "path": target, "bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()})
    return _failure(404, f"no such path: {path}")


def _message(body: bytes, script: Script) -> Answer:
    if len(body) > _LARGEST_MESSAGE_BYTES:
        return _failure(413, "Request exceeds the maximum size")
    try:
        call = json.loads(body)
    except ValueError:
        return _failure(400, "The request body is not valid JSON")
    messages = call.get("messages") if isinstance(call, dict) else None
    if not isinstance(messages, list) or not messages:
        return _failure(400, "messages: at least one message is required")
    text = script.text if script.text is not None else _reply(messages)
    usage = {"input_tokens": _tokens(body), "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": _tokens(text.encode())}
    message = {
        "id": f"msg_{hashlib.sha256(body).hexdigest()[:24]}",
        "type": "message",
        "role": "assistant",
        "model": call.get("model", "claude-standin"),
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }
    return Answer(tuple(_events(message, text, usage)), stream=True) if call.get("stream") is True else _json(message)


def _events(message: dict[str, object], text: str, usage: dict[str, int]) -> Iterator[bytes]:
    opening = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield _event("message_start", message=opening)
    yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    yield _event("ping")
    for word in re.findall(r"\s*\S+|\s+$", text):
        yield _event("content_block_delta", index=0, delta={"type": "text_delta", "text": word})
    yield _event("content_block_stop", index=0)
    delta = {"stop_reason": "end_turn", "stop_sequence": None}
    yield _event("message_delta", delta=delta, usage={"output_tokens": usage["output_tokens"]})
    yield _event("message_stop")


def _event(name: str, **data: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()


def _reply(messages: Sequence[object]) -> str:
    """Says what the newest human message was told by BRB, if anything."""
    newest = next((m for m in reversed(messages) if isinstance(m, dict) and m.get("role") == "user"), {})
    lines = [line.strip() for text in _texts(newest) for told in _BLOCK.findall(text) for line in told.splitlines()]
    items = [line for line in lines if line.startswith("- ")]
    return "I was told:\n" + "\n".join(items) if items else "Noted."


def _texts(message: dict[str, object]) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, str):
        yield content
    for piece in content if isinstance(content, list) else []:
        if isinstance(piece, dict) and isinstance(piece.get("text"), str):
            yield piece["text"]


def _tokens(body: bytes) -> int:
    return max(1, len(body) // 4)


def _json(value: object, status: int = 200) -> Answer:
    return Answer((json.dumps(value).encode(),), status)


def _failure(status: int, message: str) -> Answer:
    return _json({"type": "error", "error": {"type": _ERROR_TYPES.get(status, "api_error"), "message": message}, "request_id": "req_standin"}, status)


def _decoded(headers: Sequence[tuple[bytes, bytes]]) -> Iterator[tuple[str, str]]:
    return ((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)


def _gzipped(pieces: Sequence[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(wbits=31)
    for piece in pieces[:-1]:
        yield packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH)
    yield packer.compress(pieces[-1] if pieces else b"") + packer.flush()


async def _send(request: web.Request, what: Answer, script: Script) -> web.StreamResponse:
    pieces = tuple(_gzipped(what.pieces)) if script.gzip else what.pieces
    response = web.StreamResponse(status=what.status, headers={"request-id": "req_standin"})
    response.headers["content-type"] = "text/event-stream; charset=utf-8" if what.stream else "application/json"
    if script.gzip:
        response.headers["content-encoding"] = "gzip"
    if not what.stream:
        response.content_length = sum(map(len, pieces))
    response.headers.update(script.headers)
    await response.prepare(request)
    for number, piece in enumerate(pieces):
        if number == script.cut_after_chunks:
            break
        await response.write(piece)
        await asyncio.sleep(script.chunk_delay_ms / 1000)
    if script.cut_after_chunks is not None and request.transport is not None:
        request.transport.close()
        return response
    await response.write_eof()
    return response


@contextlib.contextmanager
def running(standin: StandIn | None = None, port: int = 0) -> Iterator[StandIn]:
    """A stand-in on loopback in a thread of this process."""
    server = standin or StandIn()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="standin", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(port=port), loop).result()
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _serve(host: str, port: int, record: Path | None) -> None:
    standin, over = StandIn(record), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    await standin.start(host, port)
    sys.stdout.write(json.dumps({"url": standin.url}) + "\n")
    sys.stdout.flush()
    await over.wait()
    await standin.stop()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m services.embedded.standin", description="A stand-in for the Anthropic API.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--record", type=Path, help="append every call to this file, one JSON object a line")
    options = parser.parse_args()
    asyncio.run(_serve(options.host, options.port, options.record))


if __name__ == "__main__":
    main()
