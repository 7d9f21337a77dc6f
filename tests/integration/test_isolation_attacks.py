"""What somebody may try who has a token of his own, and wants what is another's."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from services.core import messages, models, ports, rights, tokens
from services.proxy import throttling
from services.proxy.entrance import SIGN_IN
from tests.support import raw, team_calls, two_teams
from tests.support.team_calls import Asked, Caller, Client
from tests.support.two_teams import ADA, CORA, EVE, LEO, MEMORIES, MIA, NOTES, OTHER_LEO, PEOPLE, World

TALK = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": two_teams.QUESTION}]}
SESSION = "7e0f1e8a-0000-4000-8000-000000000001"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, redis_server: Path) -> Iterator[World]:
    with two_teams.serving(tmp_path_factory.mktemp("brb"), redis_server, allowed_hosts="brb.acme.example") as made:
        two_teams.settle(made)
        yield made


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttling.Failures, "failed", lambda self, address: throttling.Failure(0.0))


@pytest.fixture
def client(world: World) -> Iterator[Client]:
    with Client(world) as made:
        yield made


def crossed(world: World, who: models.Principal | None, text: str, sent: str = "", *, told: bool = False) -> list[str]:
    return [name for word, name in world.forbidden(who, told=told).items() if word in text and word not in sent]


def as_it_was(world: World, who: models.Principal = LEO) -> list[Any]:
    return [world.memory(one) if one.kind in MEMORIES else world.note(one) for one in world.of(who, *MEMORIES, *NOTES)]


def read(client: Client, world: World, target: str, who: models.Principal) -> Any:
    return json.loads(client.api("GET", Asked(target), world.tokens[who]).body)


# The wire


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("/v1/messages", TALK),
        ("/v1/chat/completions", {"model": "m", "messages": TALK["messages"]}),
        ("/v1/responses", {"model": "m", "input": TALK["messages"], "previous_response_id": "resp_1"}),
    ],
)
@pytest.mark.parametrize("project", ["", "of-another-team"])
def test_the_same_words_in_the_same_session_are_told_each_ones_own(world: World, client: Client, target: str, body: Any, project: str) -> None:
    told: dict[str, bytes] = {}
    for _ in range(2):  # what was told is replayed the second time
        for caller in team_calls.everybody(world):
            world.upstream.requests.clear()
            headers = {"x-brb-project": project, "x-claude-code-session-id": SESSION, "anthropic-version": "2023-06-01", "session_id": SESSION}
            answer = client.api("POST", Asked(target, body), caller.token, **headers)

            if caller.principal in (None, rights.OPERATOR):
                assert (answer.status, world.upstream.requests) == (401, []), caller.name
                continue
            sent = world.upstream.last
            assert not crossed(world, caller.principal, sent.body.decode() + answer.text, told=True), caller.name
            assert caller.principal is not None
            assert world.thing(_first(caller.principal), "private").canary in sent.body.decode(), caller.name
            assert told.setdefault(caller.name, sent.body) == sent.body, "told again as it was"
            assert b"brb_" not in sent.head
    turns = {name: body for name, body in told.items() if name != "leo as a curator"}
    assert len(set(turns.values())) == len(turns)


def _first(who: models.Principal) -> models.Principal:
    """Whose things they are, whatever the role."""
    return next(one for one in PEOPLE if (one.team, one.user) == (who.team, who.user))


def test_the_same_words_of_two_are_learnt_for_each(world: World, client: Client) -> None:
    words = "I like green tea a lot."
    body = {**TALK, "messages": [{"role": "user", "content": words}]}
    for who in (LEO, OTHER_LEO, MIA):
        assert client.api("POST", Asked("/v1/messages", body), world.tokens[who]).status == 200
    found: list[messages.Job] = []

    def look(job: messages.Job) -> bool:
        found.append(job)
        return False

    world.parts.book.forget(look)
    said = [job.payload.principal for job in found if isinstance(job.payload, messages.LearnTurn) and job.payload.words == words]
    assert sorted((who.team, who.user) for who in said) == [("acme", "leo"), ("acme", "mia"), ("evil", "leo")]


def test_anothers_turn_is_not_found_by_what_its_answer_was_called(world: World, client: Client) -> None:
    answer = client.api("POST", Asked("/v1/messages", TALK), world.tokens[LEO])
    turn = dict(answer.headers)["x-brb-turn"]

    for who in (MIA, ADA, OTHER_LEO, EVE):
        for asked in (turn, turn[:8], "*", turn[:4] + "*"):
            assert client.api("GET", Asked(f"/turns/{asked}"), world.tokens[who]).status in (400, 404)


def test_every_answer_before_the_whole_request_is_the_next_ones_own(world: World) -> None:
    """Two in one packet, of two people, and the other way round."""
    body = json.dumps({"query": two_teams.QUESTION, "limit": 100}).encode()
    for first, second in ((LEO, EVE), (EVE, LEO), (MIA, OTHER_LEO)):
        with raw.connect(world.base) as wire:
            wire.send(_recall(world, first, body) + _recall(world, second, body))
            for who in (first, second):
                text = wire.answer().body.decode()
                assert world.thing(who, "private").canary in text
                assert not crossed(world, who, text, told=True)


def _recall(world: World, who: models.Principal, body: bytes) -> bytes:
    return raw.call(b"/k/" + world.tokens[who].encode() + b"/recall", pairs=[(b"content-type", b"application/json")], body=body)


# Paths


PATHS = (
    "//k/{token}/memories",
    "/K/{token}/memories",
    "/k/{token}//memories",
    "/k/{token}/../memories",
    "/k/{token}/./memories",
    "/k/{token}%2fmemories",
    "/%6b/{token}/memories",
    "/k/{token}/k/{other}/memories?status=all",
    "/k/{token}/k/{other}/v1/messages",
    "/k/{token}/v1/../memories?status=all",
    "/k//memories",
    "/k/",
    "/k/{token}",
    "/k/{token}?status=all",
    "/k/{token}/memories/",
    "/k/{token}/memories;status=all",
    "/memories/..%2f..%2fk/{other}/memories",
    "/k/{token}/ui",
    "/k/{token}/ui/../memories",
    "/k/{token}/ui/static/..%2f..%2fsite.py",
    "/k/{token}/ui/static/../memories",
)


@pytest.mark.parametrize("path", PATHS)
def test_no_way_to_write_a_path_leads_to_another(world: World, path: str) -> None:
    """token: mia's; other: one that was revoked."""
    gone = world.token(LEO)
    world.parts.tokens.revoke(tokens.id_of(gone) or "", 1.0)
    world.upstream.requests.clear()
    target = path.format(token=world.tokens[MIA], other=gone).encode()
    for method in (b"GET", b"POST"):
        with raw.connect(world.base) as wire:
            wire.send(raw.call(target, pairs=[(b"content-type", b"application/json")], body=b"{}", method=method))
            answer = wire.answer(method.decode())
        text = repr(answer.head.pairs) + answer.body.decode()
        assert not crossed(world, MIA, text)
        assert not [token for token in world.given if token in text], "it shows a token"
        assert not [seen for seen in world.upstream.requests if b"brb_" in seen.head]


