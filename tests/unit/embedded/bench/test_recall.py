"""What BRB takes beside embedding and search is what the added times leave of each other."""

import pytest

from services.embedded.bench import load, recall
from services.embedded.bench.added import Variant
from services.embedded.bench.recall import Stages

TIMED = recall.Timed(
    first_bytes={
        Variant.DIRECT: [0.001, 0.101, 0.001],
        Variant.BARE: [0.002, 0.102, 0.002],
        Variant.BRB: [0.020, 0.121, 0.022],
    },
    told=2,
    alone=[Stages(0.010, 0.005), Stages(0.011, 0.005), Stages(0.012, 0.001)],
    bursts={32: [load.Burst((0.2,) * 32, 0.3, told=32), load.Burst((0.4,) * 32, 0.5, told=30)]},
)


def test_what_is_left_is_the_added_time_less_that_of_the_bare_relay_and_the_stages_of_a_recall() -> None:
    """The second call of each way met the same noise."""
    found = recall.figures(TIMED)
    assert found["one.bare.added_ms"] == pytest.approx(1.0)
    assert found["one.brb.added_ms"] == pytest.approx(20.0)
    assert found["one.embed_ms"] == pytest.approx(11.0)
    assert found["one.search_ms"] == pytest.approx(5.0)
    assert found["one.left_ms"] == pytest.approx(20.0 - 1.0 - 15.0), "the median of both stages together, not of each"


def test_of_many_at_once_the_round_in_which_the_fewest_were_told_counts() -> None:
    assert recall.figures(TIMED)["32.told"] == 30


def test_a_row_for_people_has_a_cell_for_every_column() -> None:
    rows = recall.rows(TIMED)
    assert {len(row) for row in rows} == {len(recall.COLUMNS)}
    assert [row[:2] for row in rows] == [("1", "direct"), ("1", "bare"), ("1", "brb"), ("32", "brb")]
    assert rows[2][-2:] == ("4.0", "2 of 3")
    assert rows[3][-1] == "30 of 32"
