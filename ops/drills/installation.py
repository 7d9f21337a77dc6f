"""A BRB under drill: `brb up` in a folder of its own with tokens of several teams; its processes by name, and what it remembers."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import httpx2
import msgspec
import psutil
import redis

from ops.drills import upstream
from ops.drills.proof import Kept
from ops.drills.talking import Person
from services.core import access_api, api, config, seal, tokens
from services.embedded import models, programs, supervisor

T = TypeVar("T")

LEASE_SECONDS = 3
_POLL_SECONDS = 0.1
_PAGE = 1000


class DidNotHappen(Exception):
    """What a drill waited for did not come about; the message says what."""


def until(found: Callable[[], T | None], complaint: str, seconds: float) -> T:
    """Ask again and again until there is an answer. Blocking."""
    deadline = time.monotonic() + seconds
    while True:
        result = found()
        if result is not None:
            return result
        if time.monotonic() > deadline:
            raise DidNotHappen(f"{complaint} within {seconds:.0f} s")
        time.sleep(_POLL_SECONDS)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextlib.contextmanager
def printing(module: str, folder: Path) -> Iterator[str]:
    """A server of its own process that prints its address, which is given; ended with the block."""
    with (folder / f"{module.rpartition('.')[2]}.log").open("ab") as log:
        process = subprocess.Popen([sys.executable, "-m", module], stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL)
    try:
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        yield process.stdout.readline().decode().strip()
    finally:
        process.terminate()
        process.wait(10)
        if process.stdout is not None:
            process.stdout.close()


def vendor(folder: Path) -> contextlib.AbstractContextManager[str]:
    """The address of an upstream."""
    return printing(upstream.__spec__.name, folder)


class Installation:
    """folder: its data folder is made in it. environment: settings beside those of every drill."""

    def __init__(self, folder: Path, upstream_url: str, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.data.mkdir(parents=True, exist_ok=True)
        self.models = config.load().models_dir
        self.models.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            (self.data / "models").symlink_to(self.models, target_is_directory=True)
        self.port = free_port()
        self.environment = config.environment_without_settings() | {
            "BRB_DATA_DIR": str(self.data),
            "BRB_PORT": str(self.port),
            "BRB_ANTHROPIC_URL": upstream_url,
            "BRB_OPENAI_URL": upstream_url,
            "BRB_AUTH": "token",
            "BRB_RATE_PER_MINUTE": "0",
            "BRB_LEASE_SECONDS": str(LEASE_SECONDS),
            **environment,
        }
        self.settings = config.load(data_dir=self.data, port=self.port)
        self.url = self.settings.base_url
        self.http = httpx2.Client(base_url=self.url, trust_env=False, timeout=20)
        self._process: subprocess.Popen[bytes] | None = None

    # running

    def start(self, seconds: float = 300) -> None:
        with (self.folder / "up.log").open("ab") as output:
            process = self._process = subprocess.Popen(
                [sys.executable, "-m", "services.cli", "up", "--plain"],
                cwd=self.folder,
                env=self.environment | {"PYTHONPATH": os.pathsep.join(filter(None, (str(Path.cwd()), os.environ.get("PYTHONPATH"))))},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

        def ready() -> bool | None:
            if process.poll() is not None:
                raise DidNotHappen(f"BRB did not start: {(self.folder / 'up.log').read_text()[-2000:]}")
            state = supervisor.state(self.settings)
            return True if state is not None and state.ready and state.pid == process.pid else None

        until(ready, "BRB was not ready", seconds)

    def close(self) -> None:
        self.http.close()
        if self._process is None:
            return
        self._process.send_signal(signal.SIGCONT)
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(90)
        except subprocess.TimeoutExpired:
            for process in psutil.Process(self._process.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    process.kill()
            self._process.kill()
            self._process.wait()

    @property
    def supervisor(self) -> psutil.Process:
        assert self._process is not None  # noqa: S101 - started
        return psutil.Process(self._process.pid)

    def leader(self, name: str) -> psutil.Process:
        """The process of one part that the supervisor started."""
        state = supervisor.state(self.settings)
        if state is None:
            raise DidNotHappen("BRB is not running")
        return psutil.Process(state.processes[name])

    def parts(self) -> dict[str, psutil.Process]:
        """All processes, by name; a worker's children are `worker-1` and so on."""
        state = supervisor.state(self.settings)
        found: dict[str, psutil.Process] = {}
        for name, pid in (state.processes if state else {}).items():
            with contextlib.suppress(psutil.Error):
                found[name] = leader = psutil.Process(pid)
                found |= {f"{name}-{number}": child for number, child in enumerate(leader.children(recursive=True), 1)}
        return found

    @contextlib.contextmanager
    def frozen(self, *processes: psutil.Process) -> Iterator[None]:
        for process in processes:
            process.suspend()
        try:
            yield
        finally:
            for process in processes:
                with contextlib.suppress(psutil.Error):
                    process.resume()

    def redis(self) -> redis.Redis:
        return redis.Redis.from_url(self.settings.redis_address, socket_timeout=5)

    # who may

    @property
    def operator(self) -> dict[str, str]:
        return {"x-brb-key": tokens.operator_key(seal.secret_of(self.settings))}

    def people(self, teams: Mapping[str, Sequence[str]]) -> list[Person]:
        """A token for everybody."""
        return [Person(team, user, self._token(team, user)) for team, users in teams.items() for user in users]

    def _token(self, team: str, user: str) -> str:
        made = self.http.post("/tokens", headers=self.operator, json={"user": user, "team": team, "role": "member"}).raise_for_status()
        return msgspec.json.decode(made.content, type=access_api.MadeToken).token

    # what it knows

    def is_ready(self) -> bool:
        """All that it depends on answers."""
        try:
            return self.http.get("/readyz", timeout=3).status_code == 200
        except httpx2.HTTPError:
            return False

    def serves(self) -> bool:
        try:
            return self.http.get("/healthz", timeout=1).status_code == 200
        except httpx2.HTTPError:
            return False

    def health(self) -> api.Health | None:
        """None while it can't be had."""
        try:
            return msgspec.json.decode(self.http.get("/health", headers=self.operator).raise_for_status().content, type=api.Health)
        except (httpx2.HTTPError, msgspec.DecodeError):
            return None

    def dead(self) -> int:
        """Dead letters; -1 while they can't be counted."""
        health = self.health()
        return -1 if health is None or health.dead is None else health.dead

    def redis_kilobytes(self) -> float:
        """What it holds."""
        with contextlib.closing(self.redis()) as client:
            return float(client.info("memory")["used_memory"]) / 1000

    def jobs_of(self, turn: str) -> list[str]:
        """Keys of the turn's jobs in Redis: those that are there (dead ones, too) and those that were done. For following up one that is missing."""
        with contextlib.closing(self.redis()) as client:
            return sorted(key.decode() for key in client.scan_iter(f"brb:job:*{turn}*", count=10_000))

    def idle(self) -> bool:
        """All is well, and nothing is left to be learnt."""
        health = self.health()
        return self.is_ready() and health is not None and not any(health.pending.values()) and not health.spooled

    def kept(self, people: Sequence[Person]) -> list[Kept]:
        """Every memory that each of them sees of his own; one of another is his who sees it, and so is found out."""
        found: list[Kept] = []
        for person in people:
            offset = 0
            while True:
                query = {"status": "all", "limit": str(_PAGE), "offset": str(offset)}
                answer = self.http.get("/memories", headers={"x-brb-key": person.key}, params=query).raise_for_status()
                page = msgspec.json.decode(answer.content, type=api.Memories)
                found += [
                    Kept(frozenset(upstream.WORD.findall(one.text)), person.name, one.status == "current", one.mentions, len(one.evidence))
                    for one in page.memories
                ]
                offset += _PAGE
                if offset >= page.total:
                    break
        return found


def qdrant(made: Installation) -> contextlib.AbstractContextManager[str]:
    """The address of what answers as a Qdrant server does, as far as BRB asks: there is no server in any package."""
    return printing("tests.support.qdrant_rest", made.folder)


@contextlib.contextmanager
def llama(made: Installation) -> Iterator[Path]:
    """The embedding server as `brb up` starts it, but beside it: the socket that it listens on."""
    made.settings.run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    program = next(each for each in programs.programs(made.settings, models.ensure(made.settings)) if each.name == "llama")
    with (made.folder / "llama.log").open("ab") as log:
        process = subprocess.Popen(program.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def ready() -> bool | None:
        try:
            return program.ready() or None
        except Exception:  # whatever its client raises while it isn't up yet
            return None

    try:
        until(ready, "llama.cpp was not ready", 60)
        yield made.settings.llama_socket
    finally:
        process.terminate()
        process.wait(10)
