import re
import uuid
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.core import api, errors, memory_ids, messages, models, ports
from services.proxy.parts import EMBED_SECONDS, Parts
from services.proxy.routes import selftest
from tests.support.embedding import HashingEmbedder
from tests.support.in_memory import NOW, keep, memory

Client = TestClient[Litestar]


def replaced(old: models.Memory, new: models.Memory) -> tuple[models.Memory, models.Memory]:
    """The two as they are after the new one superseded the old one."""
    new = msgspec.structs.replace(new, lineage=old.lineage, supersedes=old.id, created_at=old.created_at + 60)
    return msgspec.structs.replace(old, status=models.Status.SUPERSEDED, superseded_by=new.id, valid_to=NOW), new


def texts(answer: Any) -> list[str]:
    return [shown["text"] for shown in answer.json()["memories"]]


class Remembering(HashingEmbedder):
    """How long each call was given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[float | None] = []

    def embed(self, texts: Sequence[str], kind: Literal["query", "document"], *, timeout_seconds: float | None = None) -> list[list[float]]:
        self.given.append(timeout_seconds)
        return super().embed(texts, kind)


@pytest.fixture
def some(parts: Parts) -> list[models.Memory]:
    """Newest first."""
    made = [
        memory("I prefer dark mode", said_at=NOW - 10),
        memory("We use Postgres 15", said_at=NOW - 20, category=models.Category.TECHNICAL_CHOICE, project="shop"),
        memory("Releases are on Mondays", said_at=NOW - 30, category=models.Category.DECISION, visibility=models.Visibility.TEAM),
        memory("I dislike tabs", said_at=NOW - 40, status=models.Status.SUPERSEDED),
    ]
    keep(parts, *made, memory("Another person's", owner="ana"), memory("Another team's", team="else", visibility=models.Visibility.TEAM))
    return made


@pytest.mark.parametrize(
    ("query", "expected", "total"),
    [
        ("", [0, 1, 2], 3),
        ("?limit=2", [0, 1], 3),
        ("?limit=2&offset=2", [2], 3),
        ("?offset=3", [], 3),
        ("?status=superseded", [3], 1),
        ("?status=all", [0, 1, 2, 3], 4),
        ("?category=decision", [2], 1),
        ("?scope=team", [2], 1),
        ("?scope=private", [0, 1], 2),
        ("?scope=private&status=all&category=preference", [0, 3], 2),
    ],
)
def test_memories_are_listed_newest_first_by_page_and_filter(
    client: Client, some: list[models.Memory], query: str, expected: list[int], total: int
) -> None:
    answer = client.get(f"/memories{query}")

    assert answer.status_code == 200
    assert texts(answer) == [some[i].text for i in expected]
    assert answer.json()["total"] == total


@pytest.mark.parametrize(("asked", "held"), [("limit=0", 1), ("limit=-5", 1), ("limit=5000", 1000), ("limit=7", 7), ("", 100)])
def test_the_page_size_is_held_between_1_and_1000(client: Client, asked: str, held: int) -> None:
    assert client.get(f"/memories?{asked}").json() == {"memories": [], "total": 0, "limit": held, "offset": 0}


@pytest.mark.parametrize("query", ["limit=ten", "status=old", "category=gossip", "scope=mine"])
def test_a_wrong_filter_is_told_by_name(client: Client, query: str) -> None:
    answer = client.get(f"/memories?{query}")

    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "bad_input"
    assert answer.json()["error"]["message"].startswith(query.partition("=")[0])


def test_a_memory_shows_every_field_with_readable_times(client: Client, some: list[models.Memory]) -> None:
    shown = client.get(f"/memories/{some[0].id}").json()

    assert set(shown) == set(models.Memory.__struct_fields__)
    assert shown["text"] == "I prefer dark mode"
    assert shown["said_at"] == "2026-09-21T14:13:10Z"
    assert shown["valid_to"] is None
    assert shown["evidence"] == [{"quote": "I prefer dark mode", "turn": "turn-1", "said_at": "2026-09-21T14:13:10Z", "session": ""}]


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("GET", "/history"), ("PATCH", ""), ("DELETE", "")])
@pytest.mark.parametrize(
    ("memory_id", "status", "kind"),
    [(str(uuid.UUID(int=7)), 404, "not_found"), ("not-a-uuid", 400, "bad_input"), ("%00", 400, "bad_input")],
)
def test_an_unknown_id_and_no_id_at_all_are_told_apart(client: Client, method: str, path: str, memory_id: str, status: int, kind: str) -> None:
    answer = client.request(method, f"/memories/{memory_id}{path}", json={"text": "x y"} if method == "PATCH" else None)

    assert answer.status_code == status
    assert answer.json()["error"]["type"] == kind


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("GET", "/history"), ("PATCH", ""), ("DELETE", "")])
def test_a_memory_of_another_person_does_not_exist(client: Client, parts: Parts, method: str, path: str) -> None:
    foreign = memory("A secret of Ana", owner="ana")
    keep(parts, foreign)

    answer = client.request(method, f"/memories/{foreign.id}{path}", json={"text": "x y"} if method == "PATCH" else None)

    assert answer.status_code == 404
    assert parts.store.get(models.Scope(foreign.team, "ana", None), foreign.id) == foreign


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_a_curator_changes_what_another_has_shared(client: Client, parts: Parts, method: str) -> None:
    foreign = memory("Deploys are on Fridays", owner="ana", visibility=models.Visibility.TEAM)
    keep(parts, foreign)

    answer = client.request(method, f"/memories/{foreign.id}", json={"text": "Deploys are on Mondays"} if method == "PATCH" else None)

    assert answer.status_code == 200
    assert texts(client.get("/memories")) == (["Deploys are on Mondays"] if method == "PATCH" else [])


def test_the_history_shows_what_replaced_what(client: Client, parts: Parts) -> None:
    """mem0#8: "I hate Chinese food" against "I love Chinese food": the new one is current, the old one in its history."""
    old, new = replaced(memory("My name is Leo"), memory("My name is Leoncio"))
    keep(parts, old, new)

    for asked in (old.id, new.id):
        answer = client.get(f"/memories/{asked}/history")
        assert texts(answer) == ["My name is Leoncio", "My name is Leo"]
        assert answer.json()["id"] == asked


