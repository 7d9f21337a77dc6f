import pytest

from services.core.recall import lexical


def _similarity(query: str, text: str) -> float:
    return lexical.similarity(lexical.stems(query), lexical.stems(text))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("what database do we use?", "We use Postgres 15 as our database"),
        ("What is my name?", "My name is Leo"),
        ("which databases are there", "The staging database is MySQL"),
        ("who's Leo's manager", "My manager is Priya"),
        ("WHAT TIME IS STANDUP", "The team standup is at 9:30"),
    ],
)
def test_the_words_that_matter_find_a_memory(query: str, text: str) -> None:
    assert _similarity(query, text) >= 0.45


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("help me write a SQL query", "We use Postgres 15 in production"),
        ("which theme should I use for the editor?", "I use Postgres"),
        ("does it work?", "I work at Acme"),
        ("explain how the garbage collector of the Java virtual machine finds dead objects by name", "My name is Leo"),
        ("what is it about then", "It is what it is"),
        ("", "My name is Leo"),
    ],
)
def test_a_common_word_or_one_of_many_does_not(query: str, text: str) -> None:
    assert _similarity(query, text) < 0.30


def test_a_memory_that_holds_every_word_is_as_alike_as_can_be() -> None:
    assert _similarity("release deadline", "The release deadline is October 15") == 1.0


@pytest.mark.parametrize(
    "name", ["JIRA-123", "fix_auth_v2", "RS256", "main.py", "10.0.0.1", "snake_case", "python3", "5433", "v1.5", "Node.js", "abc-12", "__init__.py"]
)
def test_a_name_by_its_form_is_a_hard_identifier(name: str) -> None:
    assert lexical.identifiers(f"look at {name}, please.").hard == {name.casefold()}


@pytest.mark.parametrize("name", ["GitHub", "useState", "SQL", "auth-service", "v2", "iPhone"])
def test_a_name_that_is_only_shaped_like_one_is_a_soft_identifier(name: str) -> None:
    found = lexical.identifiers(f"look at {name}, please.")

    assert (found.hard, found.soft) == (frozenset(), {name.casefold()})


@pytest.mark.parametrize(
    "word", ["hello", "Friday", "15", "2026", "e.g.", "i.e.", "10am", "2nd", "100ms", "up-to-date", "I", "I'm", "end.", "-", "CAN", "3x"]
)
def test_ordinary_words_dates_and_quantities_are_no_identifiers(word: str) -> None:
    assert lexical.identifiers(f"look at {word} please") == lexical.Identifiers(frozenset(), frozenset())


def test_shouting_makes_no_identifiers() -> None:
    assert not lexical.identifiers("WHY DOES NOTHING WORK TODAY").soft


def test_an_identifier_is_compared_whole_and_in_any_case() -> None:
    assert "jira-123" in lexical.tokens("Jira-123's owner is Ann.")
    assert "jira-12" not in lexical.tokens("JIRA-123 is done.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a gift for my husband's birthday", {"my husband"}),
        ("My new database and OUR customers", {"my databas", "our custom"}),
        ("my own old bike", {"my bike"}),
        ("my way of our work", set()),
        ("the husband", set()),
    ],
)
def test_what_a_text_calls_its_writers_own_is_told(text: str, expected: set[str]) -> None:
    assert lexical.own(text) == expected


@pytest.mark.parametrize(("stem", "telling"), [("databas", True), ("work", False), ("avoid", False), ("15", False), ("rs256", True)])
def test_generic_words_and_bare_numbers_tell_nothing(stem: str, telling: bool) -> None:
    assert lexical.is_telling(stem) is telling


def test_framing_words_hide_no_rare_one() -> None:
    assert _similarity("What food should I avoid, given what I am allergic to?", "I'm allergic to peanuts") > 0.35
