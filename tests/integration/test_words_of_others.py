"""Over every way to look at a memory: what its author said besides, and in which conversations, is shown to nobody else."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient

from services.core import config, models, ports, seal
from services.proxy.app import create_app
from services.proxy.mcp import few, tools
from services.proxy.parts import Parts
from services.proxy.web import sessions
from tests.support import in_memory
from tests.support.access import token_for
from tests.support.in_memory import keep, memory

ANA = models.Principal("acme", "ana")
BOB = models.Principal("acme", "bob", models.Role.CURATOR)
CLIENT = "http://127.0.0.1:3000"
TEXT = "We deploy the shop on Fly.io"
TURNS, SESSIONS = ("5eed-turn-one", "5eed-turn-two"), ("5eed-session-one", "5eed-session-two")
MORE = "Fly.io it is, as my sister told me"
SAID = tuple(models.Evidence(*fields) for fields in zip((TEXT, MORE), TURNS, (1.0, 2.0), SESSIONS, strict=True))
HIS_OWN = (*TURNS, *SESSIONS, MORE)


def anas(text: str, visibility: models.Visibility, **fields: object) -> models.Memory:
    own = {"owner": "ana", "project": "shop", "category": models.Category.DECISION, "evidence": SAID}
    return memory(text, team="acme", visibility=visibility, **{**own, **fields})


SHARED = anas(TEXT, models.Visibility.TEAM)
PROPOSED = anas("We deploy the shop on Fly.io on Fridays", models.Visibility.PROPOSED)
BEFORE = anas("We deploy the shop on Heroku", models.Visibility.TEAM, status=models.Status.SUPERSEDED, lineage=SHARED.lineage)


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    made = dataclasses.replace(in_memory.parts(tmp_path), settings=config.Settings(data_dir=tmp_path, auth="token", rate_per_minute=0))
    keep(made, SHARED, PROPOSED, BEFORE)
    mine = memory("We deploy the shop on Fly.io twice a week", team="acme", owner="bob", project="shop")
    keep(made, mine)
    return made


@pytest.fixture
def client(parts: Parts) -> Iterator[TestClient[Any]]:
    with TestClient(create_app(parts), base_url=CLIENT, raise_server_exceptions=False) as made:
        yield made


WAYS: list[tuple[str, str, object]] = [
    *(("GET", f"/memories/{one.id}{part}", None) for one in (SHARED, PROPOSED) for part in ("", "/history", "/similar", "/uses")),
    ("GET", "/memories?status=all", None),
    ("GET", "/memories/search?q=deploy the shop", None),
    ("POST", "/recall", {"query": "Where do we deploy the shop?", "project": "shop", "explain": True}),
    ("GET", "/reviews", None),
    ("PATCH", f"/memories/{SHARED.id}", {"text": "We deploy the shop on Fly.io in Amsterdam"}),
    ("POST", f"/memories/{PROPOSED.id}/approve", None),
    ("POST", f"/memories/{PROPOSED.id}/reject", None),
    ("POST", "/reviews", {"decision": "approve", "ids": [PROPOSED.id]}),
    ("GET", "/export", None),
    ("GET", "/audit", None),
]
PAGES = ["/ui", "/ui?status=all", "/ui?unused=1&status=all", "/ui?q=deploy", f"/ui/memories/{SHARED.id}", f"/ui/memories/{PROPOSED.id}", "/ui/review"]


@pytest.mark.parametrize(("method", "path", "body"), WAYS)
def test_a_curator_is_not_shown_what_else_its_author_said(client: TestClient[Any], parts: Parts, method: str, path: str, body: object) -> None:
    answer = client.request(method, path, json=body, headers={"X-BRB-Key": token_for(parts.tokens, BOB)})
    assert answer.status_code == 200, answer.text
    assert [each for each in HIS_OWN if each in answer.text] == []


@pytest.mark.parametrize("path", PAGES)
def test_nor_is_he_on_the_page(client: TestClient[Any], parts: Parts, path: str) -> None:
    token_for(parts.tokens, BOB)
    pages = sessions.Sessions(lambda: seal.secret_of(parts.settings), parts.clock)
    (token,) = [one.token for one in parts.tokens.all()]
    client.cookies.set(sessions.COOKIE, str(pages.cookie(pages.begin(token.id), {}).value))
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    assert "deploy" in answer.text
    assert [each for each in HIS_OWN if each in answer.text] == []


@pytest.mark.parametrize(
    ("name", "arguments"), [("brb_get", {"ids": [SHARED.id]}), ("brb_search", {"query": TEXT}), ("brb_related", {"id": SHARED.id})]
)
def test_nor_is_his_agent(parts: Parts, name: str, arguments: dict[str, object]) -> None:
    (tool,) = [one for one in few.TOOLS if one.name == name]
    told = tools.call(tool, tools.Caller(parts, BOB), arguments)
    assert told.structured is not None, told.text
    assert [each for each in HIS_OWN if each in f"{told.text} {told.structured}"] == []


@pytest.mark.parametrize("path", [f"/memories/{SHARED.id}", "/export", "/memories", f"/memories/{SHARED.id}/history", "/reviews"])
def test_the_author_is_shown_all_of_it(client: TestClient[Any], parts: Parts, path: str) -> None:
    answer = client.get(path, headers={"X-BRB-Key": token_for(parts.tokens, ANA)})
    assert [each for each in HIS_OWN if each not in answer.text] == []


def test_a_correction_by_somebody_else_loses_none_of_it(client: TestClient[Any], parts: Parts) -> None:
    client.patch(
        f"/memories/{SHARED.id}", json={"text": "We deploy the shop on Fly.io in Amsterdam"}, headers={"X-BRB-Key": token_for(parts.tokens, BOB)}
    )
    versions = parts.store.find(models.Scope("acme", "ana", None), ports.Where(status=None, lineage=SHARED.lineage))
    assert SAID in [version.evidence for version in versions if version.text == TEXT]
