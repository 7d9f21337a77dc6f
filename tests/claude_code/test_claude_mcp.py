"""The real Claude Code with BRB's tools: added as docs/mcp.md says, connected, and used in a conversation."""

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from services.embedded import standin
from tests.claude_code.client import ClaudeCode
from tests.claude_code.observing import learn
from tests.claude_code.scripts import play
from tests.e2e.harness import Brb
from tests.support.mcp_client import ROOT

pytestmark = pytest.mark.timeout(300)  # npm has to fetch Claude Code first

New = Callable[..., ClaudeCode]
TOOLS = [f"mcp__brb__brb_{name}" for name in ("forget", "get", "related", "remember", "search")]


def claude(person: ClaudeCode, *arguments: str) -> str:
    """What `claude ARGUMENTS` prints."""
    done = subprocess.run(
        [str(person.program), *arguments],
        cwd=person.folder,
        env=person.environment(quiet=True),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def add(person: ClaudeCode, brb: Brb, transport: str) -> None:
    if transport == "http":
        claude(person, "mcp", "add", "--transport", "http", "brb", f"{brb.url}/mcp", "--header", f"X-BRB-Project: {person.folder}")
    else:
        program = [sys.executable, "-m", "services.cli", "mcp"]
        claude(person, "mcp", "add", "brb", "-e", f"BRB_URL={brb.url}", "-e", f"PYTHONPATH={ROOT}", "--", *program)


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_claude_code_connects_and_has_what_a_tool_finds_in_its_next_call(brb: Brb, person: New, upstream: standin.StandIn, transport: str) -> None:
    someone = person()
    learn(brb, someone, "We deploy to Hetzner.", "Hetzner")
    add(someone, brb, transport)
    assert "✔ Connected" in claude(someone, "mcp", "list")
    assert "✔ Connected" in claude(someone, "mcp", "get", "brb")

    play(upstream, {"when": "Please look it up", "tool": {"name": "mcp__brb__brb_search", "input": {"query": "where do we deploy to"}}})
    up_front = {"ENABLE_TOOL_SEARCH": "false"}  # else a call has the names of the tools alone, until they are asked for
    first, second = someone.say("Please look it up.", "--allowedTools", "mcp__brb__brb_search", environment=up_front).main

    assert "BRB remembers what the person and the team said" in first.received.body.decode()
    offered = {tool["name"]: tool for tool in first.body["tools"] if tool["name"].startswith("mcp__brb__")}
    assert sorted(offered) == TOOLS
    assert offered["mcp__brb__brb_search"]["input_schema"]["required"] == ["query"]
    (result,) = [piece for piece in second.messages[-1]["content"] if piece["type"] == "tool_result"]
    assert "We deploy to Hetzner" in json.dumps(result["content"])
    assert "Records of what people said" in json.dumps(result["content"])
    assert brb.texts() == ["We deploy to Hetzner"]  # what a tool answers is nobody's words


def test_claude_code_remembers_by_a_tool_for_the_folder_it_works_in(brb: Brb, person: New, upstream: standin.StandIn) -> None:
    someone = person("orchid")
    add(someone, brb, "stdio")
    statement = {"text": "We release on Tuesdays.", "category": "decision"}
    play(upstream, {"when": "Please keep it", "tool": {"name": "mcp__brb__brb_remember", "input": statement}})
    first, *_ = someone.say("Please keep it.", "--allowedTools", "mcp__brb__brb_remember").main

    assert all(name in first.received.body.decode() for name in TOOLS)
    assert brb.memory("Tuesdays").project == str(someone.folder)