def test_an_edited_text_is_found_by_its_new_words_and_kept_in_the_history(client: Client, parts: Parts) -> None:
    before = memory("We use Postgres 15", category=models.Category.TECHNICAL_CHOICE)
    keep(parts, before)

    answer = client.patch(f"/memories/{before.id}", json={"text": "  We use MariaDB 11 "})

    assert answer.status_code == 200
    assert answer.json()["id"] == before.id
    assert answer.json()["text"] == "We use MariaDB 11"
    assert answer.json()["category"] == "technical_choice"
    assert texts(client.get("/memories")) == ["We use MariaDB 11"]
    assert texts(client.get(f"/memories/{before.id}/history")) == ["We use MariaDB 11", "We use Postgres 15"]
    assert texts(client.get("/memories/search?q=MariaDB 11")) == ["We use MariaDB 11"]
    assert texts(client.get("/memories/search?q=Postgres")) == []


def test_an_edited_category_leaves_the_text_findable(client: Client, parts: Parts) -> None:
    before = memory("Releases are on Mondays")
    keep(parts, before)

    assert client.patch(f"/memories/{before.id}", json={"category": "decision"}).json()["category"] == "decision"
    assert texts(client.get("/memories/search?q=releases on Mondays")) == ["Releases are on Mondays"]


