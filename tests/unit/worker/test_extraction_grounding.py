import msgspec
import pytest

from services.core import models
from services.worker.extraction import grounding

FACT = models.Fact(
    text="We use Postgres 15",
    category=models.Category.TECHNICAL_CHOICE,
    confidence=0.9,
    quote="we use Postgres 15",
    attribute="uses",
    value="Postgres 15",
)


def _with(**changes: object) -> models.Fact:
    return msgspec.structs.replace(FACT, **changes)


def test_a_fact_in_the_persons_words_is_grounded() -> None:
    assert grounding.grounded(FACT, "By the way, we use Postgres 15.")


def test_white_space_counts_as_one_blank() -> None:
    assert grounding.grounded(FACT, "we use\n  Postgres\t15")


@pytest.mark.parametrize(
    "fact",
    [
        _with(quote="we use MySQL"),
        _with(quote=""),
        _with(text="We use Postgres 16"),
        _with(value="Postgres 16"),
        _with(text="We use Postgres 15 at Acme"),
        _with(text="John Doe uses Postgres 15"),
        _with(text="We use Postgres 15 on db-01.internal"),
        _with(text="We use Postgres 15 <EMAIL_1>"),
        _with(replaces="MySQL"),
    ],
)
def test_nothing_is_invented(fact: models.Fact) -> None:
    assert not grounding.grounded(fact, "Well, we use Postgres 15.")


def test_a_placeholder_is_evidence_like_any_word() -> None:
    fact = _with(text="My mail is <EMAIL_1>", quote="my mail is <EMAIL_1>", value="<EMAIL_1>")
    assert grounding.grounded(fact, "my mail is <EMAIL_1>")


def test_a_correction_takes_the_rest_from_what_was_said_before() -> None:
    fact = models.Fact(
        text="Ana's deadline is May 16",
        category=models.Category.PROJECT_CONTEXT,
        confidence=0.8,
        quote="make that May 16",
        value="May 16",
        replaces="May 15",
        correction=True,
    )
    assert grounding.grounded(fact, "make that May 16", ("Ana's deadline is May 15",))
    assert not grounding.grounded(fact, "make that May 16")


def test_the_new_value_of_a_correction_must_be_in_its_own_words() -> None:
    fact = _with(text="My name is Leoncio", quote="it's him", value="Leoncio", correction=True)
    assert not grounding.grounded(fact, "it's him", ("My name is Leoncio",))
