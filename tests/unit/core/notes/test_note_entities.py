import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.core import models
from services.core.notes import entities

LINK, TAG, MENTION, URL = models.EntityKind.WIKILINK, models.EntityKind.HASHTAG, models.EntityKind.MENTION, models.EntityKind.URL

FOUND = [
    ("Meeting with [[project-x]] and @alice about #infra", [(LINK, "project-x"), (MENTION, "alice"), (TAG, "infra")]),
    ("see [[Project X|the project]] and [[Plan#Goals]] and [[Plan#Goals|goals]]", [(LINK, "Project X"), (LINK, "Plan")]),
    ("[[notes/Plan.md]] is [[plan]]", [(LINK, "notes/Plan.md")]),
    ("![[diagram.png]] and [[Page^block]]", [(LINK, "diagram.png"), (LINK, "Page")]),
    ("[[]] [[ ]] [[#here]] [[a\nb]] [single] [x](y)", []),
    ("**#bold** (#paren) #nested/tag", [(TAG, "bold"), (TAG, "paren"), (TAG, "nested/tag")]),
    ("#with-dash- #under_score.", [(TAG, "with-dash"), (TAG, "under_score")]),
    ("#Größe #日本語 #2024-plan #C3PO", [(TAG, "Größe"), (TAG, "日本語"), (TAG, "2024-plan"), (TAG, "C3PO")]),
    ("#Infra and #infra", [(TAG, "Infra")]),
    ("# Heading\n\n## Another #tagged\n\ntext", [(TAG, "tagged")]),
    ("fixes #123, PR #260, #12-3, #1a2b3c and #0f0; C# and F# and a#b; &#39; x\\#no ##no", []),
    ("mail bob@example.com or <bob@example.com>", []),
    ("actions/checkout@v3 uses @babel/core, ping @ana. And @bob: @carol_m!", [(MENTION, "ana"), (MENTION, "bob"), (MENTION, "carol_m")]),
    ("(@ana-lee) @leo.k said @2x @ home", [(MENTION, "ana-lee"), (MENTION, "leo.k")]),
    ("toot to @simon@fedi.example.net", [(MENTION, "simon@fedi.example.net")]),
    ("go to https://example.com/a_(b)?q=1#frag, then (https://example.org/x).", [(URL, "https://example.com/a_(b)?q=1#frag"), (URL, "https://example.org/x")]),
    ("**https://example.com/_x_** <https://example.com/y>", [(URL, "https://example.com/_x_"), (URL, "https://example.com/y")]),
    ('[t](https://example.com/z "title")', [(URL, "https://example.com/z")]),
    ("[text][ref]\n\n[ref]: https://example.com/ref", [(URL, "https://example.com/ref")]),
    ("https://Example.com/A and https://Example.com/a", [(URL, "https://Example.com/A"), (URL, "https://Example.com/a")]),
    ("http:// https:// ftp://example.com", []),
    ("https://github.com/@simonw/x#readme", [(URL, "https://github.com/@simonw/x#readme")]),
    ("`#no @no [[no]] https://no.example` yes #yes ``a ` #no`` end", [(TAG, "yes")]),
    ("```\n#include <x>\n@decorator\n[[array]]\n```\n\n    #indented code\n\n#after", [(TAG, "after")]),
    ("~~~python\n# comment #no\n~~~", []),
    ("- item #one\n  > quoted @two\n\n| a | #three |", [(TAG, "one"), (MENTION, "two"), (TAG, "three")]),
    ('<a href="#top" title="@x">#link</a> <!-- #no -->', [(TAG, "link")]),
    ("```\nnever closed #no", []),
    ("", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FOUND)
def test_what_a_text_points_at(text: str, expected: list[tuple[models.EntityKind, str]]) -> None:
    assert [(entity.kind, entity.value) for entity in entities.extract(text)] == expected


def test_the_raw_form_is_kept() -> None:
    found = entities.extract("[[Project X|alias]] #infra @alice https://example.com")
    assert [entity.raw for entity in found] == ["[[Project X|alias]]", "#infra", "@alice", "https://example.com"]


@pytest.mark.parametrize(("stated", "tag"), [("infra", "infra"), ("#infra", "infra"), ("  two words ", "two-words"), ("#", ""), ("", "")])
def test_a_stated_tag_looks_like_one_in_a_text(stated: str, tag: str) -> None:
    assert entities.tag(stated) == tag


@given(st.text(alphabet="[]#@`*_<>()ab1 /.:\nhttps-|^\\", max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    for entity in entities.extract(text):
        assert entity.value
        assert entity.key.startswith(f"{entity.kind}:")


def test_a_long_text_of_marks_is_read_in_no_time() -> None:
    assert len(entities.extract("[[" * 20_000 + "`" * 20_000 + "#" * 20_000 + "<a" * 20_000)) == 0
    assert len(entities.extract(" ".join(f"#tag{number}" for number in range(5_000)))) == 1_000
