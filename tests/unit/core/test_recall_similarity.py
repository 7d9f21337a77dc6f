import pytest

from services.core.recall import query, similarity
from services.core.recall.fusion import Candidate
from tests.support import in_memory

GATE = 0.30


def _likeness(words: str, text: str, cosine: float | None, agreement: float = 0.0, listed: bool = False) -> similarity.Likeness:
    asked = query.parse(words)
    assert asked is not None
    found = Candidate(memory=in_memory.memory(text), cosine=cosine, dense_rank=None, lexical_rank=1, rrf=1 / 61, agreement=agreement, listed=listed)
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


@pytest.mark.parametrize(("cosine", "agreement", "expected"), [(0.5, 0.0, 0.0), (0.5, 1.0, 0.2), (0.1, 0.5, 0.1), (None, 1.0, 0.0)])
def test_agreement_of_the_words_counts_apart_from_the_cosine_by_the_share_that_they_are(
    cosine: float | None, agreement: float, expected: float
) -> None:
    found = _likeness("which theme for the editor", "The theme is dark", cosine, agreement)

    assert found.similarity == (0.5 if cosine is None else cosine)
    assert found.agreement == pytest.approx(expected)


@pytest.mark.parametrize(
    ("words", "text", "lift"),
    [
        ("Which message broker did we pick and why?", "We picked NATS as message broker", 0.10),
        ("which broker for our events", "We picked NATS as message broker", 0.05),
        ("which broker for the events", "We picked NATS as message broker", 0.0),
        ("How do I reverse a linked list in C?", "Migrations must be reversible", 0.0),
        ("how does it work, and how do I use and run it?", "I use it to run and work", 0.0),
        ("what happened in 15", "The release deadline is October 15", 0.0),
        ("name three impressionist painters", "My name is Leo", 0.0),
    ],
)
def test_words_lift_a_cosine_only_if_they_are_half_of_what_is_asked_and_one_is_telling(words: str, text: str, lift: float) -> None:
    assert _likeness(words, text, 0.2).lift == pytest.approx(lift, abs=0.02)


def test_without_a_cosine_there_is_nothing_to_lift() -> None:
    assert _likeness("message broker", "We picked NATS as message broker", None).lift == 0.0


@pytest.mark.parametrize(("cosine", "expected"), [(0.1, 0.1), (0.2, similarity.SOFT_IDENTIFIER), (None, similarity.SOFT_IDENTIFIER)])
def test_a_thing_of_ones_own_that_both_name_is_a_name(cosine: float | None, expected: float) -> None:
    found = _likeness("Help me pick an anniversary gift for my husband", "My husband loves sailing", cosine)

    assert found.similarity == expected
    assert "own my husband" in found.matched


@pytest.mark.parametrize("text", ["Our database is Postgres", "The database is MySQL"])
def test_what_is_somebody_elses_is_not(text: str) -> None:
    assert _likeness("homework for my database course", text, 0.2).similarity == 0.2


def test_the_part_that_fits_best_counts() -> None:
    text = "Our customers are pharmacies"

    assert _likeness("Where do our tickets live, how large may the image be, and who are our customers?", text, None).similarity == 1.0


@pytest.mark.parametrize(("cosine", "expected"), [(None, 0.5), (-0.1, 0.5), (0.4, 0.62), (0.9, 0.9)])
def test_of_the_kind_that_is_asked_for_all_are_alike_and_the_cosine_orders_them(cosine: float | None, expected: float) -> None:
    found = _likeness("what are our constraints?", "Migrations are reversible", cosine, listed=True)

    assert found.similarity == pytest.approx(expected)
    assert found.matched == ("kind preference",)


def test_without_a_cosine_the_words_decide() -> None:
    assert _likeness("what database do we use?", "We use Postgres 15 as our database", None, agreement=1.0).similarity == 1.0
    assert _likeness("what database do we use?", "I use tabs", None, agreement=1.0).similarity < GATE


def test_the_words_in_common_are_named() -> None:
    assert _likeness("what database do we use?", "We use Postgres 15 as our database", 0.5).matched == ("word databas", "word use")


@pytest.mark.parametrize(
    ("words", "text", "similarity_"),
    [
        ("describe the taste of durian", "Renske can't eat coriander", 0.4),  # nothing but the model says so
        ("describe the taste of coriander", "Renske can't eat coriander", 0.5),
        ("give an example of a good question", "Leo likes a good question", 0.4),  # a word that says nothing of the subject
        ("which food should I avoid?", "Renske can't eat coriander", 0.5),  # speaks of the person
    ],
)
def test_a_message_of_nothing_of_ones_own_needs_a_telling_word_beside_the_cosine(words: str, text: str, similarity_: float) -> None:
    assert _likeness(words, text, 0.5).similarity == pytest.approx(similarity_)


def test_without_an_embedding_no_word_is_missed_twice() -> None:
    assert _likeness("give an example of a good question", "Leo likes a good question", None).similarity == pytest.approx(0.5)
