import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import Result

from services.cli import app, embedded, examples, exits
from services.core import errors
from services.proxy.parts import Parts
from tests.support.in_memory import keep, memory

Brb = Callable[..., Result]
ROOT = Path(__file__).parents[3]

HEAVY = [
    *("litestar", "qdrant_client", "qdrant_edge", "celery", "redis", "spacy", "presidio_analyzer", "uvicorn", "aiohttp", "anthropic", "openai"),
    *("mcp", "numpy", "jinja2", "limits", "ijson", "yaml", "structlog", "prometheus_client", "cryptography", "markdown_it"),
    *("pydantic_settings", "httpx2", "psutil"),
]
"""What takes long to load: litestar 0.7 s, mcp 2.3 s, qdrant_client 2.9 s, pydantic-settings 0.3 s, measured cold."""
COMMANDS = [words for words, _ in examples.commands(app.build())]
SPEAKS_OTHERWISE = {"mcp", "run proxy", "run worker", "run indexer", "run beat", "run embedded"}
"""They have no output for people: JSON-RPC, or a process that serves."""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_a_json_form(brb: Brb, command: str) -> None:
    result = brb(*command.split(), "--help")

    assert result.exit_code == 0
    assert f"\n    brb {command}" in result.stdout or f"brb {command}\n" in result.stdout, "services/cli/examples.py has no example of it"
    assert "--json" in result.stdout or command in SPEAKS_OTHERWISE
    assert len(result.stdout.splitlines()[2].strip()) > 10, "it says what it does"


def test_no_example_is_of_a_command_that_is_gone() -> None:
    assert set(examples.EXAMPLES) <= set(COMMANDS)


def test_the_commands_of_the_contract_are_there() -> None:
    wanted = {"up", "down", "status", "doctor", "demo", "recall", "why", "connect", "index", "reindex", "bench"}
    wanted |= {f"memories {verb}" for verb in ("list", "show", "search", "add", "edit", "forget", "history", "export", "import")}
    wanted |= {"jobs list", "jobs dead", "jobs retry", "models pull", "models verify", "models list"}

    assert wanted <= set(COMMANDS)


def test_the_version_is_told(brb: Brb) -> None:
    assert brb("--version").stdout == f"brb {metadata.version('brb')}\n"


def test_the_help_documents_the_exit_statuses(brb: Brb) -> None:
    shown = " ".join(brb("--help").stdout.split())

    for status in ("0 done", "1 failed", "2 wrong usage", "3 BRB is not running", "4 no such memory, job or turn"):
        assert status in shown


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.BadInput("x"), 2),
        (exits.NotRunning("x"), 3),
        (errors.NotFound("x"), 4),
        (errors.Unavailable("x"), 1),
        (errors.SetupError("x"), 1),
        (errors.BrbError("x"), 1),
    ],
)
def test_an_error_has_its_exit_status(error: errors.BrbError, status: int) -> None:
    assert exits.status_of(error) == status


@pytest.mark.parametrize(
    "words", [("no-such-command",), ("memories", "list", "--limit", "0"), ("memories", "list", "--status", "old"), ("memories", "show")]
)
def test_wrong_usage_exits_2(brb: Brb, words: tuple[str, ...]) -> None:
    assert brb(*words).exit_code == 2


@pytest.mark.parametrize(
    ("words", "not_even"),
    [
        (["--version"], ["pydantic", "rich"]),
        (["--help"], ["pydantic", "rich", "http.client"]),
        (["memories", "--help"], ["rich", "http.client"]),  # typer itself reads options with pydantic
        (["memories", "list"], ["rich"]),
        (["memories", "list", "--json"], ["rich"]),
        (["recall", "x"], ["rich"]),
        (["status"], ["rich"]),
        (["why", "--list"], ["rich"]),
        (["connect", "codex"], ["rich", "http.client"]),
    ],
)
def test_a_command_loads_nothing_that_takes_long(words: list[str], not_even: list[str], running: Parts, free_port: int, tmp_path: Path) -> None:
    keep(running, memory("We use Postgres"))
    asked = (
        "import sys, contextlib\nfrom services.cli import app\n"
        f"with contextlib.suppress(SystemExit):\n    app.build()({words!r})\n"
        f"print([name for name in {[*HEAVY, *not_even]!r} if name in sys.modules])"
    )
    env = {"BRB_PORT": str(free_port), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, env=env, cwd=tmp_path)

    assert done.stdout.splitlines()[-1] == "[]"
    assert "not running" not in done.stderr


@pytest.mark.parametrize(
    ("line", "expected"),
    [("brb mem", {"members", "memories"}), ("brb memories ex", {"export"}), ("brb connect cl", {"claude-code"}), ("brb recall --mode b", {"bm25"})],
)
def test_the_shell_completes_commands_and_choices(line: str, expected: set[str]) -> None:
    env = os.environ | {"_BRB_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    done = subprocess.run([sys.executable, "-m", "services.cli"], capture_output=True, text=True, check=True, env=env)

    assert set(done.stdout.split()) == expected


def test_completion_can_be_installed(brb: Brb) -> None:
    assert "--install-completion" in brb("--help").stdout


def test_stopping_a_brb_that_does_not_run_is_no_failure(brb: Brb) -> None:
    result = brb("down")

    assert (result.exit_code, result.stdout) == (0, "BRB was not running\n")
    assert json.loads(brb("down", "--json").stdout) == {"was_running": False}


def test_the_pinned_models_are_listed(brb: Brb) -> None:
    pinned = {model["name"]: model for model in json.loads(brb("models", "list", "--json").stdout)}

    assert pinned["all-MiniLM-L6-v2"]["there"] is False
    assert len(pinned["all-MiniLM-L6-v2"]["sha256"]) == 64
    assert len(brb("models", "list").stdout.splitlines()) == len(pinned)


def test_a_missing_model_is_one_line_with_the_cure(brb: Brb) -> None:
    result = brb("models", "verify")

    assert result.exit_code == 1
    assert result.stderr.endswith("run `brb models pull`\n")
    assert len(result.stderr.splitlines()) == 1


def test_a_missing_embedded_part_is_named_with_the_cure() -> None:
    with pytest.raises(errors.SetupError, match=r"brb\[embedded\]"):
        embedded._module("no_such_part")
