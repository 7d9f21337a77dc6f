"""Every route of the memory engine, through HTTP, over the stores in memory and the embedded ones: what is right, what is wrong, whose it is."""

import dataclasses
import re
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.core import api, archive, engine_api, models, note_api, ports
from services.core.adapters import qdrant_edge
from services.proxy.app import create_app
from services.proxy.parts import Parts
from services.proxy.routes import archives, engine, graph, memories, notes, reports
from tests.support import in_memory
from tests.support.in_memory import memory

ANA = models.Principal("local", "ana")
NOBODY = str(uuid.UUID(int=7))
WIKI = "# Deploying\n\nThe release goes to [[Staging]] first. #infra @bob https://example.org/a\n"


class Running(NamedTuple):
    client: TestClient[Litestar]
    parts: Parts
    ids: dict[str, str]

    def ask(self, method: str, path: str, body: object = None) -> Any:
        return self.client.request(method, path.format(**self.ids), json=body)


@pytest.fixture(scope="module", params=["memory", "edge"])
def parts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    folder: Path = tmp_path_factory.mktemp("engine")
    made = in_memory.parts(folder)
    with ExitStack() as stack:
        if request.param == "edge":
            space = {"model": made.embedder.model, "dimension": made.embedder.dimension}
            store = stack.enter_context(closing(qdrant_edge.EdgeStore.open(folder / "memories", **space)))
            pages = stack.enter_context(closing(qdrant_edge.EdgeNoteStore.open(folder / "notes", **space)))
            made = dataclasses.replace(made, store=store, notes=pages)
        yield made


@pytest.fixture
def running(parts: Parts) -> Iterator[Running]:
    """Two memories, one of them with a past, and two notes of the caller's; one of each that is Ana's alone; nothing else."""
    for who in (models.LOCAL, ANA):
        scope = models.Scope(who.team, who.user, None)
        parts.store.delete(scope, [one.id for one in parts.store.find(scope, ports.ANY)])
        parts.notes.delete(scope, [one.id for one in parts.notes.find(scope)])
        parts.uses.clear(who)
    parts.answers.clear("local")
    old = memory("We use Postgres 15", status=models.Status.SUPERSEDED, category=models.Category.TECHNICAL_CHOICE)
    new = memory("We use Postgres 16", lineage=old.id, supersedes=old.id, category=models.Category.TECHNICAL_CHOICE)
    tea, hers = memory("I like green tea"), memory("Ana's own secret about Postgres", owner="ana")
    in_memory.keep(parts, old, new, tea, hers)
    writer = notes.writer(parts)
    mine = writer.put(
        models.LOCAL, [note_api.PutNote(text=text, source="book", path=path) for text, path in ((WIKI, "d.md"), ("# Staging\n", "s.md"))]
    )
    (anas,) = writer.put(ANA, [note_api.PutNote(text="# Ana\n\nHer own [[Staging]]. #infra\n")])
    ids = {"old": old.id, "new": new.id, "tea": tea.id, "hers": hers.id, "deploying": mine[0].id, "staging": mine[1].id, "anas": anas.id}
    with TestClient(create_app(parts), base_url="http://127.0.0.1:3000", raise_server_exceptions=False) as client:
        yield Running(client, parts, ids)


def texts(answer: Any) -> list[str]:
    return sorted(one["text"] for one in answer["memories"])


def titles(answer: Any) -> list[str]:
    return sorted(one["title"] for one in answer["notes"])


