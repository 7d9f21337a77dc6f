"""BRB as a cluster runs it: two of each process but the beat, over one Redis and what answers like a Qdrant server."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx2
import pytest
import redis
from prometheus_client.parser import text_string_to_metric_families

from services.core import config, messages
from services.embedded import standin
from tests.conftest import ROOT, wait_until
from tests.support import qdrant_rest

SECRET = "a-secret-of-tests"
PARTS = ("proxy", "proxy-2", "worker", "indexer", "indexer-2", "beat")
GRACE_SECONDS = 40


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Cluster:
    """Processes by name: `proxy-2` is the second proxy. All share a data folder, as containers share a volume, but no runtime folder."""

    def __init__(self, folder: Path, upstream: standin.StandIn, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.upstream = upstream
        self.ports = {part: free_port() for part in PARTS}
        self.metrics_ports = {part: free_port() for part in PARTS}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._environment = environment

    def environment(self, part: str) -> dict[str, str]:
        return config.environment_without_settings() | {
            **self._environment,
            "BRB_DATA_DIR": str(self.folder / "data"),
            "BRB_RUNTIME_DIR": str(self.folder / part),
            "BRB_PORT": str(self.ports[part]),
            "BRB_METRICS_PORT": str(self.metrics_ports[part]),
        }

    def command(self, part: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`brb run …` in the environment of a part."""
        argv = [sys.executable, "-m", "services.cli", "run", *arguments]
        return subprocess.run(argv, cwd=ROOT, env=self.environment(part), capture_output=True, text=True, timeout=60)

    def start(self, part: str) -> None:
        argv = [sys.executable, "-m", "services.cli", "run", part.partition("-")[0]]
        with (self.folder / f"{part}.log").open("ab") as log:
            self.processes[part] = subprocess.Popen(argv, cwd=ROOT, env=self.environment(part), stdout=log, stderr=log)

    def log(self, part: str) -> str:
        return (self.folder / f"{part}.log").read_text()

    def lives(self, part: str) -> bool:
        assert self.processes[part].poll() is None, self.log(part)
        return self.command(part, "healthcheck", part.partition("-")[0]).returncode == 0

    def begin(self, *parts: str) -> None:
        """Start them, and wait until all give a sign of life."""
        for part in parts:
            self.start(part)
        for part in parts:
            try:
                wait_until(lambda part=part: self.lives(part), seconds=180)
            except AssertionError:
                pytest.fail(f"{part} does not live: {self.log(part)[-3000:]}")

    def url(self, part: str) -> str:
        return f"http://127.0.0.1:{self.ports[part]}"

    def say(self, part: str, words: str) -> str:
        """What the upstream was told when the person said so through this proxy; returns when the answer has come whole."""
        body = {"model": "claude-x", "max_tokens": 10, "messages": [{"role": "user", "content": words}]}
        headers = {"x-api-key": "k", "x-brb-project": "boats"}
        answer = httpx2.post(f"{self.url(part)}/v1/messages", json=body, headers=headers, trust_env=False, timeout=30)
        assert answer.status_code == 200, answer.text
        return self.upstream.recorded[-1].body.decode()

    def texts(self, part: str) -> list[str]:
        found = json.loads(httpx2.get(f"{self.url(part)}/memories", trust_env=False, timeout=10).text)
        return [memory["text"] for memory in found["memories"]]

    def sum(self, name: str, **labels: str) -> float:
        """Of a counter, over all processes that live."""
        total = 0.0
        for part, process in self.processes.items():
            if process.poll() is None:
                answer = httpx2.get(f"http://127.0.0.1:{self.metrics_ports[part]}/metrics", trust_env=False, timeout=30)
                assert answer.status_code == 200, self.log(part)[-2000:]
                samples = (sample for family in text_string_to_metric_families(answer.text) for sample in family.samples)
                total += sum(s.value for s in samples if s.name == name and labels.items() <= s.labels.items())
        return total

    def kill(self, part: str) -> None:
        self.processes[part].kill()
        self.processes[part].wait(10)

    def close(self) -> dict[str, int]:
        """SIGTERM for all; their exit statuses."""
        for process in self.processes.values():
            process.terminate()
        try:
            return {part: process.wait(GRACE_SECONDS) for part, process in self.processes.items()}
        finally:
            for process in self.processes.values():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def llama_url(model_files: dict[str, Path]) -> Iterator[str]:
    port = free_port()
    argv = [sys.executable, "-m", "services.embedded.llama", "--model", str(model_files["all-MiniLM-L6-v2"]), "--port", str(port)]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until(lambda: httpx2.get(f"{url}/health", trust_env=False).status_code == 200, seconds=60, ignoring=httpx2.HTTPError)
            yield url
        finally:
            process.terminate()


