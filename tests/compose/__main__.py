"""`make compose-test`: the stack for small teams, run for real and treated badly. Prints what was seen; fails at the first thing that is wrong."""

import argparse
import contextlib
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ops.security import audit
from services.core import config
from services.embedded import models
from tests.compose import engine, stack
from tests.support import chat_model as small_model

_DEPLOY = engine.ROOT / "deploy"
_ADDED = Path(__file__).with_name("compose.test.yml")
_EDGE = (_DEPLOY / "docker-compose.yml", _DEPLOY / "compose.edge.yml", _ADDED)
_CLUSTER = (_DEPLOY / "docker-compose.yml", _DEPLOY / "compose.team.yml", _ADDED)
_ARRANGEMENTS = ("edge", "cluster")
_LONG_RUNNING = ("proxy", "worker", "beat", "redis", "llama-embed", "llama-extract", "prometheus")
_KILLED = ("redis", "worker", "proxy", "llama-embed", "beat")
_JOBS = {"proxy", "worker", "beat", "llama-embed", "llama-extract", "prometheus"}


class Report:
    """Figures as they come, and what they mean."""

    def __init__(self) -> None:
        self.figures: dict[str, float | str] = {}

    def __call__(self, what: str, value: float | str, unit: str = "") -> None:
        self.figures[what] = value
        shown = f"{value:.1f}" if isinstance(value, float) else value
        print(f"{what:<58} {shown} {unit}".rstrip(), flush=True)

    def holds(self, what: str) -> None:
        print(f"ok: {what}", flush=True)


def check(docker: engine.Docker, folder: Path, report: Report, arrangements: Sequence[str]) -> None:
    images = engine.build(docker, folder)
    report("image built in", images.build_seconds, "s")
    report("image size, with its base", images.size_bytes / 1e6, "MB")
    _holds_no_secret(docker, images.brb, folder, report)
    settings = _settings(images, _model_files(folder))
    if "edge" in arrangements:
        with _torn_down(stack.Stack(docker, _EDGE, settings)) as running:
            _is_for_a_small_team(running, report, lambda: engine.rebuild(docker, folder, images, "two"))
    if "cluster" in arrangements:
        with _torn_down(stack.Stack(docker, _CLUSTER, settings)) as running:
            _is_a_cluster(running, report)


def _is_for_a_small_team(running: stack.Stack, report: Report, rebuilt: Callable[[], str]) -> None:
    person = stack.Person(running.http)
    report("from nothing to all healthy", running.up(), "s")
    _is_hardened(running, report)
    _learns(running, person, report)
    stack.until(lambda: _asked_the_model(running), "the language model was not asked", 120)
    report.holds("the language model reads the turn, too")
    _learns_beside_the_model(running, person, report)
    running.settings["BRB_EXTRACTOR"] = "rules"  # it would have both cores for the rest of the check
    _scales(running, person, report)
    _survives(running, person, report)
    _shows_memory(running, report)
    _is_upgraded(running, person, report, rebuilt())
    _stops(running, person, report)


@contextlib.contextmanager
def _torn_down(running: stack.Stack) -> Iterator[stack.Stack]:
    """With nothing before and nothing after; the logs are shown if it fails."""
    running.down("--volumes")
    try:
        yield running
    except BaseException:
        print(running.complaints(), file=sys.stderr)
        raise
    finally:
        running.down("--volumes", "--timeout=5")


def _settings(images: engine.Images, files: Path) -> dict[str, str]:
    upstream = "http://standin:8000"
    return {
        "APP_IMAGE": images.brb,
        "BRB_TEST_TOOLS": images.tools,
        "LLAMA_IMAGE": images.tools,
        "REDIS_IMAGE": images.redis,
        "PROMETHEUS_IMAGE": images.prometheus,
        "QDRANT_IMAGE": images.qdrant,
        "PUBLISH_ADDRESS": "127.0.0.1",
        "BRB_ALLOWED_HOSTS": "localhost",
        "MODELS_VOLUME": str(files),
        "BRB_EMBED_MODEL": "all-MiniLM-L6-v2",
        "EMBED_FILE": "all-MiniLM-L6-v2-f32.gguf",
        "BRB_EXTRACT_MODEL": f"/data/models/{small_model.model().name}",
        "EXTRACT_FILE": small_model.model().name,
        "BRB_ANTHROPIC_URL": upstream,
        "BRB_OPENAI_URL": upstream,
        "BRB_RECALL_DEADLINE_MS": "2000",  # the default of 400 ms is for a machine that does nothing else
    }