RIGHT: list[tuple[str, str, object, Any, object]] = [
    ("GET", "/memories", None, texts, ["I like green tea", "We use Postgres 16"]),
    ("GET", "/memories?status=superseded", None, texts, ["We use Postgres 15"]),
    ("GET", "/memories?category=preference&scope=private", None, texts, ["I like green tea"]),
    ("GET", "/memories?scope=team", None, texts, []),
    ("GET", "/memories/count?status=all", None, dict, {"count": 3}),
    ("GET", "/memories/search?q=which Postgres do we use", None, texts, ["We use Postgres 16"]),
    ("GET", "/memories/{new}", None, lambda one: (one["text"], one["category"]), ("We use Postgres 16", "technical_choice")),
    ("GET", "/memories/{new}/history", None, texts, ["We use Postgres 15", "We use Postgres 16"]),
    ("GET", "/memories/{new}/similar", None, texts, ["I like green tea"]),
    ("PATCH", "/memories/{tea}", {"text": "I like black tea"}, lambda one: one["text"], "I like black tea"),
    ("DELETE", "/memories/{old}", None, lambda one: (one["deleted"], one["ledger"]), (2, 0)),
    ("GET", "/notes", None, titles, ["Deploying", "Staging"]),
    ("GET", "/notes?tag=infra", None, titles, ["Deploying"]),
    ("GET", "/notes?source=book&path=s.md", None, titles, ["Staging"]),
    ("GET", "/notes/count", None, dict, {"count": 2}),
    ("GET", "/notes/files?source=book", None, lambda one: sorted(file["path"] for file in one["files"]), ["d.md", "s.md"]),
    ("GET", "/notes/{deploying}", None, lambda one: one["text"], WIKI),
    ("GET", "/notes/{deploying}/entities", None, lambda one: [e["value"] for e in one["entities"]], ["Staging", "infra", "bob", "https://example.org/a"]),
    ("GET", "/notes/{deploying}/relationships", None, lambda one: [len(edge["targets"]) for edge in one["relationships"]], [1, 0, 0, 0]),
    ("GET", "/notes/{staging}/backlinks", None, titles, ["Deploying"]),
    ("GET", "/notes/{deploying}/similar", None, titles, ["Staging"]),
    ("GET", "/notes/backlinks?title=staging", None, titles, ["Deploying"]),
    ("GET", "/notes/by-entity?kind=mention&value=@bob", None, titles, ["Deploying"]),
    ("GET", "/notes/entities?kind=hashtag", None, lambda one: one["values"], [{"value": "infra", "notes": 1}]),
    ("POST", "/notes", {"text": "# New\n"}, lambda one: (one["title"], one["created"]), ("New", True)),
    ("POST", "/notes/bulk", {"notes": [{"text": "# Staging\n\nMore.\n", "source": "book", "path": "s.md"}], "gone": []},
     lambda one: (one["notes"][0]["created"], one["deleted"]), (False, 0)),
    ("PATCH", "/notes/{staging}", {"metadata": {"n": 1}}, lambda one: one["metadata"], {"n": 1}),
    ("DELETE", "/notes/{staging}", None, lambda one: one["deleted"], 1),
    ("POST", "/recall", {"query": "which Postgres do we use", "kind": "all"}, texts, ["We use Postgres 16"]),
    ("POST", "/tokens/count", {"text": "one two"}, lambda one: one["tokens"], 2),
    ("POST", "/entities", {"text": "See [[Tea]] #infra"}, lambda one: [e["value"] for e in one["entities"]], ["Tea", "infra"]),
    ("GET", "/stats", None, lambda one: (one["memories"]["current"], one["memories"]["superseded"], one["notes"]), (2, 1, 2)),
    ("DELETE", "/cache", None, dict, {"dropped": 0}),
    ("POST", "/cache/clean", None, dict, {"dropped": 0}),
    ("GET", "/recall/report", None, lambda one: (one["asked"], one["since"], one["dead"], one["unopened"]), (0, None, [], [])),
    ("DELETE", "/recall/report", None, dict, {"dropped": 0}),
    ("GET", "/export", None, lambda one: (len(one["memories"]), len(one["notes"])), (3, 2)),
    ("GET", "/memories/export", None, lambda one: (len(one["memories"]), len(one.get("notes", []))), (3, 0)),
    ("POST", "/import", {"format": "brb-archive", "version": 1}, lambda one: one["memories"], {"created": 0, "replaced": 0, "kept": 0}),
    ("POST", "/memories/import", {"format": "brb-archive", "version": 1}, lambda one: one["notes"], {"created": 0, "replaced": 0, "kept": 0}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "seen", "expected"), RIGHT, ids=[f"{case[0]} {case[1]}" for case in RIGHT])
def test_what_is_asked_rightly_is_answered_of_ones_own(running: Running, method: str, path: str, body: object, seen: Any, expected: object) -> None:
    answer = running.ask(method, path, body)

    assert answer.status_code == 200, answer.text
    assert seen(answer.json()) == expected
    assert "Ana" not in answer.text


