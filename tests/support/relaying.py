"""The relay as the product serves it: in a thread of the test, or in a process of its own (`python -m tests.support.relaying URL`)."""

import argparse
import contextlib
import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
import uvicorn

from services.core import config, ports, telemetry
from services.proxy import access, crowd, relay
from services.proxy.app import create_app
from services.proxy.front import Server, served
from tests.support import in_memory, upstream
from tests.support.interceptors import Keeping

ROOT = Path(__file__).parent.parent.parent
DRAIN_SECONDS = 20


def server(
    settings: config.Settings,
    interceptor: relay.Interceptor,
    *,
    port: int = 0,
    drain_seconds: int = DRAIN_SECONDS,
    tokens: ports.TokenBook | None = None,
) -> uvicorn.Server:
    """The whole proxy over in-memory parts, served with the options of `services.embedded.host`."""
    parts = dataclasses.replace(in_memory.parts(settings.data_dir), settings=settings)
    if tokens is not None:
        parts = dataclasses.replace(parts, tokens=tokens)
    doors = access.Access(settings, parts.tokens, parts.clock)
    handler = relay.Relay(settings, interceptor, doors=doors)
    app = create_app(parts, doors=doors, on_shutdown=[handler.close])
    bounds = crowd.bounds(settings.max_connections, crowd.raised_files())
    return Server(served(app, handler, host="127.0.0.1", port=port, drain_seconds=drain_seconds, bounds=bounds))


@contextlib.contextmanager
def relaying(settings: config.Settings, interceptor: relay.Interceptor, tokens: ports.TokenBook | None = None) -> Iterator[str]:
    """The base URL of a relay while the block runs."""
    with serving(settings, interceptor, tokens) as running:
        yield url_of(running)


@contextlib.contextmanager
def serving(settings: config.Settings, interceptor: relay.Interceptor, tokens: ports.TokenBook | None = None) -> Iterator[uvicorn.Server]:
    """The server of a relay, which runs for the length of the block."""
    running = server(settings, interceptor, drain_seconds=2, tokens=tokens)
    thread = threading.Thread(target=running.run, name="relaying", daemon=True)
    thread.start()
    assert upstream.wait_for(lambda: running.started)
    try:
        yield running
    finally:
        running.should_exit = True
        thread.join(10)


def url_of(running: uvicorn.Server) -> str:
    return f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"


@dataclass(frozen=True)
class Apart:
    """A relay in a process of its own."""

    url: str
    process: subprocess.Popen[bytes]

    def rss_bytes(self) -> int:
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def most_rss_bytes(self) -> int:
        """The most that it ever was; where the system does not tell (it is no Linux), what it is now."""
        status = Path(f"/proc/{self.process.pid}/status")
        most = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
        return int(most[1]) * 1024 if most else self.rss_bytes()


@contextlib.contextmanager
def apart(upstream_url: str, *, drain_seconds: int = DRAIN_SECONDS, environment: Mapping[str, str] | None = None) -> Iterator[Apart]:
    """A relay in a process of its own, killed at the end if it still runs."""
    with tempfile.TemporaryDirectory(prefix="brb-") as folder:
        argv = [sys.executable, "-m", "tests.support.relaying", upstream_url, "--data", folder, "--drain", str(drain_seconds)]
        process = subprocess.Popen(argv, cwd=ROOT, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdout is not None
        try:
            yield Apart(json.loads(process.stdout.readline())["url"], process)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


class _Announcing(Server):
    """Says on stdout where it listens."""

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        await super().startup()
        print(json.dumps({"url": f"http://127.0.0.1:{self.servers[0].sockets[0].getsockname()[1]}"}), flush=True)  # noqa: T201 - the test reads it


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.relaying")
    parser.add_argument("upstream")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--drain", type=int, default=DRAIN_SECONDS)
    options = parser.parse_args()
    telemetry.configure_logging("error")
    settings = config.Settings(anthropic_url=options.upstream, openai_url=options.upstream, data_dir=options.data)
    with contextlib.suppress(KeyboardInterrupt):
        _Announcing(server(settings, Keeping(), drain_seconds=options.drain).config).run()


if __name__ == "__main__":
    main()
