import json
from collections.abc import Sequence

import msgspec
import pytest

from services.core import messages, models, ports, redaction
from services.proxy import learning
from services.proxy.wire import anthropic, calls

COMPLETE = calls.Answer(complete=True, text="Hi Leo")
ENTRY = ports.Entry("block", ("m1", "m2"))


def call(*texts: str) -> calls.Call:
    """A conversation in which person and assistant take turns."""
    listed = [{"role": "assistant" if index % 2 else "user", "content": said} for index, said in enumerate(texts)]
    return anthropic.read({"x-brb-project": "shop"}, json.dumps({"messages": listed}).encode(), models.LOCAL, 5.0)


def hide(texts: Sequence[str]) -> list[str]:
    return [text.replace("SECRET", "<S>") for text in texts]


def learnt(*texts: str) -> messages.LearnTurn:
    job = learning.learn_turn(call(*texts), COMPLETE, hide)
    assert job is not None
    assert isinstance(job.payload, messages.LearnTurn)
    return job.payload


def test_an_answered_turn_is_learnt_with_what_was_said_before() -> None:
    made = call("my name is Leo", "Hi. Leo or Leoncio?", "actually it's Leoncio")
    assert learning.jobs(made, COMPLETE, ENTRY, hide, 9.0) == [
        messages.Job.of(
            messages.Task.LEARN_TURN,
            messages.LearnTurn(made.turn_id, models.LOCAL, 5.0, "actually it's Leoncio", "shop", ("my name is Leo",), "Hi. Leo or Leoncio?"),
        ),
        messages.Job.of(messages.Task.TOUCH, messages.Touch(made.turn_id, models.LOCAL, ("m1", "m2"), 9.0)),
    ]


@pytest.mark.parametrize(
    ("made", "answer"),
    [
        (call("hi"), calls.NO_ANSWER),
        (call("hi"), calls.Answer(False, "cut")),
        (call("hi", "{"), COMPLETE),
        (anthropic.read({}, b"", models.LOCAL, 5.0), COMPLETE),
    ],
)
def test_nothing_is_learnt_from_an_incomplete_answer_or_no_turn(made: calls.Call, answer: calls.Answer) -> None:
    assert learning.jobs(made, answer, ENTRY, hide, 9.0) == []


@pytest.mark.parametrize("entry", [None, ports.Entry("", ())])
def test_a_turn_that_was_told_nothing_touches_nothing(entry: ports.Entry | None) -> None:
    assert [job.task for job in learning.jobs(call("hi"), COMPLETE, entry, hide, 9.0)] == [messages.Task.LEARN_TURN]


def test_another_agents_words_are_not_learnt_from_though_what_it_was_told_is_noted() -> None:
    made = msgspec.structs.replace(call("hi"), learns=False)
    assert [job.task for job in learning.jobs(made, COMPLETE, ENTRY, hide, 9.0)] == [messages.Task.TOUCH]


def test_the_same_call_again_makes_the_same_job() -> None:
    assert learning.jobs(call("hi"), COMPLETE, ENTRY, hide, 9.0)[0].id == learning.jobs(call("hi"), COMPLETE, ENTRY, hide, 10.0)[0].id


def test_every_text_is_redacted_before_it_is_cut() -> None:
    edge = "x" * (learning.MAX_WORDS_CHARS - 3) + "SECRET"
    turn = learnt("one SECRET", "two SECRET", edge)
    assert turn.context == ("one <S>",)
    assert turn.answer == "two <S>"
    assert turn.words == "x" * (learning.MAX_WORDS_CHARS - 3) + "<S>"


def test_what_one_text_of_a_turn_gives_away_is_hidden_in_the_others() -> None:
    made = call("Zx9kQw12 fails", "Zx9kQw12 is no e-mail address", "it is my password: Zx9kQw12. Again: Zx9kQw12")
    job = learning.learn_turn(made, COMPLETE, lambda texts: [one.text for one in redaction.Redactor().redact_all(texts)])
    assert job is not None
    assert isinstance(job.payload, messages.LearnTurn)
    assert job.payload.words == "it is my password: <SECRET_1>. Again: <SECRET_1>"
    assert job.payload.context == ("<SECRET_1> fails",)
    assert job.payload.answer == "<SECRET_1> is no e-mail address"


def test_texts_are_kept_within_bounds() -> None:
    turn = learnt(*(f"{index} " + "w" * 30_000 for index in range(21)))
    assert len(turn.words) == learning.MAX_WORDS_CHARS
    assert [said.split()[0] for said in turn.context] == ["8", "10", "12", "14", "16", "18"]
    assert {len(said) for said in turn.context} == {learning.MAX_CONTEXT_CHARS}
    assert turn.answer == "w" * learning.MAX_ANSWER_CHARS