def test_a_statement_is_added_once(running: Running) -> None:
    answers = [running.ask("POST", "/memories", {"text": text}) for text in ("We deploy on Fridays", "we deploy on  fridays.")]

    assert [answer.status_code for answer in answers] == [201, 200]
    assert answers[0].json()["id"] == answers[1].json()["id"]


def test_what_is_exported_can_be_brought_back(running: Running) -> None:
    document = running.ask("GET", "/export").json()
    for name in ("new", "tea"):
        running.ask("DELETE", f"/memories/{{{name}}}")
    running.ask("DELETE", "/notes/{staging}")

    landed = running.ask("POST", "/import", document).json()

    assert (landed["memories"], landed["notes"]) == ({"created": 3, "replaced": 0, "kept": 0}, {"created": 1, "replaced": 0, "kept": 1})
    again = running.ask("GET", "/export").json()
    assert again["memories"] == document["memories"]
    assert sorted(again["notes"], key=lambda note: note["id"]) == sorted(document["notes"], key=lambda note: note["id"])


WRONG: list[tuple[str, str, object, str]] = [
    ("POST", "/memories", {"text": " "}, "give the statement to remember"),
    ("POST", "/memories", {"text": "x", "project": "p" * (api.LONGEST_NAME + 1)}, f"at most {api.LONGEST_NAME} are taken"),
    ("POST", "/memories", {"text": "x", "category": "gossip"}, "gossip"),
    ("POST", "/memories", [], "data"),
    ("GET", "/memories?status=old", None, "status"),
    ("GET", "/memories/count?category=gossip", None, "category"),
    ("GET", "/memories/search", None, "GET /memories/search?q=words"),
    ("GET", "/memories/search?q=x&min_score=2", None, "between 0 and 1"),
    ("GET", "/memories/search?q=x&token_budget=0", None, "give a number of tokens"),
    ("PATCH", "/memories/{tea}", {}, "give text, category or both"),
    ("PATCH", "/memories/{tea}", {"text": "I like green tea"}, "says that already"),
    ("PATCH", "/memories/{old}", {"text": "x"}, "is history"),
    ("GET", "/memories/7", None, "ids are UUIDs"),
    ("GET", "/memories/7/similar", None, "ids are UUIDs"),
    ("GET", "/memories/7/history", None, "ids are UUIDs"),
    ("DELETE", "/memories/7", None, "ids are UUIDs"),
    ("POST", "/notes", {"text": "x" * (note_api.LONGEST_NOTE + 1)}, f"at most {note_api.LONGEST_NOTE}"),
    ("POST", "/notes", {"text": "x", "tags": ["t"] * (note_api.MOST_TAGS + 1)}, f"at most {note_api.MOST_TAGS} are taken"),
    ("POST", "/notes", {"text": "x", "id": "7"}, "ids are UUIDs"),
    ("POST", "/notes/bulk", {"notes": [{"text": "x"}] * (note_api.MOST_PUT + 1)}, f"at most {note_api.MOST_PUT} are taken"),
    ("PATCH", "/notes/{staging}", {"metadata": {}}, "nothing to change"),
    ("GET", "/notes/7", None, "ids are UUIDs"),
    ("DELETE", "/notes/7", None, "ids are UUIDs"),
    ("GET", "/notes/7/similar", None, "ids are UUIDs"),
    ("GET", "/notes/7/backlinks", None, "ids are UUIDs"),
    ("GET", "/notes/files", None, "source"),
    ("GET", "/notes/backlinks?title=%20", None, "title is empty"),
    ("GET", "/notes/by-entity?kind=hashtag&value=%23", None, "value is empty"),
    ("GET", "/notes/by-entity?kind=colour&value=x", None, "kind"),
    ("GET", "/notes/entities?kind=colour", None, "kind"),
    ("POST", "/recall", {"query": " "}, "query is empty"),
    ("POST", "/recall", {"query": "x", "kind": "dreams"}, "dreams"),
    ("POST", "/recall", {"query": "x" * (api.LONGEST_QUERY + 1)}, f"at most {api.LONGEST_QUERY} are taken"),
    ("POST", "/tokens/count", {"text": "x" * (engine_api.LONGEST_TEXT + 1)}, f"at most {engine_api.LONGEST_TEXT} are taken"),
    ("POST", "/entities", {"words": "x"}, "words"),
    ("GET", "/export?kind=dreams", None, "kind"),
    ("POST", "/import", {"format": "other", "version": 1}, "format"),
    ("POST", "/import?existing=burn", {"format": "brb-archive", "version": 1}, "existing"),
    ("POST", "/memories/import", {"format": "brb-archive", "version": 99}, "version"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "cure"), WRONG, ids=[f"{case[0]} {case[1]} {case[3]}" for case in WRONG])
