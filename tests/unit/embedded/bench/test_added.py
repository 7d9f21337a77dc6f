"""What a relay adds is told by rounds, in which all variants met the same noise."""

import pytest

from services.embedded.bench import added, load
from services.embedded.bench.added import Cell, History, Sample, Variant

CELL = Cell(stream=True, kilobytes=77, concurrency=10, history=History.SESSION)


def sample(first_byte: float, calls_per_second: float = 100.0, cpu: float = 0.0) -> Sample:
    return Sample(load.Burst((first_byte,) * 10, 10 / calls_per_second), cpu * 10)


def figures(**variants: list[Sample]) -> dict[str, float]:
    return added.figures({CELL: {Variant(name): found for name, found in variants.items()}})


def test_the_added_time_is_the_median_of_the_differences_of_each_round() -> None:
    noisy_round = 0.5
    found = figures(
        direct=[sample(0.001), sample(0.001 + noisy_round), sample(0.002)], bare=[sample(0.003), sample(0.003 + noisy_round), sample(0.005)]
    )
    assert found["stream.session.77kb.c10.bare.added_ms"] == pytest.approx(2.0)


def test_ratios_are_those_to_the_bare_relay() -> None:
    found = figures(
        direct=[sample(0.001, 400)],
        bare=[sample(0.003, 200, cpu=0.002)],
        brb=[sample(0.004, 150, cpu=0.003)],
    )
    assert found["stream.session.77kb.c10.brb.added_ratio"] == pytest.approx(1.5)
    assert found["stream.session.77kb.c10.brb.calls_per_second_ratio"] == pytest.approx(0.75)
    assert found["stream.session.77kb.c10.brb.cpu_ratio"] == pytest.approx(1.5)
    assert found["stream.session.77kb.c10.brb.cpu_ms"] == pytest.approx(3.0)
    assert not [name for name in found if "bare" in name and name.endswith("_ratio")]


def test_a_ratio_to_nothing_is_left_out() -> None:
    found = figures(direct=[sample(0.002)], bare=[sample(0.001)], brb=[sample(0.004)])
    assert "stream.session.77kb.c10.brb.added_ratio" not in found
    assert "stream.session.77kb.c10.brb.cpu_ratio" not in found


def test_a_row_for_people_has_a_cell_for_every_column() -> None:
    rows = added.rows({CELL: {Variant.DIRECT: [sample(0.001)], Variant.BARE: [sample(0.003)], Variant.BRB: [sample(0.004)]}})
    assert {len(row) for row in rows} == {len(added.COLUMNS)}
    assert rows[2][:3] == ("stream session 77KB 10", "brb", "4.0")
