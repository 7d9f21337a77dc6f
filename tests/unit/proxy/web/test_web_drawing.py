import itertools

import pytest

from services.proxy.web import drawing

NOW, DAY = 1_790_000_000.0, 86_400.0


@pytest.mark.parametrize("days", [0, 0.5, 1, 6, 12, 13, 83, 90, 400, 1000, 4000])
def test_the_spans_are_equal_reach_back_and_end_now(days: float) -> None:
    ends = drawing.ends(NOW - days * DAY, NOW)

    assert ends[-1] == NOW
    assert ends[0] <= NOW - days * DAY + (ends[1] - ends[0] if len(ends) > 1 else DAY)
    assert len({round(later - earlier) for earlier, later in itertools.pairwise(ends)}) <= 1
    assert 1 <= len(ends) <= 12


def test_a_first_memory_of_the_future_is_one_span() -> None:
    assert drawing.ends(NOW + DAY, NOW) == (NOW,)


def test_bars_stay_in_the_picture_and_are_as_high_as_what_they_stand_for() -> None:
    bars = drawing.bars(drawing.ends(NOW - 80 * DAY, NOW), [0, 0, 1, 5, 10, 10, 20, 40, 80, 100, 100, 200])

    assert all(bar.x >= 0 and bar.x + bar.width <= drawing.WIDTH and bar.y >= 0 and bar.y + bar.height <= drawing.HEIGHT for bar in bars)
    assert all(earlier.x + earlier.width < later.x for earlier, later in itertools.pairwise(bars))
    assert bars[-1].height == pytest.approx(2 * bars[-2].height, abs=0.2)
    assert bars[0].height == 0
    assert [bar.number for bar in bars] == [0, 0, 1, 5, 10, 10, 20, 40, 80, 100, 100, 200]
    assert sum(bool(bar.label) for bar in bars) == 6
    assert bars[-1].label == "2026-09-21"


def test_nothing_is_no_bar_and_no_mistake() -> None:
    assert drawing.bars((), ()) == ()
    assert drawing.bars((NOW,), (0,))[0].height == 0
