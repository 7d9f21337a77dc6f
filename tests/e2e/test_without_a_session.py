"""Clients that name no session, as the plain SDKs: conversations may begin with the same words on the same day and are still others."""

import json
from typing import Any

from harness import Brb

from services.core import block
from services.embedded import standin


def post(brb: Brb, upstream: standin.StandIn, *messages: str) -> tuple[list[Any], str, str]:
    """Send a conversation, the person first and then in turns; its messages as they arrived upstream, the id of its newest turn, the answer."""
    talk = [{"role": ("user", "assistant")[place % 2], "content": words} for place, words in enumerate(messages)]
    answer = brb.http.post("/v1/messages", json={"model": "claude-x", "max_tokens": 100, "messages": talk}).raise_for_status()
    return json.loads(upstream.recorded[-1].body)["messages"], answer.headers["x-brb-turn"], answer.json()["content"][0]["text"]


def learn(brb: Brb, upstream: standin.StandIn, words: str) -> None:
    brb.worked_off(post(brb, upstream, words)[1])


def test_saying_the_same_in_a_second_conversation_reinforces(brb: Brb, upstream: standin.StandIn) -> None:
    learn(brb, upstream, "I love accordions.")
    learn(brb, upstream, "I love accordions.")
    assert brb.memory("accordions").mentions == 2


def test_going_back_to_what_was_said_before_is_a_correction(brb: Brb, upstream: standin.StandIn) -> None:
    for name in ("Erik", "Sven", "Erik"):
        learn(brb, upstream, f"My boss is {name}.")
    assert brb.texts() == ["My boss is Erik"]


def test_what_was_forgotten_can_be_said_again(brb: Brb, upstream: standin.StandIn) -> None:
    learn(brb, upstream, "I love bassoons.")
    brb.forget_everything()
    learn(brb, upstream, "I love bassoons.")
    assert brb.texts() == ["I love bassoons"]


def test_a_later_conversation_that_begins_alike_does_not_change_what_the_earlier_one_carries(brb: Brb, upstream: standin.StandIn) -> None:
    asked = "Which instrument of the orchestra do I play?"
    learn(brb, upstream, "I play the viola in an orchestra.")
    first, _, reply = post(brb, upstream, asked)
    assert block.OPEN in first[0]["content"][1]["text"]
    learn(brb, upstream, "I play the oboe in an orchestra too.")
    other = post(brb, upstream, asked)[0]
    assert other != first
    assert post(brb, upstream, asked, reply, "Thank you.")[0][0] == first[0]
