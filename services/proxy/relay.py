"""The I/O of the wire: calls go to the upstream and answers come back, byte for byte.

What is remembered is an `Interceptor`'s business: the relay asks it before a call and tells it of the answer. A mistake of the interceptor
never costs the call: the original body is forwarded. Answers pass from one connection's callback to the other's transport (ADR 10).

`front` is the client's side, `upstream` the other; an `exchange` is between them.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Protocol

import msgspec

from services.core import config, errors
from services.proxy import access, upstream
from services.proxy.exchange import Exchange
from services.proxy.wire import calls, reading, routes, splice


class Prepared(msgspec.Struct, frozen=True):
    """What is to happen to a call. Interceptors may subclass it to keep what they need until `after`.

    blocks: texts to insert, by the spot of their turn. headers: added to the answer, lower-case names.
    """

    call: calls.Call
    blocks: Mapping[splice.Spot, str] = {}
    headers: tuple[tuple[str, str], ...] = ()


class Interceptor(Protocol):
    """Who changes calls. Asked for every readable call that holds a conversation; opaque calls are not shown."""

    async def before(self, call: calls.Call) -> Prepared:
        """Decide within the recall deadline. Runs on the event loop; anything raised means "no change"."""

    async def after(self, prepared: Prepared, answer: calls.Answer) -> None:
        """Told once, however the exchange ended (look at `answer.complete`), and finished even if the client leaves meanwhile.

        The client sees the end of a complete answer when this returns, so that what it has seen is recorded; but it won't wait for long.
        """


class Relay:
    """The upstreams, and the exchanges with them. Calls of others than the person (a web page, say) are relayed without memory.
    doors: who may call; only without tokens (`BRB_AUTH=off`) it can be left out.

    Use it in one event loop; `close` in the end.
    """

    def __init__(
        self, settings: config.Settings, interceptor: Interceptor, clock: Callable[[], float] = time.time, *, doors: access.Access | None = None
    ) -> None:
        if doors is None and settings.auth != "off":
            raise errors.SetupError("a relay that needs tokens is told who may call")
        self.doors = doors
        self.settings = settings
        self.interceptor = interceptor
        self.clock = clock
        self.reader = reading.Reader(subagents=settings.subagents)
        self.exchanges: set[Exchange] = set()
        self._upstreams = {
            routes.Vendor.ANTHROPIC: upstream.Upstream(settings.anthropic_url),
            routes.Vendor.OPENAI: upstream.Upstream(settings.openai_url),
        }
        self._tasks: set[asyncio.Task[None]] = set()

    def upstream(self, vendor: routes.Vendor) -> upstream.Upstream:
        return self._upstreams[vendor]

    async def close(self) -> None:
        """Break off what still runs, finish what is being recorded, drop the connections."""
        for exchange in list(self.exchanges):
            exchange.abort()
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        for server in self._upstreams.values():
            server.close()

    def keep(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """A task that goes on when the exchange that started it is over."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
