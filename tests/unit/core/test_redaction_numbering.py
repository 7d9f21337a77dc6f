"""Numbers of placeholders that are the same in every turn of a team, without anything kept."""

import re

import pytest

from services.core.redaction import Keyed, Kind, Redactor


def placeholder(text: str, team: str = "blue", secret: str = "") -> str:
    return Redactor(numbering=Keyed(secret, team)).redact(text).text


def test_the_same_value_has_the_same_placeholder_in_every_turn() -> None:
    first = placeholder("write to ana@example.com")
    again = Redactor(numbering=Keyed("", "blue")).redact_all(["bob@example.com", "write to Ana@Example.com"])
    assert re.fullmatch(r"write to <EMAIL_[0-9]{6}>", first)
    assert again[1].text == first != again[0].text


def test_another_team_or_another_secret_gives_another_one() -> None:
    shown = {placeholder("ana@example.com"), placeholder("ana@example.com", team="red"), placeholder("ana@example.com", secret="other")}
    assert len(shown) == 3


@pytest.mark.parametrize(
    ("kind", "a", "b"),
    [
        (Kind.PHONE, "+1 415 555 0132", "+1-415-555-0132"),
        (Kind.CARD, "4111 1111 1111 1111", "4111111111111111"),
        (Kind.EMAIL, "Ana@example.com", "ana@EXAMPLE.com"),
        (Kind.ADDRESS, "5 Elm Drive", "5  elm drive"),
        (Kind.PERSON, "Ana Lopez", "ana lopez"),
    ],
)
def test_spelling_makes_no_difference(kind: Kind, a: str, b: str) -> None:
    numbers = Keyed("", "blue")
    assert numbers.number(kind, a) == numbers.number(kind, b)


def test_passwords_differ_by_a_capital() -> None:
    numbers = Keyed("", "blue")
    assert numbers.number(Kind.SECRET, "hunter2a") != numbers.number(Kind.SECRET, "Hunter2a")


def test_redacting_again_changes_nothing() -> None:
    once = placeholder("call +1 415 555 0132 or ana@example.com")
    assert placeholder(once) == once
