"""Starting and stopping as a person does it: `brb up`, `status`, `doctor`, `down`, Ctrl-C, and what goes wrong at the start."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import Brb, Person, alive, until

from services.core import config, model_lock
from services.core.adapters import qdrant_edge
from services.embedded import standin


@pytest.fixture
def fresh(tmp_path: Path, upstream: standin.StandIn) -> Iterator[Brb]:
    """A BRB that nobody has started yet."""
    brb = Brb(tmp_path, upstream.url)
    yield brb
    brb.close()


def refused(brb: Brb, *arguments: str, **environment: str) -> str:
    """The one line in which `brb up` says why it won't start."""
    answer = brb.command("up", *arguments, **environment)
    assert answer.returncode == 1, answer
    (line,) = [line for line in answer.stderr.splitlines() if line.startswith("error: ")]
    assert "Traceback" not in answer.stderr
    return line


def test_it_starts_detached_shows_its_state_and_stops_then_starts_again_with_all_memories(fresh: Brb, upstream: standin.StandIn) -> None:
    up = fresh.command("up", "--detach")
    assert up.returncode == 0, up
    assert fresh.url in up.stdout
    assert "ANTHROPIC_BASE_URL" in up.stdout
    processes = fresh.everything()
    assert {"redis", "llama", "worker", "beat", "proxy"} == set(fresh.state.processes)

    status = fresh.command("status", "--json")
    assert (status.returncode, json.loads(status.stdout)["status"]) == (0, "ok")
    doctor = fresh.command("doctor")
    assert doctor.returncode == 0, doctor
    assert "already running" in refused(fresh)
    again = fresh.command("up", "--detach")
    assert (again.returncode, "it runs already, as it was started" in again.stderr) == (0, True)

    with Person(fresh, upstream) as person:
        person.say("My boat is called Nautilus.")
    memory = fresh.memory("Nautilus")
    listed = fresh.command("memories", "list")
    assert "Nautilus" in listed.stdout
    assert "Nautilus" in fresh.command("recall", "What is my boat called?", "--explain").stdout

    assert fresh.command("down").returncode == 0
    assert alive(processes) == []
    assert fresh.command("status").returncode == 3
    assert fresh.command("memories", "list").returncode == 3

    assert fresh.start() < 20  # 10 on a machine that does nothing else
    assert [m.id for m in fresh.memories()] == [memory.id]
    with Person(fresh, upstream) as person:
        assert "Nautilus" in person.say("What is my boat called?").blocks[0]
    processes = fresh.everything()
    assert fresh.interrupt() == 0
    assert alive(processes) == []


def test_a_taken_port_is_one_line_that_names_it(fresh: Brb) -> None:
    with socket.create_server(("127.0.0.1", fresh.port)):
        assert str(fresh.port) in refused(fresh)
        assert "BRB_PORT" in refused(fresh, "--detach")


def test_an_unwritable_data_folder_is_one_line_that_names_it(fresh: Brb, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    line = refused(fresh, BRB_DATA_DIR=str(tmp_path / "file" / "data"))
    assert str(tmp_path / "file") in line
    assert "BRB_DATA_DIR" in line


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_data_folder_without_permission_is_one_line_that_names_it(fresh: Brb, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    assert str(tmp_path / "closed") in refused(fresh, BRB_DATA_DIR=str(tmp_path / "closed" / "data"))


def test_a_wrong_model_file_is_never_loaded_and_one_line_says_what_to_do(fresh: Brb, tmp_path: Path) -> None:
    settings = config.load(data_dir=tmp_path / "other")
    file = model_lock.path_of(settings.embed_model, model_lock.embedding(settings), settings.models_dir)
    file.parent.mkdir(parents=True)
    file.write_bytes(b"GGUF" + bytes(1000))
    line = refused(fresh, BRB_DATA_DIR=str(settings.data))
    assert file.name in line
    assert file.read_bytes() == b"GGUF" + bytes(1000)


def test_a_data_folder_of_another_embedding_model_is_refused_with_the_cure(fresh: Brb) -> None:
    qdrant_edge.EdgeStore.open(fresh.settings.store_dir, model="nomic-embed-text-v1.5", dimension=768).close()
    line = refused(fresh)
    assert "nomic-embed-text-v1.5" in line
    assert re.search("BRB_EMBED_MODEL|brb reindex", line)
    assert not fresh.settings.run_dir.joinpath("state.json").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [("BRB_PORT", "many"), ("BRB_ANTHROPIC_URL", "api.anthropic.com"), ("BRB_HOST", "0.0.0.0")],  # noqa: S104
)
def test_a_wrong_setting_is_one_line_that_names_it(fresh: Brb, name: str, value: str) -> None:
    assert name in refused(fresh, **{name: value})


def test_the_demo_shows_the_main_job_and_leaves_nothing_behind(tmp_path: Path) -> None:
    shared = config.load().data
    environment = os.environ | {"BRB_DATA_DIR": str(shared), "TMPDIR": str(tmp_path), "NO_COLOR": "1"}
    demo = [sys.executable, "-m", "services.cli", "demo"]
    told = subprocess.run([*demo, "--json"], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=110)
    assert told.returncode == 0, told.stderr
    story = json.loads(told.stdout)
    assert "Postgres 15" in story["request"]["inserted"]
    assert story["request"]["received_bytes"] - story["request"]["sent_bytes"] == len(story["request"]["inserted"].encode())
    assert {"Leoncio" in story["correction"]["current"], *("Leo" in old for old in story["correction"]["history"])} == {True}
    assert sum(story["redacted"].values()) >= 2
    assert list(tmp_path.iterdir()) == []
    assert not _processes_about(tmp_path)


def test_a_demo_that_is_interrupted_leaves_nothing_behind(tmp_path: Path) -> None:
    environment = os.environ | {"BRB_DATA_DIR": str(config.load().data), "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-m", "services.cli", "demo"], env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as demo:
        until(lambda: True if len(_processes_about(tmp_path)) > 1 else None, "the demo started nothing", 60)
        demo.send_signal(2)
        assert demo.wait(60) == 130
    assert list(tmp_path.iterdir()) == []
    assert not _processes_about(tmp_path)


def _processes_about(folder: Path) -> list[str]:
    """Command lines of running processes that name the folder, or that have their data in it."""
    ps = shutil.which("ps") or "ps"
    shown = subprocess.run([ps, "axeww", "-o", "stat=,command="], capture_output=True, text=True, check=True).stdout
    return [line for line in shown.splitlines() if f"{folder}/brb-demo-" in line and not line.startswith("Z")]
