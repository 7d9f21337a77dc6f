from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.core.notes import front_matter, markdown, page, passages

TITLES = [
    ("# First\n\ntext", {}, "First"),
    ("## Second\n\n# `First` *of* [all](x)\n\ntext", {}, "First of all"),
    ("Setext\n===\n\ntext", {}, "Setext"),
    ("---\ntitle: Stated\n---\n# First", {}, "Stated"),
    ("---\ntitle: Stated\n---\n# First", {"title": "Given"}, "Given"),
    ("text alone", {"path": "a/deploy notes.md"}, "deploy notes"),
    ("  text\nalone ", {}, "text alone"),
    ("", {}, "untitled"),
    ("#\n\ntext", {"path": "x.md"}, "x"),
    ("```\n# a comment\n```", {"path": "x.md"}, "x"),
    ("---\ntitle: 2024\n---\n", {}, "2024"),
    ("---\ntitle: [a, b]\n---\n# First", {}, "First"),
]


@pytest.mark.parametrize(("text", "given_fields", "title"), TITLES)
def test_the_title_of_a_page(text: str, given_fields: dict[str, str], title: str) -> None:
    assert page.parse(text, **given_fields).title == title  # type: ignore[arg-type]


FRONT_MATTER = [
    ("---\na: 1\n---\nbody", {"a": 1}, "body", ""),
    ("---\na: 1\n...\nbody", {"a": 1}, "body", ""),
    ("---  \na: 1\n---", {"a": 1}, "", ""),
    ("---\n---\nbody", {}, "body", ""),
    ("---\na: 2024-05-01\nb: 2024-05-01 10:00:00\n---\n", {"a": "2024-05-01", "b": "2024-05-01T10:00:00"}, "", ""),
    ("---\nc: [x, {d: null}]\n---\n", {"c": ["x", {"d": None}]}, "", ""),
    ("---\n2: two\ntrue: yes\n---\n", {"2": "two", "True": True}, "", ""),
    ("---\na: .inf\nb: 99999999999999999999\n---\n", {"a": "inf", "b": "99999999999999999999"}, "", ""),
    ("no front matter\n---\na: 1\n---\n", {}, "no front matter\n---\na: 1\n---\n", ""),
    ("---\n\nprose between rules\n\n---\nrest", {}, "---\n\nprose between rules\n\n---\nrest", ""),
    ("---\nnever: closed\n", {}, "---\nnever: closed\n", ""),
    ("---\na: [1\nb: 2\n---\nbody", {}, "---\na: [1\nb: 2\n---\nbody", "no YAML (line"),
    ("---\na: 2024-13-45\n---\nbody", {}, "---\na: 2024-13-45\n---\nbody", "no YAML"),
    ("---\na: &x [1]\nb: [*x, *x]\n---\nbody", {}, "---\na: &x [1]\nb: [*x, *x]\n---\nbody", "too much"),
    (f"---\na: {'[' * 11}1{']' * 11}\n---\nbody", {}, f"---\na: {'[' * 11}1{']' * 11}\n---\nbody", "too much"),
    (f"---\na: {'x' * 20_000}\n---\nbody", {}, f"---\na: {'x' * 20_000}\n---\nbody", "too long"),
    ("---\na: !!python/object/apply:os.system [x]\n---\nbody", {}, "---\na: !!python/object/apply:os.system [x]\n---\nbody", "no YAML"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "fields", "body", "notice"), FRONT_MATTER)
def test_front_matter(text: str, fields: dict[str, object], body: str, notice: str) -> None:
    found = front_matter.split(text)
    assert (found.fields, found.body) == (fields, body)
    assert notice in found.notice
    assert bool(notice) is bool(found.notice)


TAGS = [
    ("---\ntags: [infra, CI]\n---\n", (), ("infra", "CI")),
    ("---\ntags: infra, two words\n---\n", (), ("infra", "two-words")),
    ("---\ntags: infra ci\n---\n", (), ("infra", "ci")),
    ("---\ntag: '#infra'\nkeywords: [2024, x]\n---\n", (), ("infra", "2024", "x")),
    ("---\ntags: {a: 1}\n---\n", (), ()),
    ("---\ntags: [infra]\n---\nmore #Infra and #inline", ("given",), ("given", "infra", "inline")),
]


@pytest.mark.parametrize(("text", "given_tags", "tags"), TAGS)
def test_the_tags_of_a_page(text: str, given_tags: tuple[str, ...], tags: tuple[str, ...]) -> None:
    assert page.parse(text, tags=given_tags).tags == tags


