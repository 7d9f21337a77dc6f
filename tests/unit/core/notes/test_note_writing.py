"""The writer over the store in memory; only the embedder counts what it is asked."""

import contextlib
import uuid
from collections.abc import Iterator, Sequence
from typing import Literal

import pytest
from msgspec.structs import replace

from services.core import errors, models, note_api, ports
from services.core.adapters.in_memory_notes import InMemoryNoteStore
from services.core.notes import graph
from services.core.notes.writing import NoteWriter, digest_of
from tests.support.embedding import HashingEmbedder

ME = models.Principal("acme", "leo")
ANA = models.Principal("acme", "ana")
SIGHT = models.Scope("acme", "leo", None)


class CountingEmbedder(HashingEmbedder):
    def __init__(self) -> None:
        super().__init__(16)
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], kind: Literal["query", "document"], *, timeout_seconds: float | None = None) -> list[list[float]]:
        self.asked += texts
        return super().embed(texts, kind)


class Desk:
    """A writer with all it needs, and a clock that ticks."""

    def __init__(self) -> None:
        self.embedder = CountingEmbedder()
        self.store = InMemoryNoteStore(16)
        self.now = 0.0
        self.writer = NoteWriter(self.store, self.embedder, owner_lock=lambda _: contextlib.nullcontext(), clock=self._tick)

    def _tick(self) -> float:
        self.now += 1
        return self.now

    def put(self, text: str, who: models.Principal = ME, **fields: object) -> note_api.Put:
        self.embedder.asked.clear()
        return self.writer.put(who, [note_api.PutNote(text=text, **fields)])[0]  # type: ignore[arg-type]

    def note(self, put: note_api.Put) -> models.Note:
        found = self.store.get(SIGHT, put.id)
        assert found is not None
        return found

    def pieces(self, put: note_api.Put) -> list[tuple[tuple[str, ...], str]]:
        return [(passage.headings, passage.text) for passage in self.store.passages(SIGHT, put.id)]


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    check(made.store)


def check(store: ports.NoteStore) -> None:
    """What holds for every passage, whatever was done: it is embedded as its digest says, and repeats what its note says."""
    for note in store.find(SIGHT, limit=1000):
        for position, passage in enumerate(store.passages(SIGHT, note.id)):
            assert passage.digest == digest_of(passage.embedded)
            assert passage.position == position
            for field in ("team", "owner", "project", "visibility", "title", "tags", "source", "path", "dated_at"):
                assert getattr(passage, field) == getattr(note, field)
            vector = store.embeddings(SIGHT, [passage.digest])[passage.digest]
            assert vector == pytest.approx(HashingEmbedder(16).embed([passage.embedded], "document")[0])


def test_a_page_is_put_with_what_it_says(desk: Desk) -> None:
    put = desk.put(
        "---\ntags: [ci]\ntype: howto\ndate: 1970-01-02\n---\n# Deploy\n\nSee [[Plan]].\n\n## Steps\n\nPush.",
        source="/n",
        path="a.md",
        modified_at=5.0,
    )
    assert (put.created, put.passages, put.embedded, put.title, put.notices) == (True, 2, 2, "Deploy", ())
    note = desk.note(put)
    assert (note.title, note.tags, note.metadata) == ("Deploy", ("ci",), {"type": "howto", "date": "1970-01-02"})
    assert (note.created_at, note.updated_at, note.modified_at, note.dated_at) == (1.0, 1.0, 5.0, 86400.0)
    assert [entity.key for entity in note.entities] == ["hashtag:ci", "wikilink:plan"]
    assert desk.pieces(put) == [(("Deploy",), "See [[Plan]]."), (("Deploy", "Steps"), "Push.")]
    assert note.digest == digest_of(note.text)


