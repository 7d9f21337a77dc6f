import json
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from litestar import Litestar
from litestar.testing import TestClient

from services.core import api, archive, models, note_api, ports, walking
from services.core.adapters.qdrant_edge import EdgeNoteStore, EdgeStore
from services.core.notes.writing import NoteWriter
from services.proxy import archiving
from services.proxy.app import create_app
from services.proxy.parts import Parts
from tests.support import in_memory
from tests.support.in_memory import NOW, keep, memory

Client = TestClient[Litestar]
MINE = models.Scope("local", "me", None)


def served(parts: Parts) -> Client:
    return TestClient(create_app(parts), base_url="http://127.0.0.1:3000", raise_server_exceptions=False)


@contextmanager
def empty() -> Iterator[Parts]:
    """Another BRB."""
    with tempfile.TemporaryDirectory() as folder:
        yield in_memory.parts(Path(folder))


@contextmanager
def empty_edge() -> Iterator[Parts]:
    """The same, over the stores that an embedded one has."""
    with tempfile.TemporaryDirectory() as folder:
        made = in_memory.parts(Path(folder))
        store = EdgeStore.open(Path(folder) / "store", model="hashing", dimension=made.embedder.dimension)
        notes = EdgeNoteStore.open(Path(folder) / "notes", model="hashing", dimension=made.embedder.dimension)
        try:
            yield Parts(**{name: {"store": store, "notes": notes}.get(name, getattr(made, name)) for name in Parts.__slots__})  # type: ignore[arg-type]
        finally:
            store.close()
            notes.close()


def put(parts: Parts, *notes: note_api.PutNote) -> list[note_api.Put]:
    writer = NoteWriter(parts.notes, parts.embedder, owner_lock=parts.owner_lock, clock=parts.clock)
    return writer.put(models.LOCAL, notes)


def exported(parts: Parts, kind: archive.Kind = "all") -> Any:
    return json.loads(b"".join(archiving.exported(parts, models.LOCAL, kind)))


def imported(parts: Parts, document: object, existing: archiving.Existing = "keep") -> Any:
    given_archive = msgspec.json.decode(json.dumps(document), type=archive.Archive)
    return msgspec.to_builtins(archiving.imported(parts, models.LOCAL, given_archive, existing))


SAID = ["postgres", "staging", "kafka", "Größe", "日本語", "“quoted”", "tea", "\\", "\t", "17", "8080", "deploy"]
WORDS = st.lists(st.sampled_from(SAID), min_size=1, max_size=8).map(" ".join)
MOMENTS = st.floats(min_value=1e9, max_value=2e9, allow_nan=False)
IDS = st.uuids(version=4).map(str)
MEMORIES = st.builds(
    lambda words, **fields: memory(words, **fields),
    words=WORDS.map("said: {}".format),
    id=IDS,
    lineage=IDS,
    category=st.sampled_from(models.Category),
    status=st.sampled_from(models.Status),
    visibility=st.sampled_from(models.Visibility),
    project=st.sampled_from(["", "shop", "/home/leo/blog"]),
    confidence=st.floats(min_value=0, max_value=1),
    subject=st.sampled_from(["user", "team", "staging"]),
    attribute=st.sampled_from(["", "uses"]),
    value=st.one_of(st.just(""), WORDS),
    functional=st.booleans(),
    polarity=st.booleans(),
    entities=st.lists(WORDS, max_size=2).map(tuple),
    qualifiers=st.lists(WORDS, max_size=2).map(tuple),
    evidence=st.lists(st.builds(models.Evidence, WORDS, IDS, MOMENTS, st.sampled_from(["", "s1"])), max_size=3).map(tuple),
    mentions=st.integers(1, 40),
    supersedes=st.one_of(st.just(""), IDS),
    superseded_by=st.one_of(st.just(""), IDS),
    created_at=st.one_of(MOMENTS, st.just(NOW)),
    said_at=MOMENTS,
    reinforced_at=MOMENTS,
    accessed_at=MOMENTS,
    when=st.sampled_from(["", "until Friday"]),
    valid_from=st.one_of(st.none(), MOMENTS),
    valid_to=st.one_of(st.none(), MOMENTS),
    replaces=st.one_of(st.just(""), WORDS),
    held=st.sampled_from(["", "reads like an order"]),
    review=st.sampled_from(models.Review),
    reviewed_by=st.just("me"),
    reviewed_at=st.one_of(st.none(), MOMENTS),
    edited_by=st.sampled_from(["", "me"]),
)
JSON = st.recursive(st.one_of(st.none(), st.booleans(), st.integers(-9, 9), WORDS), lambda inner: st.lists(inner, max_size=2), max_leaves=3)
PIECES = [
    "# Deploying\n",
    "## Staging\n",
    "We use [[Project X|it]] with @ana.\n",
    "#infra and #CI-2\n",
    "```\n#no tag\n```\n",
    "---\ntags: [a, b]\n---\n",
    "\n",
]
NOTES = st.builds(
    note_api.PutNote,
    text=st.one_of(st.lists(st.sampled_from(PIECES), max_size=6).map("".join), WORDS),
    title=st.sampled_from(["", "", "Deploying", "Other"]),
    tags=st.lists(st.sampled_from(["infra", "two words", "ops/ci"]), max_size=2).map(tuple),
    metadata=st.dictionaries(st.sampled_from(["type", "n"]), JSON, max_size=2),
    source=st.just("/notes"),
    path=st.sampled_from(["", "a.md", "b/c.md"]),
    project=st.sampled_from(["", "shop"]),
    modified_at=st.one_of(st.none(), MOMENTS),
)


