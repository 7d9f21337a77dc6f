"""Who shall see what comes to be."""

import pytest

from services.core import config, models, sharing
from tests.support.in_memory import memory

PRIVATE, PROPOSED, TEAM = models.Visibility
DECISION, PREFERENCE = models.Category.DECISION, models.Category.PREFERENCE
REJECTED, KEPT = models.Review.REJECTED, models.Review.KEPT


def made(**fields: object) -> models.Memory:
    return memory("We use Postgres", **{"category": DECISION, "project": "shop", **fields})


@pytest.mark.parametrize(
    ("one", "promotion", "visibility"),
    [
        (made(), "review", PROPOSED),
        (made(), "auto", TEAM),
        (made(), "off", PRIVATE),
        (made(held="gives a model orders"), "auto", PROPOSED),  # nobody is told of it unseen
        (made(held="gives a model orders"), "off", PRIVATE),
        (made(project=""), "review", PRIVATE),
        (made(project=""), "auto", PRIVATE),
        (made(category=PREFERENCE), "auto", PRIVATE),
        (made(category=models.Category.PERSONAL_INFO), "review", PRIVATE),
    ],
)
def test_what_is_new_is_seen_as_the_policy_has_it(one: models.Memory, promotion: sharing.Promotion, visibility: models.Visibility) -> None:
    assert sharing.placed(one, promotion=promotion).visibility is visibility


@pytest.mark.parametrize(
    ("former", "promotion", "visibility", "review"),
    [
        ({"visibility": TEAM, "review": models.Review.APPROVED}, "review", PROPOSED, ""),
        ({"visibility": TEAM}, "auto", TEAM, ""),
        ({"visibility": TEAM}, "off", PRIVATE, ""),
        ({"visibility": PROPOSED}, "review", PROPOSED, ""),
        ({"review": KEPT}, "auto", PRIVATE, "kept"),
        ({"review": REJECTED}, "review", PRIVATE, "rejected"),
        ({}, "review", PROPOSED, ""),
    ],
)
def test_what_takes_the_place_of_something_is_seen_as_that_was_but_never_shared_in_silence(
    former: dict[str, object], promotion: sharing.Promotion, visibility: models.Visibility, review: str
) -> None:
    placed = sharing.placed(made(), [memory("We use MySQL", **former)], promotion=promotion)
    assert (placed.visibility, placed.review) == (visibility, review)


def test_what_was_said_already_is_not_proposed_again() -> None:
    assert sharing.placed(made(), promotion="auto", said_already=True).visibility is PRIVATE


def test_a_kept_memory_does_not_release_what_reads_like_an_instruction() -> None:
    placed = sharing.placed(made(held="gives a model orders"), [made(review=KEPT)], promotion="review")
    assert (placed.visibility, placed.review) == (PRIVATE, models.Review.NONE)


@pytest.mark.parametrize(
    ("one", "other", "cosine", "same"),
    [
        ({}, {}, 0.1, True),
        ({}, {"text": "we use postgres."}, 0.1, True),
        ({}, {"text": "Postgres is in use here"}, 0.96, True),
        ({}, {"text": "Postgres is in use here"}, 0.94, False),
        ({}, {"text": "Postgres is in use here", "project": "blog"}, 0.99, False),
        ({}, {"text": "Postgres is in use here", "polarity": False}, 0.99, False),
        ({"text": "Due on October 15"}, {"text": "Due on October 16"}, 0.99, False),
        ({"attribute": "database", "value": "Postgres"}, {"text": "x", "attribute": "database", "value": "postgres"}, 0.3, True),
        ({"attribute": "database", "value": "Postgres"}, {"text": "x", "attribute": "database", "value": "MySQL"}, 0.99, False),
    ],
)
def test_two_memories_say_the_same_or_not(one: dict[str, object], other: dict[str, object], cosine: float, same: bool) -> None:
    base: dict[str, object] = {"text": "We use Postgres", "category": DECISION, "project": "shop"}
    first, second = (memory(str((base | each)["text"]), **{k: v for k, v in (base | each).items() if k != "text"}) for each in (one, other))
    assert sharing.repeats(first, second, cosine) is same


@pytest.mark.parametrize(
    ("other", "against"),
    [
        ({"value": "MySQL"}, True),
        ({"value": "Postgres"}, False),
        ({"attribute": "queue", "value": "NATS"}, False),
        ({"value": "MySQL", "project": "blog"}, False),
    ],
)
def test_two_memories_contradict_each_other_or_not(other: dict[str, object], against: bool) -> None:
    slot: dict[str, object] = {"attribute": "database", "value": "Postgres", "functional": True}
    assert sharing.contradicts(made(**slot), made(**(slot | other))) is against


def test_without_tokens_nothing_is_shared() -> None:
    assert sharing.in_force(config.Settings(promotion="auto")) == "off"
    assert sharing.in_force(config.Settings(promotion="auto", auth="token")) == "auto"