@pytest.mark.parametrize("path", ["/metrics", "/metrics/", "//metrics", "/health/", "/health", "/health//"])
def test_what_is_for_who_runs_the_machine_is_for_no_member(world: World, client: Client, path: str) -> None:
    for who in (LEO, CORA, OTHER_LEO):
        assert client.api("GET", Asked(path), world.tokens[who]).status in (403, 404)


# Sessions of the page


def test_who_sends_a_token_and_a_cookie_is_who_the_token_says(world: World, client: Client) -> None:
    for cookie, key in ((LEO, EVE), (EVE, LEO), (ADA, MIA)):
        headers = {**client.signed_in(world.tokens[cookie]), "x-brb-key": world.tokens[key]}
        page = client.send("GET", "/ui?status=all", None, headers)

        assert world.thing(key, "private").canary in page.body
        assert not crossed(world, key, page.text)


def test_nothing_is_changed_without_what_the_pages_own_forms_carry(world: World, client: Client) -> None:
    thing, before = world.thing(LEO, "private"), as_it_was(world)
    leo, eve = client.signed_in(world.tokens[LEO]), client.signed_in(world.tokens[EVE])
    form = {"content-type": "application/x-www-form-urlencoded"}
    tried = [
        {"cookie": leo["cookie"]},
        {"cookie": leo["cookie"], "x-csrf-token": eve["x-csrf-token"]},
        {**leo, "origin": "https://evil.example"},
        {**leo, "sec-fetch-site": "cross-site"},
        {**leo, "host": "evil.example"},
        {"x-csrf-token": leo["x-csrf-token"]},
        {"cookie": eve["cookie"], "x-csrf-token": leo["x-csrf-token"]},
        {"x-brb-key": world.tokens[LEO]},
    ]
    for headers in tried:
        answer = client.send("POST", f"/ui/memories/{thing.id}/forget", "", {**form, **headers})
        assert answer.status in (401, 403) or ("location", SIGN_IN) in answer.headers, headers
    assert as_it_was(world) == before