def test_metadata_is_what_the_front_matter_says_beside_title_and_tags() -> None:
    found = page.parse("---\ntitle: T\ntags: [x]\ntype: meeting\nn: 1\n---\n", metadata={"n": 2, "by": "API"})
    assert found.metadata == {"type": "meeting", "n": 2, "by": "API"}


DATES = [
    ("date: 2024-05-01", datetime(2024, 5, 1, tzinfo=UTC)),
    ("date: 2024-05-01\nupdated: 2024-06-01T10:00:00+02:00", datetime(2024, 6, 1, 8, tzinfo=UTC)),
    ("created: '2024-05-01'", datetime(2024, 5, 1, tzinfo=UTC)),
    ("date: some day", None),
    ("date: 20", None),
    ("x: 1", None),
]


@pytest.mark.parametrize(("fields", "moment"), DATES)
def test_the_date_that_a_page_states(fields: str, moment: datetime | None) -> None:
    assert page.parse(f"---\n{fields}\n---\n").dated_at == (moment.timestamp() if moment else None)


PIECES = [
    ("intro\n\n# A\n\none\n\n## B\n\ntwo\n\n# C\n\nthree", [((), "intro"), (("A",), "one"), (("A", "B"), "two"), (("C",), "three")]),
    ("# A\n\n### Deep\n\nx\n\n## B\n\ny", [(("A", "Deep"), "x"), (("A", "B"), "y")]),
    ("# A\n## B\n### C\ntext", [(("A", "B", "C"), "text")]),
    ("# Empty\n\n# Full\n\ntext", [(("Full",), "text")]),
    ("# Only a title", [(("Only a title",), "")]),
    ("", [((), "")]),
    ("   \n\n", [((), "")]),
    ("# A\n\n```\n# no heading\n```\n\n> # quoted\n\n- # listed", [(("A",), "```\n# no heading\n```\n\n> # quoted\n\n- # listed")]),
    ("    indented\n\ntext", [((), "    indented\n\ntext")]),
]


@pytest.mark.parametrize(("text", "pieces"), PIECES)
def test_a_page_is_cut_at_its_headings(text: str, pieces: list[tuple[tuple[str, ...], str]]) -> None:
    assert [(piece.headings, piece.text) for piece in page.parse(text).pieces] == pieces


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("---\ntitle: Stated\n---\n# A\n\ntext", ("Stated", "A")),
        ("---\ntitle: a\n---\n# A\n\ntext", ("A",)),
        ("---\ntitle: Stated\n---\ntext", ("Stated",)),
        ("text", ()),
    ],
)
def test_a_stated_title_leads_the_heading_path(text: str, path: tuple[str, ...]) -> None:
    assert page.parse(text, path="file.md").pieces[0].headings == path


LONG = [
    ("a" * 9 + "\n\n" + "b" * 9 + "\n\n" + "c" * 9, 22, ["a" * 9 + "\n\n" + "b" * 9, "c" * 9]),
    ("- one\n- two\n- three", 12, ["- one\n- two", "- three"]),
    ("```\nline one\nline two\n```", 14, ["```\nline one", "line two\n```"]),
    ("word " * 6, 12, ["word word", "word word", "word word"]),
    ("x" * 25, 10, ["x" * 10, "x" * 10, "x" * 5]),
]


@pytest.mark.parametrize(("text", "longest", "pieces"), LONG)
def test_a_long_section_is_cut_where_it_hurts_least(text: str, longest: int, pieces: list[str]) -> None:
    assert [piece.text for piece in passages.cut(markdown.read(text), longest)] == pieces


@given(st.text(alphabet="#-`>ab \n*1.[]", max_size=300), st.integers(5, 60))
def test_cutting_loses_no_word_and_keeps_to_the_length(text: str, longest: int) -> None:
    document = markdown.read(text)
    pieces = passages.cut(document, longest)
    assert all(len(piece.text) <= longest for piece in pieces)
    headed = {line for heading in document.headings for line in range(*heading.lines)}
    kept = "".join(line for number, line in enumerate(document.lines) if number not in headed)
    assert "".join("".join(piece.text for piece in pieces).split()) == "".join(kept.split())


def test_windows_line_ends_and_a_byte_order_mark_change_nothing() -> None:
    text = "---\ntitle: T\n---\n# A\n\none\n\ntwo\n"
    assert page.parse("\ufeff" + text.replace("\n", "\r\n")) == page.parse(text)


def test_what_stands_in_code_that_was_cut_in_two_is_still_code() -> None:
    code = "```\n" + "\n".join(f"#include <header{number}.h> and #define" for number in range(60)) + "\n```\n\n#real"
    found = page.parse(code)
    assert len(found.pieces) > 1
    assert {entity.value for piece in found.pieces for entity in piece.entities} == {"real"}
    assert found.tags == ("real",)
