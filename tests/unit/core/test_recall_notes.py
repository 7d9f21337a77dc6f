"""Recall over notes."""

import threading
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from services.core import models, note_api
from services.core.adapters.in_memory_notes import InMemoryNoteStore
from services.core.notes.writing import NoteWriter
from services.core.recall import intent, notes
from tests.support.embedding import HashingEmbedder

NOW = datetime(2026, 6, 17, tzinfo=UTC).timestamp()
DAY = 86_400.0
SCOPE = models.Scope(models.LOCAL.team, models.LOCAL.user)
KNOBS = notes.Knobs()


def kept(*put: note_api.PutNote) -> InMemoryNoteStore:
    embedder = HashingEmbedder()
    store = InMemoryNoteStore(embedder.dimension)
    lock = threading.Lock()
    NoteWriter(store, embedder, owner_lock=lambda _: lock, clock=lambda: NOW).put(models.LOCAL, put)
    return store


def page(title: str, text: str, *, days_old: float = 0.0) -> note_api.PutNote:
    return note_api.PutNote(title=title, text=text, modified_at=NOW - days_old * DAY)


def found(words: str, store: InMemoryNoteStore, knobs: notes.Knobs = KNOBS, **given: object) -> notes.Recall:
    options: dict[str, object] = {"embedder": HashingEmbedder(), "now": NOW, **given}
    return notes.recall(words, SCOPE, store=store, knobs=knobs, **options)  # type: ignore[arg-type]


def titles(result: notes.Recall) -> list[str]:
    return [note.title for note in result.ranked]


def passage(name: str = "a", *, note: str = "n", dated_at: float = NOW) -> models.Passage:
    return models.Passage(id=name, note=models.NoteId(note), team="t", owner="o", title=note, position=0, text="text", digest=name, dated_at=dated_at)


def ranked(score: float, name: str, note: str, *, cosine: float | None = 0.5, words: float = 0.0) -> notes.RankedPassage:
    return notes.RankedPassage(passage(name, note=note), score, cosine, 1, None, 0.01, words, 0.0, {})


def test_a_note_is_found_by_words_of_the_passage_that_answers_and_shows_it_first() -> None:
    store = kept(page("Pools", "# One\nConnections are shared.\n\n# Two\nPostgres needs ten megabytes."), page("Bread", "Flour and water."))

    result = found("how much does Postgres need", store)

    assert titles(result)[0] == "Pools"
    assert result.ranked[0].passages[0].passage.headings[-1] == "Two"
    assert "word postgr" in result.ranked[0].passages[0].matched


def test_without_an_embedder_words_alone_find_it_and_a_notice_says_so() -> None:
    result = found("how much does Postgres need", kept(page("Pools", "Postgres needs ten megabytes.")), embedder=None)

    assert (titles(result), result.mode) == (["Pools"], "bm25")
    assert result.notices == ("no embedder: recalled by words alone",)


def test_what_is_neither_near_nor_of_the_words_is_not_shown_and_says_why() -> None:
    result = found("quantum chromodynamics lecture", kept(page("Bread", "Flour and water.")))

    assert result.ranked == ()
    assert all("is under 0.25" in dropped.reason for dropped in result.considered)


@pytest.mark.parametrize("words", ["thanks!", "   "])
def test_words_that_ask_nothing_find_nothing(words: str) -> None:
    assert found(words, kept(page("Thanks", "thanks"))).ranked == ()


def test_the_gate_is_for_cosines_never_for_fused_ranks() -> None:
    passed, dropped = notes.gate([ranked(1.2, "a", "n", cosine=0.24), ranked(0.3, "b", "n", cosine=0.26), ranked(0.1, "c", "n", words=0.6)], KNOBS)

    assert [one.passage.id for one in passed] == ["b", "c"]
    assert [one.ranked.passage.id for one in dropped] == ["a"]


def test_a_note_is_as_good_as_its_best_passage() -> None:
    first, second = notes.grouped([ranked(0.8, "b", "one"), ranked(0.6, "a", "several"), ranked(0.5, "c", "several")])

    assert (first.note, second.note) == ("one", "several")
    assert (second.score, len(second.passages)) == (0.6, 2)


@pytest.mark.parametrize(("days", "expected"), [(0, 1.0), (30, 0.5), (60, 0.25), (-5, 1.0)])
def test_thirty_days_halve_recency(days: float, expected: float) -> None:
    assert notes.recency(days) == pytest.approx(expected)


@pytest.mark.parametrize(("day", "expected"), [(-2, 0.0), (0, 1.0), (0.5, 1.0), (8, 0.5), (15, 0.25)])
def test_what_was_written_in_the_time_asked_about_or_soon_after_is_timely(day: float, expected: float) -> None:
    assert notes.timeliness(intent.Window(NOW, NOW + DAY), NOW + day * DAY) == pytest.approx(expected)


def test_the_newest_is_first_if_it_is_asked_for() -> None:
    store = kept(page("Old costs", "The cost of hosting.", days_old=400), page("New costs", "The cost of hosting.", days_old=1))

    assert titles(found("the most recent cost of hosting", store))[0] == "New costs"


def test_links_break_near_ties_and_cannot_lift_a_note_over_a_far_better_one() -> None:
    better, close = notes.RankedNote(models.NoteId("better"), "", 1.0, ()), notes.RankedNote(models.NoteId("close"), "", 0.98, ())
    worse = notes.RankedNote(models.NoteId("worse"), "", 0.9, ())

    first, *others = notes.linked([better, close, worse], {"close": 20, "worse": 1_000_000})

    assert first.note == "close"
    assert [note.note for note in others] == ["better", "worse"]


def test_a_note_that_only_a_name_leads_to_stands_behind_every_note_that_was_found() -> None:
    store = kept(page("Kitchen", "Ask @zora for keys to drawers."), page("Garden", "what does she know of gardening and of drawers"))

    result = found("what does @zora know", store, replace(KNOBS, min_similarity=0.35))

    assert "Kitchen" in titles(result)
    for before, after in zip(result.ranked, result.ranked[1:], strict=False):
        assert before.score >= after.score
    assert [bool(note.passages) for note in result.ranked] == sorted((bool(note.passages) for note in result.ranked), reverse=True)


def test_notes_of_others_are_neither_found_nor_named() -> None:
    store = kept(page("Falcon", "Falcon is led by @anna."))

    assert (
        notes.recall(
            "who leads @anna and Falcon", models.Scope("local", "other"), store=store, embedder=HashingEmbedder(), knobs=KNOBS, now=NOW
        ).ranked
        == ()
    )
