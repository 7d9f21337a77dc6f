"""`brb connect claude-code` and the plugin, with the real Claude Code."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from services.cli import connect
from services.core.address import Address
from tests.claude_code.client import NOBODY, ClaudeCode
from tests.claude_code.wiretap import Wiretap
from tests.e2e.harness import Brb

pytestmark = pytest.mark.timeout(300)  # npm has to fetch Claude Code first

New = Callable[..., ClaudeCode]
ROOT = Path(__file__).parents[2]
ELSEWHERE = {"ANTHROPIC_BASE_URL": NOBODY}


def claude(person: ClaudeCode, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of Claude Code's, of those that talk to no model."""
    return subprocess.run(
        [str(person.program), *arguments],
        cwd=person.folder,
        env=person.environment(quiet=True),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
    )


def test_claude_code_goes_through_brb_by_the_settings_alone_and_no_more_after_an_undo(brb: Brb, person: New) -> None:
    somebody = person()
    file = somebody.config / "settings.json"
    file.write_text('{"cleanupPeriodDays": 20}\n')
    connect.connect(file, Address(somebody.wire.tap.url, "brb_abc_secret"))

    said = somebody.say("Hi! We use CockroachDB.", environment=ELSEWHERE)
    assert said.only.untouched
    assert said.only.sent.headers["x-brb-key"] == "brb_abc_secret"
    brb.memory("CockroachDB")

    connect.disconnect(file)
    assert file.read_text() == '{"cleanupPeriodDays": 20}\n'
    away = somebody.say("Which database are we using?", environment=ELSEWHERE | {"CLAUDE_CODE_MAX_RETRIES": "0"}, status=1)
    assert away.calls == []


def test_the_settings_of_a_project_hold_in_its_folder(person: New) -> None:
    somebody = person()
    (somebody.folder / ".claude").mkdir()
    connect.connect(somebody.folder / ".claude" / "settings.local.json", Address(somebody.wire.tap.url))

    assert len(somebody.say("Hello there.", environment=ELSEWHERE).calls) == 1


@pytest.mark.parametrize("what", ["ops/claude-plugin", "."])
def test_the_plugin_and_its_marketplace_are_valid(person: New, what: str) -> None:
    done = claude(person(), "plugin", "validate", "--strict", str(ROOT / what))

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_plugin_brings_the_skill_and_a_server_that_answers(brb: Brb, person: New) -> None:
    somebody = person()
    assert claude(somebody, "plugin", "marketplace", "add", str(ROOT)).returncode == 0
    with Wiretap(brb.port) as tap:
        installed = claude(somebody, "plugin", "install", "brb@brb", "--config", f"url={tap.url}", "--config", "key=brb_abc_secret")
        assert installed.returncode == 0, installed.stdout + installed.stderr
        assert "brb_abc_secret" not in (somebody.config / "settings.json").read_text(), "a key is kept apart"

        assert f"plugin:brb:memory: {tap.url}/mcp (HTTP) - ✔ Connected" in claude(somebody, "mcp", "list").stdout
        offered = json.dumps(somebody.say("Hello there.").main[0].body)

    asked = [call for call in tap.calls if call.target == "/mcp" and call.method == "POST"]
    assert {(call.headers["x-brb-project"], call.headers["x-brb-key"]) for call in asked} == {(os.path.realpath(somebody.folder), "brb_abc_secret")}
    assert "mcp__plugin_brb_memory__brb_search" in offered
    assert "team-memory" in offered
