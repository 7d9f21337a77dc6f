import pytest

from services.indexer import english


@pytest.mark.parametrize(
    ("one", "other"),
    [("ride", "ridden"), ("cutting", "cut"), ("wrote", "writing"), ("people", "person"), ("deploys", "deployed"), ("libraries", "library")],
)
def test_the_forms_of_a_word_have_one_base(one: str, other: str) -> None:
    assert english.base(one) == english.base(other)


@pytest.mark.parametrize(("one", "other"), [("kids", "children"), ("automobile", "cars"), ("photographs", "pictures"), ("loved", "enjoys")])
def test_words_that_mean_the_same_are_one_concept(one: str, other: str) -> None:
    assert english.concept(one) == english.concept(other)


@pytest.mark.parametrize(("one", "other"), [("black", "white"), ("kept", "lost"), ("raise", "lower"), ("boy", "girl"), ("run", "ruin")])
def test_words_that_differ_are_two_concepts(one: str, other: str) -> None:
    assert english.concept(one) != english.concept(other)


def test_a_concept_is_broader_in_one_direction() -> None:
    boy, child = english.concept("boys"), english.concept("kid")
    assert english.broader(boy, child)
    assert not english.broader(child, boy)


@pytest.mark.parametrize(("word", "expected"), [("quickly", True), ("carefully", True), ("family", False), ("weekly", False), ("only", False)])
def test_adverbs_of_manner(word: str, expected: bool) -> None:
    assert english.manner(word) is expected


@pytest.mark.parametrize(("word", "expected"), [("ridden", True), ("washed", True), ("riding", False), ("man", False)])
def test_participles(word: str, expected: bool) -> None:
    assert english.participle(word) is expected


def test_no_word_is_in_two_groups() -> None:
    """It would count for the first alone."""
    seen: dict[str, str] = {}
    for group in english._groups(english._SYNONYMS):
        for word in group:
            assert seen.setdefault(english.base(word), group[0]) == group[0], word