def passages(parts: Parts) -> dict[str, list[models.Passage]]:
    return {note.id: parts.notes.passages(MINE, note.id) for note in walking.notes(parts.notes, MINE)}


HELD = st.lists(MEMORIES, max_size=6, unique_by=lambda one: one.id)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(memories=HELD, notes=st.lists(NOTES, max_size=4))
def test_what_was_exported_is_the_same_after_an_import_into_an_empty_brb(memories: list[models.Memory], notes: list[note_api.PutNote]) -> None:
    with empty() as here, empty() as there:
        check_round_trip(here, there, memories, notes)


def test_that_holds_for_the_stores_of_an_embedded_brb() -> None:
    old, new = memory("We use MySQL", status=models.Status.SUPERSEDED, valid_to=NOW), memory("We use Postgres", valid_from=NOW - 0.1)
    page = note_api.PutNote(text="# Deploying\n\nTo [[Staging]] first. #ci\n", metadata={"n": [1, None]}, source="/notes", path="a.md")
    with empty_edge() as here, empty_edge() as there:
        check_round_trip(here, there, [old, new], [page, note_api.PutNote(text="words", title="Other")])


def check_round_trip(here: Parts, there: Parts, memories: list[models.Memory], notes: list[note_api.PutNote]) -> None:
    keep(here, *memories)
    put(here, *notes)
    before = exported(here)

    result = imported(there, before)

    assert exported(there) == before
    assert passages(there) == passages(here)
    assert result["memories"]["created"] == len(memories)
    again = imported(there, before, "replace")
    assert exported(there) == before
    assert again["memories"] == {"created": 0, "replaced": len(memories), "kept": 0}


def test_an_export_has_all_versions_of_the_callers_own_and_nothing_of_others(client: Client, parts: Parts) -> None:
    mine = [memory("I like tea"), memory("I liked coffee", status=models.Status.SUPERSEDED), memory("Shared", visibility=models.Visibility.TEAM)]
    keep(parts, *mine, memory("Ana's, shared", owner="ana", visibility=models.Visibility.TEAM), memory("Else", team="else"))

    answer = client.get("/export")

    document = answer.json()
    assert answer.headers["content-type"].startswith("application/json")
    assert {one["text"] for one in document["memories"]} == {one.text for one in mine}
    assert (document["format"], document["version"], document["exported_at"]) == ("brb-archive", 1, "2026-09-21T14:13:20Z")


@pytest.mark.parametrize(("kind", "memories", "notes"), [("memories", 1, 0), ("notes", 0, 1), ("all", 1, 1)])
def test_an_export_is_of_the_kind_asked_for(client: Client, parts: Parts, kind: str, memories: int, notes: int) -> None:
    keep(parts, memory("I like tea"))
    put(parts, note_api.PutNote(text="# Tea"))

    document = client.get(f"/export?kind={kind}").json()

    assert (len(document["memories"]), len(document["notes"])) == (memories, notes)