def test_an_edited_text_is_redacted_before_it_is_stored(client: Client, parts: Parts) -> None:
    before = memory("Write to the office")
    keep(parts, before)

    text = client.patch(f"/memories/{before.id}", json={"text": "Write to ana.b@example.org"}).json()["text"]

    assert re.fullmatch(r"Write to <EMAIL_[0-9]{6}>", text)
    assert parts.store.find(models.Scope("local", "me", None))[0].text == text


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "nothing to change"),
        ({"text": "   "}, "text is empty"),
        ({"text": "x" * (api.LONGEST_TEXT + 1)}, f"text has {api.LONGEST_TEXT + 1} characters"),
        ({"category": "gossip"}, "gossip"),
        ({"colour": "red"}, "colour"),
        ({"text": 7}, "text"),
    ],
)
def test_an_edit_that_makes_no_sense_changes_nothing(client: Client, parts: Parts, body: dict[str, object], says: str) -> None:
    before = memory("I prefer dark mode")
    keep(parts, before)

    answer = client.patch(f"/memories/{before.id}", json=body)

    assert answer.status_code == 400
    assert says in answer.json()["error"]["message"]
    assert client.get(f"/memories/{before.id}").json()["text"] == before.text


def test_a_body_that_is_no_json_is_told_so(client: Client, parts: Parts) -> None:
    before = memory("I prefer dark mode")
    keep(parts, before)

    answer = client.patch(f"/memories/{before.id}", content=b"{text", headers={"content-type": "application/json"})

    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "bad_input"


