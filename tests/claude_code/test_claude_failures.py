"""What Claude Code does when the upstream fails: it repeats the call, also in another spelling. That is still the same turn."""

from collections.abc import Callable

import pytest

from services.embedded import standin
from tests.claude_code.calls import Call
from tests.claude_code.client import ClaudeCode
from tests.claude_code.observing import learn, more_recalls, recalls
from tests.claude_code.scripts import events, opening, play
from tests.e2e.harness import Brb

pytestmark = pytest.mark.timeout(300)  # npm has to fetch Claude Code first

New = Callable[..., ClaudeCode]

WORDS = "Our linter is Ruff. Which database are we using?"
ERROR = {"type": "error", "error": {"type": "api_error", "message": "Internal server error"}}


def assert_one_turn(brb: Brb, calls: list[Call], before: dict[str, int]) -> None:
    """Recalled once, told the same each time, learnt once."""
    assert "CockroachDB" in calls[0].blocks[0]
    assert [call.blocks for call in calls] == [calls[0].blocks] * len(calls)
    assert [(call.told, call.turn) for call in calls] == [(1, calls[0].turn)] * len(calls)
    assert more_recalls(brb, before) == {"injected": 1, "repeated": len(calls) - 1}
    brb.worked_off(calls[0].turn)
    assert (brb.memory("Ruff").mentions, len(brb.texts())) == (1, 2)


@pytest.fixture
def before(brb: Brb, person: New) -> dict[str, int]:
    """The recalls so far. One memory is there."""
    learn(brb, person(), "We use CockroachDB.", "CockroachDB")
    return recalls(brb)


def test_a_retry_after_529_sends_the_same_body_upstream(brb: Brb, person: New, upstream: standin.StandIn, before: dict[str, int]) -> None:
    play(upstream, {"when": WORDS, "status": 529})
    failed, again = person().say(WORDS).calls
    assert (failed.sent.status, again.sent.status) == (529, 200)
    assert again.received.body == failed.received.body
    assert_one_turn(brb, [failed, again], before)


def test_an_error_event_leads_to_the_same_turn_without_streaming(brb: Brb, person: New, upstream: standin.StandIn, before: dict[str, int]) -> None:
    play(upstream, {"when": WORDS, "chunks": events(opening(), ERROR)})
    run = person().say(WORDS)
    broken, again = run.calls
    assert [bool(call.body.get("stream")) for call in (broken, again)] == [True, False]
    assert "CockroachDB" in run.answer
    assert_one_turn(brb, [broken, again], before)


def test_a_stream_that_is_cut_in_its_first_block_leads_to_the_same_turn(
    brb: Brb, person: New, upstream: standin.StandIn, before: dict[str, int]
) -> None:
    play(upstream, {"when": WORDS, "cut_after_chunks": 3})
    cut, again = person().say(WORDS).calls
    assert b"message_stop" not in cut.sent.answer
    assert_one_turn(brb, [cut, again], before)


def test_a_fallback_to_another_model_is_the_same_turn(brb: Brb, person: New, upstream: standin.StandIn, before: dict[str, int]) -> None:
    play(upstream, {"when": WORDS, "status": 529, "times": 3})
    *failed, fallen_back = person().say(WORDS, "--fallback-model", "claude-sonnet-5").calls
    assert [call.sent.status for call in failed] == [529] * 3
    assert [call.body["model"] == "claude-sonnet-5" for call in (*failed, fallen_back)] == [False] * 3 + [True]
    assert_one_turn(brb, [*failed, fallen_back], before)


def test_an_error_that_is_not_retried_is_shown_and_teaches_nothing(brb: Brb, person: New, upstream: standin.StandIn) -> None:
    play(upstream, {"when": "Our linter is Ruff.", "status": 403})
    run = person().say("Our linter is Ruff.", status=1)
    assert "as the script says" in run.answer
    brb.idle()
    assert brb.texts() == []