@pytest.mark.parametrize("target", ["/ui", "/memories", "/mcp", "/export", "/v1/messages", "/healthz"])
def test_a_name_that_is_not_brbs_is_not_served(world: World, client: Client, target: str) -> None:
    world.upstream.requests.clear()
    method = "POST" if target in ("/mcp", "/v1/messages") else "GET"
    answer = client.api(method, Asked(target, TALK if method == "POST" else None), world.tokens[LEO], host="evil.example")

    assert answer.status in (403, 421)
    assert world.upstream.requests == []


# Roles


def test_what_a_curator_found_is_not_kept_for_a_member(world: World, client: Client) -> None:
    """The same person, the same question, in another role."""
    again = world.token(models.Principal("acme", "leo", models.Role.CURATOR))
    theirs = world.thing(MIA, "proposed").canary
    pages = [client.page("GET", Asked("/ui?q=favourite+database"), Caller("", token, None)) for token in (again, world.tokens[LEO])]

    assert [theirs in page.body for page in pages] == [True, False]


# Names


@pytest.mark.parametrize("name", ["a:b", "a b", "léo", "lео", "leo\u200b", "", "former member", "a/b", "*", "a\0b", "x" * 65, "leo\n"])
def test_names_that_could_be_taken_for_others_are_no_names(world: World, client: Client, name: str) -> None:
    """In Redis a colon parts team and user."""
    operator = tokens.operator_key(two_teams.SECRET)
    for body in ({"user": name, "team": "acme"}, {"user": "leo", "team": name} if name else {"user": "leo"}):
        assert client.api("POST", Asked("/tokens", body), operator).status == 400
    assert client.api("POST", Asked("/tokens", {"user": name}), world.tokens[ADA]).status == 400


# Archives


