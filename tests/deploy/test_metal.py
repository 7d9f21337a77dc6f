"""deploy/metal.sh, run for real: files from a server on loopback, and llama.cpp out of its wheel in the place of Homebrew's."""

import functools
import hashlib
import http.server
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support import chat_model as small_model

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "deploy" / "metal.sh"
pytestmark = pytest.mark.skipif(
    shutil.which("curl") is None and os.environ.get("BRB_TEST_COMPOSE") != "required", reason="no curl: `make compose-check` installs it"
)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address under which its files are served."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class Metal:
    """The script with a lock, a folder and ports of its own."""

    def __init__(self, folder: Path, url: str, **digests: str) -> None:
        self.home = folder / "llama home"
        lock = folder / "models.lock"
        lock.write_text(
            "".join(
                f'["{model}"]\nfile = "{name}.gguf"\nurl = "{url}/{name}.gguf"\nsha256 = "{digests[name]}"\n\n'
                for model, name in (("nomic-embed-text-v1.5", "embed"), ("Qwen2.5-3B-Instruct", "extract"))
            )
        )
        self.ports = [_free_port(), _free_port()]
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("BRB_")},
            "MODELS_LOCK": str(lock),
            "LLAMA_DIR": str(self.home),
            "EMBED_PORT": str(self.ports[0]),
            "EXTRACT_PORT": str(self.ports[1]),
            "LLAMA_SERVER": str(_server(folder)),
        }

    def __call__(self, verb: str) -> subprocess.CompletedProcess[str]:
        with (self.home.parent / "out").open("w+") as out:  # servers that stay would keep a pipe open
            done = subprocess.run([str(SCRIPT), verb], env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=110)
            out.seek(0)
            return subprocess.CompletedProcess(done.args, done.returncode, out.read())


def _server(folder: Path) -> Path:
    """llama.cpp's server under its usual arguments, as one program."""
    program = folder / "llama-server"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT / "tests/compose/llama_server.py"}" "$@"\n')
    program.chmod(0o755)
    return program


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_both_servers_are_fetched_started_used_and_stopped(tmp_path: Path, served: tuple[Path, str], model_files: dict[str, Path]) -> None:
    folder, url = served
    shutil.copy(model_files["all-MiniLM-L6-v2"], folder / "embed.gguf")
    shutil.copy(small_model.model(), folder / "extract.gguf")
    metal = Metal(tmp_path, url, embed=_sha256(folder / "embed.gguf"), extract=_sha256(folder / "extract.gguf"))
    embed, extract = (f"http://127.0.0.1:{port}" for port in metal.ports)
    try:
        done = metal("up")
        assert done.returncode == 0, done.stdout
        vectors = httpx2.post(f"{embed}/v1/embeddings", json={"input": "a text"}, trust_env=False, timeout=30).json()["data"]
        assert len(vectors[0]["embedding"]) == 384
        asked = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3}
        assert httpx2.post(f"{extract}/v1/chat/completions", json=asked, trust_env=False, timeout=60).json()["usage"]["completion_tokens"] > 0
        assert metal("status").returncode == 0
        again = metal("up")
        assert again.stdout.count("running already") == 2
        assert "fetching" not in again.stdout
    finally:
        stopped = metal("down")
    assert stopped.stdout.splitlines() == ["embed: stopped", "extract: stopped"]
    assert metal("status").returncode == 1
    assert metal("down").stdout.splitlines() == ["embed: does not run", "extract: does not run"]


def test_a_file_that_is_not_the_pinned_one_is_thrown_away(tmp_path: Path, served: tuple[Path, str]) -> None:
    folder, url = served
    (folder / "embed.gguf").write_bytes(b"GGUF of somebody else")
    metal = Metal(tmp_path, url, embed=hashlib.sha256(b"GGUF").hexdigest(), extract="0" * 64)
    done = metal("up")
    assert done.returncode == 1
    assert "not the pinned file, and was thrown away" in done.stdout
    assert not list((metal.home / "models").iterdir())


def test_a_file_that_is_whole_already_is_not_asked_for_again(tmp_path: Path, served: tuple[Path, str]) -> None:
    """The script was ended between the last byte and the file's name; a server has nothing to send from there on, and says so as an error."""
    _, url = served
    metal = Metal(tmp_path, url, embed=hashlib.sha256(b"GGUF").hexdigest(), extract="0" * 64)
    (metal.home / "models").mkdir(parents=True)
    (metal.home / "models" / "embed.gguf.part").write_bytes(b"GGUF")
    done = metal("up")
    assert f"error: can't fetch {url}/extract.gguf" in done.stdout
    assert [file.name for file in (metal.home / "models").iterdir()] == ["embed.gguf"]


def test_a_file_that_was_changed_since_is_not_served(tmp_path: Path, served: tuple[Path, str]) -> None:
    folder, url = served
    (folder / "embed.gguf").write_bytes(b"GGUF")
    metal = Metal(tmp_path, url, embed=hashlib.sha256(b"GGUF").hexdigest(), extract="0" * 64)
    (metal.home / "models").mkdir(parents=True)
    (metal.home / "models" / "embed.gguf").write_bytes(b"GGUF, changed")
    done = metal("up")
    assert done.returncode == 1
    assert "delete it, and try again" in done.stdout
    assert (metal.home / "models" / "embed.gguf").read_bytes() == b"GGUF, changed"


def test_a_server_that_ends_at_once_is_named_with_its_log(tmp_path: Path, served: tuple[Path, str]) -> None:
    folder, url = served
    for name in ("embed", "extract"):
        (folder / f"{name}.gguf").write_bytes(b"no model")
    digest = hashlib.sha256(b"no model").hexdigest()
    metal = Metal(tmp_path, url, embed=digest, extract=digest)
    try:
        done = metal("up")
    finally:
        metal("down")
    assert done.returncode == 1
    assert f"embed ended at once: see {metal.home}/embed.log" in done.stdout


def test_a_port_that_another_answers_on_is_left_alone(tmp_path: Path, served: tuple[Path, str]) -> None:
    folder, url = served
    for name in ("embed.gguf", "extract.gguf", "health"):
        (folder / name).write_bytes(b"ok")
    digest = hashlib.sha256(b"ok").hexdigest()
    metal = Metal(tmp_path, url, embed=digest, extract=digest)
    metal.environment["EMBED_PORT"] = url.rpartition(":")[2]
    done = metal("up")
    assert done.returncode == 1
    assert "something else answers on port" in done.stdout


def test_models_lock_names_what_the_script_looks_for() -> None:
    command = ["awk", "-v", "model=Qwen2.5-3B-Instruct", "-v", "key=sha256"]
    program = SCRIPT.read_text().partition("awk -v model")[2].partition("'\n")[2].partition('\' "$lock"')[0]
    found = subprocess.run([*command, program, str(ROOT / "services/core/models.lock")], capture_output=True, text=True, check=True).stdout.strip()
    from services.core import model_lock

    assert found == model_lock.read()["Qwen2.5-3B-Instruct"].sha256


@pytest.mark.parametrize("arguments", [[], ["sideways"]])
def test_anything_else_is_answered_with_what_can_be_said(arguments: list[str]) -> None:
    done = subprocess.run([str(SCRIPT), *arguments], capture_output=True, text=True)
    assert done.returncode == 1
    assert "up|down|status" in done.stderr
