"""The page without a browser: nothing of another's on any page, and what it says when something is wrong."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.core import errors, models, note_api, ports
from services.core.notes.writing import NoteWriter
from services.proxy.app import create_app
from services.proxy.parts import Parts
from tests.support import in_memory
from tests.support.access import token_for

URL = "http://127.0.0.1:3000"
PEOPLE = {
    "mira": models.Principal("acme", "mira"),
    "jonas": models.Principal("acme", "jonas", models.Role.CURATOR),
    "tariq": models.Principal("acme", "tariq", models.Role.ADMIN),
    "eve": models.Principal("evil", "eve", models.Role.ADMIN),
}
WORDS = {who: f"tango-{who}-whisky" for who in PEOPLE}
LISTS = ("", "?status=all", "?q=tango+whisky", "?project=p", "/review", "/turns", "/notes", "/notes?tag=t")
LISTS += ("/tokens", "/audit", "/status", "/members", "/jobs")


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    made = in_memory.parts(tmp_path, auth="token", host="127.0.0.1")
    writer = NoteWriter(made.notes, made.embedder, owner_lock=made.owner_lock, clock=made.clock)
    for who, principal in PEOPLE.items():
        fields = {"team": principal.team, "owner": who, "project": "p"}
        texts = {status: f"{WORDS[who]} {status}" for status in models.Status}
        in_memory.keep(made, *(in_memory.memory(text, status=status, held="odd", **fields) for status, text in texts.items()))
        writer.put(principal, [note_api.PutNote(text=f"{WORDS[who]} #t", title=f"Note {WORDS[who]}")])
        considered = (ports.Considered(in_memory.memory(texts[models.Status.CURRENT]).id, 0.9, 0.9, 0.9, ""),)
        told = ports.Told(turn=f"turn-{who}", at=in_memory.NOW, words=WORDS[who], outcome="injected", block=WORDS[who], considered=considered)
        made.turns.add(principal, told)
    return made


@pytest.fixture
def client(parts: Parts) -> Iterator[TestClient[Litestar]]:
    with TestClient(create_app(parts), base_url=URL, raise_server_exceptions=False) as connection:
        yield connection


def as_(parts: Parts, who: str) -> dict[str, str]:
    return {"x-brb-key": token_for(parts.tokens, PEOPLE[who])}


def pages_of(parts: Parts, who: str) -> list[str]:
    """Every page of somebody's own things."""
    scope = models.Scope(PEOPLE[who].team, who, None)
    mine = ports.Where(status=None, owner=who)
    return [
        *(f"/memories/{one.id}{end}" for one in parts.store.find(scope, mine) for end in ("", "/forget")),
        *(f"/notes/{one.id}" for one in parts.notes.find(scope)),
        f"/turns/turn-{who}",
        f"/members/{who}/remove",
    ]


@pytest.mark.parametrize(("who", "other"), [*itertools.permutations(PEOPLE, 2)])
def test_nothing_of_another_is_on_any_page(parts: Parts, client: TestClient[Litestar], who: str, other: str) -> None:
    key = as_(parts, who)
    own = 0
    for path in (*LISTS, *pages_of(parts, who), *pages_of(parts, other)):
        answer = client.get(f"/ui{path}", headers=key)

        assert answer.status_code in (200, 403, 404), (path, answer.text)
        assert WORDS[other] not in answer.text, path
        own += WORDS[who] in answer.text

    assert own > len(LISTS) / 2


@pytest.mark.parametrize("other", ["jonas", "tariq", "eve"])
def test_nothing_of_another_is_changed_by_a_form(parts: Parts, client: TestClient[Litestar], other: str) -> None:
    key = as_(parts, "mira")
    sent = {"csrf": _csrf(client, key), "text": "changed", "decision": "keep", "ids": "", "days": "", "user": "x"}
    before = [*parts.store.find(models.Scope(PEOPLE[other].team, other, None), ports.Where(status=None))]
    held = [one.token for one in parts.tokens.all()]
    for memory in before:
        for end in ("", "/decide", "/forget"):
            answer = client.post(f"/ui/memories/{memory.id}{end}", headers=key, data=sent)
            assert answer.status_code == 404, (end, answer.text)
        done = client.post("/ui/review", headers=key, data=sent | {"ids": memory.id})
        assert "Nothing was changed" in done.text
    for path in (f"/ui/members/{other}/remove", "/ui/tokens", "/ui/jobs/x/retry"):
        assert client.post(path, headers=key, data=sent).status_code == 403, path
    for token in held:
        if token.user == other:
            assert client.post(f"/ui/tokens/{token.id}/revoke", headers=key, data=sent).status_code == 404

    assert [*parts.store.find(models.Scope(PEOPLE[other].team, other, None), ports.Where(status=None))] == before
    assert all(one.token.revoked_at is None for one in parts.tokens.all())


