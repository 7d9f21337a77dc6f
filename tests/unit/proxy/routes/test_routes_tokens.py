from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.core import models, ports, rights, seal, tokens
from services.proxy.app import create_app
from services.proxy.parts import Parts
from tests.support import in_memory
from tests.support.access import token_for

ANA, CLEO, LEO = (models.Principal("acme", *one) for one in (("ana", models.Role.ADMIN), ("cleo", models.Role.CURATOR), ("leo",)))
EVE = models.Principal("evil", "eve", models.Role.ADMIN)


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    return in_memory.parts(tmp_path, auth="token")


@pytest.fixture
def client(parts: Parts) -> Iterator[TestClient[Litestar]]:
    with TestClient(create_app(parts), base_url="http://127.0.0.1:3000", raise_server_exceptions=False) as connection:
        yield connection


def of(parts: Parts, who: models.Principal) -> dict[str, str]:
    if who == rights.OPERATOR:
        return {"X-BRB-Key": tokens.operator_key(seal.secret_of(parts.settings))}
    return {"X-BRB-Key": token_for(parts.tokens, who)}


def make(client: TestClient[Litestar], headers: dict[str, str], **wanted: Any) -> Any:
    return client.post("/tokens", json=wanted, headers=headers)


def test_a_token_that_was_made_is_good_at_once_and_shown_once(client: TestClient[Litestar], parts: Parts) -> None:
    ana = of(parts, ANA)
    made = make(client, ana, user="leo", role="curator", label="laptop", expires_in_seconds=3600)

    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    token = made.json()["token"]
    who = client.get("/whoami", headers={"X-BRB-Key": token}).json()
    assert who == {"team": "acme", "user": "leo", "role": "curator", "token": made.json()["id"], "auth": "token"}
    listed = client.get("/tokens", headers=ana)
    assert token not in listed.text
    (mine,) = [one for one in listed.json()["tokens"] if one["user"] == "leo"]
    assert (mine["state"], mine["label"], mine["created_by"], mine["used_at"] is not None) == ("valid", "laptop", "ana", True)
    stored = parts.tokens.find(made.json()["id"])
    assert stored is not None
    assert stored.token.expires_at == in_memory.NOW + 3600


@pytest.mark.parametrize(
    ("who", "team", "status"),
    [
        (ANA, "", 201),
        (ANA, "acme", 201),
        (ANA, "evil", 403),
        (CLEO, "acme", 403),
        (LEO, "acme", 403),
        (EVE, "acme", 403),
        (rights.OPERATOR, "acme", 201),
        (rights.OPERATOR, "new", 201),
        (rights.OPERATOR, "", 400),
    ],
)
def test_who_makes_tokens_of_which_team(client: TestClient[Litestar], parts: Parts, who: models.Principal, team: str, status: int) -> None:
    assert make(client, of(parts, who), user="new", team=team, role="admin").status_code == status


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"user": ""},
        {"user": "a:b"},
        {"user": "x" * 65},
        {"user": "leo", "team": "a/b"},
        {"user": "leo", "role": "operator"},
        {"user": "leo", "label": "x" * 201},
        {"user": "leo", "expires_in_seconds": 0},
        {"user": "leo", "expires_in_seconds": -5},
        {"user": "leo", "expires_in_seconds": 1e12},
        {"user": "leo", "unknown": 1},
    ],
)
def test_a_wrong_wish_makes_nothing(client: TestClient[Litestar], parts: Parts, wanted: dict[str, Any]) -> None:
    operator = of(parts, rights.OPERATOR)

    assert make(client, operator, **({"team": "acme"} | wanted)).status_code == 400
    assert parts.tokens.all() == []


def test_each_sees_his_own_and_an_admin_those_of_the_team(client: TestClient[Litestar], parts: Parts) -> None:
    headers = {who: of(parts, who) for who in (ANA, CLEO, LEO, EVE)}

    def seen(who: models.Principal) -> set[str]:
        return {one["user"] for one in client.get("/tokens", headers=headers[who]).json()["tokens"]}

    assert (seen(ANA), seen(CLEO), seen(LEO), seen(EVE)) == ({"ana", "cleo", "leo"}, {"cleo"}, {"leo"}, {"eve"})
    everybody = client.get("/tokens", headers=of(parts, rights.OPERATOR)).json()["tokens"]
    assert {one["team"] for one in everybody} == {"acme", "evil"}


@pytest.mark.parametrize(("who", "status"), [(ANA, 200), (LEO, 200), (CLEO, 404), (EVE, 404), (rights.OPERATOR, 200)])
def test_who_revokes_a_members_token(client: TestClient[Litestar], parts: Parts, who: models.Principal, status: int) -> None:
    leo = of(parts, LEO)
    token_id = tokens.id_of(leo["X-BRB-Key"])

    answer = client.delete(f"/tokens/{token_id}", headers=of(parts, who))

    assert answer.status_code == status
    assert client.get("/whoami", headers=leo).status_code == (401 if status == 200 else 200)


def test_revoking_again_is_the_same_and_is_noted_once(client: TestClient[Litestar], parts: Parts) -> None:
    ana, token_id = of(parts, ANA), tokens.id_of(token_for(parts.tokens, LEO))

    answers = [client.delete(f"/tokens/{token_id}", headers=ana).json() for _ in range(2)]

    assert answers[0] == answers[1]
    assert answers[0]["state"] == "revoked"
    assert [event.act for event in parts.audit.read("acme")] == [ports.Act.REVOKED_TOKEN]


def test_what_the_operator_does_is_in_the_log_of_the_team(client: TestClient[Litestar], parts: Parts) -> None:
    made = make(client, of(parts, rights.OPERATOR), user="ana", team="acme", role="admin").json()

    (event,) = parts.audit.read("acme")
    assert (event.act, event.user, event.ids, event.detail) == (ports.Act.MADE_TOKEN, "operator", (made["id"],), "ana admin")
    assert made["token"] not in repr(event)


def test_jobs_are_for_an_admin_or_the_operator(client: TestClient[Litestar], parts: Parts) -> None:
    """They are of all teams."""
    for who, status in ((LEO, 403), (CLEO, 403), (ANA, 200), (rights.OPERATOR, 200)):
        headers = of(parts, who)
        assert client.get("/jobs", headers=headers).status_code == status
        assert client.get("/jobs/dead", headers=headers).status_code == status
        assert client.post("/jobs/x/retry", headers=headers).status_code == (404 if status == 200 else 403)


@pytest.mark.parametrize("target", ["/memories", "/memories/count", "/notes", "/export", "/turns", "/stats", "/mcp", "/ui", "/recall/report"])
def test_the_operator_sees_nobodys_memories(client: TestClient[Litestar], parts: Parts, target: str) -> None:
    assert client.get(target, headers=of(parts, rights.OPERATOR)).status_code == 403
