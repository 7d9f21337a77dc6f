"""The running stack of the check: Compose's commands, a person who talks through the proxy, and what is seen from outside."""

import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import httpx2

from tests.compose import engine

T = TypeVar("T")

_LOOPBACK = ("127.0.0.1", "::1")
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


def until(found: Callable[[], T | None], complaint: str, seconds: float) -> T:
    """Ask again and again until there is an answer."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            result = found()
        except httpx2.HTTPError:
            result = None
        if result is not None:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"{complaint} within {seconds:.0f} s")
        time.sleep(0.1)


class Stack:
    """files: of deploy/ and of this check, in the order of merging. settings: variables that they name."""

    def __init__(self, docker: engine.Docker, files: Sequence[Path], settings: Mapping[str, str]) -> None:
        self.docker = docker
        self._compose = [engine.compose_binary(), "--project-name", engine.NAME, *(f"--file={file}" for file in files)]
        kept = {name: value for name, value in docker.environment.items() if not name.startswith(("BRB_", "ANTHROPIC_"))}
        self.port, self.prometheus_port = _free_port(), _free_port()
        self.settings = {**kept, **settings, "BRB_PORT": str(self.port), "PROMETHEUS_PORT": str(self.prometheus_port)}
        self.http = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", trust_env=False, timeout=20)
        self.prometheus = httpx2.Client(base_url=f"http://127.0.0.1:{self.prometheus_port}", trust_env=False, timeout=20)

    def compose(self, *arguments: str, seconds: float = 300) -> str:
        done = subprocess.run([*self._compose, *arguments], cwd="/", env=self.settings, capture_output=True, text=True, timeout=seconds)
        if done.returncode:
            raise AssertionError(f"docker-compose {' '.join(arguments)}: {done.stderr[-3000:]}")
        return done.stdout

    def up(self, *options: str) -> float:
        """Everything healthy; the seconds that took."""
        started = time.monotonic()
        self.compose("up", "--detach", "--no-build", "--wait", *options)
        return time.monotonic() - started

    def containers(self, service: str = "") -> list[dict[str, Any]]:
        """What the engine says of each running container, or of each of one service."""
        of = [f"--filter=label=com.docker.compose.service={service}"] if service else []
        found = self.docker("ps", "--quiet", f"--filter=label=com.docker.compose.project={engine.NAME}", *of).split()
        return json.loads(self.docker("inspect", *found)) if found else []

    def complaints(self) -> str:
        """The last lines of every log, and what the health checks of those that are not healthy said."""
        said = [self.compose("logs", "--no-color", "--tail=40")]
        for container in self.containers():
            health = container["State"].get("Health", {})
            if health.get("Status") not in (None, "healthy"):
                said += [f"{container['Name']} is {health['Status']}", *(f"  {run['ExitCode']}: {run['Output'].strip()}" for run in health["Log"])]
        return "\n".join(said)

    def crash(self, service: str) -> float:
        """SIGKILL from the host, as when memory runs out: the engine's own `kill` would count as wanted. Seconds until it is healthy again."""
        [container] = self.containers(service)
        started = time.monotonic()
        os.kill(container["State"]["Pid"], signal.SIGKILL)

        def again() -> bool | None:
            now = self.containers(service)
            fresh = now and now[0]["State"]["Pid"] not in (0, container["State"]["Pid"])
            return True if fresh and now[0]["State"].get("Health", {}).get("Status") == "healthy" else None

        until(again, f"{service} was not healthy again", 120)
        return time.monotonic() - started

    def listeners(self) -> list[str]:
        """Addresses beyond loopback that one of the stack's ports is published at."""
        ports = [at for container in self.containers() for published in container["NetworkSettings"]["Ports"].values() for at in published or ()]
        assert {str(self.port), str(self.prometheus_port)} <= {at["HostPort"] for at in ports}
        open_ports = {at["HostPort"] for at in ports}
        seen = [(at["HostIp"], at["HostPort"]) for at in ports] + [at for at in _listening() if at[1] in open_ports]
        return [f"{host}:{port}" for host, port in seen if host not in _LOOPBACK]

    def memory(self) -> dict[str, str]:
        rows = self.docker("stats", "--no-stream", "--format", "{{.Name}}\t{{.MemUsage}}").splitlines()
        return {name: used.partition(" / ")[0] for name, _, used in (row.partition("\t") for row in sorted(rows)) if name.startswith(engine.NAME)}

    def down(self, *options: str) -> None:
        self.compose("down", "--remove-orphans", *options)


