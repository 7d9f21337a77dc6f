"""A call goes to the upstream that the settings name, or to BRB's own routes, which ask who is calling: nothing that a client or an upstream says
changes that."""

import contextlib
import json
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from attackers import key, leaks

from services.core.adapters import qdrant_server
from tests.support import raw
from tests.support import upstream as up
from tests.support.team_calls import Asked, Client
from tests.support.two_teams import ADA, MIA, World

pytestmark = pytest.mark.usefixtures("unhurried")

TRICKS = [
    b"/v1/../memories",
    b"/v1/..%2fmemories",
    b"/v1/%2e%2e/memories",
    b"/v1/..;/memories",
    b"/v1/;/../memories",
    b"/v1//../memories",
    b"/v1/./../memories",
    b"/v1\\..\\memories",
    b"/v1/..\\memories",
    b"/v1/%5c..%5cmemories",
    b"/v1/%c0%ae%c0%ae/memories",
    b"/v1/%252e%252e/memories",
    b"/v1/%u002e%u002e/memories",
    b"/V1/memories",
    b"/v1/MEMORIES",
    b"/v1%2fmemories",
    b"/%76%31/memories",
    b"//v1/memories",
    b"/v1?/../memories",
    b"/v1/x?/../../memories",
    b"//memories",
    b"/memories/",
    b"/memories//",
    b"/./memories",
    b"/x/../memories",
    b"/memories;a=b",
    b"/memories%3fstatus=all",
    b"/%6demories",
    b"/memories%00",
    b"/ui/../memories",
    b"/ui/static/../../memories",
    b"/ui/static/..%2f..%2fmemories",
    b"/healthz/../memories",
    b"/healthz;/../memories",
    b"/readyz/../export",
    b"/k/../memories",
    b"/k/x/../memories",
    b"/k//memories",
    b"/k/%2e%2e/memories",
    b"/k/x/../../memories",
    b"/k/x/v1/../memories",
    b"/k/../v1/../memories",
    b"http://localhost/memories",
    b"http://localhost/v1/../memories",
    b"http://127.0.0.1@localhost/memories",
    b"HTTP://LOCALHOST/memories",
    b"/schema/../memories",
    b"/ui/sign-in/../memories",
    b"/ui/sign-in/..;/memories",
    b"/memories/search?q=database",
    b"/recall",
    b"/export",
    b"/mcp",
    b"/mcp/../memories",
    b"*",
]


@pytest.mark.parametrize("target", TRICKS, ids=lambda one: one.decode())
def test_no_way_to_write_a_path_gets_in_without_a_token(world: World, target: bytes) -> None:
    world.upstream.requests.clear()
    for method in (b"GET", b"POST", b"PUT", b"OPTIONS", b"HEAD", b"DELETE"):
        with raw.connect(world.base) as client:
            client.send(raw.call(target, body=b"{}", method=method))
            got = client.answer(method.decode())
        if got.head.all(b"location") != [b"/ui/sign-in"]:
            assert got.head.status in (400, 401, 404, 405), (method, got)
        assert not leaks(world, repr(got))
        assert not [one.canary for one in world.things if one.canary in repr(got)]
    assert not world.upstream.requests


@pytest.mark.parametrize("target", [one for one in TRICKS if one.startswith((b"/v1/", b"/v1?"))], ids=lambda one: one.decode())
def test_what_begins_like_the_vendors_api_goes_to_the_vendor_as_it_was_written(world: World, target: bytes) -> None:
    """Also where the vendor may read it as something else: BRB has no opinion on what a path means there."""
    world.upstream.requests.clear()
    with raw.connect(world.base) as client:
        client.send(raw.call(target, [(b"x-brb-key", world.tokens[MIA].encode())], method=b"GET"))
        assert client.answer("GET").head.status == 200
    assert [one.target for one in world.upstream.requests] == [target]


@pytest.fixture
def elsewhere() -> Iterator[raw.Upstream]:
    """A server that nobody named to BRB."""
    with raw.Upstream() as one:
        yield one
        assert one.unasked(0.05), "it was called"
        assert one.accepted == 0


