"""The bodies that the relay is measured with are those of a coding client deep in a session."""

import msgspec
import pytest

from services.core import models
from services.embedded.bench import bodies
from services.proxy.wire import anthropic, calls


@pytest.mark.parametrize("size", [77_000, 700_000])
@pytest.mark.parametrize("stream", [True, False])
def test_a_body_has_exactly_the_size_that_was_asked_for(size: int, stream: bool) -> None:
    assert len(bodies.body(size, stream=stream)) == size


def test_a_body_is_the_same_each_time() -> None:
    assert bodies.body(77_000, stream=True) == bodies.body(77_000, stream=True)


@pytest.mark.parametrize("size", [77_000, 700_000])
def test_the_last_message_is_taken_for_a_new_turn_of_the_person(size: int) -> None:
    call = anthropic.read(bodies.headers("one"), bodies.body(size, stream=True), models.LOCAL, 0.0)
    assert (call.kind, call.session, call.project) == (calls.Kind.HUMAN, "one", "/home/someone/billing")
    assert call.new_turn is not None
    assert call.new_turn.words == bodies.QUESTION
    assert call.old_turns


def test_a_body_carries_tools_results_and_a_system_prompt() -> None:
    body = msgspec.json.decode(bodies.body(77_000, stream=True))
    kinds = {block["type"] for message in body["messages"] for block in message["content"]}
    assert kinds == {"text", "tool_use", "tool_result"}
    assert len(body["tools"]) == 24
    assert sum(len(block["text"]) for block in body["system"]) > 10_000
