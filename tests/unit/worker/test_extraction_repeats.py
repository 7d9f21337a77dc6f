import pytest

from services.core import models
from services.worker.extraction import repeats


def _fact(text: str, value: str = "") -> models.Fact:
    return models.Fact(text=text, category=models.Category.PREFERENCE, confidence=0.7, quote=text, value=value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_fact("We use Postgres 15", "Postgres 15"), _fact("we use Postgres 15 in production", "Postgres")),
        (_fact("I work at Shopify and live in Ottawa"), _fact("I live in Ottawa", "Ottawa")),
        (_fact("I am"), _fact("I am")),
    ],
)
def test_what_is_said_in_much_the_same_words_is_said_once(one: models.Fact, other: models.Fact) -> None:
    assert repeats.others([one], [other]) == []
    assert repeats.others([other, one], []) == [other]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_fact("I use vim", "vim"), _fact("I use tmux", "tmux")),
        (_fact("We use Redis", "Redis"), _fact("We don't use Redis", "Redis")),
        (_fact("The staging database runs on port 5432", "5432"), _fact("The staging database runs on port 5433", "5433")),
    ],
)
def test_what_differs_in_what_it_names_or_denies_is_kept(one: models.Fact, other: models.Fact) -> None:
    assert repeats.others([one], [other]) == [one]
