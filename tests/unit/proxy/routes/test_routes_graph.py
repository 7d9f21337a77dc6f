from typing import Any

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.core import archive, models, note_api
from services.core.notes.writing import NoteWriter
from services.proxy.parts import Parts
from tests.support.embedding import HashingEmbedder

Client = TestClient[Litestar]


@pytest.fixture
def ids(client: Client, parts: Parts) -> dict[str, str]:
    """Ids of three notes by title; another person has one that looks like them."""
    writer = NoteWriter(parts.notes, parts.embedder, owner_lock=parts.owner_lock, clock=parts.clock)
    writer.put(models.Principal("local", "ana"), [note_api.PutNote(text="# Ana\n[[Deploying]] #infra @bob\n")])
    texts = [
        "# Deploying\n\nThe release goes to staging first. See [[Staging|there]] and https://example.org/a. #infra @bob\n",
        "# Staging\n\nThe release goes to staging before anything else. Back to [[deploying]]. #infra #ci\n",
        "# Tea\n\nBlack leaves and hot water.\n",
    ]
    return {put.title: put.id for put in writer.put(models.LOCAL, [note_api.PutNote(text=text) for text in texts])}


def titles(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [note["title"] for note in answer.json()["notes"]]


def test_the_entities_of_a_note_come_in_the_order_of_its_text(client: Client, ids: dict[str, str]) -> None:
    found = client.get(f"/notes/{ids['Deploying']}/entities").json()["entities"]

    assert [(one["kind"], one["value"]) for one in found] == [
        ("wikilink", "Staging"),
        ("url", "https://example.org/a"),
        ("hashtag", "infra"),
        ("mention", "bob"),
    ]


def test_the_relationships_of_a_note_lead_to_the_notes_that_its_links_mean(client: Client, ids: dict[str, str]) -> None:
    edges = client.get(f"/notes/{ids['Deploying']}/relationships").json()["relationships"]

    assert edges[0] == {"kind": "wikilink", "value": "Staging", "raw": "[[Staging|there]]", "targets": [ids["Staging"]]}
    assert [edge["targets"] for edge in edges[1:]] == [[], [], []]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/notes/backlinks?title=Deploying", ["Staging"]),
        ("/notes/backlinks?title=deploying.md", ["Staging"]),
        ("/notes/backlinks?title=Nobody", []),
        ("/notes/by-entity?kind=hashtag&value=infra", ["Deploying", "Staging"]),
        ("/notes/by-entity?kind=hashtag&value=%23INFRA", ["Deploying", "Staging"]),
        ("/notes/by-entity?kind=mention&value=@bob", ["Deploying"]),
        ("/notes/by-entity?kind=wikilink&value=[[Staging]]", ["Deploying"]),
        ("/notes/by-entity?kind=url&value=https://example.org/a", ["Deploying"]),
        ("/notes/by-entity?kind=mention&value=infra", []),
        ("/notes?tag=ci", ["Staging"]),
    ],
)
def test_notes_are_found_by_what_they_name(client: Client, ids: dict[str, str], path: str, expected: list[str]) -> None:
    assert sorted(titles(client.get(path))) == expected
    assert client.get(path).json()["total"] == len(expected)


def test_a_page_of_them_has_a_limit_and_an_offset(client: Client, ids: dict[str, str]) -> None:
    whole = titles(client.get("/notes/by-entity?kind=hashtag&value=infra"))

    assert titles(client.get("/notes/by-entity?kind=hashtag&value=infra&limit=1&offset=1")) == whole[1:]


def test_the_backlinks_of_a_note_are_the_other_notes_that_link_to_it(client: Client, ids: dict[str, str]) -> None:
    assert titles(client.get(f"/notes/{ids['Deploying']}/backlinks")) == ["Staging"]
    assert titles(client.get(f"/notes/{ids['Tea']}/backlinks")) == []


