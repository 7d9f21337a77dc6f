"""Measures of ranking, and the forms of the sets."""

import json
from pathlib import Path

import pytest

from services.core import errors
from services.embedded.bench import recall_sets
from services.embedded.bench.recall_sets import Answer, Ask

FOUND = ("x", "a", "y", "b", "z", "c")


def wanted(*names: str) -> frozenset[str]:
    return frozenset(names)


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        (recall_sets.recall(wanted("a", "c"), FOUND, 5), 0.5),
        (recall_sets.hit(wanted("b"), FOUND, 3), 0.0),
        (recall_sets.hit(wanted("b", "q"), FOUND, 4), 1.0),
        (recall_sets.reciprocal_rank(wanted("b", "c"), FOUND, 10), 0.25),
        (recall_sets.reciprocal_rank(wanted("q"), FOUND, 10), 0.0),
        (recall_sets.ndcg(wanted("x"), FOUND, 10), 1.0),
        (recall_sets.ndcg(wanted("a"), FOUND, 10), 0.6309),
        (recall_sets.ndcg(wanted("x", "a"), FOUND, 10), 1.0),
        (recall_sets.ndcg(wanted("q"), FOUND, 10), 0.0),
    ],
)
def test_measures_of_a_ranking(measured: float, expected: float) -> None:
    assert measured == pytest.approx(expected, abs=1e-4)


def test_questions_without_an_answer_are_measured_apart() -> None:
    asks = [Ask("", wanted(), wanted("x"), 0.0, "single-session-preference"), Ask("", wanted(), wanted("q"), 0.0, "multi-session_abs")]

    found = recall_sets.figures("longmemeval", asks, [Answer((), FOUND)] * 2)

    assert found["recall_any@5"] == found["preference.recall_any@5"] == 1.0
    assert found["unanswerable_too.recall_any@5"] == 0.5


@pytest.mark.parametrize("name", ["locomo", "longmemeval", "scifact", "pages"])
def test_data_of_another_kind_is_refused_with_its_file(name: recall_sets.Set, tmp_path: Path) -> None:
    file = tmp_path / "other.jsonl"
    file.write_text(json.dumps({"something": "else"}) + "\n")

    with pytest.raises(errors.BadInput, match=r"other\.jsonl"):
        recall_sets.measure(name, file, lambda stage, share: None)
