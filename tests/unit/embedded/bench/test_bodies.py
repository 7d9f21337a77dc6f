"""The bodies that the relay is measured with are those of a coding client deep in a session."""

import itertools
from collections.abc import Callable

import msgspec
import pytest

from services.core import models
from services.embedded.bench import bodies
from services.proxy.wire import anthropic, calls, openai, routes

MARKER = b',"cache_control":{"type":"ephemeral"}'


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


@pytest.mark.parametrize("size", [77_000, 700_000])
def test_the_calls_of_a_session_go_on_from_a_new_turn_in_steps_of_tools(size: int) -> None:
    first, *later = bodies.session(size, 4, stream=True)
    assert first == bodies.body(size, stream=True)
    kinds = [anthropic.read(bodies.headers("one"), body, models.LOCAL, 0.0).kind for body in (first, *later)]
    assert kinds == [calls.Kind.HUMAN, calls.Kind.STEP, calls.Kind.STEP, calls.Kind.STEP]


def test_each_call_of_a_session_carries_the_history_of_the_one_before_and_one_step() -> None:
    """Markers aside: the client moves them to its newest message."""
    messages = [msgspec.json.decode(body.replace(MARKER, b""))["messages"] for body in bodies.session(77_000, 4, stream=True)]
    for earlier, later in itertools.pairwise(messages):
        assert later[:-2] == earlier
        assert [message["role"] for message in later[-2:]] == ["assistant", "user"]


def test_the_marker_is_on_the_newest_message_of_a_session() -> None:
    for body in bodies.session(77_000, 3, stream=True):
        *earlier, newest = msgspec.json.decode(body)["messages"]
        assert "cache_control" in newest["content"][-1]
        assert not any("cache_control" in block for message in earlier for block in message["content"])


def test_numbered_bodies_are_of_other_conversations_with_the_same_system_prompt_and_tools() -> None:
    body = bodies.body(77_000, stream=True)
    one, other = (msgspec.json.decode(bodies.numbered(body, number)) for number in (1, 2))
    assert len(bodies.numbered(body, 1)) == len(body)
    assert all(mine != another for mine, another in zip(one["messages"][:-2], other["messages"][:-2], strict=True))
    assert one["messages"][-1] == other["messages"][-1]
    assert {name: one[name] for name in one if name != "messages"} == {name: other[name] for name in other if name != "messages"}


def test_what_the_person_asks_can_be_chosen_and_the_size_stays() -> None:
    body = bodies.body(77_000, stream=True, question="Which database?")
    assert len(body) == 77_000
    assert msgspec.json.decode(body)["messages"][-1]["content"][0]["text"] == "Which database?"


def test_a_body_carries_tools_results_and_a_system_prompt() -> None:
    body = msgspec.json.decode(bodies.body(77_000, stream=True))
    kinds = {block["type"] for message in body["messages"] for block in message["content"]}
    assert kinds == {"text", "tool_use", "tool_result"}
    assert len(body["tools"]) == 24
    assert sum(len(block["text"]) for block in body["system"]) > 10_000


@pytest.mark.parametrize(("spelt", "route"), [(bodies.chat, routes.Route.CHAT), (bodies.response, routes.Route.RESPONSES)])
def test_a_call_of_the_other_vendor_says_the_same(spelt: Callable[[bytes], bytes], route: routes.Route) -> None:
    for body in bodies.session(77_000, 3, stream=True):
        same = anthropic.read(bodies.headers("one"), body, models.LOCAL, 0.0)
        other = openai.read(route, bodies.headers("one"), spelt(body), models.LOCAL, 0.0)
        assert (other.kind, other.session, other.project, other.answer) == (same.kind, same.session, same.project, same.answer)
        assert [(turn.words, turn.reply) for turn in other.turns] == [(turn.words, turn.reply) for turn in same.turns]
        assert len(spelt(body)) > 0.9 * len(body)