def test_the_backlinks_of_a_note_come_in_pages(client: Client, parts: Parts, ids: dict[str, str]) -> None:
    path = f"/notes/{ids['Tea']}/backlinks"
    for number in range(3):
        client.post("/notes", json={"text": f"# Cup {number}\n[[Tea]]\n"})
    whole = titles(client.get(path))

    page = client.get(f"{path}?limit=1&offset=1")

    assert sorted(whole) == ["Cup 0", "Cup 1", "Cup 2"]
    assert titles(page) == whole[1:2]
    assert {name: page.json()[name] for name in ("total", "limit", "offset")} == {"total": 3, "limit": 1, "offset": 1}
    assert client.get(f"{path}?limit=0").json()["limit"] == 1
    assert client.get(f"{path}?limit=5000").json()["limit"] == 1000
    assert client.get(f"{path}?limit=ten").status_code == 400


def test_all_values_of_a_kind_come_with_their_counts(client: Client, ids: dict[str, str]) -> None:
    found = client.get("/notes/entities?kind=hashtag").json()

    assert found == {"kind": "hashtag", "values": [{"value": "infra", "notes": 2}, {"value": "ci", "notes": 1}]}
    assert len(client.get("/notes/entities?kind=hashtag&limit=1").json()["values"]) == 1


def test_similar_notes_come_by_meaning_best_first_without_embedding_anything(
    client: Client, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HashingEmbedder, "embed", None)
    answer = client.get(f"/notes/{ids['Deploying']}/similar")

    assert titles(answer) == ["Staging", "Tea"]
    scores = [note["score"] for note in answer.json()["notes"]]
    assert 1 >= scores[0] > scores[1]
    assert titles(client.get(f"/notes/{ids['Deploying']}/similar?limit=1")) == ["Staging"]


def test_the_notes_are_counted(client: Client, ids: dict[str, str]) -> None:
    assert client.get("/notes/count").json() == {"count": 3}


def test_metadata_is_changed_without_embedding_anything(client: Client, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HashingEmbedder, "embed", None)
    before = client.get(f"/notes/{ids['Tea']}").json()

    client.patch(f"/notes/{ids['Tea']}", json={"metadata": {"type": "drink", "by": {"who": "ana.b@example.org"}, "n": 1}})
    after = client.patch(f"/notes/{ids['Tea']}", json={"metadata": {"n": None}}).json()

    assert after["metadata"]["type"] == "drink"
    assert "ana.b" not in str(after)
    assert {**after, "metadata": {}} == before


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({}, 400, "metadata"),
        ({"metadata": {}}, 400, "nothing to change"),
        ({"metadata": {"x": "y" * archive.MOST_METADATA}}, 400, "bytes as JSON"),
        ({"text": "x"}, 400, "text"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(client: Client, ids: dict[str, str], body: dict[str, object], status: int, says: str) -> None:
    answer = client.patch(f"/notes/{ids['Tea']}", json=body)

    assert answer.status_code == status
    assert says in answer.json()["error"]["message"]


@pytest.mark.parametrize("of", ["entities", "relationships", "backlinks", "similar"])
def test_the_graph_of_an_unknown_or_foreign_note_is_not_shown(client: Client, parts: Parts, ids: dict[str, str], of: str) -> None:
    (foreign,) = parts.notes.find(models.Scope("local", "ana", None))

    assert client.get(f"/notes/{foreign.id}/{of}").status_code == 404
    assert client.get(f"/notes/00000000-0000-4000-8000-000000000000/{of}").status_code == 404
    assert client.get(f"/notes/7/{of}").status_code == 400


@pytest.mark.parametrize("path", ["/notes/backlinks?title=%20", "/notes/by-entity?kind=hashtag&value=%23", "/notes/by-entity?kind=colour&value=x"])
def test_a_question_without_a_name_is_a_mistake(client: Client, path: str) -> None:
    answer = client.get(path)

    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "bad_input"