def test_what_is_asked_wrongly_is_told_and_changes_nothing(running: Running, method: str, path: str, body: object, cure: str) -> None:
    before = running.ask("GET", "/export").json()

    answer = running.ask(method, path, body)

    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "bad_input"), answer.text
    assert cure in answer.json()["error"]["message"]
    after = running.ask("GET", "/export").json()
    assert (after["memories"], after["notes"]) == (before["memories"], before["notes"])


BY_ID = [
    ("GET", "/memories/{}", None), ("GET", "/memories/{}/history", None), ("GET", "/memories/{}/similar", None),
    ("PATCH", "/memories/{}", {"text": "x y"}), ("DELETE", "/memories/{}", None),
    ("GET", "/notes/{}", None), ("GET", "/notes/{}/entities", None), ("GET", "/notes/{}/relationships", None), ("GET", "/notes/{}/backlinks", None),
    ("GET", "/notes/{}/similar", None), ("PATCH", "/notes/{}", {"metadata": {"n": 1}}), ("DELETE", "/notes/{}", None),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body"), BY_ID, ids=[f"{case[0]} {case[1]}" for case in BY_ID])
def test_what_is_somebody_elses_answers_like_what_does_not_exist(running: Running, method: str, path: str, body: object) -> None:
    theirs = running.ids["hers" if path.startswith("/memories") else "anas"]
    scope = models.Scope("local", "ana", None)
    before = running.parts.store.find(scope, ports.ANY), running.parts.notes.find(scope)

    foreign, unknown = (running.client.request(method, path.format(one), json=body) for one in (theirs, NOBODY))

    assert (foreign.status_code, unknown.status_code) == (404, 404)
    assert foreign.text.replace(theirs, NOBODY) == unknown.text
    assert (running.parts.store.find(scope, ports.ANY), running.parts.notes.find(scope)) == before


PAGED = [
    "/memories?status=all", "/notes", "/notes/by-entity?kind=hashtag&value=infra", "/notes/backlinks?title=staging", "/notes/{staging}/backlinks",
]  # fmt: skip


@pytest.mark.parametrize("path", PAGED)
def test_a_page_is_held_within_its_limits(running: Running, path: str) -> None:
    path += "&" if "?" in path else "?"
    kind = "memories" if path.startswith("/memories") else "notes"
    whole = running.ask("GET", path).json()
    for asked, held in (("limit=0", 1), ("limit=-3", 1), ("limit=5000", api.LARGEST_PAGE), ("limit=7", 7), ("", api.DEFAULT_PAGE)):
        page = running.ask("GET", path + asked).json()
        assert (page["limit"], page["offset"], page["total"]) == (held, 0, whole["total"])
        assert page[kind] == whole[kind][:held]
    assert running.ask("GET", f"{path}offset=-1").json()["offset"] == 0
    assert running.ask("GET", f"{path}offset=1").json()[kind] == whole[kind][1:]
    assert running.ask("GET", f"{path}offset=99999999999999999999").json()[kind] == []
    assert running.ask("GET", f"{path}limit=ten").status_code == 400


def test_a_body_that_is_too_large_is_refused_by_its_size(running: Running) -> None:
    answer = running.client.post("/import", content=b" " * (archive.LONGEST_BODY_BYTES + 1), headers={"content-type": "application/json"})

    assert (answer.status_code, answer.json()["error"]["type"]) == (413, "too_large")


@pytest.mark.parametrize("module", [archives, engine, graph, memories, notes, reports])
def test_every_route_of_the_engine_is_among_these(module: Any) -> None:
    asked = {(case[0], _pattern(case[1])) for case in RIGHT} | {("POST", "/memories"), ("POST", "/import/turns")}  # turns: their own tests
    there = {(method, _pattern(route.path)) for route in module.router().routes for method in route.methods if method != "OPTIONS"}

    assert there
    assert there - asked == set()


def _pattern(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "*", path.partition("?")[0])
