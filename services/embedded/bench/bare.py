"""The baseline: the least that a relay in the same language and libraries can do. `python -m services.embedded.bench.bare URL`."""

import sys
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web

from services.embedded.bench import processes

_DROPPED = frozenset({"host", "connection", "content-length", "transfer-encoding", "keep-alive"})


def create_app(upstream: str) -> web.Application:
    app = web.Application(client_max_size=0)
    session = web.AppKey("session", aiohttp.ClientSession)

    async def connected(app: web.Application) -> AsyncIterator[None]:
        app[session] = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), auto_decompress=False)
        yield
        await app[session].close()

    async def handle(request: web.Request) -> web.StreamResponse:
        sent = {name: value for name, value in request.headers.items() if name.lower() not in _DROPPED}
        body = await request.read()
        async with app[session].request(request.method, upstream + request.raw_path, headers=sent, data=body) as answer:
            got = {name: value for name, value in answer.headers.items() if name.lower() not in _DROPPED}
            response = web.StreamResponse(status=answer.status, headers=got)
            response.content_length = answer.content_length
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response

    app.cleanup_ctx.append(connected)
    app.router.add_route("*", "/{path:.*}", handle)
    return app


if __name__ == "__main__":
    processes.serve(create_app(sys.argv[1]))
