import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvicorn
from click.testing import Result
from typer.testing import CliRunner

from services.cli import app
from services.proxy.app import create_app
from services.proxy.parts import Parts
from tests.support import in_memory

Brb = Callable[..., Result]


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def settings_of_test(tmp_path: Path, free_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the command reads: a data folder and a port of its own, and no `.env`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BRB_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("BRB_PORT", str(free_port))
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def parts(tmp_path: Path, free_port: int) -> Parts:
    return in_memory.parts(tmp_path / "data", port=free_port)


@pytest.fixture
def running(parts: Parts) -> Iterator[Parts]:
    """BRB with parts in memory, served over a real port."""
    server = uvicorn.Server(uvicorn.Config(create_app(parts), port=parts.settings.port, log_config=None, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 10
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield parts
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def brb(settings_of_test: None) -> Brb:
    """Run a command line in this process."""
    runner = CliRunner()
    return lambda *words, **extra: runner.invoke(app.build(), list(words), prog_name="brb", **extra)
