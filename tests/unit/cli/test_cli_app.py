import json
import subprocess
import sys
from collections.abc import Callable

import pytest
from click.testing import Result

from services.cli import embedded, exits
from services.core import errors

Brb = Callable[..., Result]

COMMANDS = {
    (): {"up", "down", "status", "doctor", "demo", "bench", "recall", "memories", "jobs", "models"},
    ("memories",): {"list", "search", "show", "history", "edit", "forget"},
    ("jobs",): {"list", "dead", "retry"},
    ("models",): {"list", "verify", "pull"},
}
SERVERS = ["litestar", "qdrant_client", "qdrant_edge", "celery", "redis", "spacy", "presidio_analyzer", "uvicorn", "aiohttp", "anthropic"]
LEAVES = [(*group, name) for group, names in COMMANDS.items() for name in sorted(names) if (*group, name) not in COMMANDS]


@pytest.mark.parametrize("command", LEAVES)
def test_every_command_has_help_and_a_json_form(brb: Brb, command: tuple[str, ...]) -> None:
    result = brb(*command, "--help")

    assert result.exit_code == 0
    assert "--json" in result.stdout


def test_the_help_documents_the_exit_statuses(brb: Brb) -> None:
    shown = " ".join(brb("--help").stdout.split())

    for status in ("0 done", "1 failed", "2 wrong usage", "3 BRB is not running", "4 no such memory or job"):
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


def test_the_command_starts_without_the_servers() -> None:
    """A server's library costs seconds at each command: measured, litestar 0.7 s, qdrant_client 2.9 s."""
    heavy = [*SERVERS, "pydantic", "httpx2", "psutil"]
    asked = f"import sys; from services.cli import app; app.build(); print([name for name in {heavy!r} if name in sys.modules])"

    assert subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_call_loads_the_client_and_still_no_server(free_port: int) -> None:
    heavy = [*SERVERS, "httpx2"]
    asked = (
        "import sys, contextlib\nfrom services.cli import app\n"
        "with contextlib.suppress(SystemExit):\n    app.build()(['memories', 'list'])\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    env = {"BRB_PORT": str(free_port)}

    assert subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, env=env).stdout.strip() == "[]"


def test_completion_of_the_shell_is_there(brb: Brb) -> None:
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
