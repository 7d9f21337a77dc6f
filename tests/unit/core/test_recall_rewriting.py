"""Words that only make sense after what was said before, and what is looked up for them."""

import json
import threading
import time
from collections.abc import Sequence

import pytest

from services.core import errors
from services.core.recall import rewriting

APPLES = "How should I store apples over winter?"


@pytest.mark.parametrize(
    "words",
    [
        "and Ben?", "what about tests?", "who owns that?", "is it still running?", "and why?", "how come?", "the other one?", "which version?",
        "or the old one", "also for Windows?", "how much did they cost?", "where's that?", "same for mobile", "what else?", "ok and in March?",
        "but not on weekends?", "did she agree?", "when was it last changed?", "how about the second option?", "and my brother's?", "at night?",
        "Android too?", "the notebooks as well?", "What was the fallback again?",
    ],
)  # fmt: skip
def test_words_that_lean_on_what_was_said_before(words: str) -> None:
    assert rewriting.is_vague(words)


@pytest.mark.parametrize(
    "words",
    [
        "What is my name?", "Who is my manager?", "Which port does redis use in staging?", "List my todos", "What are our constraints?", "who am I?",
        "JIRA-123?", "fix main.py", "Deploy the billing service to production", "I moved to Lisbon in May", "Write unit tests for the date parser",
        "But which Python version do the notebooks run on?", "What did we decide about caching images for mobile?",
        "And now write a migration that adds a tenant column to the orders table and backfills it",
        "thanks, that's it", "ok", "and that?", "", "   ", "👍",
    ],
)  # fmt: skip
def test_words_that_stand_alone_or_ask_nothing(words: str) -> None:
    assert not rewriting.is_vague(words)


@pytest.mark.parametrize(
    ("words", "earlier", "asked"),
    [
        ("and pears?", [], "and pears?"),
        ("and pears?", [APPLES], f"{APPLES}\nand pears?"),
        ("What is my name?", [APPLES], "What is my name?"),
        ("and pears?", ["What is my name?", APPLES], f"{APPLES}\nand pears?"),  # back to what stands alone
        ("and for how long?", ["Who am I?", APPLES, "and pears?"], f"{APPLES}\nand pears?\nand for how long?"),
        ("and pears?", [APPLES, "thanks!"], f"{APPLES}\nand pears?"),  # what asks nothing is no context
        ("and then?", ["a?", "b?", "c?", "d?"], "b?\nc?\nd?\nand then?"),  # only so far back
        ("and\npears?", [APPLES], f"{APPLES}\nand\npears?"),
    ],
)
def test_what_is_looked_up_without_a_model(words: str, earlier: list[str], asked: str) -> None:
    assert rewriting.in_context(words, earlier) == asked


def test_a_long_turn_before_is_context_by_its_ends() -> None:
    pasted = "Why does this fail? " + "word " * 5000 + "It began on Monday."
    context = rewriting.in_context("and why?", [pasted]).removesuffix("\nand why?")

    assert context.startswith("Why does this fail?")
    assert context.endswith("It began on Monday.")
    assert len(context) < 600


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("How should I store pears over winter?", "How should I store pears over winter?"),
        ("  How do I store pears\n in winter? ", "How do I store pears in winter?"),
        ("How should I store apples over winter?", ""),  # what was asked now is not in it
        ("How should I store pears in the cellar over winter?", ""),  # nobody spoke of a cellar
        ("", ""),
        ("pears " * 100, ""),
    ],
)
def test_what_a_model_says_is_taken_only_if_it_says_what_was_said(answer: str, question: str) -> None:
    assert rewriting.understood(json.dumps({"question": answer}), "and pears?", [APPLES]) == question


@pytest.mark.parametrize("answer", ["", "no JSON", "{}", '{"question": 3}', '{"question": "pe', "[]"])
def test_an_answer_in_another_form_is_not_taken(answer: str) -> None:
    assert rewriting.understood(answer, "and pears?", [APPLES]) == ""


class Model:
    """Answers with pears, after as long as it is held. Notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[rewriting.Talk] = []
        self.error: Exception | None = None
        self.go = threading.Event()
        self.go.set()

    def __call__(self, talk: Sequence[tuple[str, str]], timeout_seconds: float) -> str:
        self.asked.append(talk)  # type: ignore[arg-type]
        self.go.wait(timeout_seconds + 5)
        if self.error:
            raise self.error
        return '{"question": "How should I store pears over winter?"}'


CONTEXT = f"{APPLES}\nand pears?"
PEARS = "How should I store pears over winter?"


class Desk:
    def __init__(self) -> None:
        self.model = Model()
        self.now = 0.0
        self.rewriter = rewriting.Rewriter(self.model, rest_seconds=60, clock=lambda: self.now)

    def query(self, words: str = "and pears?", seconds: float = 10.0) -> str:
        return self.rewriter.query(words, [APPLES], timeout_seconds=seconds)

    def settle(self) -> None:
        """Until the model is free again: its one thread takes what comes next."""
        self.rewriter._thread.submit(int).result(10)


def test_a_model_puts_the_question() -> None:
    desk = Desk()

    assert desk.query() == PEARS
    [talk] = desk.model.asked
    assert talk[-1] == ("user", f"1. {APPLES}\n2. and pears?")


def test_a_question_that_stands_alone_is_not_put_to_the_model() -> None:
    desk = Desk()

    assert desk.query("What is my name?") == "What is my name?"
    assert desk.model.asked == []


def test_without_a_model_there_is_the_context() -> None:
    assert rewriting.Rewriter(None).query("and pears?", [APPLES], timeout_seconds=1) == CONTEXT


@pytest.mark.parametrize("error", [errors.Unavailable("extraction model"), errors.Transient("late"), errors.SetupError("wrong")])
def test_a_model_that_is_away_is_left_alone_for_a_while(error: Exception) -> None:
    desk = Desk()
    desk.model.error = error
    assert [desk.query(), desk.query()] == [CONTEXT, CONTEXT]
    assert len(desk.model.asked) == 1
    desk.model.error = None
    desk.now = 60
    desk.settle()

    assert desk.query() == PEARS


def test_a_late_model_costs_no_more_than_there_is_time_for_and_is_left_alone_too() -> None:
    desk = Desk()
    desk.model.go.clear()
    started = time.monotonic()
    assert desk.query(seconds=0.05) == CONTEXT
    assert time.monotonic() - started < 4
    desk.model.go.set()
    desk.settle()

    assert desk.query() == CONTEXT
    desk.now = 60
    assert desk.query() == PEARS


def test_while_the_model_is_busy_nobody_waits_for_it() -> None:
    desk = Desk()
    desk.model.go.clear()
    desk.rewriter.warm()

    assert desk.query() == CONTEXT
    desk.model.go.set()
    desk.settle()
    assert desk.query() == PEARS


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_without_time_the_model_is_not_asked(seconds: float) -> None:
    desk = Desk()

    assert desk.query(seconds=seconds) == CONTEXT
    assert desk.model.asked == []
