import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.core import errors, models
from services.proxy.parts import Parts
from tests.support.in_memory import keep, memory

Client = TestClient[Litestar]


def recalled(client: Client, **body: object) -> list[str]:
    answer = client.post("/recall", json={"query": "which database do we use", **body})
    assert answer.status_code == 200
    return [shown["text"] for shown in answer.json()["memories"]]


@pytest.fixture(autouse=True)
def kept(parts: Parts) -> None:
    keep(
        parts,
        memory("We use Postgres as our database", project="shop", category=models.Category.TECHNICAL_CHOICE),
        memory("We use Mongo as our database", project="blog", category=models.Category.TECHNICAL_CHOICE),
        memory("I like the database we use", category=models.Category.PREFERENCE),
        memory("My cat is called Mia", category=models.Category.PERSONAL_INFO),
    )


@pytest.mark.parametrize(
    ("project", "expected"),
    [
        ("shop", {"We use Postgres as our database", "I like the database we use"}),
        ("blog", {"We use Mongo as our database", "I like the database we use"}),
        ("unknown", {"I like the database we use"}),
        ("", {"I like the database we use"}),
    ],
)
def test_a_recall_sees_its_own_project_and_what_belongs_to_none(client: Client, project: str, expected: set[str]) -> None:
    """headroom#462: memories of another project are shown."""
    assert set(recalled(client, project=project)) == expected


def test_a_recall_without_a_project_is_one_of_no_project(client: Client) -> None:
    assert recalled(client) == ["I like the database we use"]


def test_a_limit_is_kept_and_the_rest_is_explained(client: Client) -> None:
    answer = client.post("/recall", json={"query": "which database do we use", "project": "shop", "limit": 1, "explain": True}).json()

    assert len(answer["memories"]) == 1
    assert all(one["reason"] for one in answer["dropped"])
    assert len(answer["dropped"]) >= 1
    assert set(answer["dropped"][0]) >= {"id", "text", "score", "signals", "reason"}


def test_without_the_embedder_words_alone_recall_and_a_notice_says_so(client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise errors.Unavailable("llama.cpp")

    monkeypatch.setattr(parts.embedder, "embed", away)
    answer = client.post("/recall", json={"query": "which database do we use", "project": "shop"}).json()

    assert answer["mode"] == "bm25"
    assert "llama.cpp is not available" in answer["notices"][0]
    assert "We use Postgres as our database" in [shown["text"] for shown in answer["memories"]]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": ""},
        {"query": "  "},
        {"query": "x", "mode": "magic"},
        {"query": "x", "limit": "many"},
        {"query": "x", "colour": 1},
        {"query": "x" * 20_001},
    ],
)
def test_a_recall_that_makes_no_sense_is_refused(client: Client, body: dict[str, object]) -> None:
    answer = client.post("/recall", json=body)

    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "bad_input"


def test_a_store_that_is_away_is_named(client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise errors.Unavailable("Qdrant")

    monkeypatch.setattr(parts.store, "lexical", away)
    monkeypatch.setattr(parts.store, "nearest", away)

    answer = client.post("/recall", json={"query": "which database do we use"})

    assert answer.status_code == 503
    assert answer.json()["error"]["message"] == "Qdrant is not available"