def _model_files(folder: Path) -> Path:
    """A folder of the models that come in packages, readable by the containers' user."""
    files = folder / "models"
    files.mkdir(exist_ok=True)
    files.chmod(0o755)
    for source in (models.ensure(config.Settings(data_dir=config.load().data_dir))["all-MiniLM-L6-v2"], small_model.model()):
        shutil.copy(source, files / source.name)
        (files / source.name).chmod(0o644)
    return files


def _holds_no_secret(docker: engine.Docker, image: str, folder: Path, report: Report) -> None:
    """In no layer: what a later one removes is in the image still."""
    saved = folder / "image.tar"
    docker("save", f"--output={saved}", image)
    found = audit.in_the_image(saved)
    saved.unlink()
    assert not found, found
    report.holds("no secret is in any layer of the image")


def _is_hardened(running: stack.Stack, report: Report) -> None:
    for container in running.containers():
        name, host = container["Name"], container["HostConfig"]
        if "standin" in name:
            continue
        assert container["Config"]["User"] == "10001:10001", name
        assert running.docker("exec", container["Id"], "sh", "-c", "id -u") == "10001", name
        refused = running.docker("exec", container["Id"], "sh", "-c", "touch /probe 2>/dev/null || echo refused")
        assert refused == "refused", f"{name} writes to its root"
        assert host["CapDrop"] == ["ALL"], name
        assert host["Memory"] > 0, name
        assert host["NanoCpus"] > 0, name
        status = running.docker("exec", container["Id"], "sh", "-c", "cat /proc/1/status")
        assert "NoNewPrivs:\t1" in status, name
        assert "CapEff:\t0000000000000000" in status, name
    report.holds("every process is uid 10001 without capabilities, on a root that it can't write to")
    assert not running.listeners(), running.listeners()
    report.holds("nothing listens beyond loopback")
    [redis] = running.containers("redis")
    password = running.docker("exec", redis["Id"], "cat", "/secrets/redis_password")
    assert len(password) > 30
    assert all(password not in json.dumps(container) for container in running.containers())
    assert password not in running.docker("top", redis["Id"])
    report.holds("no secret is in the environment or the arguments of a container")
    with stack.outside() as address:
        reach = f"import socket\ntry: socket.create_connection({address}, 3)\nexcept OSError: print('no way out')"
        for service in ("proxy", "worker", "beat", "prometheus"):
            container = running.containers(service)[0]
            said = running.docker("exec", container["Id"], "python3", "-c", reach)
            assert said == ("" if service == "proxy" else "no way out"), service
    report.holds("the proxy has a way out; worker, beat and Prometheus have none")


def _learns(running: stack.Stack, person: stack.Person, report: Report, jobs: set[str] = _JOBS) -> None:
    started = time.monotonic()
    word = person.state()
    person.all_known()
    report("from the first answer to its memory", time.monotonic() - started, "s")
    stack.until(lambda: True if person.told(word) else None, "a new conversation was not told", 30)
    report.holds("a new conversation is told what an earlier one said")
    up = stack.until(lambda: _jobs_up(running) if _jobs_up(running) >= jobs else None, "Prometheus did not see everything", 90)
    report.holds(f"Prometheus reads {', '.join(sorted(up))}")


def _jobs_up(running: stack.Stack) -> set[str]:
    targets = running.prometheus.get("/api/v1/targets").raise_for_status().json()["data"]["activeTargets"]
    return {target["labels"]["job"] for target in targets if target["health"] == "up"}


def _learns_beside_the_model(running: stack.Stack, person: stack.Person, report: Report) -> None:
    for _ in range(6):
        person.state()
    report("6 turns, while the language model reads them, learnt in", person.all_known(), "s")
    assert running.http.get("/health").json()["pending"]["patient"] > 0, "the model was faster than those who look: nothing is shown by that"
    report.holds("no turn waits for the language model")


def _asked_the_model(running: stack.Stack) -> bool | None:
    asked = {"query": 'llamacpp:tokens_predicted_total{job="llama-extract"} > 0'}
    return True if running.prometheus.get("/api/v1/query", params=asked).raise_for_status().json()["data"]["result"] else None


