import time

import pytest

from services.proxy.web import differing


def marked(text: str, other: str) -> str:
    return "".join(f"[{piece.text}]" if piece.differs else piece.text for piece in differing.pieces(text, other))


@pytest.mark.parametrize(
    ("text", "other", "expected"),
    [
        ("orders in PostgreSQL 17.", "orders in PostgreSQL 16.", "orders in PostgreSQL [17]."),
        ("the same", "the same", "the same"),
        ("The Same", "the same", "The Same"),
        ("we use Go", "", "we use Go"),
        ("", "something", ""),
        ("a b c", "a c", "a [b ]c"),
        ("quite other", "nothing alike", "[quite] [other]"),
    ],
)
def test_words_that_another_text_has_not_are_marked(text: str, other: str, expected: str) -> None:
    assert marked(text, other) == expected


def test_nothing_of_a_text_is_lost_or_changed() -> None:
    text, other = "A <b> \u202e  tail\n— 12.5% of it", "12.5% — b A"

    assert "".join(piece.text for piece in differing.pieces(text, other)) == text


def test_long_texts_take_no_time() -> None:
    started = time.process_time()
    for _ in range(20):
        differing.pieces("a b " * 500, "b a " * 500)

    assert time.process_time() - started < 1
