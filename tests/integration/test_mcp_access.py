"""Who is served at `/mcp`, and as whom."""

import asyncio
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client

from services.core import config, models, ports, tokens
from services.proxy.parts import Parts
from tests.support import in_memory, mcp_client
from tests.support.in_memory import NOW, keep, memory

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"accept": "application/json, text/event-stream"}
TEAM = models.Visibility.TEAM


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """A team: what each has said himself, what one shares, and what another team has."""
    folder = tmp_path_factory.mktemp("brb")
    settings = config.Settings(data_dir=folder, auth="token", rate_per_minute=0)
    made = dataclasses.replace(in_memory.parts(folder), settings=settings)
    keep(
        made,
        memory("My favourite database is Postgres", team="sea", owner="ana"),
        memory("My favourite database is Redis", team="sea", owner="bo"),
        memory("Our favourite database is CockroachDB", team="sea", owner="bo", visibility=TEAM),
        memory("Our favourite database is Oracle", team="lake", owner="ana", visibility=TEAM),
    )
    return made


@pytest.fixture(scope="module")
def url(parts: Parts) -> Iterator[str]:
    with mcp_client.serving(parts) as served:
        yield served


def token(parts: Parts, team: str, user: str, **fields: Any) -> str:
    made = tokens.make()
    parts.tokens.add(ports.Token(id=made.id, team=team, user=user, role=models.Role.MEMBER, created_at=NOW, **fields), made.digest)
    return made.text


async def databases(client: Client) -> set[str]:
    found = await client.call_tool("brb_search", {"query": "favourite database"})
    return {hit["text"].rsplit(" ", 1)[1] for hit in found.structured_content["hits"]}


def test_each_of_many_calls_at_once_sees_what_its_own_principal_sees(parts: Parts, url: str) -> None:
    expected = {("sea", "ana"): {"Postgres", "CockroachDB"}, ("sea", "bo"): {"Redis", "CockroachDB"}, ("lake", "ana"): {"Oracle"}}

    async def asked(who: tuple[str, str], http: httpx2.AsyncClient, key: str) -> tuple[tuple[str, str], set[str]]:
        call = {"name": "brb_search", "arguments": {"query": "favourite database"}}
        answer = await http.post(
            f"{url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}, headers={**ACCEPT, "x-brb-key": key}
        )
        return who, {hit["text"].rsplit(" ", 1)[1] for hit in answer.json()["result"]["structuredContent"]["hits"]}

    async def all_asked() -> list[tuple[tuple[str, str], set[str]]]:
        keys = {who: token(parts, *who) for who in expected}
        async with httpx2.AsyncClient(trust_env=False, timeout=30) as http:  # one pool of connections for all
            return await asyncio.gather(*(asked(who, http, key) for _ in range(20) for who, key in keys.items()))

    for who, found in asyncio.run(all_asked()):
        assert found == expected[who]


@pytest.mark.parametrize("way", ["x-brb-key", "authorization", "path"])
@pytest.mark.parametrize("era", mcp_client.ERAS)
def test_a_token_is_taken_in_each_way_that_clients_can_send_one(parts: Parts, url: str, way: str, era: str) -> None:
    key = token(parts, "sea", "ana")
    headers = {"x-brb-key": {"x-brb-key": key}, "authorization": {"authorization": f"Bearer {key}"}}.get(way)
    path = f"/k/{key}/mcp" if way == "path" else "/mcp"

    assert mcp_client.over_http(url, databases, mode=era, headers=headers, path=path) == {"Postgres", "CockroachDB"}


def test_the_bridge_takes_the_key_of_the_settings(parts: Parts, url: str, tmp_path: Path) -> None:
    key = token(parts, "sea", "bo")
    assert mcp_client.over_stdio(url, databases, folder=tmp_path, BRB_KEY=key) == {"Redis", "CockroachDB"}


def test_another_ones_memory_can_neither_be_read_nor_forgotten_by_its_id(parts: Parts, url: str) -> None:
    theirs = next(one for one in parts.store.find(models.Scope("sea", "bo", None)) if "Redis" in one.text)

    async def talk(client: Client) -> list[str]:
        answers = [await client.call_tool(name, {"ids": [theirs.id]}) for name in ("brb_get", "brb_forget")]
        assert all(answer.is_error for answer in answers)
        return [answer.content[0].text for answer in answers]  # type: ignore[union-attr]

    for told in mcp_client.over_http(url, talk, headers={"x-brb-key": token(parts, "sea", "ana")}):
        assert told == f"there is no memory or note {theirs.id}: ids come from brb_search"
    assert parts.store.get(models.Scope("sea", "bo", None), theirs.id) is not None


@pytest.mark.parametrize("key", [None, "brb_nonsense", "revoked"])
def test_without_a_valid_token_nothing_is_told(parts: Parts, url: str, key: str | None) -> None:
    sent = token(parts, "sea", "ana", revoked_at=NOW) if key == "revoked" else key
    answer = httpx2.post(f"{url}/mcp", json=CALL, headers={**ACCEPT, **({"x-brb-key": sent} if sent else {})}, trust_env=False)

    assert answer.status_code == 401
    assert "tools" not in answer.json()


@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}])
def test_a_foreign_name_or_page_is_turned_away(parts: Parts, url: str, headers: dict[str, str]) -> None:
    key = token(parts, "sea", "ana")
    answer = httpx2.post(f"{url}/mcp", json=CALL, headers={**ACCEPT, "x-brb-key": key, **headers}, trust_env=False)

    assert answer.status_code in (403, 421)
    assert "result" not in answer.json()


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_stream_and_no_session(parts: Parts, url: str, method: str) -> None:
    """A stream on which nothing comes would only keep BRB from ending."""
    answer = httpx2.request(method, f"{url}/mcp", headers={"accept": "text/event-stream", "x-brb-key": token(parts, "sea", "ana")}, trust_env=False)

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_an_unknown_tool_is_an_error_that_names_those_there_are(parts: Parts, url: str) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "brain_put", "arguments": {}}}
    answer = httpx2.post(f"{url}/mcp", json=call, headers={**ACCEPT, "x-brb-key": token(parts, "sea", "ana")}, trust_env=False)

    assert "brb_search, brb_get, brb_remember, brb_forget, brb_related" in answer.json()["error"]["message"]