def ways(away: bytes) -> dict[str, bytes]:
    """away: the authority of the server elsewhere."""
    url = b"http://" + away
    content = [{"type": "image", "source": {"type": "url", "url": f"{url.decode()}/x.png"}}, {"type": "text", "text": f"{url.decode()}/a"}]
    body = json.dumps({"model": "m", "base_url": url.decode(), "messages": [{"role": "user", "content": content}]}).encode()
    named = (b"x-forwarded-host", b"x-host", b"x-original-url", b"x-rewrite-url", b"forwarded", b"x-brb-url", b"x-brb-upstream", b"x-brb-project")
    return {
        "an address in the body": raw.call(body=body),
        "an address in headers": raw.call(pairs=[(name, b"host=" + away if name == b"forwarded" else url) for name in named], body=body),
        "another host": b"POST /v1/messages HTTP/1.1\r\nhost: " + away + b"\r\ncontent-length: %d\r\n\r\n" % len(body) + body,
        "an absolute target": raw.call(url + b"/v1/messages", body=body),
        "an absolute target with a user": raw.call(b"http://localhost@" + away + b"/v1/messages", body=body),
        "a path like an address": raw.call(b"/v1/messages/" + url, body=body),
        "a path like an authority": raw.call(b"/v1//" + away + b"/", body=body),
        "a name in front": raw.call(b"/v1@" + away + b"/v1/messages", body=body),
        "a token like an address": raw.call(b"/k/@" + away + b"/v1/messages", body=body),
        "a token like an authority": raw.call(b"/k//" + away + b"/v1/messages", body=body),
        "a tunnel": raw.call(away, method=b"CONNECT"),
    }


@pytest.mark.parametrize("way", ways(b""))
@pytest.mark.parametrize("keyed", [True, False])
def test_no_client_says_where_a_call_goes(world: World, elsewhere: raw.Upstream, way: str, keyed: bool) -> None:
    request = ways(elsewhere.netloc)[way]
    if keyed:
        request = request.replace(b"\r\n", b"\r\nx-brb-key: " + world.tokens[MIA].encode() + b"\r\n", 1)
    world.upstream.requests.clear()
    with raw.connect(world.base) as client:
        client.send(request)
        client.answer()
    hosts = [one.all(b"host") for one in world.upstream.requests]
    assert hosts in ([], [[urlsplit(world.upstream.url).netloc.encode()]])
    assert not hosts or keyed


@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"])
def test_a_redirect_of_the_upstream_is_passed_on_and_not_followed(world: World, elsewhere: raw.Upstream, status: str) -> None:
    scripts = world.upstream.scripts
    world.upstream.says(
        [up.head(status, [f"location: {elsewhere.url}/", f"refresh: 0; url={elsewhere.url}", f"alt-svc: h2={elsewhere.url}", "content-length: 0"])]
    )
    try:
        with raw.connect(world.base) as client:
            client.send(
                raw.call(pairs=[(b"x-brb-key", world.tokens[MIA].encode())], body=b'{"model":"m","messages":[{"role":"user","content":"x"}]}')
            )
            got = client.answer()
    finally:
        world.upstream.says(*scripts)
    assert (got.head.status, got.head.all(b"location")) == (int(status[:3]), [f"{elsewhere.url}/".encode()])


def test_nothing_that_is_kept_is_fetched(world: World, elsewhere: raw.Upstream) -> None:
    """Addresses in memories, notes, imports, metadata, questions and forms are text."""
    address = f"{elsewhere.url}/x"
    page = f"# {address}\n\n![]({address}.png) <img src='{address}'> [[{address}]] [a]({address})\n\n<script src='{address}'></script>"
    bodies = {
        "/memories": {"text": f"Our runbook is at {address}", "project": address},
        "/notes": {"text": page, "title": address, "source": address, "path": address, "metadata": {"url": address, "$ref": address}},
        "/recall": {"query": address, "project": address},
        "/entities": {"text": page},
        "/import": {"format": "brb-archive", "version": 1, "memories": [], "notes": [], "source": address, "$schema": address},
        "/import/turns": {"source": "mem0", "turns": [{"id": address, "said_at": 1.0, "words": [f"Our wiki is at {address}"], "session": address}]},
    }
    with Client(world) as client:
        for target, body in bodies.items():
            assert client.api("POST", Asked(target, body), world.tokens[ADA]).status < 300, target
        listed = client.api("GET", Asked("/notes?limit=1000"), world.tokens[ADA])
        note = next(one["id"] for one in json.loads(listed.body)["notes"] if one["source"] == address)
        for target in ("/ui/notes", f"/ui/notes/{note}", "/ui", "/ui/review", f"/memories/search?q={address}"):
            assert client.send("GET", target, None, {**client.signed_in(world.tokens[ADA]), **key(world, ADA)}).status == 200


def test_no_proxy_of_the_environment_sees_what_is_stored(elsewhere: raw.Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, elsewhere.url)

    def ask() -> None:
        with contextlib.suppress(Exception), qdrant_server.connected(qdrant.url, None, timeout_seconds=5) as client:
            client.get_collections()

    with raw.Upstream() as qdrant:
        asking = threading.Thread(target=ask)
        asking.start()
        with qdrant.take() as wire:
            assert wire.request().head.target == b"/collections"
            wire.send(raw.reply(b'{"result":{"collections":[]}}', pairs=[(b"content-type", b"application/json")]))
        asking.join(raw.DEADLINE_SECONDS)
        assert not asking.is_alive()
