import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.core import engine_api, models
from services.proxy.parts import Parts
from tests.support.in_memory import keep, memory

Client = TestClient[Litestar]


def test_tokens_are_counted_in_cl100k(client: Client) -> None:
    assert client.post("/tokens/count", json={"text": "Hello world"}).json() == {"tokens": 2, "encoding": "cl100k_base"}


def test_entities_are_extracted_and_nothing_is_stored(client: Client) -> None:
    answer = client.post("/entities", json={"text": "Meeting with [[project-x]] and @alice about #infra"})

    assert [(one["kind"], one["value"], one["raw"]) for one in answer.json()["entities"]] == [
        ("wikilink", "project-x", "[[project-x]]"),
        ("mention", "alice", "@alice"),
        ("hashtag", "infra", "#infra"),
    ]
    assert client.get("/notes/count").json() == {"count": 0}


@pytest.mark.parametrize("path", ["/tokens/count", "/entities"])
@pytest.mark.parametrize(
    ("body", "says"), [({}, "text"), ({"text": 7}, "text"), ({"text": "x" * (engine_api.LONGEST_TEXT + 1)}, "1000001 characters")]
)
def test_a_text_that_cant_be_taken_is_told(client: Client, path: str, body: dict[str, object], says: str) -> None:
    answer = client.post(path, json=body)

    assert answer.status_code == 400
    assert says in answer.json()["error"]["message"]


def test_the_figures_are_those_of_what_the_caller_sees(client: Client, parts: Parts) -> None:
    keep(
        parts,
        memory("I like tea"),
        memory("We use Postgres", category=models.Category.DECISION),
        memory("I liked coffee", status=models.Status.SUPERSEDED),
        memory("Ana's", owner="ana"),
    )
    client.post("/notes", json={"text": "# Tea\n#drink [[Water]]\n"})

    stats = client.get("/stats").json()

    assert stats["memories"] == {"current": 2, "superseded": 1, "pending": 0, "quarantined": 0}
    assert {category: count for category, count in stats["categories"].items() if count} == {"preference": 1, "decision": 1}
    assert (stats["notes"], stats["entities"]) == (1, {"wikilink": 1, "hashtag": 1, "mention": 0, "url": 0})
    assert (stats["embedding_model"], stats["dimension"], stats["answers"]) == ("hashing", 64, 0)


def test_the_cache_is_cleared_and_cleaned(client: Client, parts: Parts) -> None:
    keep(parts, memory("We use Postgres as our database"))
    client.post("/recall", json={"query": "which database do we use"})

    assert client.get("/stats").json()["answers"] == 1
    assert client.post("/cache/clean").json() == {"dropped": 0}
    assert client.delete("/cache").json() == {"dropped": 1}
    assert client.delete("/cache").json() == {"dropped": 0}

    client.post("/recall", json={"query": "which database do we use"})
    keep(parts, memory("I like tea"))
    assert client.post("/cache/clean").json() == {"dropped": 1}
