"""Calls that Claude Code makes for itself, and what only happens in its terminal."""

from collections.abc import Callable

import pytest

from services.embedded import standin
from tests.claude_code.calls import COUNT_TOKENS
from tests.claude_code.client import ClaudeCode
from tests.claude_code.observing import learn, more_recalls, recalls
from tests.claude_code.scripts import play
from tests.claude_code.terminal import ESCAPE, Terminal
from tests.e2e.harness import Brb, until

pytestmark = pytest.mark.timeout(300)  # npm has to fetch Claude Code first

New = Callable[..., ClaudeCode]


def test_counting_tokens_passes_unchanged(brb: Brb, person: New) -> None:
    learn(brb, person(), "We use CockroachDB.", "CockroachDB")
    person().say("Which database are we using?")
    before = recalls(brb)
    counted = person().say("/context", "--continue").calls
    assert len(counted) > 1
    assert {call.received.path for call in counted} == {COUNT_TOKENS}
    assert all(call.untouched and call.told is None for call in counted)
    assert more_recalls(brb, before) == {}


def test_a_terminal_is_told_as_a_printing_run_is_and_its_titles_are_nobodys_words(brb: Brb, person: New) -> None:
    learn(brb, person(), "We use CockroachDB and deploy to Hetzner.", "CockroachDB", "Hetzner")
    before = recalls(brb)
    with Terminal(person()) as terminal:
        first = terminal.say("Our linter is Ruff. Which database are we using?")
        terminal.shows("CockroachDB")
        second = terminal.say("And where do we deploy?")
    titles = [call for call in (*first.calls, *second.calls) if "tools" not in call.body or not call.body["tools"]]
    assert any("<session>\nOur linter is Ruff." in call.newest[0] for call in titles)
    assert all(call.untouched and call.told is None for call in titles)

    (asked,), (again,) = first.main, second.main
    assert ["CockroachDB" in asked.blocks[0], "Hetzner" in again.blocks[1]] == [True, True]
    assert again.messages[: len(asked.messages)] == asked.messages
    assert more_recalls(brb, before) == {"injected": 2}
    brb.worked_off(asked.turn)
    brb.worked_off(again.turn)
    assert brb.memory("Ruff").mentions == 1
    assert len(brb.texts()) == 3


def test_what_a_person_says_after_a_command_of_the_client_is_a_turn_like_any_other(brb: Brb, person: New) -> None:
    """Claude Code sends the command, what it printed and the person's words as one message."""
    learn(brb, person(), "We use CockroachDB and deploy to Hetzner.", "CockroachDB", "Hetzner")
    with Terminal(person()) as terminal:
        terminal.say("Which database are we using?")
        terminal.command("/context", shows="Free space")
        asked = terminal.say("Our linter is Ruff. And where do we deploy?").main[0]
    assert any("/context" in text for text in asked.newest)
    assert asked.told == 1
    assert asked.newest[-2:] == ["Our linter is Ruff. And where do we deploy?", asked.blocks[1]]
    assert "Hetzner" in asked.blocks[1]
    brb.worked_off(asked.turn)
    assert len(brb.texts()) == 3
    assert brb.memory("Ruff").mentions == 1


def test_an_answer_that_the_person_interrupts_is_given_up_upstream_and_teaches_nothing(brb: Brb, person: New, upstream: standin.StandIn) -> None:
    learn(brb, person(), "We use CockroachDB.", "CockroachDB")
    play(upstream, {"when": "Our linter is Ruff.", "text": "word " * 500, "chunk_delay_ms": 100})
    with Terminal(person()) as terminal:
        terminal.send("Our linter is Ruff. Which database are we using?")
        terminal.shows("word word")
        terminal.press(ESCAPE)
        until(lambda: upstream.abandoned or None, "the upstream went on")
        (interrupted,) = terminal.taken().main
        resumed = terminal.say("Go on: which database was it?").main[0]
    assert "CockroachDB" in interrupted.blocks[0]
    assert resumed.blocks == interrupted.blocks
    assert resumed.messages[: len(interrupted.messages)] == interrupted.messages
    brb.worked_off(resumed.turn)
    assert brb.texts() == ["We use CockroachDB"]


def test_a_run_that_is_killed_gives_up_its_answer_and_teaches_nothing(brb: Brb, person: New, upstream: standin.StandIn) -> None:
    play(upstream, {"when": "Our linter is Ruff.", "text": "word " * 500, "chunk_delay_ms": 100})
    wire = person().wire
    (call,) = person().say_and_leave("Our linter is Ruff.", when=lambda: any(b"word" in sent.answer for sent in wire.fresh)).calls
    assert b"text_delta" in call.sent.answer
    until(lambda: upstream.abandoned or None, "the upstream went on")
    brb.worked_off(person().say("What is a monad?").only.turn)
    assert brb.texts() == []
