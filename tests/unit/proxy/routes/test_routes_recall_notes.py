"""Recalls of memories and notes together."""

from typing import Any

import msgspec
import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.core import models
from services.core.recall import budget
from services.proxy.parts import Parts
from tests.support.in_memory import keep, memory

Client = TestClient[Litestar]
QUESTION = "which database do we use"


@pytest.fixture(autouse=True)
def kept(client: Client, parts: Parts) -> None:
    keep(parts, memory("We use Postgres as our database"), memory("We use a database in the shop", project="shop"))
    client.post("/notes", json={"text": "# Databases\n\n## Which one\n\nWhich database do we use: Oracle.\n\n## Tea\n\nGreen.\n", "tags": ["ops"]})
    client.post("/notes", json={"text": "# Shop\n\nThe database that we use in the shop is MySQL.\n", "project": "shop"})


def ask(client: Client, **fields: Any) -> Any:
    answer = client.post("/recall", json={"query": QUESTION, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(("kind", "memories", "notes"), [("memories", 1, 0), ("notes", 0, 1), ("all", 1, 1)])
def test_what_is_asked_for_is_recalled(client: Client, kind: str, memories: int, notes: int) -> None:
    found = ask(client, kind=kind)

    assert (len(found["memories"]), len(found["notes"])) == (memories, notes)


def test_without_a_kind_both_are(client: Client) -> None:
    assert ask(client) == ask(client, kind="all")


def test_a_note_comes_with_its_best_passages_and_their_signals(client: Client) -> None:
    (note,) = ask(client)["notes"]

    assert (note["title"], note["tags"], note["links"]) == ("Databases", ["ops"], 0)
    best = note["passages"][0]
    assert (best["headings"], best["position"], best["text"]) == (["Databases", "Which one"], 0, "Which database do we use: Oracle.")
    assert best["signals"]["dense_rank"] == 1
    assert best["score"] >= best["signals"]["cosine"] > 0.3


def test_a_project_has_its_own_notes_and_those_of_none(client: Client) -> None:
    assert {note["title"] for note in ask(client, project="shop")["notes"]} == {"Databases", "Shop"}


def test_an_explanation_names_the_passages_that_were_dropped(client: Client) -> None:
    explained = ask(client, explain=True, min_score=0.9)

    (tea,) = [one for one in explained["dropped_passages"] if one["text"] == "Green."]
    assert (tea["title"], tea["headings"]) == ("Databases", ["Databases", "Tea"])
    assert tea["reason"].endswith("is under 0.90")
    assert [len(note["passages"]) for note in explained["notes"]] == [1]
    assert "dropped_passages" not in ask(client)


def test_the_limit_holds_for_each_kind(client: Client) -> None:
    found = ask(client, project="shop", limit=1)

    assert (len(found["memories"]), len(found["notes"])) == (1, 1)


def test_a_note_that_was_erased_is_not_recalled_again(client: Client) -> None:
    (note,) = ask(client)["notes"]

    client.delete(f"/notes/{note['id']}")

    assert ask(client)["notes"] == []


@pytest.mark.parametrize("share", [0.95, 0.7, 0.5])
def test_a_token_budget_holds_for_both(client: Client, share: float) -> None:
    whole = client.post("/recall", json={"query": QUESTION, "project": "shop"})
    most = int(budget.tokens(whole.text) * share)

    answer = client.post("/recall", json={"query": QUESTION, "project": "shop", "token_budget": most})

    assert budget.tokens(answer.text) <= most
    assert answer.json()["memories"] or answer.json()["notes"]


def test_a_note_that_is_too_long_is_cut_to_the_beginning_of_its_best_passage(client: Client) -> None:
    long = "Which database do we use. " * 35
    client.post("/notes", json={"text": f"# Long\n\n{long}\n\n## More\n\n{long}", "project": "long"})
    whole = client.post("/recall", json={"query": QUESTION, "project": "long", "kind": "notes", "limit": 1})

    most = budget.tokens(whole.text) // 2
    answer = client.post("/recall", json={"query": QUESTION, "project": "long", "kind": "notes", "limit": 1, "token_budget": most})

    (note,) = answer.json()["notes"]
    (passage,) = note["passages"]
    assert budget.tokens(answer.text) <= most
    assert passage["text"].endswith("…")
    assert long.startswith(passage["text"].removesuffix("…"))
    assert "cut to the token budget" in answer.json()["notices"]


def test_what_a_recall_shows_of_notes_counts_as_surfaced(client: Client, parts: Parts) -> None:
    (note,) = ask(client, kind="notes")["notes"]

    (use,) = [msgspec.to_builtins(use) for use in parts.uses.read(models.LOCAL)]
    assert list(use["found"]) == [note["id"]]


def test_a_search_of_memories_finds_no_notes(client: Client) -> None:
    assert client.get("/memories/search", params={"q": QUESTION}).json()["notes"] == []