@pytest.fixture
def cluster(redis_address: str, llama_url: str, tmp_path: Path) -> Iterator[Cluster]:
    secret = tmp_path / "secret_key"
    secret.write_text(SECRET + "\n")
    with qdrant_rest.running(api_key="k") as qdrant, standin.running() as upstream:
        environment = {
            "BRB_REDIS_URL": redis_address,
            "BRB_QDRANT_URL": qdrant.url,
            "BRB_QDRANT_API_KEY": "k",
            "BRB_EMBED_URL": llama_url,
            "BRB_SECRET_KEY_FILE": str(secret),
            "BRB_ANTHROPIC_URL": upstream.url,
            "BRB_RECALL_DEADLINE_MS": "3000",
            "BRB_LEASE_SECONDS": "2",
            "BRB_CANARY": "false",
        }
        made = Cluster(tmp_path, upstream, environment)
        yield made
        made.close()


@pytest.mark.timeout(500)
def test_two_of_each_learn_recall_and_forget_together_and_go_on_without_one(cluster: Cluster, redis_address: str) -> None:
    connection = redis.Redis.from_url(redis_address)
    assert cluster.command("indexer", "init", "--collections").returncode == 0
    cluster.begin(*PARTS)
    wait_until(lambda: httpx2.get(f"{cluster.url('proxy')}/readyz", trust_env=False).status_code == 200, seconds=30)

    cluster.say("proxy", "My boat is called Nautilus.")
    cluster.say("proxy-2", "My dog is called Rex.")
    for proxy in ("proxy", "proxy-2"):
        wait_until(lambda proxy=proxy: len(cluster.texts(proxy)) == 2, seconds=60)
    assert "Nautilus" in cluster.say("proxy-2", "What is my boat called?")

    wait_until(lambda: not any(connection.zcard(f"brb:jobs:added:{queue}") for queue in messages.Lane), seconds=60)
    for task in (messages.Task.LEARN_TURN, messages.Task.STORE_FACTS, messages.Task.TOUCH):
        done = len(connection.keys(f"brb:job:done:{task.removeprefix('brb.')}-*"))
        assert done > 0
        wait_until(lambda task=task, done=done: cluster.sum("brb_task_seconds_count", task=task, outcome="done") == done)
    assert cluster.sum("brb_relay_requests_total") == 3
    assert cluster.sum("brb_build_info") == len(PARTS), "each says what it is"

    cluster.kill("indexer")
    cluster.kill("proxy")
    cluster.say("proxy-2", "My cat is called Mia.")
    wait_until(lambda: len(cluster.texts("proxy-2")) == 3, seconds=60)

    cluster.begin("proxy")
    boat = httpx2.get(f"{cluster.url('proxy')}/memories/search", params={"q": "Nautilus"}, trust_env=False).json()["memories"][0]["id"]
    assert "Nautilus" in cluster.say("proxy", "How is my boat called, then?")
    assert httpx2.delete(f"{cluster.url('proxy-2')}/memories/{boat}", trust_env=False, timeout=30).status_code in (200, 204)
    assert "Nautilus" not in cluster.say("proxy", "Once more: how is my boat called?")

    del cluster.processes["indexer"]
    assert set(cluster.close().values()) <= {0}
    connection.close()


@pytest.mark.timeout(120)
def test_a_proxy_starts_and_serves_while_qdrant_is_away(cluster: Cluster) -> None:
    port = free_port()
    cluster._environment = {**cluster._environment, "BRB_QDRANT_URL": f"http://127.0.0.1:{port}", "BRB_RECALL_DEADLINE_MS": "400"}
    cluster.begin("proxy")
    assert cluster.say("proxy", "My boat is called Nautilus.").endswith('"My boat is called Nautilus."}]}'), "no memory, and the call went through"
    assert "qdrant" in httpx2.get(f"{cluster.url('proxy')}/readyz", trust_env=False, timeout=10).text


@pytest.mark.parametrize("part", ["proxy", "indexer"])
def test_what_is_missing_is_named(part: str, tmp_path: Path) -> None:
    environment = config.environment_without_settings() | {"BRB_DATA_DIR": str(tmp_path), "BRB_REDIS_URL": "redis://127.0.0.1:1"}
    done = subprocess.run([sys.executable, "-m", "services.cli", "run", part], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "BRB_QDRANT_URL, BRB_EMBED_URL" in done.stderr
    assert "BRB_REDIS_URL" not in done.stderr
    assert "brb run embedded" in done.stderr


def test_a_sign_of_life_that_is_old_is_none(tmp_path: Path) -> None:
    environment = config.environment_without_settings() | {"BRB_RUNTIME_DIR": str(tmp_path)}
    check = [sys.executable, "-m", "services.cli", "run", "healthcheck", "worker"]
    sign = tmp_path / "alive-worker"
    assert subprocess.run(check, cwd=ROOT, env=environment, capture_output=True).returncode == 1
    sign.touch()
    assert subprocess.run(check, cwd=ROOT, env=environment, capture_output=True).returncode == 0
    os.utime(sign, (time.time() - 31, time.time() - 31))
    assert subprocess.run(check, cwd=ROOT, env=environment, capture_output=True).returncode == 1
