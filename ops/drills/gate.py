"""A gate before llama.cpp, a language model or Qdrant that lets calls through, or misbehaves as it is told; switched while it runs."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from enum import StrEnum
from pathlib import Path

import aiohttp
import msgspec
from aiohttp import web

_SLOW_SECONDS = 3.0


class Mode(StrEnum):
    WELL = "well"
    ERROR_500 = "error 500"
    ERROR_503 = "error 503"
    NOT_FOUND = "not found"
    GARBAGE = "garbage"
    DIMENSION = "wrong dimension"
    SLOW = "slow"
    HANGING = "hanging"
    RESET = "reset"


class Gate:
    """mode: how calls are answered from now on. calls: how many came to each mode."""

    def __init__(self, behind: Path | str | None) -> None:
        """behind: the socket or the address of a server; None: there is none, and a chat model is played that finds nothing to learn."""
        self.mode = Mode.WELL
        self.calls = dict.fromkeys(Mode, 0)
        self.url = ""
        self._behind = behind
        self._http: aiohttp.ClientSession | None = None

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        mode = self.mode
        self.calls[mode] += 1
        match mode:
            case Mode.ERROR_500 | Mode.ERROR_503 | Mode.NOT_FOUND:
                return web.json_response({"error": "as told"}, status={Mode.ERROR_500: 500, Mode.ERROR_503: 503}.get(mode, 404))
            case Mode.GARBAGE:
                return web.Response(body=b'{"data": [{"embedding": "\xff\x00 not a vector"', content_type="application/json")
            case Mode.DIMENSION if request.path.endswith("/embeddings"):
                count = len(msgspec.json.decode(body)["input"])
                return web.json_response({"data": [{"index": n, "embedding": [1.0] * 7} for n in range(count)]})
            case Mode.SLOW:
                await asyncio.sleep(_SLOW_SECONDS)
            case Mode.HANGING:
                await asyncio.sleep(3600)
            case Mode.RESET:
                if request.transport is not None:
                    request.transport.abort()
                return web.Response(status=502)
        return await self._passed(request, body)

    async def _passed(self, request: web.Request, body: bytes) -> web.StreamResponse:
        if self._http is None:
            return _played(request)
        async with self._http.request(request.method, request.path_qs, data=body, headers=_kept(request)) as answer:
            return web.Response(status=answer.status, body=await answer.read(), content_type=answer.content_type)

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["Gate"]:
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        if isinstance(self._behind, Path):
            self._http = aiohttp.ClientSession("http://behind", connector=aiohttp.UnixConnector(str(self._behind)))
        elif self._behind is not None:
            self._http = aiohttp.ClientSession(self._behind)
        try:
            yield self
        finally:
            if self._http is not None:
                await self._http.close()
            await runner.cleanup()


def _kept(request: web.Request) -> dict[str, str]:
    return {"content-type": request.headers["content-type"]} if "content-type" in request.headers else {}


def _played(request: web.Request) -> web.Response:
    if request.path == "/health":
        return web.json_response({"status": "ok"})
    message = {"role": "assistant", "content": '{"facts": []}'}
    return web.json_response(
        {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    )
