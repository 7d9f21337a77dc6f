import pytest
from msgspec.structs import replace

from services.core import messages, models
from services.indexer import planning, relations, restating

NOW = 1_000.0


def fact(text: str, *, correction: bool = False) -> models.Fact:
    return models.Fact(text=text, category=models.Category.PROJECT_CONTEXT, confidence=1.0, quote=text, subject="", correction=correction)


def candidate(text: str, cosine: float, said_at: float = 0.0) -> relations.Candidate:
    turn = messages.StoreFacts(turn=text, principal=models.LOCAL, said_at=said_at, facts=(fact(text),))
    return relations.Candidate(planning.remembered(turn.facts[0], turn, 0, project="", now=said_at), cosine)


TAUGHT = candidate("Ana Ruiz has taught piano lessons in Lisbon", 0.8)
SWIMS = candidate("Ana Ruiz swims in the sea every morning", 0.6)
NEAR_BUT_OTHER = candidate("Lessons in Porto are given by Ana Ruiz and Ben Ode", 0.85)


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("Ana Ruiz has taught piano lessons in Porto", [SWIMS, TAUGHT], TAUGHT),
        ("Ana Ruiz has taught piano lessons in Porto", [NEAR_BUT_OTHER, TAUGHT], TAUGHT),
        ("Ben Ode has taught piano lessons in Lisbon", [SWIMS, TAUGHT], TAUGHT),
        ("Ana Ruiz has taught piano lessons in Porto", [candidate("We deploy on Fridays", 0.2)], None),
        ("The staging cluster runs in Frankfurt", [candidate("The production cluster runs in Dublin", 0.8)], None),
    ],
)
def test_a_correction_means_what_is_said_most_like_it(text: str, known: list[relations.Candidate], expected: relations.Candidate | None) -> None:
    assert restating.meant(fact(text, correction=True), known, said_at=NOW) == (expected.memory if expected else None)


DENIED = candidate("Ana Ruiz and Ben Ode are members of the chess club", 0.8)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ana Ruiz and Cleo Fay, not Ben Ode, are members of the chess club", True),
        ("Ana Ruiz and Ben Ode have never been members of the chess club", True),
        ("Ana Ruiz and Cleo Fay are members of the chess club", False),
        ("Ana Ruiz is not a member of the choir", False),
    ],
)
def test_a_sentence_that_denies_what_is_known_in_so_many_words_means_it(text: str, expected: bool) -> None:
    assert restating.meant(fact(text), [DENIED], said_at=NOW) == (DENIED.memory if expected else None)


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ("We deploy the billing API to the cluster on Mondays", "We never deploy the billing API to the cluster on Fridays"),
        ("The staging jobs of the billing API write to the archive", "The production jobs of the billing API never write to the archive"),
        ("I like tea", "I don't like coffee"),
    ],
)
def test_what_is_denied_of_another_day_place_or_thing_stays(known: str, text: str) -> None:
    assert restating.meant(fact(text), [candidate(known, 0.9)], said_at=NOW) is None


def test_a_fact_whose_value_was_read_is_left_to_its_value() -> None:
    said = replace(fact("Ana Ruiz and Ben Ode have never been members of the chess club"), attribute="club", value="chess club")
    assert restating.meant(said, [DENIED], said_at=NOW) is None


def test_what_was_said_since_is_not_meant() -> None:
    late = candidate("Ana Ruiz has taught piano lessons in Lisbon", 0.8, said_at=NOW + 1)
    assert restating.meant(fact("Ana Ruiz has taught piano lessons in Porto", correction=True), [late], said_at=NOW) is None
