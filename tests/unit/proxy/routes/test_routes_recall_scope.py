"""Recalling of what one sees only a part."""

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.core import models
from services.core.note_api import PutNote
from services.core.notes.writing import NoteWriter
from services.proxy.parts import Parts
from tests.support.in_memory import keep, memory

Client = TestClient[Litestar]
PRIVATE, PROPOSED, TEAM = models.Visibility
BO = models.Principal("local", "bo")
EVERY = {"mine": PRIVATE, "proposed": PROPOSED, "ours": TEAM}
CASES = [("private", {"mine"}), ("proposed", {"proposed"}), ("team", {"ours", "hers"}), ("all", {"mine", "proposed", "ours", "hers"})]


@pytest.fixture(autouse=True)
def kept(parts: Parts) -> None:
    keep(parts, *(memory(f"{name}: we use Postgres as our database", visibility=visibility) for name, visibility in EVERY.items()))
    keep(parts, *(memory(f"{name}: we use Postgres as our database", owner="bo", visibility=TEAM) for name in ("hers",)))
    keep(parts, memory("secret: we use Postgres as our database", owner="bo"))
    writer = NoteWriter(parts.notes, parts.embedder, owner_lock=parts.owner_lock, clock=parts.clock)
    for owner, notes in ((models.LOCAL, EVERY), (BO, {"hers": TEAM, "secret": PRIVATE})):
        for name, visibility in notes.items():
            (put,) = writer.put(owner, [PutNote(text="We use Postgres as our database. [[Postgres]]", title=name)])
            writer.show(owner, put.id, visibility)


@pytest.mark.parametrize("query", ["which database do we use", "what are my preferences", "what about Postgres"])
@pytest.mark.parametrize(("scope", "expected"), CASES)
def test_of_what_is_seen_that_part_alone_is_recalled(client: Client, scope: str, expected: set[str], query: str) -> None:
    found = client.post("/recall", json={"query": query, "scope": scope, "limit": 50}).json()
    assert {one["text"].partition(":")[0] for one in found["memories"]} <= expected
    assert {one["title"] for one in found["notes"]} <= expected
    if query.startswith("which"):
        assert {one["title"] for one in found["notes"]} == expected
        explained = client.post("/recall", json={"query": query, "scope": scope, "explain": True}).json()
        assert {one["text"].partition(":")[0] for one in (*explained["memories"], *explained["dropped"])} == expected


def test_another_scope_is_refused(client: Client) -> None:
    assert client.post("/recall", json={"query": "x", "scope": "others"}).status_code == 400
