import json
from collections.abc import Callable

import pytest
from click.testing import Result

from services.core import models, note_api
from services.core.notes.writing import NoteWriter
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


@pytest.fixture
def noted(running: Parts) -> str:
    """The id of a note."""
    writer = NoteWriter(running.notes, running.embedder, owner_lock=running.owner_lock, clock=running.clock)
    text = "# Databases\n\n## Which one\n\nWhich database do we use: Oracle, with a standby.\n"
    return writer.put(models.LOCAL, [note_api.PutNote(text=text)])[0].id


def test_notes_come_behind_the_memories_under_their_headings(brb: Brb, noted: str) -> None:
    rows = [line.split("\t") for line in brb("recall", "which", "database", "do", "we", "use").stdout.splitlines()]

    assert [row[2] for row in rows] == ["preference", "note"]
    assert rows[-1][0] == noted
    assert rows[-1][-1] == "Databases > Which one: Which database do we use: Oracle, with a standby."


@pytest.mark.parametrize(("kind", "kinds"), [("memories", {"preference"}), ("notes", {"note"}), ("all", {"preference", "note"})])
def test_a_recall_is_of_the_kind_asked_for(brb: Brb, noted: str, kind: str, kinds: set[str]) -> None:
    rows = [line.split("\t") for line in brb("recall", "which database do we use", "--kind", kind).stdout.splitlines()]

    assert {row[2] for row in rows} == kinds


def test_an_explanation_shows_the_signals_of_passages(brb: Brb, noted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    flat = [line.split("\t") for line in brb("recall", "which database do we use", "--explain", "--kind", "notes").stdout.splitlines()]
    assert [(row[0], row[-2]) for row in flat] == [(noted, "recalled")]
    assert len(flat[0]) == 12

    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "80")
    shown = brb("recall", "which database do we use", "--explain").stdout
    assert ["dense", "lexical", "rrf", "cosine", "words", "agreed", "boosts", "score"] in [line.split() for line in shown.splitlines()]
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_the_report_shows_what_was_asked_and_shown_in_vain(brb: Brb) -> None:
    for _ in range(3):
        brb("recall", "where is the zebra kept")
        brb("recall", "which database do we use")

    result = brb("recall", "--report")

    rows = [line.split("\t") for line in result.stdout.splitlines() if line]
    assert rows[0] == ["3", "2026-09-21", "where is the zebra kept"]
    assert (rows[1][0], rows[1][2], rows[1][-1]) == ("3", "memory", "I like the database we use")
    assert result.stderr == "6 recalls and 0 looks since 2026-09-21\n"
    assert json.loads(brb("recall", "--report", "--json").stdout)["asked"] == 6


def test_a_report_of_nothing_says_so(brb: Brb) -> None:
    assert brb("recall", "--report").stderr == "nothing was asked for yet\n"


@pytest.mark.parametrize("words", [(), ("zebra", "--report")])
def test_words_and_a_report_exclude_each_other_and_one_is_needed(brb: Brb, words: tuple[str, ...]) -> None:
    result = brb("recall", *words)

    assert (result.exit_code, result.stderr) == (2, "error: give either words to recall for or --report\n")


def test_what_is_ones_own_alone_is_recalled_apart(brb: Brb, running: Parts) -> None:
    keep(running, memory("The team likes the database we use", owner="bo", visibility=models.Visibility.TEAM))

    def found(*words: str) -> set[str]:
        rows = brb("recall", "which database do we use", "--no-project", *words).stdout.splitlines()
        return {row.split("\t")[-1] for row in rows}

    assert found("--scope", "private") == {"I like the database we use"}
    assert found("--scope", "team") == {"The team likes the database we use"}
    assert found() == found("--scope", "private") | found("--scope", "team")
