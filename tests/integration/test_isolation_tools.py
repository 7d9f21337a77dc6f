"""Zero crossings through MCP and the command line: every tool and every command, as everybody, about what is somebody else's."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
import pytest
import typer
from typer.testing import CliRunner

from services.cli import app
from services.core import models, rights, selftest_api
from services.proxy import throttling
from services.proxy.mcp import resources
from services.proxy.mcp import server as mcp
from services.proxy.routes import selftest
from tests.support import team_calls, two_teams
from tests.support.team_calls import Answer, Asked, Caller, Client, alike, unknown
from tests.support.two_teams import CORA, EVE, LEO, MEMORIES, MIA, NOTES, OTHER_LEO, Thing, World, sees

Q = two_teams.QUESTION
ABOUT: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "brb_get": lambda one: {"ids": [one]},
    "brb_forget": lambda one: {"ids": [one]},
    "brb_related": lambda one: {"id": one},
    "brain_get": lambda one: {"id": one},
    "brain_delete": lambda one: {"id": one},
    "brain_update_metadata": lambda one: {"id": one, "metadata": {"colour": "red"}},
    "brain_similar": lambda one: {"id": one, "limit": 100},
    "brain_put": lambda one: {"id": one, "title": "Mine now", "content": "Mine now"},
    "brain_bulk_put": lambda one: {"pages": [{"id": one, "title": "Mine now", "content": "Mine now"}]},
    "brain_import": lambda one: {"pages": [{"id": one, "title": "Mine now", "content": "Mine now"}]},
    "brain_graph_entities": lambda one: {"pageId": one},
    "brain_graph_relationships": lambda one: {"pageId": one},
}
"""Tools that are asked about one thing, and what they are asked."""
WIDE: Mapping[str, dict[str, Any]] = {
    "brb_search": {"query": Q, "limit": 50, "token_budget": 10_000},
    "brb_related": {"query": Q},
    "brb_remember": {"text": "I like tea best"},
    "brain_put": {"title": "A page", "content": "Some text"},
    "brain_list": {"limit": 1000, "tokenBudget": 10_000},
    "brain_count": {},
    "brain_search": {"query": Q, "limit": 100, "tokenBudget": 10_000, "minScore": 0},
    "brain_search_by_tag": {"tag": "infra", "tokenBudget": 10_000},
    "brain_graph_backlinks": {"title": "Databases"},
    "brain_graph_find_by_entity": {"entityType": "hashtag", "value": "infra"},
    "brain_graph_all_entities": {"entityType": "hashtag", "tokenBudget": 10_000},
    "brain_cache_clear": {},
    "brain_cache_clean": {},
    "brain_token_count": {"text": "words"},
    "brain_extract_entities": {"text": "#infra"},
    "brain_stats": {},
    "brain_export": {"tokenBudget": 10_000},
}
SHOWS = {"brb_search": "private", "brain_list": "private note", "brain_search": "private note", "brain_export": "private note"}
"""Of the caller's own, in the answers to what is asked widely: else nothing is proved."""
UNSEEN_LOOKS_OTHERWISE = {"brain_put", "brain_bulk_put", "brain_import"}  # of an id that nothing has they make a page


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, redis_server: Path) -> Iterator[World]:
    with two_teams.serving(tmp_path_factory.mktemp("brb"), redis_server) as made:
        two_teams.settle(made)
        yield made


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttling.Failures, "failed", lambda self, address: throttling.Failure(0.0))
    monkeypatch.setattr(selftest, "_LEARN_SECONDS", 0.1)
    monkeypatch.setattr(selftest_api, "PAUSE_SECONDS", 0.0)


@pytest.fixture(scope="module")
def callers(world: World) -> list[Caller]:
    return team_calls.everybody(world)


