"""The proxy as one ASGI app: BRB's own routes in Litestar; relayed calls go past it, so that its body limit, routing and error handling
never touch them."""

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
from litestar.types import ASGIApp, LifeSpanReceive, LifeSpanScope, LifeSpanSend, Receive, Scope, Send

from services.core import api
from services.proxy import access
from services.proxy.parts import Parts
from services.proxy.routes import failures, given, jobs, memories, operations, recall

Hook = Callable[[], Any]

_PROBES = frozenset({"/", "/api/hello"})


def create_app(
    parts: Parts,
    relay: ASGIApp | None = None,
    pings: Mapping[str, Callable[[], None]] | None = None,
    *,
    spooled: Callable[[], int] | None = None,
    on_startup: Sequence[Hook] = (),
    on_shutdown: Sequence[Hook] = (),
) -> Litestar:
    """The whole proxy.

    relay: takes `/v1/*` and the clients' probes (`HEAD /`, `HEAD /api/hello`); without one they are not found.
    pings: what `/health` and `/readyz` ask, by the name of the dependency. spooled: how many jobs wait on this machine for Redis.
    on_startup, on_shutdown: run in the event loop that serves (plain or async functions).
    """
    asked = {"qdrant": parts.store.ping, "llama.cpp": parts.embedder.ping, "redis": parts.book.ping} if pings is None else pings
    watch = given.Watch(asked, spooled or _none_spooled, version("brb"))
    return _Proxy(parts, watch, relay, on_startup, on_shutdown)


class _Proxy(Litestar):
    def __init__(self, parts: Parts, watch: given.Watch, relay: ASGIApp | None, on_startup: Sequence[Hook], on_shutdown: Sequence[Hook]) -> None:
        super().__init__(
            route_handlers=[memories.router(), jobs.router(), recall.recall, *operations.HANDLERS],
            dependencies={
                "parts": Provide(lambda: parts, sync_to_thread=False),
                "watch": Provide(lambda: watch, sync_to_thread=False),
                "principal": Provide(access.principal, sync_to_thread=False),
            },
            exception_handlers=failures.HANDLERS,
            # JSON only: the HTML renderers load their scripts from elsewhere.
            openapi_config=OpenAPIConfig(title="BRB", version=watch.version, render_plugins=[JsonRenderPlugin(path="/openapi.json")]),
            logging_config=None,
            on_startup=list(on_startup),
            on_shutdown=list(on_shutdown),
        )
        self._settings = parts.settings
        self._relay = relay

    async def __call__(self, scope: Scope | LifeSpanScope, receive: Receive | LifeSpanReceive, send: Send | LifeSpanSend) -> None:
        if scope["type"] != "lifespan":
            if self._relay is not None and relayed(scope):
                return await self._relay(scope, receive, send)  # type: ignore[arg-type]
            if refusal := access.refusal(Headers.from_scope(scope), self._settings):
                return await _refuse(refusal, scope, send)  # type: ignore[arg-type]
        await super().__call__(scope, receive, send)


def relayed(scope: Scope) -> bool:
    """Whether a call belongs to the upstream's API rather than to BRB's own routes."""
    path = scope["path"]
    return path == "/v1" or path.startswith("/v1/") or (path in _PROBES and scope.get("method") == "HEAD")


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