def test_a_form_without_the_second_value_changes_nothing(parts: Parts, client: TestClient[Litestar]) -> None:
    key = as_(parts, "tariq")
    (memory,) = parts.store.find(models.Scope("acme", "tariq", None), ports.Where(owner="tariq"))
    for path in (f"/ui/memories/{memory.id}/forget", f"/ui/memories/{memory.id}", "/ui/memories", "/ui/review", "/ui/review/1-0/undo", "/ui/tokens"):
        for sent in ({}, {"csrf": ""}, {"csrf": "0" * 64}):
            answer = client.post(path, headers=key, data=sent | {"text": "changed", "user": "x"})

            assert answer.status_code == 403, path
            assert "load it again" in answer.text

    assert parts.store.get(models.Scope("acme", "tariq", None), memory.id) == memory
    assert not [one for one in parts.tokens.all() if one.token.user == "x"]


def test_problems_are_pages_and_tell_nothing_of_the_inside(parts: Parts, client: TestClient[Litestar]) -> None:
    def broken(*_: object, **__: object) -> list[ports.Told]:
        raise RuntimeError("the inside")

    def away(*_: object, **__: object) -> list[ports.Told]:
        raise errors.Unavailable("redis", "refused")

    key = as_(parts, "mira")
    for latest, status, said in ((broken, 500, "its log has the place"), (away, 503, "redis is not available")):
        turns = type("Turns", (), {"latest": staticmethod(latest)})()
        with TestClient(create_app(replace(parts, turns=turns)), base_url=URL, raise_server_exceptions=False) as connection:
            answer = connection.get("/ui/turns", headers=key)

        assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
        assert said in answer.text
        assert "the inside" not in answer.text
        assert "content-security-policy" in answer.headers

    for path in ("/ui/nowhere", "/ui/static/../site.py", "/ui/static/keys.py"):
        answer = client.get(path, headers=key)
        assert answer.status_code == 404, path
        assert answer.headers["content-type"] == "text/html; charset=utf-8", (path, answer.text)
    assert client.get("/ui/memories/not-an-id", headers=key).status_code == 400


def test_a_memory_is_shown_while_the_record_of_turns_is_away(parts: Parts) -> None:
    def away(*_: object, **__: object) -> list[ports.Told]:
        raise errors.Unavailable("redis", "refused")

    turns = type("Turns", (), {"showing": staticmethod(away), "find": staticmethod(away)})()
    (memory,) = parts.store.find(models.Scope("acme", "mira", None), ports.Where(owner="mira"))
    with TestClient(create_app(replace(parts, turns=turns)), base_url=URL) as connection:
        answer = connection.get(f"/ui/memories/{memory.id}", headers=as_(parts, "mira"))

    assert answer.status_code == 200
    assert WORDS["mira"] in answer.text
    assert "redis is not available" in answer.text


def test_files_may_be_kept_and_change_their_address_with_their_content(client: TestClient[Litestar]) -> None:
    answer = client.get("/ui/static/brb.css")

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]


def test_the_htmx_beside_is_the_one_that_is_named() -> None:
    import hashlib
    from importlib import resources

    folder = resources.files("services.proxy.web") / "static"
    digest = hashlib.sha256((folder / "htmx.min.js").read_bytes()).hexdigest()

    assert digest in (folder / "README.md").read_text()


def test_without_tokens_nobody_signs_in(tmp_path: Path) -> None:
    alone = in_memory.parts(tmp_path)
    in_memory.keep(alone, in_memory.memory("I like tea."))
    with TestClient(create_app(alone), base_url=URL) as connection:
        page = connection.get("/ui")
        assert "I like tea." in page.text
        assert "Tokens" not in page.text
        assert connection.get("/ui/sign-in", follow_redirects=False).headers["location"] == "/ui"
        made = connection.post("/ui/memories", data={"csrf": _csrf(connection, {}), "text": "I like coffee, too."})
        assert made.status_code == 200
        assert "I like coffee, too." in made.text


def _csrf(client: TestClient[Litestar], headers: dict[str, str]) -> str:
    """What a form of the page carries, in the session that this page began."""
    return client.get("/ui", headers=headers).text.split('name="csrf" value="')[1].split('"')[0]