def test_the_memories_alone_have_an_address_of_their_own(client: Client, parts: Parts) -> None:
    keep(parts, memory("I like tea"))
    put(parts, note_api.PutNote(text="# Tea"))

    document = client.get("/memories/export").json()

    assert (len(document["memories"]), len(document["notes"])) == (1, 0)
    assert client.post("/memories/import", json=document).json()["memories"] == {"created": 0, "replaced": 0, "kept": 1}


def test_an_export_is_longer_than_a_batch_and_comes_whole_though_all_are_of_one_moment(parts: Parts) -> None:
    count = walking.BATCH + 7
    keep(parts, *(memory(f"Fact number {n}", created_at=NOW) for n in range(count)))

    assert len({one["id"] for one in exported(parts)["memories"]}) == count


@pytest.mark.parametrize("step", [0, 1, 3])
def test_walking_finds_each_once_whatever_shares_its_time(parts: Parts, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "BATCH", 4)
    keep(parts, *(memory(f"Fact number {n}", created_at=NOW + (n // step if step else 0)) for n in range(23)))

    walked = [one.id for one in walking.memories(parts.store, MINE)]

    assert walked == [one.id for one in parts.store.find(MINE, limit=100)]


def test_an_imported_memory_is_found(parts: Parts) -> None:
    keep(parts, memory("We use Postgres as our database"))
    document = exported(parts)

    with empty() as there:
        imported(there, document)
        with served(there) as client:
            found = client.post("/recall", json={"query": "which database do we use"}).json()["memories"]
    assert [one["text"] for one in found] == ["We use Postgres as our database"]


def test_what_is_there_already_stays_unless_it_is_to_be_replaced(parts: Parts) -> None:
    older = memory("I like tea", mentions=1)
    keep(parts, older)
    document = exported(parts)
    keep(parts, msgspec.structs.replace(older, mentions=5))

    assert imported(parts, document)["memories"] == {"created": 0, "replaced": 0, "kept": 1}
    assert exported(parts)["memories"][0]["mentions"] == 5
    assert imported(parts, document, "replace")["memories"] == {"created": 0, "replaced": 1, "kept": 0}
    assert exported(parts)["memories"][0]["mentions"] == 1


def test_the_memories_of_another_become_ones_own_and_nobody_loses_theirs(parts: Parts) -> None:
    """A file that names somebody else's memory must not take its place."""
    ana = memory("Ana's secret", owner="ana")
    keep(parts, ana)
    document = {"format": "brb-archive", "version": 1, "memories": [shown(memory("Mine now", id=ana.id, lineage=ana.id))]}

    assert imported(parts, document)["memories"]["created"] == 1
    assert imported(parts, document)["memories"]["kept"] == 1

    (mine,) = exported(parts)["memories"]
    assert (mine["text"], mine["owner"]) == ("Mine now", "me")
    assert mine["id"] == mine["lineage"] != ana.id
    assert parts.store.get(models.Scope("local", "ana", None), ana.id) == ana


def test_the_note_of_another_stays_theirs(parts: Parts) -> None:
    writer = NoteWriter(parts.notes, parts.embedder, owner_lock=parts.owner_lock, clock=parts.clock)
    (theirs,) = writer.put(models.Principal("local", "ana"), [note_api.PutNote(text="# Ana's")])
    put(parts, note_api.PutNote(text="# Mine"))
    document = exported(parts)
    document["notes"][0]["id"] = theirs.id

    assert imported(parts, document)["notes"] == {"created": 1, "replaced": 0, "kept": 0}
    assert imported(parts, document)["notes"] == {"created": 0, "replaced": 0, "kept": 1}
    assert parts.notes.count(models.Scope("local", "ana", None)) == 1
    assert len(exported(parts)["notes"]) == 2


def test_the_note_of_a_file_that_is_indexed_here_is_that_note(parts: Parts) -> None:
    (here,) = put(parts, note_api.PutNote(text="# New", source="/notes", path="a.md"))
    document = exported(parts)
    document["notes"][0] |= {"id": str(uuid.UUID(int=5)), "text": "# Old", "title": "Old"}

    assert imported(parts, document)["notes"] == {"created": 0, "replaced": 0, "kept": 1}
    assert imported(parts, document, "replace")["notes"] == {"created": 0, "replaced": 1, "kept": 0}
    (note,) = exported(parts)["notes"]
    assert (note["id"], note["text"]) == (here.id, "# Old")


def test_what_is_imported_is_redacted(parts: Parts) -> None:
    document = {
        "format": "brb-archive",
        "version": 1,
        "memories": [shown(memory("Write to ana.b@example.org", evidence=(models.Evidence("oh, ana.b@example.org", "t", NOW),)))],
    }

    imported(parts, document)

    assert "ana.b" not in json.dumps(exported(parts))


def test_a_member_shares_nothing_with_the_team_by_an_import(parts: Parts) -> None:
    member = models.Principal("local", "leo")

    assert archive.memory_of(msgspec.convert(shown(memory("x", visibility="team")), api.Memory), member).visibility == "private"


@pytest.mark.parametrize(
    ("fields", "role", "kept"),
    [
        ({"review": "kept", "reviewed_by": "leo", "reviewed_at": NOW}, "member", True),
        ({"review": "rejected", "reviewed_by": "ana", "reviewed_at": NOW}, "member", False),
        ({"review": "approved", "reviewed_by": "leo", "reviewed_at": NOW}, "member", False),
        ({"review": "approved", "reviewed_by": "leo", "reviewed_at": NOW}, "curator", True),
        ({"review": "approved", "reviewed_by": "ana", "reviewed_at": NOW}, "curator", False),
        ({"edited_by": "ana"}, "admin", False),
        ({"visibility": "proposed"}, "member", True),
        ({"visibility": "team"}, "curator", True),
        ({"status": "pending"}, "member", True),
        ({"status": "quarantined", "held": "an order"}, "member", True),
    ],
)
def test_an_import_keeps_what_its_owner_may_decide_and_proves_no_decision_of_others(fields: dict[str, Any], role: str, kept: bool) -> None:
    principal = models.Principal("local", "leo", models.Role(role))
    given_memory = memory("x", owner="leo", **fields)
    made = archive.memory_of(msgspec.convert(shown(given_memory), api.Memory), principal)
    assert all(getattr(made, name) == value for name, value in fields.items()) is kept
    assert kept or not (made.review or made.reviewed_by or made.reviewed_at or made.edited_by)


def shown(one: models.Memory) -> Any:
    return json.loads(msgspec.json.encode(api.memory_of(one, models.Principal(one.team, one.owner))))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"id": "7"}, "memories[1]: '7' in it is no id"),
        ({"superseded_by": "x"}, "memories[1]: 'x' in it is no id"),
        ({"text": " "}, "memories[1]: its text is empty"),
        ({"confidence": 2}, "memories[1]: its confidence is 2.0"),
        ({"mentions": 0}, "memories[1]: its mentions are 0"),
        ({"value": "x" * 20_001}, "memories[1]: a text of it has 20001 characters"),
        ({"entities": ["x"] * 1001}, "memories[1]: it has a list of 1001"),
    ],
)
def test_a_wrong_memory_is_named_and_nothing_is_imported(client: Client, parts: Parts, change: dict[str, object], says: str) -> None:
    document = {"format": "brb-archive", "version": 1, "memories": [shown(memory("Fine")), shown(memory("Wrong")) | change]}

    answer = client.post("/import", json=document)

    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(says)
    assert answer.json()["error"]["message"].endswith("nothing was imported")
    assert parts.store.count(MINE, ports.ANY) == 0


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({}, "format"),
        ({"format": "other", "version": 1}, "other"),
        ({"format": "brb-archive", "version": 2}, "2"),
        ({"format": "brb-archive", "version": 1, "memories": [{}]}, "missing"),
        ({"format": "brb-archive", "version": 1, "memories": [shown(memory("Fine"))] * 501}, "`brb memories import` sends a file in parts"),
    ],
)
def test_what_no_export_wrote_is_refused(client: Client, document: object, says: str) -> None:
    answer = client.post("/import", json=document)

    assert answer.status_code == 400
    assert says in answer.json()["error"]["message"]


def test_an_answer_that_was_kept_is_asked_anew_after_an_import(parts: Parts) -> None:
    keep(parts, memory("We use Postgres as our database"))
    document = exported(parts)

    with empty() as there, served(there) as client:
        assert client.post("/recall", json={"query": "which database do we use"}).json()["memories"] == []
        client.post("/import", json=document)
        assert len(client.post("/recall", json={"query": "which database do we use"}).json()["memories"]) == 1
