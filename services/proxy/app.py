"""BRB's own routes as one ASGI app. Relayed calls don't come here: `front` takes them."""

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import msgspec
from litestar import Litestar
from litestar.datastructures import Headers
from litestar.di import Provide
from litestar.enums import ScopeType
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.types import LifeSpanReceive, LifeSpanScope, LifeSpanSend, Receive, Scope, Send

from services.core import api
from services.proxy import access
from services.proxy.parts import Parts
from services.proxy.routes import archives, engine, failures, given, graph, jobs, memories, notes, operations, recall, reports

Hook = Callable[[], Any]


def create_app(
    parts: Parts,
    pings: Mapping[str, Callable[[], None]] | None = None,
    *,
    spooled: Callable[[], int] | None = None,
    on_startup: Sequence[Hook] = (),
    on_shutdown: Sequence[Hook] = (),
) -> Litestar:
    """The memory API, metrics and health.

    pings: what `/health` and `/readyz` ask, by the name of the dependency. spooled: how many jobs wait on this machine for Redis.
    on_startup, on_shutdown: run in the event loop that serves (plain or async functions).
    """
    asked = {"qdrant": parts.store.ping, "llama.cpp": parts.embedder.ping, "redis": parts.book.ping} if pings is None else pings
    watch = given.Watch(asked, spooled or _none_spooled, version("brb"))
    return _Proxy(parts, watch, on_startup, on_shutdown)


class _Proxy(Litestar):
    def __init__(self, parts: Parts, watch: given.Watch, on_startup: Sequence[Hook], on_shutdown: Sequence[Hook]) -> None:
        super().__init__(
            route_handlers=[
                memories.router(),
                notes.router(),
                graph.router(),
                engine.router(),
                archives.router(),
                reports.router(),
                jobs.router(),
                *failures.told(recall.recall),
                *operations.HANDLERS,
            ],
            dependencies={
                "parts": Provide(lambda: parts, sync_to_thread=False),
                "watch": Provide(lambda: watch, sync_to_thread=False),
                "principal": Provide(access.principal, sync_to_thread=False),
            },
            exception_handlers=failures.HANDLERS,
            # JSON only: the HTML renderers load their scripts from elsewhere.
            openapi_config=OpenAPIConfig(
                title="BRB",
                version=watch.version,
                use_handler_docstrings=True,
                render_plugins=[JsonRenderPlugin(path="/openapi.json")],
            ),
            logging_config=None,
            on_startup=list(on_startup),
            on_shutdown=list(on_shutdown),
        )
        self._settings = parts.settings

    async def __call__(self, scope: Scope | LifeSpanScope, receive: Receive | LifeSpanReceive, send: Send | LifeSpanSend) -> None:
        if scope["type"] != "lifespan" and (refusal := access.refusal(Headers.from_scope(scope), self._settings)):
            return await _refuse(refusal, scope, send)  # type: ignore[arg-type]
        await super().__call__(scope, receive, send)


async def _refuse(reason: str, scope: Scope, send: Send) -> None:
    if scope["type"] == ScopeType.WEBSOCKET:
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    body = msgspec.json.encode(api.Problem(api.Trouble("denied", reason)))
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _none_spooled() -> int:
    return 0
