import pytest

from services.core.quality import survey
from services.core.telemetry import Zombie
from tests.support.in_memory import NOW, memory

DAY = 86_400.0


@pytest.mark.parametrize(
    ("said_days", "told_days", "expected"),
    [
        (100, 100, Zombie.NEVER),  # a memory begins as told when it was said
        (100, 50, Zombie.NO_LONGER),
        (100, 5, None),
        (20, 20, None),
        (31, 31, Zombie.NEVER),
    ],
)
def test_dead_weight_is_what_nobody_was_told_of_for_long(said_days: int, told_days: int, expected: Zombie | None) -> None:
    one = memory("a", said_at=NOW - said_days * DAY, accessed_at=NOW - told_days * DAY)

    assert survey.zombie(one, NOW) is expected


def test_what_its_person_says_anew_is_alive() -> None:
    assert survey.zombie(memory("a", said_at=NOW - 100 * DAY, reinforced_at=NOW - DAY), NOW) is None


def test_the_share_of_each_kind_is_of_all_that_were_looked_at() -> None:
    aged = [memory(str(n), said_at=NOW - 100 * DAY, accessed_at=NOW - days * DAY) for n, days in enumerate((100, 100, 50, 1))]

    assert survey.zombies(aged, NOW) == {Zombie.NEVER: 0.5, Zombie.NO_LONGER: 0.25}
    assert survey.zombies([], NOW) is None


@pytest.mark.parametrize(("most", "total", "expected"), [([3, 1], 8, 0.5), ([], 0, None), ([5], 5, 1.0), ([5], 4, 1.0)])
def test_the_share_of_the_most_told(most: list[int], total: int, expected: float | None) -> None:
    assert survey.top_share(most, total) == expected
