import pytest

from services.core.recall import query, similarity
from services.core.recall.fusion import Candidate
from tests.support import in_memory

GATE = 0.30


def _likeness(words: str, text: str, cosine: float | None, agreement: float = 0.0) -> similarity.Likeness:
    asked = query.parse(words)
    assert asked is not None
    found = Candidate(memory=in_memory.memory(text), cosine=cosine, dense_rank=None, lexical_rank=1, rrf=1 / 61, agreement=agreement)
    return similarity.likeness(asked, found)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("what about JIRA-123?", "JIRA-123 tracks the memory leak in the exporter"),
        ("rebase fix_auth_v2 please", "fix_auth_v2 is the branch with the new login flow"),
        ("is rs256 slow", "We sign tokens with RS256"),
    ],
)
def test_an_exact_identifier_surfaces_whatever_the_cosine(words: str, text: str) -> None:
    found = _likeness(words, text, 0.02)

    assert found.similarity == similarity.HARD_IDENTIFIER
    assert found.matched[0].startswith("identifier ")


def test_another_identifier_of_the_same_form_does_not() -> None:
    assert _likeness("what about JIRA-124?", "JIRA-123 tracks the memory leak", 0.2).similarity == 0.2


@pytest.mark.parametrize(("cosine", "expected"), [(0.05, 0.05), (0.15, similarity.SOFT_IDENTIFIER), (0.6, 0.6)])
def test_a_name_needs_some_support(cosine: float, expected: float) -> None:
    assert _likeness("open an issue on GitHub", "Our CI runs on GitHub Actions", cosine).similarity == expected


@pytest.mark.parametrize(("cosine", "agreement", "agreed"), [(0.5, 0.0, 0.5), (0.5, 1.0, 0.8), (0.5, 0.5, 0.65), (0.9, 1.0, 1.0), (None, 1.0, 0.0)])
def test_agreement_of_the_words_raises_a_cosine_up_to_one(cosine: float | None, agreement: float, agreed: float) -> None:
    found = _likeness("which theme for the editor", "I prefer dark mode", cosine, agreement)

    assert found.similarity == (cosine or 0.0)
    assert found.agreed == pytest.approx(agreed)


def test_without_a_cosine_the_words_decide() -> None:
    assert _likeness("what database do we use?", "We use Postgres 15 as our database", None, agreement=1.0).similarity == 1.0
    assert _likeness("what database do we use?", "I use tabs", None, agreement=1.0).similarity < GATE


def test_the_words_in_common_are_named() -> None:
    assert _likeness("what database do we use?", "We use Postgres 15 as our database", 0.5).matched == ("word databas", "word use")