def _scales(running: stack.Stack, person: stack.Person, report: Report) -> None:
    report("second worker healthy after", running.up("--scale=worker=2"), "s")
    for _ in range(6):
        person.state()
    report("6 turns learnt by two workers in", person.all_known(), "s")

    def both() -> bool | None:
        [found] = running.prometheus.get("/api/v1/query", params={"query": 'count(up{job="worker"} == 1)'}).json()["data"]["result"] or [None]
        return True if found and found["value"][1] == "2" else None

    stack.until(both, "Prometheus did not find the second worker", 60)
    report.holds("Prometheus reads both workers")
    running.up("--scale=worker=1")


def _survives(running: stack.Stack, person: stack.Person, report: Report) -> None:
    for service in _KILLED:
        person.state()
        seconds = running.crash(service)
        report(f"{service} killed, healthy again after", seconds, "s")
        person.state()
        report("  and all that was said is known after another", person.all_known(), "s")
    # what is said while Redis is away waits on the proxy's disk
    running.compose("stop", "redis")
    for _ in range(3):
        person.state()
    running.compose("start", "redis")
    report("Redis away for 3 turns: all known after its return in", person.all_known(), "s")
    report.holds(f"{len(person.said)} turns, {len(person.said)} memories")


def _is_upgraded(running: stack.Stack, person: stack.Person, report: Report, image: str) -> None:
    word = person.state()
    running.settings["APP_IMAGE"] = image
    report("upgraded in place in", running.up(), "s")
    for service in ("proxy", "worker", "beat"):
        [container] = running.containers(service)
        assert container["Config"]["Labels"]["org.opencontainers.image.version"] == "two", service
    person.all_known()
    assert person.told(word)
    report.holds(f"after the upgrade all {len(person.said)} memories are there")


def _stops(running: stack.Stack, person: stack.Person, report: Report) -> None:
    person.state()
    for service in _LONG_RUNNING:
        ids = [container["Id"] for container in running.containers(service)]
        started = time.monotonic()
        running.compose("stop", service)
        report(f"{service} stopped in", time.monotonic() - started, "s")
        for each in ids:
            status = running.docker("inspect", "--format", "{{.State.ExitCode}}", each)
            assert status == "0" or service.startswith("llama"), f"{service} ended with {status}"
    running.down()
    report("started again, with its volumes, in", running.up(), "s")
    person.all_known()
    report.holds("after a stop and a start nothing is lost")


def _shows_memory(running: stack.Stack, report: Report) -> None:
    for name, used in running.memory().items():
        report(f"memory of {name.removeprefix(engine.NAME + '-')}", used)


def _is_a_cluster(running: stack.Stack, report: Report) -> None:
    """Every part by itself, for a team. What stands for Qdrant keeps nothing, so that it and all are never restarted."""
    running.settings["BRB_EXTRACTOR"] = "rules"
    report("cluster: from nothing to all healthy", running.up("--scale=worker=2", "--scale=indexer=2"), "s")
    _is_hardened(running, report)
    assert running.http.get("/memories").status_code == 401
    made = running.compose("exec", "-T", "proxy", "brb", "token", "create", "ana", "--team=acme", "--role=admin", "--json")
    running.http.headers["X-BRB-Key"] = json.loads(made)["token"]
    person = stack.Person(running.http)
    _learns(running, person, report, jobs=_JOBS | {"indexer", "qdrant"})
    for _ in range(6):
        person.state()
    report("cluster: 6 turns learnt by two workers and two indexers in", person.all_known(), "s")
    running.up("--scale=worker=1", "--scale=indexer=1")
    for service in ("indexer", "worker", "redis"):
        person.state()
        report(f"cluster: {service} killed, healthy again after", running.crash(service), "s")
        person.state()
        report("  and all that was said is known after another", person.all_known(), "s")
    report.holds(f"{len(person.said)} turns, {len(person.said)} memories, each by a call with a token")
    _shows_memory(running, report)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make compose-test", description=__doc__)
    parser.add_argument("--dir", type=Path, help="work here, and keep the engine's images for the next time")
    parser.add_argument("--only", action="append", choices=_ARRANGEMENTS, help="this arrangement; without it, both")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory(prefix="brb-compose-", dir="/var/tmp") as temporary:
        folder = options.dir or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
        try:
            with engine.running(folder / "engine") as docker:
                check(docker, folder, report, options.only or _ARRANGEMENTS)
        except engine.Missing as missing:
            sys.exit(f"error: {missing}")
    if options.json:
        options.json.write_text(json.dumps(report.figures, indent=1) + "\n")
    print("the stack holds")


if __name__ == "__main__":
    main()
