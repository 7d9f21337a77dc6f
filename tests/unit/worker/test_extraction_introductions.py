import pytest

from services.worker.extraction.statements import introductions

WORDS = frozenset({"back", "stuck", "kit", "rose", "beginner", "bore", "test"})


@pytest.mark.parametrize("name", ["Annika", "Will", "Mark", "Zoë", "Rich", "Bo", "Hope", "Rich Harris", "O'Brien", "Jean-Luc", "Fred"])
@pytest.mark.parametrize("lead", ["I'm", "I am", "My name is", "My name's"])
def test_a_capital_makes_a_name(lead: str, name: str) -> None:
    said = f"{lead} {name}"
    found = introductions.introduced(said, said, WORDS)
    assert found is not None
    assert (found.attribute, found.value) == ("name", name)


@pytest.mark.parametrize(
    ("text", "said", "name"),
    [
        ("my name is rose", "my name is rose", "rose"),
        ("i'm annika", "i'm annika btw", "annika"),
        ("i'm annika", "hi, i'm annika", "annika"),
        ("Kit here", "hey, Kit here", "Kit"),
        ("Annika here", "Annika here", "Annika"),
    ],
)
def test_a_greeting_makes_one_too(text: str, said: str, name: str) -> None:
    found = introductions.introduced(text, said, WORDS)
    assert found is not None
    assert found.value == name


@pytest.mark.parametrize(
    "text",
    [
        "I'm Done",
        "I'm Canadian",
        "I'm Portuguese",
        "I'm Bored",
        "I'm Testing",
        "I'm SRE",
        "I'm Python",
        "I'm Vegan",
        "I'm Backend Developer",
        "i'm annika",
        "i'm stuck btw",
        "My name is not important",
        "My name is misspelled",
        "Kit here",
        "Same here",
        "I'm in Oslo",
    ],
)
def test_other_words_are_no_names(text: str) -> None:
    assert introductions.introduced(text, text, WORDS) is None


def test_without_a_dictionary_nothing_in_lower_case_after_i_am_is_a_name() -> None:
    assert introductions.introduced("i'm annika", "hi, i'm annika", frozenset()) is None
