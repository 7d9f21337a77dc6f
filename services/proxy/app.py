"""BRB's own routes as one ASGI app. Relayed calls don't come here: `front` takes them."""

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from litestar import Litestar
from litestar.di import Provide
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.types import LifeSpanReceive, LifeSpanScope, LifeSpanSend, Receive, Scope, Send

from services.core import seal
from services.proxy import access
from services.proxy.entrance import Entrance
from services.proxy.mcp import server as mcp
from services.proxy.parts import Parts
from services.proxy.routes import (
    archives,
    audit,
    engine,
    erasure,
    failures,
    given,
    graph,
    jobs,
    members,
    memories,
    notes,
    operations,
    recall,
    reports,
    reviews,
    selftest,
    tokens,
    turns,
)
from services.proxy.web import sessions, site

Hook = Callable[[], Any]


def create_app(
    parts: Parts,
    pings: Mapping[str, Callable[[], None]] | None = None,
    *,
    doors: access.Access | None = None,
    spooled: Callable[[], int] | None = None,
    selftests: Mapping[str, Callable[[], str]] | None = None,
    on_startup: Sequence[Hook] = (),
    on_shutdown: Sequence[Hook] = (),
) -> Litestar:
    """The memory API, metrics and health.

    pings: what `/health` and `/readyz` ask, by the name of the dependency. doors: that of the relay, so that both count a token's calls together.
    spooled: how many jobs wait on this machine for Redis.
    selftests: what `POST /selftest` tries beside its own, by name: each says what it found, and raises if that is not well.
    on_startup, on_shutdown: run in the event loop that serves (plain or async functions).
    """
    asked = {"qdrant": parts.store.ping, "llama.cpp": parts.embedder.ping, "redis": parts.book.ping} if pings is None else pings
    watch = given.Watch(asked, spooled or _none_spooled, version("brb"), selftests or {})
    doors = doors or access.Access(parts.settings, parts.tokens, parts.clock)
    return _Proxy(parts, watch, doors, on_startup, on_shutdown)


class _Proxy(Litestar):
    def __init__(self, parts: Parts, watch: given.Watch, doors: access.Access, on_startup: Sequence[Hook], on_shutdown: Sequence[Hook]) -> None:
        tools = mcp.Endpoint(parts, watch.version)
        pages = sessions.Sessions(lambda: seal.secret_of(parts.settings), parts.clock)
        super().__init__(
            route_handlers=[
                memories.router(),
                notes.router(),
                graph.router(),
                engine.router(),
                archives.router(),
                reports.router(),
                jobs.router(),
                tokens.router(),
                turns.router(),
                reviews.router(),
                members.router(),
                erasure.router(),
                audit.router(),
                selftest.router(),
                tools.handler(),
                site.Site(parts, pages).router(),
                *failures.told(recall.recall),
                *operations.HANDLERS,
            ],
            dependencies={
                "parts": Provide(lambda: parts, sync_to_thread=False),
                "watch": Provide(lambda: watch, sync_to_thread=False),
                "principal": Provide(access.principal, sync_to_thread=False),
                "doors": Provide(lambda: doors, sync_to_thread=False),
                "pages": Provide(lambda: pages, sync_to_thread=False),
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
            lifespan=[tools.running],
            on_startup=list(on_startup),
            on_shutdown=list(on_shutdown),
        )
        self._entrance = Entrance(super().__call__, parts.settings, doors, pages)

    async def __call__(self, scope: Scope | LifeSpanScope, receive: Receive | LifeSpanReceive, send: Send | LifeSpanSend) -> None:
        if scope["type"] == "lifespan":
            return await super().__call__(scope, receive, send)
        await self._entrance(scope, receive, send)  # type: ignore[arg-type]


def _none_spooled() -> int:
    return 0
