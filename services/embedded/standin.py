"""A stand-in for the Anthropic and OpenAI APIs: answers deterministically, records every call, fails on request. What the demo and the tests
talk to.

`python -m services.embedded.standin --port 0` prints its address as one JSON line. `GET /_recorded` gives the recorded calls,
`DELETE /_recorded` forgets them. A call is steered by its `x-standin` header, the JSON of a `Script`; for clients that can't set one for a
single call, `PUT /_scripts` takes a JSON list of `Rule`, of which each call uses up the first that fits, and `GET /_scripts` shows what is left.
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import signal
import sys
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from aiohttp import web

from services.embedded import standin_anthropic, standin_openai
from services.embedded.standin_scripts import Answer, Rule, Script, as_json
from services.proxy.wire import headers as wire_headers
from services.proxy.wire import routes

_RECORDED_CALLS = 1000


class Recorded(msgspec.Struct, frozen=True):
    """One call as it arrived: `path` is the raw target with its query, `headers` are in order, `body` is base64 in JSON."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class StandIn:
    """The server and what it recorded. Start and stop belong to one event loop; `recorded` may be read from any thread."""

    def __init__(self, record: Path | None = None) -> None:
        self.recorded: deque[Recorded] = deque(maxlen=_RECORDED_CALLS)
        self.abandoned = 0
        """Calls whose client went away before the answer was complete."""
        self.scripts: list[Rule] = []
        """What is left of the rules, each as often as it may be used."""
        self.url = ""
        self._record = record
        self._runner: web.AppRunner | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0 takes a free one. `url` then says where."""
        app = web.Application(client_max_size=0)
        app.router.add_get("/_recorded", self._show)
        app.router.add_delete("/_recorded", self._forget)
        app.router.add_get("/_scripts", self._show_scripts)
        app.router.add_put("/_scripts", self._take_scripts)
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

    async def _show_scripts(self, _: web.Request) -> web.Response:
        return web.Response(body=msgspec.json.encode(self.scripts), content_type="application/json")

    async def _take_scripts(self, request: web.Request) -> web.Response:
        try:
            rules = msgspec.json.decode(await request.read(), type=list[Rule])
        except msgspec.DecodeError as error:
            return web.Response(status=400, text=str(error))
        self.scripts = [rule for rule in rules for _ in range(rule.times)]
        return web.Response(status=204)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self._keep(Recorded(request.method, request.raw_path, tuple(_decoded(request.raw_headers)), body))
        given = wire_headers.as_text(request.raw_headers)
        try:
            script = self._script(request.path, given, body)
        except msgspec.DecodeError as error:
            return await _send(request, failure(request.path, given)(400, f"x-standin: {error}"), Script())
        try:
            await asyncio.sleep(script.delay_ms / 1000)
            return await _send(request, answer(request.method, request.raw_path, given, body, script), script)
        except (asyncio.CancelledError, ConnectionError):
            self.abandoned += 1
            raise

    def _script(self, path: str, given: Mapping[str, str], body: bytes) -> Script:
        """As the header says; else the first rule that fits, which is used up; else none."""
        if "x-standin" in given:
            return msgspec.json.decode(given["x-standin"], type=Script)
        text = said(path, body) if self.scripts else None
        number = next((i for i, rule in enumerate(self.scripts) if text is not None and rule.when in text), None)
        return Script() if number is None else self.scripts.pop(number)

    def _keep(self, call: Recorded) -> None:
        self.recorded.append(call)
        if self._record is not None:
            with self._record.open("ab") as file:
                file.write(msgspec.json.encode(call) + b"\n")


def said(path: str, body: bytes) -> str | None:
    """The text of the newest message of a main-loop call, if that is the user's; None for every other call."""
    readers = {
        standin_anthropic.MESSAGES: standin_anthropic.said,
        standin_openai.CHAT: standin_openai.said,
        standin_openai.RESPONSES: standin_openai.said,
    }
    try:
        call = json.loads(body) if path in readers else None
    except (ValueError, RecursionError):
        return None
    return readers[path](call) if isinstance(call, dict) else None


def failure(path: str, headers: Mapping[str, str]) -> Callable[[int, str], Answer]:
    """Makes errors (status, message) in the shape of the API that a call belongs to."""
    return standin_openai.failure if _is_openai(path, headers) else standin_anthropic.failure


def answer(method: str, target: str, headers: Mapping[str, str], body: bytes, script: Script) -> Answer:
    """What the API says to a call (`headers` by lower-case name); the same call gets the same answer."""
    path = target.partition("?")[0]
    if script.error is not None:
        return Answer((script.error.encode(),), script.status)
    if script.status >= 400:
        return failure(path, headers)(script.status, "as the script says")
    if script.chunks is not None:
        return Answer(tuple(chunk.encode() for chunk in script.chunks), script.status, stream=True)
    match method, path:
        case "GET", "/v1/models":
            return standin_openai.models() if _is_openai(path, headers) else standin_anthropic.models()
        case "POST", "/v1/messages/count_tokens":
            return standin_anthropic.count(body)
        case "POST", standin_anthropic.MESSAGES:
            return standin_anthropic.answer(body, script)
        case "POST", standin_openai.CHAT | standin_openai.RESPONSES:
            return standin_openai.answer(path, body, script)
    if path.startswith("/v1/"):
        return as_json({"method": method, "path": target, "bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()})
    return failure(path, headers)(404, f"no such path: {path}")


def _is_openai(path: str, headers: Mapping[str, str]) -> bool:
    return routes.vendor(path.encode(), headers) is routes.Vendor.OPENAI


def _decoded(headers: Sequence[tuple[bytes, bytes]]) -> Iterator[tuple[str, str]]:
    return ((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)


def _gzipped(pieces: Sequence[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(wbits=31)
    for piece in pieces[:-1]:
        yield packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH)
    yield packer.compress(pieces[-1] if pieces else b"") + packer.flush()


async def _send(request: web.Request, what: Answer, script: Script) -> web.StreamResponse:
    pieces = tuple(_gzipped(what.pieces)) if script.gzip else what.pieces
    response = web.StreamResponse(status=what.status, headers={"request-id": "req_standin", "x-request-id": "req_standin"})
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
    parser = argparse.ArgumentParser(prog="python -m services.embedded.standin", description="A stand-in for the Anthropic and OpenAI APIs.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--record", type=Path, help="append every call to this file, one JSON object a line")
    options = parser.parse_args()
    asyncio.run(_serve(options.host, options.port, options.record))


if __name__ == "__main__":
    main()