def test_a_text_is_not_edited_while_it_cant_be_embedded(client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise errors.Unavailable("llama.cpp", "connection refused")

    before = memory("I prefer dark mode")
    keep(parts, before)
    monkeypatch.setattr(parts.embedder, "embed", away)

    answer = client.patch(f"/memories/{before.id}", json={"text": "I prefer light mode"})

    assert answer.status_code == 503
    assert answer.json() == {"error": {"type": "unavailable", "message": "llama.cpp is not available: connection refused"}}
    assert client.get(f"/memories/{before.id}").json()["text"] == before.text


def test_a_superseded_memory_is_history_and_not_edited(client: Client, parts: Parts) -> None:
    old, new = replaced(memory("My name is Leo"), memory("My name is Leoncio"))
    keep(parts, old, new)

    answer = client.patch(f"/memories/{old.id}", json={"text": "My name is Lea"})

    assert answer.status_code == 400
    assert new.id in answer.json()["error"]["message"]


def test_forgetting_erases_all_versions_and_the_blocks_that_showed_them(client: Client, parts: Parts) -> None:
    """cognee#3526: a forgotten fact is still recalled."""
    old, new = replaced(memory("My name is Leo"), memory("My name is Leoncio"))
    other = memory("I prefer dark mode")
    keep(parts, old, new, other)
    parts.ledger.write({"a": ports.Entry("block", (old.id,)), "b": ports.Entry("block", (new.id, other.id)), "c": ports.Entry("block", (other.id,))})

    answer = client.delete(f"/memories/{new.id}")

    assert answer.status_code == 200
    receipt = answer.json()
    assert (receipt["id"], receipt["deleted"], receipt["ledger"], set(receipt["ids"])) == (new.id, 2, 2, {old.id, new.id})
    assert texts(client.get("/memories?status=all")) == ["I prefer dark mode"]
    assert set(parts.ledger.read(["a", "b", "c"])) == {"c"}
    assert client.delete(f"/memories/{new.id}").status_code == 404
    assert client.get(f"/memories/{old.id}").status_code == 404


def test_nothing_is_half_forgotten_while_the_ledger_is_away(client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise errors.Unavailable("Redis")

    kept = memory("I prefer dark mode")
    keep(parts, kept)
    monkeypatch.setattr(parts.ledger, "forget", away)

    assert client.delete(f"/memories/{kept.id}").status_code == 503
    assert texts(client.get("/memories")) == ["I prefer dark mode"]


def test_search_ranks_across_projects_and_shows_the_signals(client: Client, some: list[models.Memory]) -> None:
    answer = client.get("/memories/search", params={"q": "which Postgres do we use"}).json()

    best = answer["memories"][0]
    assert best["text"] == "We use Postgres 15"
    assert answer["query"] == "which Postgres do we use"
    assert answer["mode"] == "hybrid"
    assert answer["notices"] == []
    assert set(best["signals"]) == {"similarity", "cosine", "dense_rank", "lexical_rank", "rrf", "strength", "recency", "temporal", "matched"}
    assert best["score"] >= 0.3
    assert "dropped" not in answer


@pytest.mark.parametrize("query", ["", "?q=", "?q=%20%20", "?mode=bm25"])
def test_a_search_for_nothing_is_a_mistake(client: Client, query: str) -> None:
    answer = client.get(f"/memories/search{query}")

    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "q is missing: GET /memories/search?q=words"


@pytest.mark.parametrize("mode", ["hybrid", "bm25", "semantic"])
def test_a_search_takes_a_mode(client: Client, some: list[models.Memory], mode: str) -> None:
    answer = client.get("/memories/search", params={"q": "dark mode", "mode": mode}).json()

    assert answer["mode"] == mode
    assert texts_of(answer)[0] == "I prefer dark mode"


def test_a_search_for_an_unknown_mode_is_a_mistake(client: Client) -> None:
    assert client.get("/memories/search?q=x&mode=magic").status_code == 400


def texts_of(answer: dict[str, Any]) -> list[str]:
    return [shown["text"] for shown in answer["memories"]]


def test_a_statement_is_remembered_and_recalled_at_once(client: Client) -> None:
    answer = client.post("/memories", json={"text": "  We use Postgres 15 as our database ", "category": "technical_choice"})

    assert answer.status_code == 201
    added = answer.json()
    assert (added["text"], added["category"], added["status"], added["mentions"]) == (
        "We use Postgres 15 as our database",
        "technical_choice",
        "current",
        1,
    )
    assert [one["quote"] for one in added["evidence"]] == ["We use Postgres 15 as our database"]
    assert client.get(f"/memories/{added['id']}").json() == added
    assert texts(client.post("/recall", json={"query": "which database do we use"})) == [added["text"]]


@pytest.mark.parametrize(
    ("body", "category", "project"),
    [
        ({}, "project_context", ""),
        ({"project": "shop"}, "project_context", "shop"),
        ({"project": "shop", "category": "todo"}, "todo", "shop"),
        ({"project": "shop", "category": "preference"}, "preference", ""),
    ],
)
def test_a_statement_is_a_matter_of_the_project_unless_it_is_said_to_be_about_the_person(
    client: Client, body: dict[str, str], category: str, project: str
) -> None:
    added = client.post("/memories", json={"text": "Tea is green", **body}).json()
    assert (added["category"], added["project"]) == (category, project)


def test_a_statement_is_to_be_decided_about_by_a_job_that_knows_it(client: Client, parts: Parts) -> None:
    added = client.post("/memories", json={"text": "Write to ana.b@example.org", "project": "shop", "category": "todo"}).json()
    client.post("/memories", json={"text": "write to ana.b@example.org.", "project": "shop"})

    assert parts.book.pending()[messages.Lane.LEARN] == 1
    claim = parts.book.claim(f"learn_turn-hand-{memory_ids.of_hand(models.LOCAL, 'shop', added['text'], NOW)}")
    assert claim is not None
    assert isinstance(claim.job.payload, messages.LearnTurn)
    assert (claim.job.payload.words, claim.job.payload.project, claim.job.payload.category) == (added["text"], "shop", models.Category.TODO)
    assert added["id"] == memory_ids.of_fact(models.LOCAL, claim.job.payload.turn, 0)


def test_the_same_statement_again_is_the_memory_that_says_it(client: Client) -> None:
    first = client.post("/memories", json={"text": "I like green tea"})

    again = client.post("/memories", json={"text": "i like  green tea."})
    within = client.post("/memories", json={"text": "I like green tea", "project": "shop"})

    assert (first.status_code, again.status_code, within.status_code) == (201, 200, 200)
    assert first.json() == again.json() == within.json()
    assert client.get("/memories/count").json() == {"count": 1}


def test_the_same_statement_in_another_project_is_another_memory(client: Client) -> None:
    answers = [client.post("/memories", json={"text": "We deploy on Fridays", "project": project}) for project in ("shop", "site", "")]

    assert [answer.status_code for answer in answers] == [201, 201, 201]


def test_an_added_statement_is_redacted(client: Client) -> None:
    assert re.fullmatch(r"Write to <EMAIL_[0-9]{6}>", client.post("/memories", json={"text": "Write to ana.b@example.org"}).json()["text"])


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "text"),
        ({"text": " "}, "text is empty: give the statement to remember"),
        ({"text": "x" * (api.LONGEST_TEXT + 1)}, f"text has {api.LONGEST_TEXT + 1} characters"),
        ({"text": "x", "project": "p" * 1001}, "project has 1001 characters"),
        ({"text": "x", "category": "gossip"}, "gossip"),
        ({"text": "x", "owner": "ana"}, "owner"),
    ],
)
def test_a_statement_that_cant_be_remembered_is_refused(client: Client, body: dict[str, object], says: str) -> None:
    answer = client.post("/memories", json=body)

    assert answer.status_code == 400
    assert says in answer.json()["error"]["message"]
    assert client.get("/memories/count").json() == {"count": 0}


