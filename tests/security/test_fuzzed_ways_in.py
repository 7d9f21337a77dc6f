"""The ways in that no OpenAPI document describes, at random: the vendors' routes, `/mcp`, and the forms of the page."""

import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest
from attackers import effort, failures, key, leaks, of_the_others
from hypothesis import given
from hypothesis import strategies as st

from services.proxy.app import create_app
from tests.support import raw
from tests.support.two_teams import ADA, MIA, World

pytestmark = pytest.mark.usefixtures("unhurried")

ODD = st.text() | st.sampled_from(
    ["", "\0", "\u202e", "💣" * 100, "../../etc/passwd", "{{7*7}}", "<script>", "' OR 1=1", "a" * 5_000, "</brb-memories>", "current", "-1"]
)
LEAF = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | ODD
VALUE = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ODD, inner, max_size=4), max_leaves=12)


@pytest.fixture(scope="module", autouse=True)
def unharmed(world: World) -> Iterator[None]:
    before = of_the_others(world)
    yield
    assert of_the_others(world) == before
    assert not list(failures(world))


def answered(world: World, method: str, target: str, body: bytes | None, headers: dict[str, str]) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(urlsplit(world.base).netloc, timeout=30)
    try:
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
    finally:
        connection.close()
    assert answer.status < 500, text[:500]
    assert not leaks(world, f"{answer.headers}\n{text}", sent=f"{target}{body!r}")
    return answer


PART = st.fixed_dictionaries(
    {}, optional={"type": st.sampled_from(["text", "image", "tool_use", "tool_result", "input_text"]) | VALUE, "text": VALUE, "id": VALUE}
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", "tool"]) | VALUE, "content": ODD | st.lists(PART | VALUE, max_size=4)}
)
CALL = st.fixed_dictionaries(
    {"model": ODD},
    optional={"messages": st.lists(MESSAGE | VALUE, max_size=5) | VALUE, "input": VALUE, "system": VALUE, "tools": VALUE, "stream": VALUE},
)


@given(CALL | VALUE, st.sampled_from(["/v1/messages", "/v1/chat/completions", "/v1/responses"]))
@effort(150)
def test_whatever_a_call_says_it_goes_up_once_and_an_answer_comes_back(world: World, said: Any, target: str) -> None:
    world.upstream.requests.clear()
    body = json.dumps(said).encode()
    answer = answered(world, "POST", target, body, {**key(world, MIA), "content-type": "application/json"})
    assert answer.status == 200
    assert [one.target for one in world.upstream.requests] == [target.encode()]
    assert len(world.upstream.requests[0].body) >= len(body)


@given(st.binary(max_size=200), st.binary(max_size=60))
@effort(150)
def test_whatever_comes_behind_a_token_in_the_path_one_answer_comes_back(world: World, path: bytes, token: bytes) -> None:
    target = f"/k/{quote(token, safe='')}/{quote(path, safe='/?;=&:@')}"
    answer = answered(world, "GET", target, None, {})
    assert answer.status in (303, 400, 401, 404)


TOOLS = st.sampled_from(["brb_search", "brb_get", "brb_remember", "brb_forget", "brb_related", "brb_put", "brb_list", "brb_import"]) | ODD
METHODS = st.sampled_from(
    ["initialize", "tools/list", "tools/call", "resources/list", "resources/read", "prompts/get", "ping", "completion/complete", "logging/setLevel"]
)
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "name": TOOLS,
        "arguments": st.dictionaries(ODD | st.sampled_from(["query", "id", "text"]), VALUE, max_size=3),
        "uri": ODD,
        "_meta": VALUE,
    },
)
RPC = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | VALUE, "method": METHODS | ODD}, optional={"id": st.integers() | VALUE, "params": PARAMS | VALUE}
)


@given(RPC | st.lists(RPC, max_size=3) | VALUE, st.sampled_from(["2025-06-18", "", "x", "9999-99-99"]))
@effort(120)
def test_whatever_an_agent_says(world: World, said: Any, version: str) -> None:
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": version,
        **key(world, MIA),
    }
    answered(world, "POST", "/mcp", json.dumps(said).encode(), headers)


FORMS = sorted(
    {"/ui/memories", "/ui/review", "/ui/tokens", "/ui/sign-in", "/ui/theme", "/ui/sign-out"}
    | {f"/ui/memories/{{id}}{rest}" for rest in ("", "/forget", "/decide")}
    | {"/ui/review/{id}/undo", "/ui/tokens/{id}/revoke", "/ui/members/{id}/remove", "/ui/jobs/{id}/retry"}
)
FIELDS = [
    "text",
    "category",
    "decision",
    "ids",
    "user",
    "team",
    "role",
    "label",
    "expires",
    "token",
    "theme",
    "as_of",
    "confirm",
    "csrf",
    "force",
    "then",
]


@given(st.sampled_from(FORMS), st.lists(st.tuples(st.sampled_from(FIELDS) | ODD, ODD), max_size=5), ODD, st.booleans())
@effort(150)
def test_whatever_a_form_holds(world: World, form: str, fields: list[tuple[str, str]], made_up: str, real: bool) -> None:
    """Odd characters that no browser would send are sent as it would send them."""
    some_id = next(one.id for one in world.things if one.owner == MIA and one.id) if real else made_up[:200]
    session = world.session(world.tokens[ADA])
    headers = {"cookie": world.cookie(session), "x-csrf-token": session.csrf, "content-type": "application/x-www-form-urlencoded"}
    body = urlencode(fields, errors="surrogatepass").encode()
    answer = answered(world, "POST", form.replace("{id}", quote(some_id, safe="", errors="surrogatepass")), body, headers)
    assert answer.headers.get("content-security-policy", "").startswith("default-src 'none'") or answer.status in (303, 404, 405)


def test_every_form_is_refused_without_what_only_the_page_knows(world: World) -> None:
    """Derived from the app's own table of routes: one that is added is asked, too."""
    app = create_app(world.parts)
    posts = [
        str(route.path)
        for route in app.routes
        for method in getattr(route, "methods", ()) or ()
        if method == "POST" and str(route.path).startswith("/ui")
    ]
    assert len(posts) > 10
    session = world.session(world.tokens[ADA])
    other = world.session(world.tokens[MIA])
    for path in posts:
        target = "/".join("00000000-0000-4000-8000-000000000000" if "{" in part else part for part in path.split("/"))
        for given_csrf in ("", "x", other.csrf, session.csrf[:-1]):
            with raw.connect(world.base) as client:
                body = urlencode({"csrf": given_csrf}).encode()
                cookie = (b"cookie", world.cookie(session).encode())
                client.send(raw.call(target.encode(), [cookie, (b"content-type", b"application/x-www-form-urlencoded")], body))
                got = client.answer()
            assert got.head.status == 403, (path, got.head)
            assert got.head.all(b"x-frame-options") == [b"DENY"]
