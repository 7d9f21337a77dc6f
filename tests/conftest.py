"""Real servers for the tests that need them: started once, each in a short-named folder of its own (unix sockets have short paths)."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
import redis

from services.core import config
from services.embedded import models, programs

ROOT = Path(__file__).parent.parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Fast tests first, so that a mistake shows early; but last where several processes share them, so that these end together."""
    order = ["unit", "contract", "integration", "e2e"]
    items.sort(
        key=lambda item: next((i for i, name in enumerate(order) if f"/{name}/" in str(item.path)), len(order)),
        reverse=hasattr(config, "workerinput"),
    )


@pytest.fixture(scope="session")
def short_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="brb-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def model_files() -> dict[str, Path]:
    """The models of models.lock, made at the first use and kept in the data folder of the checkout."""
    return models.ensure(config.Settings(data_dir=ROOT / "data"))


@pytest.fixture(scope="session")
def redis_server(short_folder: Path) -> Iterator[Path]:
    """The unix socket of a running Redis."""
    path = short_folder / "redis.sock"
    argv = [str(programs.redis_server()), "--port", "0", "--unixsocket", str(path), "--dir", str(short_folder), "--appendonly", "no", "--save", ""]
    with _running(argv):
        client = redis.Redis(unix_socket_path=str(path))
        wait_until(client.ping, ignoring=redis.ConnectionError)
        yield path


@pytest.fixture
def redis_address(redis_server: Path) -> str:
    """The address of an empty Redis."""
    redis.Redis(unix_socket_path=str(redis_server)).flushall()
    return f"unix://{redis_server}"


@pytest.fixture(scope="session")
def llama_socket(short_folder: Path, model_files: dict[str, Path]) -> Iterator[Path]:
    """The unix socket of a running llama.cpp with the default embedding model."""
    path = short_folder / "llama.sock"
    argv = [sys.executable, "-m", "services.embedded.llama", "--model", str(model_files["all-MiniLM-L6-v2"]), "--socket", str(path)]
    with _running(argv):
        wait_until(path.is_socket, seconds=60)
        with httpx2.Client(transport=httpx2.HTTPTransport(uds=str(path)), base_url="http://llama") as client:
            wait_until(lambda: client.get("/health").status_code == 200, seconds=60, ignoring=httpx2.HTTPError)
        yield path


@pytest.fixture(scope="session")
def chat_model() -> Iterator[str]:
    """The base URL of a running OpenAI-compatible server with a small instruct model, without `/v1`."""
    argv = [sys.executable, "-m", "tests.support.chat_model"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class _running:
    """A process for the length of a block."""

    def __init__(self, argv: list[str]) -> None:
        self._argv = argv

    def __enter__(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(self._argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
        return self._process

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def wait_until(condition: object, *, seconds: float = 20.0, ignoring: type[Exception] | tuple[type[Exception], ...] = ()) -> None:
    """Poll until the condition holds; fail when it does not in time."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if condition():  # type: ignore[operator]
                return
        except ignoring:
            pass
        assert time.monotonic() < deadline, f"not within {seconds} s: {condition}"
        time.sleep(0.02)