@pytest.mark.parametrize(("query", "count"), [("", 3), ("?status=all", 4), ("?category=decision", 1), ("?scope=team", 1)])
def test_memories_are_counted_by_the_filters_of_a_list(client: Client, some: list[models.Memory], query: str, count: int) -> None:
    assert client.get(f"/memories/count{query}").json() == {"count": count}


def test_similar_memories_are_the_current_ones_of_nearest_meaning(client: Client, parts: Parts) -> None:
    asked = memory("We use Postgres as our database")
    near, far = memory("We use MySQL as a database"), memory("My cat is called Mia")
    keep(parts, asked, near, far, memory("We use Oracle as our database", status=models.Status.SUPERSEDED), memory("We use DB2", owner="ana"))

    answer = client.get(f"/memories/{asked.id}/similar").json()

    assert texts_of(answer) == [near.text, far.text]
    assert 1 > answer["memories"][0]["score"] > answer["memories"][1]["score"]
    assert texts_of(client.get(f"/memories/{asked.id}/similar?limit=1").json()) == [near.text]


def test_a_search_takes_a_least_score(client: Client, some: list[models.Memory]) -> None:
    whole = client.get("/memories/search", params={"q": "dark mode", "min_score": 0.0}).json()["memories"]

    assert whole[0]["text"] == "I prefer dark mode"
    strict = client.get("/memories/search", params={"q": "dark mode", "min_score": whole[0]["score"] + 0.01}).json()
    assert strict["memories"] == []
    assert client.get("/memories/search", params={"q": "dark mode", "min_score": 2}).status_code == 400


def test_nobody_waits_long_for_an_embedding_server_that_hangs(
    client: Client, parts: Parts, some: list[models.Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selftest, "_LEARN_SECONDS", 0.1)  # no worker runs here
    embedder = Remembering()
    object.__setattr__(parts, "embedder", embedder)

    assert client.post("/memories", json={"text": "I live in Lisbon"}).status_code == 201
    assert client.patch(f"/memories/{some[0].id}", json={"text": "I prefer light mode"}).status_code == 200
    assert client.get(f"/memories/{some[1].id}/similar").status_code == 200
    assert client.post("/selftest").status_code == 200
    assert embedder.given == [EMBED_SECONDS] * 5
