import pytest

from services.core import models
from services.indexer import slots


def fact(text: str = "We use Postgres", **fields: object) -> models.Fact:
    return models.Fact(**{"text": text, "category": models.Category.TECHNICAL_CHOICE, "confidence": 0.9, "quote": text, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("subject", "expected"), [("We", "team"), ("", "user"), ("production", "team"), ("The auth service", "auth service"), ("Ana", "ana")]
)
def test_a_subject_is_who_and_not_where(subject: str, expected: str) -> None:
    assert slots.subject(fact(subject=subject)) == expected


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ("new manager", "manager"),
        ("My current manager", "manager"),
        ("prefers", "likes"),
        ("hates", "likes"),
        ("release date", "release"),
        ("date", "date"),
    ],
)
def test_an_attribute_has_one_name(attribute: str, expected: str) -> None:
    assert slots.attribute(fact(attribute=attribute)) == expected


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("the tabs", "tab", True),
        ("on October 15", "Oct 15th", True),
        ("dark mode better", "Dark mode", True),
        ("PostgreSQL", "Postgres", True),
        ("Postgres 15", "Postgres 16", False),
        ("Leo", "Leoncio", False),
    ],
)
def test_values_are_equal_but_for_how_they_are_put(one: str, other: str, equal: bool) -> None:
    assert (slots.value(one) == slots.value(other)) is equal


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Mongo", "MongoDB", True),
        ("Sublime", "Sublime Text", True),
        ("Python", "Python 3.10", True),
        ("Travis CI", "Travis", True),
        ("Ana", "Ana Lee", False),
    ],
)
def test_a_thing_may_be_named_more_shortly(one: str, other: str, same: bool) -> None:
    assert slots.same_name(one, other) is slots.same_name(other, one) is same


def test_a_longer_value_says_the_shorter_one_but_not_the_other_way_round() -> None:
    assert slots.says("Python 3.10", "Python")
    assert not slots.says("Python", "Python 3.10")


def test_what_a_statement_is_restricted_to_is_what_remains_of_its_words() -> None:
    restricted = fact("We use Postgres for analytics in production", value="Postgres", attribute="uses", qualifiers=("production",))
    assert slots.remainder(restricted) == {"analytic"}
    assert slots.places(restricted) == {"production"}
    assert slots.remainder(fact(value="Postgres", attribute="uses")) == frozenset()


def test_whom_it_is_about_is_no_place_when_it_is_the_attribute() -> None:
    assert slots.places(fact("My manager is Dana", attribute="manager", value="Dana")) == frozenset()
    assert slots.places(fact("My manager likes tea", attribute="likes", value="tea")) == {"manager"}


@pytest.mark.parametrize(("text", "sign"), [("I don't eat fish", -1), ("I hate fish", -1), ("I eat fish", 1)])
def test_a_statement_that_nothing_was_read_out_of_has_the_sign_of_its_words(text: str, sign: int) -> None:
    assert slots.sign(fact(text)) == sign
