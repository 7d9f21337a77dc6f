import json
from collections.abc import Callable

import pytest
from click.testing import Result

from services.proxy.parts import Parts
from tests.support.in_memory import keep, memory

Brb = Callable[..., Result]


@pytest.fixture(autouse=True)
def kept(running: Parts) -> None:
    keep(
        running,
        memory("We use Postgres as our database", project="shop"),
        memory("I like the database we use"),
        memory("Our mascot is a badger and we love it"),
    )


def test_a_recall_shows_scores_best_first(brb: Brb) -> None:
    rows = [line.split("\t") for line in brb("recall", "which", "database", "do", "we", "use", "--project", "shop").stdout.splitlines()]

    assert {row[-1] for row in rows} == {"I like the database we use", "We use Postgres as our database"}
    assert float(rows[0][1]) >= float(rows[1][1]) >= 0.3


def test_an_explanation_shows_each_signal_and_what_was_dropped_and_why(brb: Brb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "80")

    shown = brb("recall", "which database do we use", "--explain", "--limit", "1", "--project", "shop").stdout

    lines = [line.split() for line in shown.splitlines()]
    assert ["recalled", "(hybrid)"] in lines
    assert ["dense", "lexical", "rrf", "similarity", "strength", "recency", "temporal", "score"] in lines
    assert ["dropped"] in lines
    assert "not among the best 1: " in " ".join(shown.split())
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_an_explanation_in_a_pipe_is_one_line_for_each_candidate(brb: Brb) -> None:
    rows = [
        line.split("\t") for line in brb("recall", "which database do we use", "--explain", "--limit", "1", "--project", "shop").stdout.splitlines()
    ]

    assert rows[0][-2] == "recalled"
    assert rows[1][-2] == "not among the best 1"
    assert {len(row) for row in rows} == {12}


def test_an_explanation_as_json_has_the_dropped_ones(brb: Brb) -> None:
    explained = json.loads(brb("recall", "which database do we use", "--explain", "--json", "--limit", "1", "--project", "shop").stdout)

    assert len(explained["memories"]) == 1
    assert "not among the best 1" in [one["reason"] for one in explained["dropped"]]
    assert explained["memories"][0]["signals"]["dense_rank"] == 1


def test_nothing_to_recall_is_no_failure(brb: Brb) -> None:
    result = brb("recall", "zebra", "xylophone", "--mode", "bm25")

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.endswith("nothing is recalled: the call would go on unchanged\n")


def test_an_unknown_mode_is_wrong_usage(brb: Brb) -> None:
    assert brb("recall", "x", "--mode", "magic").exit_code == 2