def test_only_pieces_that_changed_are_embedded(desk: Desk) -> None:
    first = desk.put("# A\n\none\n\n## B\n\ntwo\n\n## C\n\nthree", path="a.md")
    again = desk.put("# A\n\none\n\n## B\n\nTWO\n\n## C\n\nthree", path="a.md")
    assert (again.id, again.created, again.embedded) == (first.id, False, 1)
    assert desk.embedder.asked == ["A > B\nTWO"]
    assert [text for _, text in desk.pieces(again)] == ["one", "TWO", "three"]
    assert (desk.note(again).created_at, desk.note(again).updated_at) == (1.0, 2.0)


def test_pieces_that_go_are_gone_and_those_that_move_are_not_embedded(desk: Desk) -> None:
    desk.put("# A\n\none\n\n# B\n\ntwo\n\n# C\n\nthree", path="a.md")
    moved = desk.put("# C\n\nthree\n\n# A\n\none", path="a.md")
    assert moved.embedded == 0
    assert [text for _, text in desk.pieces(moved)] == ["three", "one"]


def test_a_piece_that_stands_twice_is_embedded_once_and_kept_twice(desk: Desk) -> None:
    put = desk.put("# A\n\nsame\n\n# A\n\nsame")
    assert (put.passages, put.embedded) == (2, 1)
    assert [text for _, text in desk.pieces(put)] == ["same", "same"]


def test_a_note_that_moves_keeps_its_id_and_is_not_embedded(desk: Desk) -> None:
    first = desk.put("one\n\ntwo", source="/n", path="old.md")
    moved = desk.put("one\n\ntwo", id=first.id, source="/n", path="new.md")
    assert (moved.id, moved.created, moved.embedded) == (first.id, False, 0)
    assert (desk.note(moved).path, desk.note(moved).title) == ("new.md", "new")
    back = desk.put("other", source="/n", path="old.md")
    assert back.created
    assert back.id != first.id


def test_a_piece_that_goes_to_another_note_is_not_embedded(desk: Desk) -> None:
    desk.put("# A\n\none\n\n# B\n\ntwo", path="a.md")
    assert desk.put("# B\n\ntwo", path="b.md").embedded == 0


def test_putting_the_same_again_writes_nothing(desk: Desk) -> None:
    first = desk.put("# A\n\none", path="a.md", modified_at=1.0)
    desk.put("# A\n\none", path="a.md", modified_at=1.0)
    assert desk.note(first).updated_at == 1.0
    desk.put("# A\n\none", path="a.md", modified_at=2.0)
    assert desk.note(first).updated_at == 3.0


def test_title_and_tags_change_without_embedding_pieces_that_stand_under_other_headings(desk: Desk) -> None:
    desk.put("# A\n\none", path="a.md", tags=("x",))
    again = desk.put("# A\n\none", path="a.md", tags=("y",))
    assert again.embedded == 0
    assert desk.note(again).tags == ("y",)


def test_a_page_without_text_can_be_found_by_its_title(desk: Desk) -> None:
    put = desk.put("", path="shopping list.md")
    assert [hit.passage.note for hit in desk.store.lexical(SIGHT, "shopping", limit=5)] == [put.id]
    assert desk.embedder.asked == ["shopping list"]


def test_pages_of_one_path_in_two_folders_are_two(desk: Desk) -> None:
    assert desk.put("x", source="/a", path="n.md").id != desk.put("x", source="/b", path="n.md").id
    assert desk.put("x").id != desk.put("x").id


def test_an_id_of_the_callers_choice_is_kept(desk: Desk) -> None:
    wanted = str(uuid.uuid4())
    assert desk.put("x", id=wanted).id == wanted
    assert desk.put("y", id=wanted).created is False


def test_nobody_takes_the_place_of_somebody_elses_note(desk: Desk) -> None:
    private = desk.put("secret", who=ANA)
    shared = desk.put("shared", who=ANA, visibility=models.Visibility.TEAM)
    for put in (private, shared):
        with pytest.raises(errors.Denied):
            desk.put("mine now", id=put.id)
    assert desk.writer.delete(ME, [private.id, shared.id]) == 0
    with pytest.raises(errors.Denied, match="ana"):
        desk.writer.annotate(ME, shared.id, {"x": 1})
    with pytest.raises(errors.NotFound):
        desk.writer.annotate(ME, private.id, {"x": 1})


