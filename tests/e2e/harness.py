"""A BRB as a person runs it (`brb up` in a folder of its own), people who talk through it, and what to look at afterwards."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anthropic
import httpx2
import msgspec
import psutil
import redis

from services.core import api, block, config
from services.embedded import standin, supervisor

T = TypeVar("T")

RECALL_DEADLINE_MS = 1000  # the default of 400 ms is for a machine that isn't also running tests
LEASE_SECONDS = 3
CLIENT_KEY = "sk-ant-api03-" + "the-key-of-the-client-" * 4 + "0123AA"

_ZEROS = bytes(2**16)
_JSON_STRING = rb'"(?:[^"\\]|\\.)*"'
_BLOCK = rb',\s*\{"type":\s*"text",\s*"text":\s*"' + block.OPEN.encode() + rb'(?:[^"\\]|\\.)*"\}'


def until(found: Callable[[], T | None], complaint: str, seconds: float = 30.0) -> T:
    """Ask again and again until there is an answer."""
    deadline = time.monotonic() + seconds
    while True:
        result = found()
        if result is not None:
            return result
        assert time.monotonic() < deadline, f"{complaint} within {seconds:.0f} s"
        time.sleep(0.05)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Brb:
    """One installation: a data folder, a port, and the `brb` command with these settings."""

    def __init__(self, folder: Path, upstream: str, **environment: str) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.data.mkdir(parents=True)
        shared = config.load().models_dir
        shared.mkdir(parents=True, exist_ok=True)
        (self.data / "models").symlink_to(shared, target_is_directory=True)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("BRB_", "ANTHROPIC_"))}
        self.environment = kept | {
            "BRB_DATA_DIR": str(self.data),
            "BRB_PORT": str(self.port),
            "BRB_ANTHROPIC_URL": upstream,
            "BRB_OPENAI_URL": upstream,
            "BRB_RECALL_DEADLINE_MS": str(RECALL_DEADLINE_MS),
            "BRB_LEASE_SECONDS": str(LEASE_SECONDS),
            **environment,
        }
        self.settings = config.load(data_dir=self.data, port=self.port)
        self.http = httpx2.Client(base_url=self.url, trust_env=False, timeout=30)
        self._process: subprocess.Popen[bytes] | None = None

    # the command

    def command(self, *arguments: str, seconds: float = 90, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run `brb …` to its end."""
        return subprocess.run(
            [sys.executable, "-m", "services.cli", *arguments],
            cwd=self.folder,
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
        )

    def start(self, seconds: float = 120) -> float:
        """`brb up` in the foreground; how many seconds until everything was ready."""
        started = time.monotonic()
        with (self.folder / "up.log").open("ab") as output:
            process = self._process = subprocess.Popen(
                [sys.executable, "-m", "services.cli", "up"],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

        def ready() -> bool | None:
            assert process.poll() is None, (self.folder / "up.log").read_text()
            state = supervisor.state(self.settings)
            return True if state is not None and state.ready and state.pid == process.pid else None

        until(ready, "BRB was not ready", seconds)
        return time.monotonic() - started

    def interrupt(self, seconds: float = 60) -> int:
        """Ctrl-C; the exit status."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(seconds)

    def close(self) -> None:
        """End whatever runs, at once: how it stops is shown where it is stopped."""
        self.http.close()
        if self._process is not None and self._process.poll() is None:
            watching = psutil.Process(self._process.pid)
            watching.suspend()  # it would start again what ends
            for one in (*watching.children(recursive=True), watching):
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.kill()
            self._process.wait(10)
        elif supervisor.state_path(self.settings).exists():
            self.command("down")

    # its processes

    @property
    def state(self) -> supervisor.State:
        state = supervisor.state(self.settings)
        assert state is not None, "BRB is not running"
        return state

    def tree(self, name: str) -> list[psutil.Process]:
        """The processes of one part."""
        leader = psutil.Process(self.state.processes[name])
        return [leader, *leader.children(recursive=True)]

    def everything(self) -> list[psutil.Process]:
        state = self.state
        parts = [process for name in state.processes for process in self.tree(name)]
        return list({process.pid: process for process in [psutil.Process(state.pid), *parts]}.values())

    def kill(self) -> None:
        """SIGKILL for all of BRB at once, as a power cut does it."""
        processes = self.everything()
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        if self._process is not None:
            self._process.wait(10)
        psutil.wait_procs(processes, timeout=10)

    def kill_part(self, name: str) -> None:
        """SIGKILL for one part, and wait until the supervisor has started it again."""
        before = self.state.processes[name]
        for process in self.tree(name):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        until(lambda: True if self.state.processes[name] != before else None, f"{name} was not started again")
        self.healthy()

    @contextlib.contextmanager
    def stopped(self, name: str) -> Iterator[None]:
        """A part that hangs: SIGSTOP, and SIGCONT at the end."""
        processes = self.tree(name)
        for process in processes:
            process.suspend()
        try:
            yield
        finally:
            for process in processes:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.resume()

    def redis(self) -> "redis.Redis[bytes]":
        return redis.Redis.from_url(self.settings.redis_address)

    # what it knows

    def healthy(self, seconds: float = 60) -> None:
        def ok() -> bool | None:
            with contextlib.suppress(httpx2.TransportError):
                return self.http.get("/readyz").status_code == 200 or None
            return None

        until(ok, "BRB did not get well again", seconds)

    def health(self) -> api.Health:
        return msgspec.json.decode(self.http.get("/health").content, type=api.Health)

    def memories(self, status: str = "current") -> tuple[api.Memory, ...]:
        answer = self.http.get("/memories", params={"status": status, "limit": "1000"}).raise_for_status()
        return msgspec.json.decode(answer.content, type=api.Memories).memories

    def texts(self) -> list[str]:
        return sorted(memory.text for memory in self.memories())

    def memory(self, words: str, seconds: float = 30) -> api.Memory:
        """Wait for the one current memory that says these words."""

        def found() -> api.Memory | None:
            saying = [memory for memory in self.memories() if _says(memory.text, words)]
            assert len(saying) < 2, [memory.text for memory in saying]
            return saying[0] if saying else None

        return until(found, f"no memory of {words!r}", seconds)

    def history(self, memory: api.Memory) -> tuple[api.Memory, ...]:
        answer = self.http.get(f"/memories/{memory.id}/history").raise_for_status()
        return msgspec.json.decode(answer.content, type=api.Lineage).memories

    def worked_off(self, turn: str, seconds: float = 30) -> None:
        """Wait until a turn is learnt to the end, whatever was learnt."""

        with contextlib.closing(self.redis()) as connection:
            until(lambda: connection.exists(f"brb:job:done:learn_turn-{turn}") or None, f"turn {turn} was not learnt", seconds)
        self.idle(seconds)

    def idle(self, seconds: float = 60) -> None:
        """Wait until nothing is left to be learnt."""

        def done() -> bool | None:
            health = self.health()
            return None if any(health.pending.values()) or health.spooled else True

        until(done, "there is still work", seconds)

    def forget_everything(self) -> None:
        for memory in self.memories("all"):
            self.http.delete(f"/memories/{memory.id}")
        assert not self.memories("all")


@dataclass(frozen=True)
class Call:
    """One call through BRB: the body as the client sent it and as it arrived upstream, the answer, and BRB's own headers on it."""

    sent: bytes
    received: bytes
    answer: str
    memories: int
    turn: str
    seconds: float

    @property
    def blocks(self) -> list[str]:
        """The inserted texts, in the order of the conversation."""
        return [text for message in json.loads(self.received)["messages"] for text in _texts(message) if text.startswith(block.OPEN)]

    @property
    def without_blocks(self) -> bytes:
        """What arrived, less the inserted blocks, byte for byte. A string that became a list is a string again."""
        from_strings = re.sub(rb'\[\{"type":\s*"text",\s*"text":\s*(' + _JSON_STRING + rb")\}" + _BLOCK + rb"\]", rb"\1", self.received)
        return from_strings if from_strings == self.sent else re.sub(_BLOCK, b"", self.received)


class Person:
    """Somebody in a conversation of their own, with the `anthropic` SDK."""

    def __init__(self, brb: Brb, upstream: standin.StandIn, *, project: str = "", as_list: bool = False) -> None:
        self._brb = brb
        self._upstream = upstream
        self._as_list = as_list
        self._bodies: list[bytes] = []
        self.messages: list[Any] = []
        headers = {"x-claude-code-session-id": str(uuid.uuid4())} | ({"x-brb-project": project} if project else {})
        transport = anthropic.DefaultHttpxClient(trust_env=False, event_hooks={"request": [lambda request: self._bodies.append(request.content)]})
        self._sdk = anthropic.Anthropic(
            base_url=brb.url, api_key=CLIENT_KEY, max_retries=0, timeout=60, default_headers=headers, http_client=transport
        )

    def __enter__(self) -> "Person":
        return self

    def __exit__(self, *_: object) -> None:
        self._sdk.close()

    def say(self, words: str, **options: Any) -> Call:
        """One more human turn of this conversation."""
        self.messages.append({"role": "user", "content": [{"type": "text", "text": words}] if self._as_list else words})
        return self.call(**options)

    def call(self, **options: Any) -> Call:
        """Send the conversation as it stands, and take the answer into it."""
        started = time.monotonic()
        with self._sdk.messages.stream(model="claude-x", max_tokens=100, messages=self.messages, **options) as stream:
            answer = stream.get_final_text()
            headers = stream.response.headers
        took = time.monotonic() - started
        self.messages.append({"role": "assistant", "content": answer})
        received = self._upstream.recorded[-1].body
        return Call(self._bodies[-1], received, answer, int(headers.get("x-brb-memories", "0")), headers.get("x-brb-turn", ""), took)


def scripted(**script: object) -> dict[str, str]:
    """Headers that tell the stand-in how to answer."""
    return {"x-standin": json.dumps(script)}


def alive(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    return [process for process in processes if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


def files_of(folder: Path) -> Mapping[Path, bytes]:
    """Every file below, with its bytes (stretches of zeros left out: stores reserve much room), links not followed."""
    found = {}
    for path in (Path(inside, name) for inside, _, names in os.walk(folder) for name in names):  # folders may go meanwhile
        with contextlib.suppress(FileNotFoundError):
            if path.is_file() and not path.is_symlink():
                with path.open("rb", buffering=2**20) as file:
                    pages = iter(lambda: file.read(len(_ZEROS)), b"")
                    found[path] = b"".join(b"\0" if page == _ZEROS else page for page in pages)
    return found


def _says(text: str, words: str) -> bool:
    return re.search(rf"\b{re.escape(words)}\b", text) is not None


def _texts(message: Mapping[str, Any]) -> list[str]:
    content = message["content"]
    return [content] if isinstance(content, str) else [piece["text"] for piece in content if isinstance(piece, dict) and "text" in piece]
