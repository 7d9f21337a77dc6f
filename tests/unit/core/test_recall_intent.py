"""Intents of questions."""

from datetime import UTC, datetime

import pytest

from services.core.recall import intent
from services.core.recall.intent import Kind

NOW = datetime(2026, 6, 17, 15, 30, tzinfo=UTC).timestamp()  # a Wednesday


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("What happened at the offsite?", Kind.EVENT),
        ("what went wrong on 12 March?", Kind.EVENT),
        ("what was the outcome of the review", Kind.EVENT),
        ("When did Caroline move?", Kind.TEMPORAL),
        ("the latest figures", Kind.TEMPORAL),
        ("which notes are from last week", Kind.TEMPORAL),
        ("Where does Marcus work?", Kind.ENTITY),
        ("which pages mention @anna", Kind.ENTITY),
        ("all about [[Project X]]", Kind.ENTITY),
        ("what is filed under #infra", Kind.ENTITY),
        ("find how to undo a commit", Kind.GENERAL),
        ("how may I get from the current state to the one before", Kind.GENERAL),
        ("Find the file", Kind.GENERAL),
        ("you may march in", Kind.GENERAL),
    ],
)
def test_a_kind_is_told_by_the_form_of_the_words(words: str, kind: Kind) -> None:
    assert intent.of(words, NOW).kind is kind


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("who leads Project Falcon?", ("Project Falcon",)),
        ("Falcon risks", ()),  # the first word has a capital anyhow
        ("Marcus Aurelius wrote what?", ("Aurelius",)),
        ("WHAT DOES THE FOX SAY", ()),
        ("what did I say in May or on Monday", ()),
        ('the page "dead letters" and #messaging', ("dead letters", "messaging")),
        ("mail to bob@example.com", ()),
    ],
)
def test_names_are_marked_or_have_a_capital_within_a_sentence(words: str, names: tuple[str, ...]) -> None:
    assert intent.of(words, NOW).names == names


@pytest.mark.parametrize(
    ("words", "first", "behind"),
    [
        ("on 1 May, 2022", "2022-05-01", "2022-05-02"),
        ("on May 1st 2022", "2022-05-01", "2022-05-02"),
        ("2022-05-01", "2022-05-01", "2022-05-02"),
        ("in December", "2025-12-01", "2026-01-01"),  # the last one that there was
        ("in May", "2026-05-01", "2026-06-01"),
        ("June 2023", "2023-06-01", "2023-07-01"),
        ("in 2024", "2024-01-01", "2025-01-01"),
        ("yesterday", "2026-06-16", "2026-06-17"),
        ("this morning", "2026-06-17", "2026-06-18"),
        ("last Tuesday", "2026-06-16", "2026-06-17"),
        ("last Wednesday", "2026-06-10", "2026-06-11"),
        ("last weekend", "2026-06-13", "2026-06-15"),
        ("two weeks ago", "2026-06-02", "2026-06-05"),
        ("3 days ago", "2026-06-14", "2026-06-15"),
    ],
)
def test_a_time_is_a_window_of_days(words: str, first: str, behind: str) -> None:
    window = intent.of(f"what was it {words}?", NOW).window

    assert window is not None
    assert [datetime.fromtimestamp(at, UTC).date().isoformat() for at in window] == [first, behind]


@pytest.mark.parametrize("words", ["on 31 June", "may I come in", "in May Street", "version 2024", "99999 weeks ago"])
def test_what_names_no_day_is_no_window(words: str) -> None:
    assert intent.of(words, NOW).window is None


@pytest.mark.parametrize(("words", "recent"), [("the most recent decision", True), ("a recent graduate", False), ("current affairs", False)])
def test_the_newest_is_wanted_only_if_it_is_said(words: str, recent: bool) -> None:
    assert intent.of(words, NOW).recent is recent
