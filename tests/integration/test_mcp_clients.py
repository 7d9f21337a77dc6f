"""The official SDK's client and BRB as it is served, of both eras of the protocol, over HTTP and over stdin and stdout."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from services.core import config, models
from services.proxy.parts import Parts
from tests.support import in_memory, mcp_client
from tests.support.in_memory import keep, memory

Run = Callable[[mcp_client.Talk[Any]], Any]


def parts_of(folder: Path, **settings: Any) -> Parts:
    made = in_memory.parts(folder)
    return dataclasses.replace(made, settings=config.Settings(data_dir=folder, **settings))


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    made = parts_of(tmp_path_factory.mktemp("brb"), mcp_tools="all")
    keep(made, memory("We use Postgres as our database"), memory("We decided to use NATS as message broker", category=models.Category.DECISION))
    return made


@pytest.fixture(scope="module")
def url(parts: Parts) -> Iterator[str]:
    with mcp_client.serving(parts) as served:
        yield served


@pytest.fixture(params=[(transport, era) for transport in ("http", "stdio") for era in mcp_client.ERAS], ids="-".join)
def run(request: pytest.FixtureRequest, url: str, tmp_path: Path) -> Run:
    """Has a client talk."""
    transport, era = request.param
    if transport == "http":
        return lambda talk: mcp_client.over_http(url, talk, mode=era)
    return lambda talk: mcp_client.over_stdio(url, talk, folder=tmp_path, mode=era)


def test_a_client_of_either_era_lists_searches_remembers_reads_and_forgets(run: Run) -> None:
    async def talk(client: Client) -> None:
        assert len((await client.list_tools()).tools) == 27

        found = await client.call_tool("brb_search", {"query": "which database do we use", "kind": "memories"})
        assert not found.is_error
        assert found.structured_content["hits"][0]["text"] == "We use Postgres as our database"
        assert "We use Postgres as our database" in found.content[0].text  # type: ignore[union-attr]

        kept = await client.call_tool("brb_remember", {"text": "We write München with an ü", "project": ""})
        (item,) = (await client.call_tool("brb_get", {"ids": [kept.structured_content["id"]]})).structured_content["items"]
        assert (item["text"], item["kind"]) == ("We write München with an ü", "memory")

        gone = await client.call_tool("brb_forget", {"ids": [item["id"]]})
        assert not gone.is_error
        again = await client.call_tool("brb_get", {"ids": [item["id"]]})
        assert again.is_error
        assert "ids come from brb_search" in again.content[0].text  # type: ignore[union-attr]

    run(talk)


def test_a_client_of_either_era_reads_resources(run: Run, parts: Parts) -> None:
    async def talk(client: Client) -> None:
        assert [one.uri_template for one in (await client.list_resource_templates()).resource_templates] == [
            "brb://memory/{id}",
            "brb://note/{id}",
            "brb://brief/{project}",
        ]
        (listed,) = (await client.list_resources()).resources
        assert listed.uri.startswith("brb://brief/")
        brief = await client.read_resource("brb://brief/garden")
        assert "## Decisions\n- [private, me, 2026-09-21] We decided to use NATS as message broker" in brief.contents[0].text  # type: ignore[union-attr]
        one = parts.store.find(models.Scope("local", "me"))[0]
        assert one.text in (await client.read_resource(f"brb://memory/{one.id}")).contents[0].text  # type: ignore[union-attr]

    run(talk)


@pytest.mark.parametrize(("era", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_each_era_gets_its_protocol_and_is_told_when_to_search(url: str, tmp_path: Path, transport: str, era: str, version: str) -> None:
    async def talk(client: Client) -> tuple[str, str]:
        return client.protocol_version, client.instructions or ""

    over_stdio = transport == "stdio"
    spoken, told = mcp_client.over_stdio(url, talk, folder=tmp_path, mode=era) if over_stdio else mcp_client.over_http(url, talk, mode=era)

    assert spoken == version
    assert "Search it before you ask the person" in told
