"""BRB as it is served, and the official SDK's client of it: over HTTP, or over stdin and stdout through `brb mcp`."""

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from services.proxy import access, relay
from services.proxy.app import create_app
from services.proxy.front import Server, served
from services.proxy.parts import Parts
from tests.support import upstream
from tests.support.interceptors import Keeping

ROOT = Path(__file__).parent.parent.parent
ERAS = ("legacy", "auto")
"""How a client begins: with `initialize`, as all did until 2025, or by asking what the server knows (2026-07-28)."""

T = TypeVar("T")
Talk = Callable[[Client], Awaitable[T]]


@contextlib.contextmanager
def serving(parts: Parts, port: int = 0) -> Iterator[str]:
    """The base URL of a proxy of these parts."""
    doors = access.Access(parts.settings, parts.tokens, parts.clock)
    handler = relay.Relay(parts.settings, Keeping(), doors=doors)
    app = create_app(parts, doors=doors, on_shutdown=[handler.close])
    running = Server(served(app, handler, host="127.0.0.1", port=port, drain_seconds=2))
    thread = threading.Thread(target=running.run, name="serving", daemon=True)
    thread.start()
    assert upstream.wait_for(lambda: running.started)
    try:
        yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    finally:
        running.should_exit = True
        thread.join(10)


def over_http(url: str, talk: Talk[T], *, mode: str = "legacy", headers: Mapping[str, str] | None = None, path: str = "/mcp") -> T:
    async def talked() -> T | AssertionError:
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=30) as http,
            Client(streamable_http_client(url + path, http_client=http), mode=mode, cache=None) as client,  # type: ignore[arg-type]
        ):
            return await _kept(talk, client)

    return _told(asyncio.run(talked()))


def over_stdio(url: str, talk: Talk[T], *, folder: Path, mode: str = "legacy", messages: Any = None, **environment: str) -> T:
    """`brb mcp` started in a folder. messages: called with what the server says unasked."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "services.cli", "mcp"],
        env={"BRB_URL": url, "PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], **environment},
        cwd=folder,
    )

    async def talked() -> T | AssertionError:
        with (folder / "stderr.txt").open("w") as stderr:
            async with Client(stdio_client(server, errlog=stderr), mode=mode, cache=None, message_handler=messages) as client:  # type: ignore[arg-type]
                return await _kept(talk, client)

    return _told(asyncio.run(talked()))


async def _kept(talk: Talk[T], client: Client) -> T | AssertionError:
    """What fails is raised outside of the client's task groups, which would wrap it."""
    try:
        return await talk(client)
    except AssertionError as failed:
        return failed


def _told(result: T | AssertionError) -> T:
    if isinstance(result, AssertionError):
        raise result
    return result
