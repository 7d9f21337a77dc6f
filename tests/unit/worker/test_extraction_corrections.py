import pytest

from services.core import models
from services.worker.extraction import corrections


def _said(text: str, value: str, attribute: str) -> models.Fact:
    return models.Fact(
        text=text, category=models.Category.PERSONAL_INFO, confidence=0.9, quote=text, attribute=attribute, value=value, functional=True
    )


NAME = _said("My name is Leo", "Leo", "name")
HOME = _said("I live in Berlin", "Berlin", "residence")
MEMORY = _said("The memory limit is 16 GB", "16 GB", "memory limit")
DATE = _said("The deadline is May 15", "May 15", "deadline")


@pytest.mark.parametrize(
    ("text", "value", "old"),
    [
        ("actually it's Leoncio", "Leoncio", ""),
        ("no, it's Leoncio", "Leoncio", ""),
        ("Sorry, I meant Hamburg", "Hamburg", ""),
        ("make that 8 GB", "8 GB", ""),
        ("it's actually spelled Katarzyna", "spelled Katarzyna", ""),
        ("It's May 20, not May 15", "May 20", "May 15"),
        ("It's not Leo, it's Leoncio", "Leoncio", "Leo"),
        ("wait, 16 GB I mean", "16 GB", ""),
        ("it's Leoncio actually", "Leoncio", ""),
        ("oops, Thursday not Tuesday", "Thursday", "Tuesday"),
        ("I misspoke: it's Leoncio", "Leoncio", ""),
        ("that was a typo, it's Leoncio", "Leoncio", ""),
        ("Leoncio, sorry", "Leoncio", ""),
        ("*Leoncio", "Leoncio", ""),
        ("Leoncio*", "Leoncio", ""),
        ("Not Leo, Leoncio", "Leoncio", "Leo"),
        ("Wait, no, on Wednesdays", "on Wednesdays", ""),
        ("Actually it's Karina with an a", "Karina", ""),
        ("it's actually Marc with a c", "Marc", ""),
    ],
)
def test_corrections_are_read(text: str, value: str, old: str) -> None:
    found = corrections.read(text)
    assert found is not None
    assert (found.value.removeprefix("spelled "), found.old) == (value.removeprefix("spelled "), old)


@pytest.mark.parametrize(
    "text",
    [
        "it's raining",
        "actually it's raining",
        "it's a REST API",
        "actually it's a REST API",
        "actually it's fine, leave it",
        "no, it's the other file",
        "no, thanks",
        "no, continue",
        "sorry, I meant the second function",
        "I mean it should return a list",
        "actually we use Go",
        "it's Leoncio",
        "make it work",
        "wait, is it?",
        "not now, later",
        "sorry, typo",
        "no, in the second file",
        "thanks, sorry",
    ],
)
def test_other_sentences_are_no_corrections(text: str) -> None:
    assert corrections.read(text) is None


@pytest.mark.parametrize(
    ("text", "said", "corrected"),
    [
        ("actually it's Leoncio", [NAME], "My name is Leoncio"),
        ("sorry, I meant Hamburg", [MEMORY, HOME, NAME], "I live in Hamburg"),
        ("make that 8 GB", [NAME, MEMORY], "The memory limit is 8 GB"),
        ("make that 8", [MEMORY], "The memory limit is 8 GB"),
        ("It's May 20, not May 15", [NAME, DATE], "The deadline is May 20"),
    ],
)
def test_a_correction_replaces_the_last_value_of_its_shape(text: str, said: list[models.Fact], corrected: str) -> None:
    found = corrections.read(text)
    assert found is not None
    fact = corrections.resolve(found, text, said)
    assert fact is not None
    assert (fact.text, fact.quote, fact.correction) == (corrected, text, True)
    assert fact.replaces
    assert fact.functional


def test_without_an_antecedent_a_plain_correction_is_left_to_the_reader_of_the_store() -> None:
    assert corrections.resolve(corrections.Correction("Leoncio"), "it's Leoncio", [MEMORY]) is None
    fact = corrections.unresolved(corrections.Correction("Leoncio"), "it's Leoncio")
    assert fact is not None
    assert (fact.text, fact.value, fact.attribute, fact.correction) == ("it's Leoncio", "Leoncio", "", True)


def test_without_an_antecedent_an_unsure_correction_is_dropped() -> None:
    assert corrections.unresolved(corrections.Correction("Hamburg", plain=False), "no, Hamburg") is None


CAT = _said("My cat is called Leia", "Leia", "name")
SHIPPED = _said("We ship on Mondays", "on Mondays", "ship")


def test_of_several_values_of_a_shape_the_one_most_alike_is_corrected() -> None:
    fact = corrections.resolve(corrections.Correction("Leoncio"), "it's Leoncio", [CAT, NAME])
    assert fact is not None
    assert fact.text == "My name is Leoncio"


def test_when_none_is_alike_the_last_said_is_corrected() -> None:
    fact = corrections.resolve(corrections.Correction("Momo"), "it's Momo", [CAT, NAME])
    assert fact is not None
    assert fact.text == "My cat is called Momo"


def test_words_that_say_little_correct_what_was_not_said_last_only_if_alike() -> None:
    assert corrections.resolve(corrections.Correction("German", plain=False), "no, German", [NAME], near=False) is None
    assert corrections.resolve(corrections.Correction("Leoncio", plain=False), "no, Leoncio", [NAME], near=False) is not None


@pytest.mark.parametrize("value", ["Tuesdays", "on Tuesdays"])
def test_a_corrected_value_keeps_its_preposition(value: str) -> None:
    fact = corrections.resolve(corrections.Correction(value), f"it's {value}", [SHIPPED])
    assert fact is not None
    assert (fact.text, fact.value) == ("We ship on Tuesdays", "on Tuesdays")


@pytest.mark.parametrize(("text", "old"), [("Not Leo", "Leo"), ("no, not Leo", "Leo"), ("not now", ""), ("not that one", ""), ("Leo", "")])
def test_a_sentence_may_only_take_back(text: str, old: str) -> None:
    assert corrections.denied(text) == old