def rpc(client: Client, caller: Caller, method: str, params: dict[str, Any]) -> Answer:
    asked = Asked("/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return client.api("POST", asked, caller.token, accept="application/json, text/event-stream")


def called(client: Client, caller: Caller, tool: str, arguments: dict[str, Any]) -> Answer:
    return rpc(client, caller, "tools/call", {"name": tool, "arguments": arguments})


def untold(world: World, caller: Caller, *, whole: bool) -> dict[str, str]:
    """What a model may not be told on the caller's behalf. whole: it asks for what it knows, so that it may be told of the caller's own, whatever its
    state."""
    words = world.forbidden(caller.principal, told=not whole)
    if caller.principal is not None:
        for one in world.things:
            own = (one.owner.team, one.owner.user) == (caller.principal.team, caller.principal.user)
            if not own and one.kind.visibility is not models.Visibility.TEAM:
                words[one.canary] = f"{one.kind.name} of {one.owner.team}/{one.owner.user}"
    return words


def failed(answer: Answer) -> bool:
    said = json.loads(answer.body)
    return "error" in said or bool(said["result"].get("isError"))


# MCP


def test_every_tool_is_asked(world: World) -> None:
    assert {tool.name for tool in mcp.offered(world.parts)} == {*ABOUT, *WIDE}


@pytest.mark.parametrize("tool", sorted(ABOUT))
def test_no_tool_crosses_about_a_thing(tool: str, world: World, callers: list[Caller]) -> None:
    with Client(world) as client:
        for kind in (*MEMORIES, *NOTES):
            thing = world.thing(LEO, kind.name)
            for caller in callers:
                before = stored(world, thing)
                answer = called(client, caller, tool, ABOUT[tool](thing.id))
                about = f"{tool} by {caller.name} about {kind.name}"

                if caller.principal in (None, rights.OPERATOR):
                    assert answer.status in (401, 403), about
                    assert not crossed(untold(world, caller, whole=True), answer, thing), about
                    continue
                assert not crossed(untold(world, caller, whole=True), answer, thing), (about, answer.body)
                assert caller.principal is not None
                if not sees(caller.principal, thing):
                    assert failed(answer), (about, answer.body)
                    assert stored(world, thing) == before, about
                    other = unknown(thing.id)
                    if tool not in UNSEEN_LOOKS_OTHERWISE:
                        assert alike(called(client, caller, tool, ABOUT[tool](other)), other) == alike(answer, thing.id), about
                own = caller.principal.team == "acme" and caller.principal.user == "leo"
                if stored(world, thing) != before:
                    assert own or (rights.curates(caller.principal) and kind.visibility is not models.Visibility.PRIVATE), about
                    world.restore(LEO)


@pytest.mark.parametrize("tool", sorted(WIDE))
def test_no_tool_crosses(tool: str, world: World, callers: list[Caller]) -> None:
    with Client(world) as client:
        for caller in callers:
            answer = called(client, caller, tool, WIDE[tool])

            assert not crossed(untold(world, caller, whole=not tool.startswith("brb")), answer), (caller.name, answer.body)
            if caller.principal in (None, rights.OPERATOR):
                assert answer.status in (401, 403), caller.name
                continue
            assert not failed(answer), answer.body
            if tool in SHOWS and caller.principal in two_teams.PEOPLE and caller.principal is not None:
                assert world.thing(caller.principal, SHOWS[tool]).canary in answer.body, caller.name


def test_no_resource_crosses(world: World, callers: list[Caller]) -> None:
    with Client(world) as client:
        for caller in callers:
            for thing in world.of(LEO, *MEMORIES, *NOTES):
                start = resources.MEMORY if thing.kind in MEMORIES else resources.NOTE
                answer, none = (rpc(client, caller, "resources/read", {"uri": start + one}) for one in (thing.id, unknown(thing.id)))

                assert not crossed(untold(world, caller, whole=True), answer, thing), (caller.name, thing.kind)
                if caller.principal not in (None, rights.OPERATOR) and not sees(caller.principal, thing):
                    assert failed(answer)
                    assert answer.status == none.status
                if caller.principal == LEO and thing.kind.name == "private":
                    assert thing.canary in answer.body
            for project in ("", "of-another-team", "*", "../leo"):
                brief = rpc(client, caller, "resources/read", {"uri": resources.BRIEF + quote(project, safe="")})
                assert not crossed(untold(world, caller, whole=False), brief), (caller.name, project)


@pytest.mark.parametrize("session", [{"mcp-session-id": "1"}, {"mcp-session-id": "0" * 32}])
def test_a_session_that_another_may_have_begun_gives_nothing(session: dict[str, str], world: World) -> None:
    """Each call is its token's."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "brb_search", "arguments": WIDE["brb_search"]}}
    with Client(world) as client:
        for who in (LEO, EVE, LEO, OTHER_LEO):
            answer = client.api("POST", Asked("/mcp", body), world.tokens[who], accept="application/json, text/event-stream", **session)
            assert world.thing(who, "private").canary in answer.body
            assert not crossed(world.forbidden(who, told=True), answer)


def crossed(words: Mapping[str, str], answer: Answer, thing: Thing | None = None) -> list[str]:
    """What an answer shows of these, but for the id that was asked about."""
    return [name for word, name in words.items() if word in answer.text and not (thing and word == thing.id)]


def stored(world: World, thing: Thing) -> object:
    return world.memory(thing) if thing.kind in MEMORIES else world.note(thing)


# The command line

Brb = Callable[..., str]
"""Runs a command line as somebody; what it says, and writes into files."""

LOCAL = frozenset(
    {"up", "down", "demo", "reindex", "bench", "connect", "mcp", "models list", "models verify", "models pull", "backup", "restore"}
) | {f"run {part}" for part in ("proxy", "worker", "indexer", "beat", "embedded", "init", "healthcheck")}
"""Commands about the machine: they ask no BRB for what it holds (`mcp` is the bridge to the tools above)."""


def commands() -> dict[str, Callable[[World], list[str]]]:
    """The arguments of each, about what is Leo's."""

    def of(kind: str, *more: str) -> Callable[[World], list[str]]:
        return lambda world: [world.thing(LEO, kind).id, *more]

    def plain(*given: str) -> Callable[[World], list[str]]:
        return lambda world: list(given)

    return {
        "status": plain(),
        "doctor": plain(),
        "why": of("block of a turn", "--block"),
        "recall": plain(Q, "--no-project", "--explain", "--limit", "100"),
        "index": plain("."),
        "audit": plain("--limit", "1000"),
        "memories list": plain("--status", "all", "--limit", "1000"),
        "memories search": plain(Q, "--limit", "100"),
        "memories add": plain("I like tea best", "--no-project"),
        "memories show": of("private"),
        "memories history": of("private"),
        "memories edit": of("private", "--text", "Mine now"),
        "memories forget": of("private", "--yes"),
        "memories clear": plain(),
        "memories review": plain("--limit", "100"),
        "memories approve": of("proposed"),
        "memories reject": of("proposed"),
        "memories keep": of("held"),
        "memories release": of("pending"),
        "memories promote": of("private"),
        "memories undo": plain("1234567890123-0"),
        "memories export": plain("out.json"),
        "memories import": plain("nothing.json", "--dry-run"),
        "jobs list": plain(),
        "jobs dead": plain(),
        "jobs retry": of("dead letter"),
        "members list": plain("--team", "acme"),
        "members remove": plain("leo", "--team", "acme", "--yes"),
        "token create": plain("somebody"),
        "token list": plain("--all"),
        "token revoke": lambda world: [world.tokens[LEO].split("_")[1]],
    }


def every_command() -> set[str]:
    def leaves(command: Any, *names: str) -> Iterator[str]:
        if not hasattr(command, "commands"):
            yield " ".join(names)
            return
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from leaves(command.get_command(context, name), *names, name)

    return set(leaves(typer.main.get_command(app.build())))


def test_every_command_is_tried() -> None:
    assert every_command() == {*commands(), *LOCAL}


@pytest.fixture
def brb(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Brb:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BRB_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("BRB_URL", world.base)
    monkeypatch.setenv("BRB_TEST", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    (tmp_path / "nothing.json").write_text('{"format": "brb-archive", "version": 1, "memories": [], "notes": []}')

    def run(who: models.Principal, *words: str) -> str:
        result = CliRunner().invoke(app.build(), list(words), prog_name="brb", env={"BRB_KEY": world.tokens[who]})
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        written = [one.read_text() for one in tmp_path.glob("out*")]
        for one in tmp_path.glob("out*"):
            one.unlink()
        return "\n".join([result.output, *written])

    return run


@pytest.mark.parametrize("command", sorted(commands()))
def test_no_command_crosses(command: str, world: World, brb: Brb) -> None:
    before = [stored(world, one) for one in world.of(LEO, *MEMORIES, *NOTES)]
    given = commands()[command](world)
    for who in (MIA, EVE, OTHER_LEO):
        for more in ([], ["--json"]):
            said = brb(who, *command.split(), *given, *more)
            assert not [name for word, name in world.forbidden(who).items() if word in said and word not in given], (who, said)
    assert [stored(world, one) for one in world.of(LEO, *MEMORIES, *NOTES)] == before
    assert world.parts.tokens.find(world.tokens[LEO].split("_")[1]).token.revoked_at is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("command", "kind"), [("memories list", "private"), ("memories export", "held"), ("memories show", "private"), ("why", "block of a turn")]
)
def test_their_owner_finds_them(command: str, kind: str, world: World, brb: Brb) -> None:
    """Else nothing is proved."""
    assert world.thing(LEO, kind).canary in brb(LEO, *command.split(), *commands()[command](world))


def test_a_curator_is_shown_what_is_proposed(world: World, brb: Brb) -> None:
    assert world.thing(LEO, "proposed").canary in brb(CORA, "memories", "review", "--limit", "100")