@pytest.mark.parametrize("existing", ["keep", "replace"])
@pytest.mark.parametrize("who", [MIA, EVE, OTHER_LEO], ids=lambda who: f"{who.team}-{who.user}")
def test_an_archive_that_names_what_is_anothers_becomes_ones_own(world: World, client: Client, who: models.Principal, existing: str) -> None:
    before = as_it_was(world)
    archive = read(client, world, "/export", LEO)
    for one in archive["memories"]:
        one |= {"text": f"Taken over: {one['visibility']} {one['status']}", "evidence": [], "visibility": "team", "owner": "leo", "team": "acme"}
    for one in archive["notes"]:
        one |= {"text": "Taken over", "title": "Taken over", "entities": [], "visibility": "team", "owner": "leo", "team": "acme"}

    landed = client.api("POST", Asked(f"/import?existing={existing}", archive), world.tokens[who])

    assert landed.status == 200
    assert as_it_was(world) == before
    for thing in world.of(LEO, *MEMORIES):
        assert "Taken over" not in client.api("GET", Asked(f"/memories/{thing.id}/history"), world.tokens[LEO]).body
    mine = read(client, world, "/export", who)
    taken = [one for kind in ("memories", "notes") for one in mine[kind] if "Taken over" in one["text"]]
    assert len(taken) == len(archive["memories"]) + len(archive["notes"])
    assert not {one.id for one in world.of(LEO, *MEMORIES, *NOTES)} & {one["id"] for one in taken}
    assert not {one.id for one in world.of(LEO, *MEMORIES)} & {one.get(link) for one in taken for link in ("lineage", "supersedes", "superseded_by")}
    assert {one["owner"] for one in taken} == {who.user}
    if who.role is models.Role.MEMBER:
        assert {one["visibility"] for one in taken} == {"private"}
    for one in taken:
        target = f"/notes/{one['id']}" if "title" in one else f"/memories/{one['id']}"
        assert client.api("DELETE", Asked(target), world.tokens[who]).status in (200, 404)  # with its history
    assert as_it_was(world) == before


# Traces


def test_erasing_what_is_anothers_leaves_what_was_told_of_it(world: World, client: Client) -> None:
    """Of nothing but one's own notes are the traces erased."""
    shared, turn = world.thing(LEO, "shared"), "f" * 32
    considered = (ports.Considered(shared.id, 0.9, 0.9),)
    world.parts.turns.add(LEO, ports.Told(turn=turn, at=world.parts.clock(), outcome="injected", block="b", considered=considered))
    world.parts.ledger.write({"some key": ports.Entry("b", (shared.id,))})

    for who in (MIA, EVE):
        for target in ("/notes/bulk", "/forget"):
            body = {"gone": [shared.id]} if target == "/notes/bulk" else {"ids": [shared.id]}
            client.api("POST", Asked(target, body), world.tokens[who])
    world.parts.sweeper.done(world.parts.sweeper.due("nobody", []), wait_seconds=2.0)

    assert world.parts.turns.find(LEO, turn) is not None
    assert "some key" in world.parts.ledger.read(["some key"])


def test_what_is_taken_back_from_the_team_is_shown_to_none_of_those_who_were_told(world: World, client: Client) -> None:
    shared = world.thing(LEO, "shared")
    answer = client.api(
        "POST",
        Asked(
            "/v1/messages",
            TALK,
        ),
        world.tokens[MIA],
    )
    turn = dict(answer.headers)["x-brb-turn"]
    assert shared.canary in world.upstream.last.body.decode()
    recall = Asked("/recall", {"query": two_teams.QUESTION, "limit": 100})
    assert shared.canary in client.api("POST", recall, world.tokens[MIA]).body

    assert client.api("POST", Asked("/reviews", {"decision": "keep", "ids": [shared.id]}), world.tokens[LEO]).status == 200
    world.upstream.requests.clear()
    try:
        for page in (client.api("GET", Asked(f"/turns/{turn}"), world.tokens[MIA]), client.api("GET", Asked("/turns"), world.tokens[MIA])):
            assert shared.canary not in page.body
        assert shared.canary not in client.api("POST", recall, world.tokens[MIA]).body
        again = client.api("POST", Asked("/v1/messages", TALK), world.tokens[MIA])
        assert again.status == 200
        assert shared.canary not in world.upstream.last.body.decode()
    finally:
        world.restore(LEO)


def test_a_team_learns_nothing_of_how_much_others_ask(world: World, client: Client) -> None:
    before = read(client, world, "/stats", EVE)
    for number in range(3):
        client.api("POST", Asked("/recall", {"query": f"favourite database number {number}"}), world.tokens[LEO])

    assert read(client, world, "/stats", EVE) == before
