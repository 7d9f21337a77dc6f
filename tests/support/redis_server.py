"""A Redis of a test's own, with its files."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from services.core.adapters import redis_client
from services.embedded import programs
from tests.conftest import wait_until


@contextmanager
def started(folder: Path, *options: str) -> Iterator[redis.Redis]:
    folder.mkdir(exist_ok=True)
    argv = [str(programs.redis_server()), "--port", "0", "--unixsocket", str(folder / "r.sock"), "--dir", str(folder), "--appendonly", "yes"]
    with subprocess.Popen([*argv, "--save", "", "--repl-diskless-sync-delay", "0", *options], stdout=subprocess.DEVNULL) as process:
        client = redis_client.connect(f"unix://{folder / 'r.sock'}", timeout_seconds=5)
        try:
            wait_until(client.ping, ignoring=redis.ConnectionError)
            yield client
        finally:
            client.close()
            process.terminate()
            process.wait(10)