class Person:
    """Who talks through the proxy. `said` is every fact that was answered, by the made-up word that only it has."""

    def __init__(self, http: httpx2.Client, seed: int = 7) -> None:
        self._http = http
        self._random = random.Random(seed)
        self.said: dict[str, str] = {}

    def state(self) -> str:
        """Say something new; the word that it will be known by."""
        about, word = self._word(), self._word()
        self._call(f"The staging server of {about} is called {word}.")
        self.said[word] = about
        return word

    def told(self, word: str) -> bool:
        """Ask in a new conversation; whether the call was told of it."""
        return int(self._call(f"What is the staging server of {self.said[word]} called?").headers["x-brb-memories"]) > 0

    def known(self) -> dict[str, int]:
        """How many current memories hold each word that was said."""
        texts: list[str] = []
        while True:
            page = self._http.get("/memories", params={"limit": 200, "offset": len(texts)}).raise_for_status().json()["memories"]
            texts += [memory["text"] for memory in page]
            if not page:
                return {word: sum(word in text for text in texts) for word in self.said}

    def all_known(self, seconds: float = 90) -> float:
        """Wait until everything said is a memory, and each thing once; the seconds that took."""
        started = time.monotonic()
        until(lambda: True if all(self.known().values()) else None, "not everything that was said became a memory", seconds)
        counts = self.known()
        assert set(counts.values()) == {1}, f"more than one memory of {[word for word, count in counts.items() if count > 1]}"
        return time.monotonic() - started

    def _call(self, words: str) -> httpx2.Response:
        body = {"model": "claude-sonnet-5", "max_tokens": 100, "messages": [{"role": "user", "content": words}]}
        return self._http.post("/v1/messages", json=body, headers={"x-api-key": "none", "anthropic-version": "2023-06-01"}).raise_for_status()

    def _word(self) -> str:
        return "".join(self._random.choices(_SYLLABLES, k=4)).capitalize() + self._random.choice("xkrn")


@contextlib.contextmanager
def outside() -> Iterator[tuple[str, int]]:
    """The address of something beyond this machine, as far as containers can tell: in a network namespace that knows the way to this machine's
    address alone. What comes from a container's own address is not answered, as on the internet."""
    name, ours, theirs, port = "brb-compose-out", "brbout0", "brbout1", 8000
    _ip("netns", "add", name)
    try:
        _ip("link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", name)
        _ip("address", "add", "198.51.100.1/24", "dev", ours)
        _ip("link", "set", ours, "up")
        _ip("-n", name, "address", "add", "198.51.100.2/24", "dev", theirs)
        _ip("-n", name, "link", "set", theirs, "up")
        command = ["ip", "netns", "exec", name, sys.executable, "-m", "http.server", str(port), "--directory=/proc/self/ns", "--bind", "198.51.100.2"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                until(lambda: _answers(("198.51.100.2", port)), "nothing answers outside", 20)
                yield "198.51.100.2", port
            finally:
                server.terminate()
    finally:
        _ip("netns", "delete", name)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


def _answers(address: tuple[str, int]) -> bool | None:
    try:
        socket.create_connection(address, 1).close()
    except OSError:
        return None
    return True


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _listening() -> list[tuple[str, str]]:
    """Addresses and ports of every listening TCP socket of this machine."""
    lines = subprocess.run(["ss", "--no-header", "--listening", "--tcp", "--numeric"], capture_output=True, text=True, check=True).stdout
    return [(found[1].strip("[]"), found[2]) for found in re.finditer(r"^\S+\s+\d+\s+\d+\s+(\S+):(\d+)", lines, re.MULTILINE)]
