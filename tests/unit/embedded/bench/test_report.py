"""Figures of a measurement."""

import pytest

from services.embedded.bench import report


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([3.0], 0.95, 3.0),
        ([1.0, 2.0], 0.5, 1.0),
        (list(range(100, 0, -1)), 0.95, 95),
        (list(range(1, 11)), 0.95, 10),
        (list(range(1, 11)), 1.0, 10),
        ([5.0, 1.0], 0.0, 1.0),
    ],
)
def test_a_quantile_is_the_smallest_value_that_covers_its_share(values: list[float], share: float, expected: float) -> None:
    assert report.quantile(values, share) == expected


def test_figures_are_rounded_to_four_digits_whatever_their_size() -> None:
    assert report.rounded({"a": 12345.6, "b": 0.000123456, "c": 0.0}) == {"a": 12350.0, "b": 0.0001235, "c": 0.0}
