import pytest

from services.core import models
from services.core.quality import injected
from tests.support.in_memory import NOW, memory

DAY = 86_400.0


@pytest.mark.parametrize(
    ("vectors", "expected"),
    [
        ([], None),
        ([[1.0, 0.0]], None),
        ([[1.0, 0.0], [1.0, 0.0]], 1.0),
        ([[1.0, 0.0], [0.0, 2.0]], 0.0),
        ([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 1 / 3),
        ([[1.0, 0.0], [-1.0, 0.0]], -1.0),
    ],
)
def test_redundancy_is_the_mean_cosine_between_two(vectors: list[list[float]], expected: float | None) -> None:
    assert injected.redundancy(vectors) == (None if expected is None else pytest.approx(expected, abs=1e-9))


def test_a_memory_is_as_old_as_what_was_said_last() -> None:
    old = memory("a", said_at=NOW - 100 * DAY, evidence=(models.Evidence("a", "t", NOW - 3 * DAY),))

    assert injected.ages_days([old, memory("b", said_at=NOW + DAY)], NOW) == [pytest.approx(3.0), 0.0]
