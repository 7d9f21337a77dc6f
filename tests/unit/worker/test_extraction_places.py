import pytest

from services.worker.extraction import places


@pytest.mark.parametrize(("value", "known"), [("Vienna", True), ("New York", True), ("Malmö", True), ("Vienna, Austria", True), ("Hetzner", False)])
def test_large_cities_and_countries_are_known(value: str, known: bool) -> None:
    assert places.known(value) is known


@pytest.mark.parametrize(
    ("value", "possible"), [("Little Whinging", True), ("Postgres", False), ("GitHub Actions", False), ("utils.py", False), ("the next step", False)]
)
def test_any_other_proper_name_that_is_no_tool_may_be_a_place(value: str, possible: bool) -> None:
    assert places.possible(value) is possible
