import json
import uuid
from typing import Any

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.core import errors, models, note_api
from services.core.notes.writing import NoteWriter, digest_of
from services.proxy.parts import Parts
from tests.support.in_memory import NOW

Client = TestClient[Litestar]


def put(client: Client, text: str, **fields: object) -> dict[str, Any]:
    answer = client.post("/notes", json={"text": text, **fields})
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


def theirs(parts: Parts, text: str, visibility: models.Visibility) -> str:
    writer = NoteWriter(parts.notes, parts.embedder, owner_lock=parts.owner_lock, clock=parts.clock)
    return writer.put(models.Principal(models.LOCAL.team, "ana"), [note_api.PutNote(text=text, visibility=visibility)])[0].id


def test_a_note_that_was_put_is_read_listed_and_erased(client: Client) -> None:
    done = put(
        client, "---\ntags: [ci]\n---\n# Deploy\n\nPush to [[main]].", metadata={"type": "howto"}, source="/n", path="deploy.md", modified_at=5.5
    )
    assert done == {"id": done["id"], "path": "deploy.md", "title": "Deploy", "created": True, "passages": 1, "embedded": 1, "notices": []}
    shown = client.get(f"/notes/{done['id']}").json()
    assert (shown["title"], shown["tags"], shown["metadata"], shown["text"][:3]) == ("Deploy", ["ci"], {"type": "howto"}, "---")
    assert (shown["created_at"], shown["modified_at"], shown["visibility"]) == (NOW, 5.5, "private")
    assert {"kind": "wikilink", "value": "main", "raw": "[[main]]"} in shown["entities"]
    listed = client.get("/notes").json()
    assert (listed["total"], [note["id"] for note in listed["notes"]]) == (1, [done["id"]])
    assert "text" not in listed["notes"][0]
    assert client.delete(f"/notes/{done['id']}").json() == {"id": done["id"], "deleted": 1}
    assert client.get(f"/notes/{done['id']}").status_code == 404
    assert client.get("/notes").json()["total"] == 0


def test_a_note_of_the_same_path_or_id_is_replaced(client: Client) -> None:
    first = put(client, "one", path="a.md")
    assert put(client, "two", path="a.md")["id"] == first["id"]
    assert put(client, "three", id=first["id"].upper())["created"] is False
    assert client.get(f"/notes/{first['id']}").json()["text"] == "three"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {"a", "b", "c"}),
        ("?source=/n", {"a", "b"}),
        ("?source=/n&path=a.md", {"a"}),
        ("?tag=CI", {"b"}),
        ("?tag=%23ci", {"b"}),
        ("?limit=0", 1),
        ("?offset=2", 1),
        ("?offset=-5&limit=9999", {"a", "b", "c"}),
    ],
)
def test_notes_are_listed_by_what_is_asked(client: Client, query: str, expected: set[str] | int) -> None:
    put(client, "# a", source="/n", path="a.md")
    put(client, "# b", source="/n", path="b.md", tags=["ci"])
    put(client, "# c")
    titles = {note["title"] for note in client.get(f"/notes{query}").json()["notes"]}
    assert titles == expected if isinstance(expected, set) else len(titles) == expected


def test_many_notes_are_put_and_others_erased_at_once(client: Client) -> None:
    old = put(client, "old")
    body = {"notes": [{"text": "one", "path": "1.md"}, {"text": "two", "path": "2.md"}], "gone": [old["id"], str(uuid.uuid4())]}
    answer = client.post("/notes/bulk", json=body).json()
    assert [note["path"] for note in answer["notes"]] == ["1.md", "2.md"]
    assert answer["deleted"] == 1
    assert client.post("/notes/bulk", json={}).json() == {"notes": [], "deleted": 0}


def test_what_is_known_of_a_folder_is_told_with_the_digest_of_what_was_sent(client: Client, parts: Parts) -> None:
    text = "my key is sk-ant-api03-" + "Ab1" * 31 + "AA"
    done = put(client, text, source="/n", path="a.md", modified_at=7.25)
    [file] = client.get("/notes/files?source=/n").json()["files"]
    assert file == {"id": done["id"], "path": "a.md", "digest": digest_of(text), "modified_at": 7.25, "updated_at": NOW}
    assert client.get("/notes/files?source=/other").json() == {"files": []}
    assert client.get("/notes/files").status_code == 400


def test_secrets_are_redacted_before_anything_is_stored(client: Client, parts: Parts) -> None:
    secret = "sk-ant-api03-" + "Ab1" * 31 + "AA"
    done = put(
        client,
        f"---\nkey: {secret}\n---\n# Title {secret}\n\ntext {secret}",
        title=f"T {secret}",
        metadata={"a": [{"b": secret}, 1, None], "n": 2},
        path="a.md",
    )
    scope = models.Scope(models.LOCAL.team, models.LOCAL.user, None)
    held = repr((parts.notes.get(scope, done["id"]), parts.notes.passages(scope, done["id"])))
    assert secret not in held
    assert secret not in json.dumps(done)
    shown = client.get(f"/notes/{done['id']}").json()
    assert shown["metadata"]["a"][1:] == [1, None]
    assert shown["metadata"]["n"] == 2


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "text"),
        ({"text": "x" * (note_api.LONGEST_NOTE + 1)}, "at most 1000000"),
        ({"text": "x", "title": "t" * 1001}, "title has 1001"),
        ({"text": "x", "tags": ["t"] * 101}, "101 tags"),
        ({"text": "x", "id": "no id"}, "ids are UUIDs"),
        ({"text": "x", "visibility": "everyone"}, "visibility"),
        ({"text": "x", "modified_at": "yesterday"}, "modified_at"),
    ],
)
def test_a_mistake_is_told(client: Client, body: dict[str, object], says: str) -> None:
    answer = client.post("/notes", json=body)
    assert answer.status_code == 400
    assert says in answer.json()["error"]["message"]


def test_too_many_notes_at_once_are_refused(client: Client) -> None:
    answer = client.post("/notes/bulk", json={"notes": [{"text": "x"}] * 65})
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "bad_input")


def test_others_notes_are_out_of_reach(client: Client, parts: Parts) -> None:
    private = theirs(parts, "private", models.Visibility.PRIVATE)
    shared = theirs(parts, "shared", models.Visibility.TEAM)
    assert client.get(f"/notes/{private}").status_code == client.delete(f"/notes/{private}").status_code == 404
    assert client.get(f"/notes/{shared}").json()["owner"] == "ana"
    assert client.post("/notes", json={"text": "x", "id": private}).status_code == 403
    assert client.post("/notes/bulk", json={"gone": [private, shared]}).json()["deleted"] == 0
    assert [note["id"] for note in client.get("/notes").json()["notes"]] == [shared]
    assert client.delete(f"/notes/{shared}").json()["deleted"] == 1  # as an admin of the team


@pytest.mark.parametrize(("path", "status"), [("/notes/no-id", 400), (f"/notes/{uuid.UUID(int=5)}", 404)])
def test_what_is_no_note_is_told(client: Client, path: str, status: int) -> None:
    assert client.get(path).status_code == client.delete(path).status_code == status


def test_without_embeddings_nothing_is_written_and_the_answer_says_why(client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts.embedder, "embed", lambda *_, **__: (_ for _ in ()).throw(errors.Unavailable("llama.cpp")))
    answer = client.post("/notes", json={"text": "x"})
    assert (answer.status_code, answer.json()["error"]["type"]) == (503, "unavailable")
    assert client.get("/notes").json()["total"] == 0
