import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.indexer import alignment

IDLE = frozenset(re.findall(r"\w+", "a an the is are be being in on at to and that which who it of for by with my we what there have has"))


def order(text: str) -> alignment.Order:
    return alignment.order(text.lower().replace(",", "").split(), IDLE)


def align(memory: str, fact: str) -> alignment.Alignment:
    return alignment.align(order(memory), order(fact))


@pytest.mark.parametrize(
    ("memory", "fact"),
    [
        ("A horse is being ridden in a creek by a farmer", "A farmer rides a horse in a creek"),
        ("A dog, which is brown and loud, is in the garden", "A brown loud dog is in the garden"),
        ("The trunk of a tree fell", "The tree trunk fell"),
        ("A rod for fishing broke", "A fishing rod broke"),
        ("Ana sings and dances", "Ana dances and sings"),
        ("The winner is what we like", "We like the winner"),
        ("There are three rooms in the house", "The house has three rooms"),
    ],
)
def test_forms_of_one_statement_have_one_order(memory: str, fact: str) -> None:
    assert align(memory, fact) == alignment.Alignment((), (), True)


@pytest.mark.parametrize(
    ("memory", "fact"),
    [
        ("A dog chases a cat", "A cat chases a dog"),
        ("A dog is chased by a cat", "A dog chases a cat"),
        ("A hat lies in a box", "A box lies in a hat"),
        ("Ana runs slowly", "Ana runs rapidly"),
    ],
)
def test_who_does_what_to_whom_is_told_by_the_order(memory: str, fact: str) -> None:
    assert align(memory, fact) == alignment.Alignment((), (), False)


def test_what_is_left_over_is_named_on_its_side() -> None:
    assert align("A brown dog barks", "A dog barks outside") == alignment.Alignment(("brown",), ("outsid",), True)


def test_a_broader_word_of_the_fact_stands_for_a_narrower_one_of_the_memory() -> None:
    assert align("A kitten sleeps", "A cat sleeps") == alignment.Alignment((), (), True)
    assert align("A cat sleeps", "A kitten sleeps") == alignment.Alignment(("cat",), ("kitten",), True)


@given(st.lists(st.sampled_from(["dog", "ridden", "brown", "quickly", *sorted(IDLE)]), max_size=14))
def test_any_words_can_be_brought_into_order_and_no_content_is_lost(tokens: list[str]) -> None:
    made = alignment.order(tokens, IDLE)
    assert set(made.concepts) == {alignment.english.concept(token) for token in tokens if token in {"dog", "ridden", "brown"}}
    assert alignment.align(made, made) == alignment.Alignment((), (), True)
