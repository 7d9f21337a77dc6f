"""A follow-up put to a real llama.cpp server, whose model is so small that it mostly repeats the question before: only what fits is taken."""

from collections.abc import Iterator
from contextlib import closing

import msgspec
import pytest

from services.core.adapters.chat_model import ChatModel
from services.core.recall import rewriting

FOLLOW_UPS = [
    ("who leads it?", ["Tell me what you know about the Falcon project"]),
    ("and pears?", ["How should I store apples over winter?"]),
    ("is that one encrypted?", ["Where do we keep the Terraform state?"]),
]


@pytest.fixture
def ask(chat_model: str) -> Iterator[rewriting.Ask]:
    with closing(ChatModel(chat_model, model="smollm2")) as chat:
        yield lambda talk, seconds: chat.ask(talk, rewriting.SCHEMA, most_tokens=rewriting.MOST_TOKENS, temperature=0.0, timeout_seconds=seconds).text


def test_the_model_answers_in_the_form_that_is_asked_for(ask: rewriting.Ask) -> None:
    for words, earlier in FOLLOW_UPS:
        assert list(msgspec.json.decode(ask(rewriting.talk(words, earlier), 60))) == ["question"]


def test_what_is_looked_up_names_what_was_said_and_nothing_else(ask: rewriting.Ask) -> None:
    rewriter = rewriting.Rewriter(ask)
    for words, earlier in FOLLOW_UPS:
        asked = rewriter.query(words, earlier, timeout_seconds=60)
        said = f"{earlier[0]}\n{words}"
        assert asked == said or rewriting.understood(msgspec.json.encode({"question": asked}).decode(), words, earlier) == asked
    rewriter.close()


def test_a_model_that_is_too_slow_leaves_the_context(ask: rewriting.Ask) -> None:
    rewriter = rewriting.Rewriter(ask)
    words, earlier = FOLLOW_UPS[0]

    assert rewriter.query(words, earlier, timeout_seconds=0.001) == f"{earlier[0]}\n{words}"
    rewriter.close()
