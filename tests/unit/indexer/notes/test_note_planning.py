from pathlib import Path

import pytest

from services.core.note_api import File
from services.indexer.notes import planning
from services.indexer.notes.planning import Plan, Put
from services.indexer.notes.walking import Found, Skipped


def file(path: str, digest: str = "", at: float = 1.0, put_at: float = 100.0, id: str = "") -> File:
    return File(id or f"id of {path}", path, digest or f"digest of {path}", at, put_at)


def found(path: str, at: float = 1.0) -> Found:
    return Found(path, Path("/n") / path, at)


TO_READ = [
    ("of a new path", [], found("a.md"), True),
    ("of the same time", [file("a.md")], found("a.md"), False),
    ("newer", [file("a.md")], found("a.md", 2.0), True),
    ("older: restored from a backup", [file("a.md")], found("a.md", 0.5), True),
    ("put just after it was written", [file("a.md", put_at=2.9)], found("a.md"), True),
    ("put long after it was written", [file("a.md", put_at=3.0)], found("a.md"), False),
    ("of a time to come", [file("a.md", at=500.0)], found("a.md", 500.0), True),
    ("of a note whose writing broke off", [File("i", "a.md", "", 1.0, 100.0)], found("a.md"), True),
]


@pytest.mark.parametrize(("known", "one", "read"), [case[1:] for case in TO_READ], ids=[case[0] for case in TO_READ])
def test_which_files_are_read(known: list[File], one: Found, read: bool) -> None:
    assert planning.to_read(known, [one]) == ([one] if read else [])


A, B, C = found("a.md", 2.0), found("b.md", 2.0), found("x/a.md", 2.0)
PLANS = [
    ("new", [], [A], (), {"a.md": "1"}, Plan(new=(Put(A),))),
    ("the same", [file("a.md", at=2.0)], [A], (), {}, Plan(same=1)),
    ("read, and the same", [file("a.md", "1", at=2.0)], [A], (), {"a.md": "1"}, Plan(same=1)),
    ("changed", [file("a.md", "1")], [A], (), {"a.md": "2"}, Plan(changed=(Put(A, "id of a.md"),))),
    ("touched", [file("a.md", "1")], [A], (), {"a.md": "1"}, Plan(touched=(Put(A, "id of a.md"),))),
    ("gone", [file("a.md")], [], (), {}, Plan(gone=("id of a.md",))),
    ("moved", [file("a.md", "1")], [B], (), {"b.md": "1"}, Plan(moved=(Put(B, "id of a.md"),))),
    ("moved and changed is gone and new", [file("a.md", "1")], [B], (), {"b.md": "2"}, Plan(new=(Put(B),), gone=("id of a.md",))),
    (
        "moved, the same name first",
        [file("y/b.md", "1"), file("y/a.md", "1")],
        [C],
        (),
        {"x/a.md": "1"},
        Plan(moved=(Put(C, "id of y/a.md"),), gone=("id of y/b.md",)),
    ),
    (
        "two copies of one that is gone: one is moved",
        [file("a.md", "1")],
        [B, C],
        (),
        {"b.md": "1", "x/a.md": "1"},
        Plan(new=(Put(B),), moved=(Put(C, "id of a.md"),)),
    ),
    ("a copy is new", [file("a.md", "1", at=2.0)], [A, B], (), {"b.md": "1"}, Plan(new=(Put(B),), same=1)),
    (
        "swapped",
        [file("a.md", "1"), file("b.md", "2")],
        [A, B],
        (),
        {"a.md": "2", "b.md": "1"},
        Plan(changed=(Put(A, "id of a.md"), Put(B, "id of b.md"))),
    ),
    ("not to be read just now", [file("a.md")], [], (Skipped("a.md", "", lasting=False),), {}, Plan()),
    ("in a folder not to be read just now", [file("x/y/a.md")], [], (Skipped("x/", "", lasting=False),), {}, Plan()),
    ("beside a folder not to be read just now", [file("xy.md")], [], (Skipped("x/", "", lasting=False),), {}, Plan(gone=("id of xy.md",))),
    ("grown too large", [file("a.md")], [], (Skipped("a.md", "too large"),), {}, Plan(gone=("id of a.md",))),
    ("broken off", [File("i", "a.md", "", 2.0, 9.0)], [A], (), {"a.md": "1"}, Plan(changed=(Put(A, "i"),))),
]


@pytest.mark.parametrize(("known", "seen", "skipped", "digests", "plan"), [case[1:] for case in PLANS], ids=[case[0] for case in PLANS])
def test_what_is_to_be_done(known: list[File], seen: list[Found], skipped: tuple[Skipped, ...], digests: dict[str, str], plan: Plan) -> None:
    assert planning.plan(known, seen, skipped, digests) == plan
