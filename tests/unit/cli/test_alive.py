"""The health check of a container: right, and light."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from services.cli import alive
from services.core import config, signs

ROOT = Path(__file__).parents[3]


def test_a_health_check_loads_next_to_nothing(tmp_path: Path) -> None:
    signs.give(signs.path(tmp_path, "worker"))
    environment = config.environment_without_settings() | {"BRB_RUNTIME_DIR": str(tmp_path)}
    command = [sys.executable, "-X", "importtime", "-m", "services.cli", "run", "healthcheck", "worker"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "ok\n")
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert loaded & {"typer", "pydantic", "msgspec", "rich", "httpx2", "redis"} == set()


def test_one_that_gives_no_sign_of_life_is_said_to_be_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BRB_RUNTIME_DIR", str(tmp_path))
    assert alive.quickly(["run", "healthcheck", "indexer"]) == 1
    signs.give(signs.path(tmp_path, "indexer"))
    os.utime(signs.path(tmp_path, "indexer"), (0, 0))
    assert alive.quickly(["run", "healthcheck", "indexer"]) == 1
    never, old = capsys.readouterr().err.splitlines()
    assert "never gave a sign of life" in never
    assert "its last sign of life is" in old


@pytest.mark.parametrize(
    "words", [[], ["run", "healthcheck"], ["run", "healthcheck", "nothing"], ["run", "healthcheck", "proxy", "--json"], ["run", "proxy"]]
)
def test_everything_else_is_left_to_the_whole_command(words: list[str]) -> None:
    assert alive.quickly(words) is None
