import time

import pytest

from services.core.recall import estimate, parts

FILLER = "The weather was fine that day and nothing happened. "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Which database are we on, and where do we deploy?", ("Which database are we on", "where do we deploy?")),
        ("who is my manager and what is my timezone", ("who is my manager", "what is my timezone")),
        ("Set up a CI pipeline, write a test for the parser and deploy the exporter.", None),
        ("What is my name? Where do I live?", ("What is my name?", "Where do I live?")),
        ("We meet Ann later. Which snack suits a vegan diet? I know little.", ("Which snack suits a vegan diet?",)),
        ("Good morning everybody in the room! Remind me: who owns the billing service?", ("who owns the billing service?",)),
    ],
)
def test_what_asks_for_something_of_its_own_is_a_part(text: str, expected: tuple[str, ...] | None) -> None:
    assert parts.parts(text) == (expected or ("Set up a CI pipeline", "write a test for the parser", "deploy the exporter."))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What is my name?",
        "We use Postgres, which is great for me.",
        "I went to a concert, which I liked, and the band played long.",
        "I like it. It is fine. Everybody was happy.",
        "refactor this function to be shorter",
        "Explain the CAP theorem.",
    ],
)
def test_a_single_request_and_statements_have_no_parts(text: str) -> None:
    assert parts.parts(text) == ()


@pytest.mark.parametrize("part", ["how does it work", "can you tell me more about them", "what are the pros and cons of each"])
def test_what_only_refers_to_something_else_is_no_part(part: str) -> None:
    assert parts.parts(f"The exporter leaks memory. {part}?") == ()


def test_the_last_parts_of_many_are_taken() -> None:
    text = " ".join(f"Where is the number {number}?" for number in "abcdef")

    assert parts.parts(text) == tuple(f"Where is the number {number}?" for number in "cdef")


@pytest.mark.parametrize("text", [f"{FILLER * 40}Which database do we use?", f"{FILLER * 40}Which database do we use? {FILLER * 40}"])
def test_a_question_is_found_wherever_it_stands(text: str) -> None:
    assert parts.parts(text) == ("Which database do we use?",)


def test_a_part_is_bounded() -> None:
    (part,) = parts.parts(f"Fine so far, nothing else.\nWhere is {'the long wall ' * 200}?\n{FILLER * 100}")

    assert estimate.tokens(part) <= parts.LONGEST_TOKENS


@pytest.mark.parametrize("text", [", and what is x" * 3000, "what is x?\n" * 4000, "a: " * 15_000, " " * 40_000, "what" * 10_000, "so, " * 10_000])
def test_odd_texts_are_read_well_within_a_deadline(text: str) -> None:
    started = time.perf_counter()

    assert len(parts.parts(text)) <= parts.MOST
    assert time.perf_counter() - started < 0.3
