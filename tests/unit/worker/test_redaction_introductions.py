"""Under which name a person speaks."""

import pytest

from services.worker.redaction import introductions


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("My name is Leo", {"leo"}),
        ("hi, I'm Priya Sharma and I do data", {"priya", "sharma"}),
        ("my name is rose", {"rose"}),
        ("you can call me Sam.", {"sam"}),
        ("Kit here, one question", {"kit"}),
        ("I am Willem van der Berg", {"willem", "van", "der", "berg"}),
        ("I'm Ana's manager", set()),
        ("I'm meeting Ana", set()),
        ("My manager is Ana", set()),
    ],
)
def test_it_is_what_the_person_says(text: str, names: set[str]) -> None:
    assert introductions.names([text]) == names
