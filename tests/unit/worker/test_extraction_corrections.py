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
    fact = corrections.resolve(corrections.Correction("Leoncio"), "it's Leoncio", [MEMORY])
    assert fact is not None
    assert (fact.text, fact.value, fact.attribute, fact.correction) == ("it's Leoncio", "Leoncio", "", True)


def test_without_an_antecedent_an_unsure_correction_is_dropped() -> None:
    assert corrections.resolve(corrections.Correction("Hamburg", plain=False), "no, Hamburg", [MEMORY]) is None
