from datetime import UTC, datetime

import pytest

from services.proxy.web import shown

NOW = datetime(2026, 9, 21, 12, tzinfo=UTC).timestamp()


def mark(number: str) -> str:
    return f'<span class="hidden-character">{number}</span>'


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("", ""),
        ("a < b & \"c\" 'd'", "a &lt; b &amp; &#34;c&#34; &#39;d&#39;"),
        ("line\nline\ttab", "line\nline\ttab"),
        ("<b>\u202e</b>", f"&lt;b&gt;{mark('U+202E')}&lt;/b&gt;"),
        ("a\u200bb", f"a{mark('U+200B')}b"),
        ("\x00\x1b\x7f", mark("U+0000") + mark("U+001B") + mark("U+007F")),
        ("\U000e0041", mark("U+E0041")),
        ("x\U000e0100", f"x{mark('U+E0100')}"),
        ("\ud800", mark("U+D800")),
        ("👩\u200d🔬 नमस्\u200dते ❤\ufe0f é", "👩\u200d🔬 नमस्\u200dते ❤\ufe0f é"),
    ],
)
def test_words_are_escaped_and_what_nobody_sees_is_shown(text: str, html: str) -> None:
    assert str(shown.said(text)) == html


def test_joiners_are_shown_where_something_may_hide_behind_them() -> None:
    assert str(shown.said("a\u200db", strict=True)) == f"a{mark('U+200D')}b"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (7_200, "2 hours ago"),
        (86_400, "1 day ago"),
        (8 * 86_400, "1 week ago"),
        (61 * 86_400, "2 months ago"),
        (800 * 86_400, "2 years ago"),
    ],
)
def test_how_long_ago(seconds: float, said: str) -> None:
    assert shown.ago(NOW - seconds, NOW) == said
    assert shown.ago(datetime.fromtimestamp(NOW - seconds, UTC), NOW) == said


def test_times_are_for_people_and_programs() -> None:
    assert str(shown.time(NOW)) == '<time datetime="2026-09-21T12:00:00Z">2026-09-21 12:00</time>'
    assert str(shown.day(NOW)) == '<time datetime="2026-09-21T12:00:00Z">2026-09-21</time>'
    assert str(shown.time(None)) == "–"


@pytest.mark.parametrize(("text", "said"), [("  a\n b ", "a b"), ("x" * 10, "x" * 10), ("x" * 11, "x" * 9 + "…"), ("", "")])
def test_a_short_form(text: str, said: str) -> None:
    assert shown.short(text, 10) == said


def test_small_words() -> None:
    assert [shown.number(value) for value in (None, 0.456, -0.0)] == ["–", "0.46", "-0.00"]
    assert [shown.plural(count, "memory", "memories") for count in (0, 1, 5000)] == ["0 memories", "1 memory", "5,000 memories"]
    assert shown.plain("project_context") == "project context"
