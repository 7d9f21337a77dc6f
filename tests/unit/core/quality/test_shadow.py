import uuid

import pytest

from services.core.quality import shadow


def test_the_same_turns_are_always_in_the_sample_and_about_as_many_as_asked_for() -> None:
    turns = [uuid.uuid5(uuid.NAMESPACE_URL, str(n)).hex for n in range(20_000)]
    chosen = {turn for turn in turns if shadow.sampled(turn, 0.01)}

    assert 140 <= len(chosen) <= 260
    assert chosen == {turn for turn in turns if shadow.sampled(turn, 0.01)}
    assert chosen <= {turn for turn in turns if shadow.sampled(turn, 0.05)}


@pytest.mark.parametrize(("share", "expected"), [(0.0, False), (1.0, True)])
def test_none_or_all_can_be_in_the_sample(share: float, expected: bool) -> None:
    assert all(shadow.sampled(str(n), share) is expected for n in range(100))


@pytest.mark.parametrize(
    ("found", "exact", "expected"),
    [("abc", "abc", 1.0), ("cba", "abc", 1.0), ("abx", "abc", 2 / 3), ("", "abc", 0.0), ("abc", "", None)],
)
def test_overlap_is_the_share_of_the_exact_ones_that_were_found(found: str, exact: str, expected: float | None) -> None:
    assert shadow.overlap(list(found), list(exact)) == (None if expected is None else pytest.approx(expected))
