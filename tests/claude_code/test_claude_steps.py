"""A turn of several calls with the real Claude Code: tools and subagents."""

from collections.abc import Callable

import pytest

from services.embedded import standin
from tests.claude_code.client import ClaudeCode
from tests.claude_code.observing import learn, more_recalls, recalls
from tests.claude_code.scripts import play, tool_use
from tests.e2e.harness import Brb

pytestmark = pytest.mark.timeout(300)  # npm has to fetch Claude Code first

New = Callable[..., ClaudeCode]


def test_a_tool_loop_has_the_block_in_every_step_at_the_same_place_and_is_one_turn(brb: Brb, person: New, upstream: standin.StandIn) -> None:
    learn(brb, person(), "We use CockroachDB and deploy to Hetzner.", "CockroachDB", "Hetzner")
    (person().folder / "notes.txt").write_text("We use SQLite.\n")
    person().say("Which database are we using?")
    before = recalls(brb)
    play(
        upstream,
        {"when": "where do we deploy", "tool": {"name": "Bash", "input": {"command": "echo We use Oracle.", "description": "Says it"}}},
        {"when": "", "chunks": tool_use("toolu_second", "Read", file_path=str(person().folder / "notes.txt"))},
    )
    words = "Our linter is Ruff. And where do we deploy?"
    first, second, third = person().say(words, "--continue", "--allowedTools", "Bash,Read").calls
    assert "We use Oracle." in str(second.messages[-1])
    assert "We use SQLite." in str(third.messages[-1])

    place = len(first.messages) - 1
    assert first.messages[place]["content"][-2:] == [{"type": "text", "text": words}, {"type": "text", "text": first.blocks[-1]}]
    assert isinstance(third.body_sent["messages"][place]["content"], str)  # Claude Code has changed its spelling meanwhile
    assert (["Hetzner" in block for block in first.blocks], second.blocks, third.blocks) == ([False, True], first.blocks, first.blocks)
    assert second.messages[: len(first.messages)] == first.messages
    assert third.messages[: len(second.messages)] == second.messages

    assert ([call.told for call in (first, second, third)], more_recalls(brb, before)) == ([1, None, None], {"injected": 1})
    brb.worked_off(first.turn)
    assert brb.memory("Ruff").mentions == 1
    assert len(brb.texts()) == 3


def test_a_subagent_is_neither_told_nor_learnt_from_and_its_turn_goes_on(brb: Brb, person: New, upstream: standin.StandIn) -> None:
    learn(brb, person(), "We use CockroachDB.", "CockroachDB")
    task = {"description": "Looks", "prompt": "Which database are we using? Our linter is Ruff.", "subagent_type": "general-purpose"}
    play(upstream, {"when": "Please look up", "tool": {"name": "Agent", "input": task}})
    run = person().say("Please look up which database we are using.")
    agents = [call for call in run.calls if call.agent]
    assert [call.newest[-1] for call in agents] == [task["prompt"]]
    assert all(call.untouched and call.told is None for call in agents)
    first, *steps = run.main  # also the news that the subagent is done, if it ran beside the conversation
    assert (first.told, len(first.blocks)) == (1, 1)
    assert [(step.told, step.blocks) for step in steps] == [(None, first.blocks)] * max(1, len(steps))
    brb.worked_off(first.turn)
    assert brb.texts() == ["We use CockroachDB"]


def test_a_web_search_is_made_without_memories(brb: Brb, person: New, upstream: standin.StandIn) -> None:
    learn(brb, person(), "We use CockroachDB.", "CockroachDB")
    play(upstream, {"when": "Please search", "tool": {"name": "WebSearch", "input": {"query": "which database we use"}}})
    run = person().say("Please search the web: which database do we use?", "--allowedTools", "WebSearch")
    first, search, second = run.calls
    assert "which database we use" in search.newest[0]
    assert (search.untouched, search.told) == (True, None)
    assert (first.told, second.told, second.blocks) == (1, None, first.blocks)
    assert len(first.blocks) == 1


def test_a_tool_loop_that_was_killed_goes_on_with_its_block(brb: Brb, person: New, upstream: standin.StandIn) -> None:
    """Some versions write "Continue from where you left off." into the person's message."""
    learn(brb, person(), "We use CockroachDB and deploy to Hetzner.", "CockroachDB", "Hetzner")
    running = person().folder / "running"
    play(upstream, {"when": "Which database", "tool": {"name": "Bash", "input": {"command": "touch running; sleep 60", "description": "Waits"}}})
    killed = person().say_and_leave("Which database are we using?", "--allowedTools", "Bash", when=running.exists).only
    resumed = person().say("And where do we deploy?", "--continue").only
    assert (len(resumed.blocks), resumed.blocks[0], resumed.told) == (2, killed.blocks[0], 1)
    assert "CockroachDB" not in resumed.blocks[1]