def test_metadata_changes_alone(desk: Desk) -> None:
    put = desk.put("---\na: 1\nb: 2\n---\ntext")
    desk.embedder.asked.clear()
    changed = desk.writer.annotate(ME, put.id, {"b": None, "c": [3]})
    assert changed == desk.note(put)
    assert (changed.metadata, changed.updated_at) == ({"a": 1, "c": [3]}, 1.0)
    assert desk.embedder.asked == []


def test_a_note_whose_writing_broke_off_has_no_digest_until_it_is_put_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    first = desk.put("# A\n\none\n\n# B\n\ntwo", path="a.md", modified_at=1.0)
    with monkeypatch.context() as broken:
        broken.setattr(desk.store, "prune", lambda *_: (_ for _ in ()).throw(errors.Unavailable("the store")))
        with pytest.raises(errors.Unavailable):
            desk.put("# A\n\none", path="a.md", modified_at=2.0)
    assert desk.note(first).digest == ""
    desk.put("# A\n\none", path="a.md", modified_at=2.0)
    assert desk.note(first).digest == digest_of("# A\n\none")
    assert [text for _, text in desk.pieces(first)] == ["one"]


def test_nothing_is_written_when_nothing_can_be_embedded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk.embedder, "embed", lambda *_, **__: (_ for _ in ()).throw(errors.Unavailable("llama.cpp")))
    with pytest.raises(errors.Unavailable):
        desk.put("text", path="a.md")
    assert desk.store.count(SIGHT) == 0


def test_several_notes_are_put_with_one_request_for_embeddings(desk: Desk) -> None:
    asked: list[int] = []
    embed = desk.embedder.embed
    desk.embedder.embed = lambda texts, kind, **_: asked.append(len(texts)) or embed(texts, kind)  # type: ignore[method-assign, assignment, func-returns-value]
    puts = desk.writer.put(ME, [note_api.PutNote(text=text, path=f"{number}.md") for number, text in enumerate(("one", "two", "one"))])
    assert asked == [2]
    assert [put.embedded for put in puts] == [1, 1, 0]
    assert len({put.id for put in puts}) == 3


def test_links_between_notes(desk: Desk) -> None:
    plan = desk.put("# Plan\n\ntext", path="docs/the plan.md")
    first = desk.put("# First\n\n[[Plan]] by @ana at https://example.com #x, [[Missing]]", path="first.md")
    second = desk.put("# Second\n\n[[the plan|it]] and [[PLAN]] again", path="second.md")
    found = graph.relationships(desk.store, SIGHT, desk.note(first))
    by_value = {one.value: (one.kind, one.targets) for one in found}
    assert by_value["Plan"] == (models.EntityKind.WIKILINK, (plan.id,))
    assert by_value["Missing"] == (models.EntityKind.WIKILINK, ())
    assert by_value["ana"] == (models.EntityKind.MENTION, ())
    assert {note.id for note in graph.backlinks(desk.store, SIGHT, "plan")} == {first.id, second.id}
    assert [note.id for note in graph.backlinks(desk.store, SIGHT, "The  Plan")] == [second.id]
    assert [note.id for note in graph.backlinks(desk.store, SIGHT, "missing")] == [first.id]
    counts = graph.backlink_counts(desk.store, SIGHT, [desk.note(plan), desk.note(first)])
    assert counts == {plan.id: 2, first.id: 0}
    ana = models.Scope("acme", "ana", None)
    assert graph.backlinks(desk.store, ana, "plan") == []


def test_a_note_that_links_to_itself_is_no_backlink_of_its_own(desk: Desk) -> None:
    put = desk.put("# Loop\n\n[[Loop]]")
    assert graph.backlink_counts(desk.store, SIGHT, [desk.note(put)]) == {put.id: 0}


def test_a_digest_of_the_callers_is_kept(desk: Desk) -> None:
    put = desk.put("redacted", digest="of what it was", path="a.md")
    assert desk.note(put).digest == "of what it was"
    assert replace(desk.note(put), digest="") != desk.note(put)
