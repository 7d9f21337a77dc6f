"""The relay under the real server, against an upstream on a raw socket. Docstrings name the public reports of what goes wrong elsewhere."""

import gzip
import http.client
import io
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import pytest
import structlog

from services.core import config, telemetry
from services.proxy import relay
from services.proxy.wire import calls
from tests.support import upstream as up
from tests.support.relaying import relaying

BLOCK = "remembered"
PERSON = rb'{"model":"m","max_tokens":100, "messages":[{"role":"user","content":"h\u00e9 1.10"}],"n":1e20}'
PERSON_TOLD = (
    rb'{"model":"m","max_tokens":100, "messages":[{"role":"user","content":[{"type":"text","text":"h\u00e9 1.10"},'
    rb'{"type":"text","text":"remembered"}]}],"n":1e20}'
)
PIECES: list[bytes] = [
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","usage":{"cache_read_input_tokens":9}}}\n\n',
    b": keepalive\n\nevent: ping\ndata: {}\n\n",
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":4,"delta":{"type":"text_delta","text":"caf\xc3',
    b'\xa9"}}\n\nevent: hologram\ndata: what\n\n',
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
]
ERROR = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'


class Teller:
    """Tells every new turn the same, and keeps what it was shown."""

    def __init__(self) -> None:
        self.calls: list[calls.Call] = []
        self.answers: list[calls.Answer] = []
        self.breaks = False

    async def before(self, call: calls.Call) -> relay.Prepared:
        self.calls.append(call)
        if self.breaks:
            raise RuntimeError("memory is broken")
        blocks = {call.new_turn.spot: BLOCK} if call.new_turn else {}
        return relay.Prepared(call, blocks, (("x-brb-memories", str(len(blocks))), ("x-brb-turn", call.turn_id)))

    async def after(self, prepared: relay.Prepared, answer: calls.Answer) -> None:
        self.answers.append(answer)
        if self.breaks:
            raise RuntimeError("memory is broken")


class Told(relay.Prepared, frozen=True):
    by: Teller | None = None


class Switch:
    """One interceptor for all tests: a call belongs to the teller of the test that made it, however late it ends."""

    def __init__(self) -> None:
        self.teller = Teller()

    async def before(self, call: calls.Call) -> Told:
        teller = self.teller
        prepared = await teller.before(call)
        return Told(call, prepared.blocks, prepared.headers, teller)

    async def after(self, prepared: relay.Prepared, answer: calls.Answer) -> None:
        assert isinstance(prepared, Told)
        assert prepared.by
        await prepared.by.after(prepared, answer)


class Answer:
    """What a client received: status, headers in order, the body's bytes, and whether it was whole."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = [(name.lower(), value) for name, value in response.getheaders()]
        try:
            self.body, self.whole = response.read(), True
        except http.client.IncompleteRead as error:
            self.body, self.whole = error.partial, False


@pytest.fixture(scope="module")
def upstreams() -> Iterator[up.Upstream]:
    with up.Upstream() as running:
        yield running


@pytest.fixture
def upstream(upstreams: up.Upstream) -> up.Upstream:
    upstreams.requests.clear()
    upstreams.gone.clear()
    upstreams.read_bodies = True
    upstreams.says(up.answer(b"{}"))
    return upstreams


@pytest.fixture(scope="module")
def switch() -> Switch:
    return Switch()


@pytest.fixture
def teller(switch: Switch) -> Teller:
    switch.teller = Teller()
    return switch.teller


@pytest.fixture(scope="module")
def base(upstreams: up.Upstream, switch: Switch) -> Iterator[str]:
    settings = config.Settings(anthropic_url=upstreams.url, openai_url=upstreams.url, max_body_bytes=3_000_000)
    with relaying(settings, switch) as url:
        yield url


def connect(base: str) -> http.client.HTTPConnection:
    where = urlsplit(base)
    return http.client.HTTPConnection(str(where.hostname), where.port, timeout=up.DEADLINE_SECONDS)


def ask(base: str, body: Any = PERSON, path: str = "/v1/messages", method: str = "POST", headers: Sequence[tuple[str, str]] = ()) -> Answer:
    connection = connect(base)
    connection.putrequest(method, path, skip_accept_encoding=True)
    for name, value in headers:
        connection.putheader(name, value)
    if body is not None:
        connection.putheader("content-length", str(len(body)))
    connection.endheaders(body)
    try:
        return Answer(connection.getresponse())
    finally:
        connection.close()


def raw_socket(base: str) -> socket.socket:
    where = urlsplit(base)
    return socket.create_connection((str(where.hostname), where.port or 0), timeout=up.DEADLINE_SECONDS)


def request(base: str, body: bytes = PERSON) -> bytes:
    return f"POST /v1/messages HTTP/1.1\r\nhost: {urlsplit(base).netloc}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


def received_until(connection: socket.socket, wanted: bytes) -> bytes:
    seen = b""
    while wanted not in seen:
        piece = connection.recv(65536)
        assert piece, seen
        seen += piece
    return seen


# Requests


def test_a_turn_of_a_person_goes_up_with_one_block_more_and_every_other_byte_equal(base: str, upstream: up.Upstream, teller: Teller) -> None:
    """vibeproxy PR#294, kubeai#690: numbers and escapes were rewritten."""
    got = ask(base, path="/v1/messages?beta=true")
    assert upstream.last.body == PERSON_TOLD
    assert upstream.last.target == b"/v1/messages?beta=true"
    assert ("x-brb-memories", "1") in got.headers
    assert ("x-brb-turn", teller.calls[0].turn_id) in got.headers


UNCHANGED = [
    b"",
    b"not json",
    b"[]",
    b'{"messages":[]}',
    rb'{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"\ud800"}]}]}',
    b'{"messages":[{"role":"user","content":"a"}],"messages":[{"role":"user","content":"b"}]}',
    b'{"max_tokens":1,"messages":[{"role":"user","content":"quota"}]}',
    b'{"messages":[{"role":"assistant","content":[{"type":"thinking","signature":"QUJD\\/"}]},'
    b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}]}',
    b"\xff\x00\xfe",
    b"[" * 100_000,
]


@pytest.mark.parametrize("body", UNCHANGED)
def test_what_is_no_turn_of_a_person_goes_up_as_it_came(base: str, upstream: up.Upstream, teller: Teller, body: bytes) -> None:
    """headroom PR#3134 (lone surrogate became a 500), hebo-gateway#131 (signature changed), sub2api PR#6838 (probe refused)."""
    assert ask(base, body).status == 200
    assert upstream.last.body == body
    assert all(call.new_turn is None for call in teller.calls)


def test_counting_tokens_is_left_alone(base: str, upstream: up.Upstream, teller: Teller) -> None:
    """litellm#13252: 404 for the query. CLIProxyAPI#4103: inserted text inflated every count."""
    ask(base, path="/v1/messages/count_tokens?beta=true")
    assert (upstream.last.target, upstream.last.body) == (b"/v1/messages/count_tokens?beta=true", PERSON)
    assert teller.calls == []


@pytest.mark.parametrize("path", ["/", "/api/hello"])
def test_probes_are_answered_here(base: str, upstream: up.Upstream, path: str) -> None:
    """headroom#2032: 405."""
    assert ask(base, None, path, "HEAD").status == 204
    assert upstream.requests == []


@pytest.mark.parametrize("target", ["/v1/a%2Fb/%e9%zz/../x;y=1//z?q=a+b%20c&&=%7E~", "/v1/files?limit=1000", "/v1/x?a?b", "/v1/%6Dessages"])
def test_path_and_query_are_kept_to_the_byte(base: str, upstream: up.Upstream, target: str) -> None:
    ask(base, None, target, "GET")
    assert upstream.last.target == target.encode()


def test_headers_of_the_client_go_up_and_none_is_made_up(base: str, upstream: up.Upstream) -> None:
    """litellm#9016 (anthropic-beta), Portkey gateway#1598 (Authorization dropped)."""
    sent = [
        ("authorization", "Bearer oauth"),
        ("x-api-key", "k"),
        ("anthropic-version", "2023-06-01"),
        ("anthropic-beta", "oauth-2025,x"),
        ("anthropic-beta", "y"),
        ("anthropic-future", "1"),
        ("cookie", "a=b"),
        ("x-stainless-retry-count", "0"),
    ]
    ask(base, headers=[*sent, ("x-brb-project", "shop"), ("connection", "x-hop"), ("x-hop", "1"), ("te", "trailers")])
    expected = [("host", urlsplit(upstream.url).netloc), *sent, ("content-length", str(len(PERSON_TOLD)))]
    assert upstream.last.headers == [(name.encode(), value.encode()) for name, value in expected]


def test_the_clients_own_user_agent_and_codings_are_forwarded(base: str, upstream: up.Upstream) -> None:
    sent = [("user-agent", "claude-cli/2"), ("accept", "application/json"), ("accept-encoding", "gzip, br"), ("content-type", "application/json")]
    ask(base, headers=sent)
    assert upstream.last.headers[1:-1] == [(name.encode(), value.encode()) for name, value in sent]


def test_a_get_goes_up_without_a_body(base: str, upstream: up.Upstream) -> None:
    ask(base, None, "/v1/models?limit=1000", "GET")
    assert upstream.last.headers == [(b"host", urlsplit(upstream.url).netloc.encode())]


@pytest.mark.parametrize(("path", "arrived"), [("/v1/messages", PERSON_TOLD), ("/v1/files", PERSON)])
def test_a_chunked_request_arrives(base: str, upstream: up.Upstream, path: str, arrived: bytes) -> None:
    """claude-relay-service PR#204: length and transfer coding were both sent."""
    connection = connect(base)
    connection.request("POST", path, iter([PERSON[:10], PERSON[10:]]), encode_chunked=True, headers={"transfer-encoding": "chunked"})
    assert connection.getresponse().status == 200
    connection.close()
    assert upstream.last.body == arrived
    assert len(upstream.last.all(b"content-length")) + len(upstream.last.all(b"transfer-encoding")) == 1


def test_a_client_that_expects_100_is_told_to_continue(base: str, upstream: up.Upstream) -> None:
    with raw_socket(base) as connection:
        head, _, body = request(base).partition(b"\r\n\r\n")
        connection.sendall(head + b"\r\nexpect: 100-continue\r\n\r\n")
        received_until(connection, b"100 Continue\r\n\r\n")
        connection.sendall(body)
        received_until(connection, b"200 OK")
    assert upstream.last.body == PERSON_TOLD
    assert upstream.last.all(b"expect") == []


@pytest.mark.parametrize("size", [2_500_000, 3_500_000])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_above_the_limit_passes_unread(base: str, upstream: up.Upstream, teller: Teller, size: int, chunked: bool) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": "x" * size}]}).encode()
    connection = connect(base)
    pieces = (body[start : start + 50_000] for start in range(0, len(body), 50_000))
    connection.request(
        "POST", "/v1/messages", pieces if chunked else body, encode_chunked=chunked, headers={"transfer-encoding": "chunked"} if chunked else {}
    )
    assert connection.getresponse().status == 200
    connection.close()
    if size > 3_000_000:
        assert upstream.last.body == body
        assert teller.calls == []
    else:
        assert len(upstream.last.body) > len(body)
        assert json.loads(upstream.last.body)["messages"][0]["content"][-1] == {"type": "text", "text": BLOCK}


def test_forty_megabytes_pass_on_other_routes(base: str, upstream: up.Upstream) -> None:
    body = bytes(40_000_000)
    ask(base, body, "/v1/files")
    assert upstream.last.body == body


@pytest.mark.parametrize("name", ["origin", "host"])
def test_calls_of_a_web_page_are_relayed_without_memory(base: str, upstream: up.Upstream, teller: Teller, name: str) -> None:
    """A page that reaches the port (cross-site, or by DNS rebinding) could plant memories, or read them with a key of its own."""
    host = "evil.example" if name == "host" else urlsplit(base).netloc
    with raw_socket(base) as connection:
        origin = "origin: https://evil.example\r\n" if name == "origin" else ""
        connection.sendall(f"POST /v1/messages HTTP/1.1\r\nhost: {host}\r\n{origin}content-length: {len(PERSON)}\r\n\r\n".encode() + PERSON)
        received_until(connection, b"200 OK")
    assert upstream.last.body == PERSON
    assert teller.calls == []


# Answers


def test_a_stream_comes_back_to_the_byte(base: str, upstream: up.Upstream, teller: Teller) -> None:
    """bitrouter#422 (pings dropped), litellm#13373 (a delta without its block), 9router#3416 (JSON cut)."""
    upstream.says(up.stream(PIECES))
    got = ask(base)
    assert (got.status, got.body, got.whole) == (200, b"".join(PIECES), True)
    assert [(answer.complete, answer.text) for answer in teller.answers] == [(True, "café")]
    assert teller.answers[0].usage.cache_read_input_tokens == 9


def test_a_chunk_is_passed_on_before_the_next_one_exists(base: str, upstream: up.Upstream, teller: Teller) -> None:
    """headroom#3040: a stream was collected into one body."""
    hold = up.Hold()
    upstream.says(up.stream([PIECES[0], hold, *PIECES[1:]]))
    with up.released(hold), raw_socket(base) as connection:
        connection.sendall(request(base))
        received_until(connection, PIECES[0])
        hold.released.set()
        received_until(connection, b"0\r\n\r\n")


def test_all_headers_of_an_answer_come_back(base: str, upstream: up.Upstream, teller: Teller) -> None:
    """litellm#21553 (retry-after renamed), litellm#37754 and lean-ctx#1638 (anthropic-ratelimit-unified-* lost)."""
    body = b'{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}'
    sent = [
        ("content-type", "application/json"),
        ("retry-after", "7"),
        ("x-should-retry", "true"),
        ("anthropic-ratelimit-unified-status", "rejected"),
        ("anthropic-ratelimit-unified-5h-utilization", "1.01"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("date", "Tue, 01 Sep 2026 00:00:00 GMT"),
        ("server", "cloudflare"),
        ("request-id", "req_1"),
    ]
    upstream.says(up.answer(body, "429 Too Many Requests", [f"{name}: {value}" for name, value in sent]))
    got = ask(base)
    assert (got.status, got.body) == (429, body)
    assert [pair for pair in got.headers if not pair[0].startswith("x-brb-")] == [*sent, ("content-length", str(len(body)))]
    assert up.wait_for(lambda: [answer.complete for answer in teller.answers] == [False])


@pytest.mark.parametrize(("status", "code"), [("529 Overloaded", 529), ("302 Found", 302), ("204 No Content", 204), ("400 Bad", 400)])
def test_any_status_comes_back_after_one_call(base: str, upstream: up.Upstream, status: str, code: int) -> None:
    upstream.says([up.head(status, ["location: /elsewhere", *([] if code == 204 else ["content-length: 2"])]) + (b"" if code == 204 else b"no")])
    got = ask(base)
    assert (got.status, got.body) == (code, b"" if code == 204 else b"no")
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("streams", [True, False])
def test_coded_answers_keep_coding_and_header(base: str, upstream: up.Upstream, teller: Teller, streams: bool) -> None:
    """better-ccflare PR#243, superlocalmemory PR#79: decoded bytes under the old header."""
    packed = gzip.compress(b"".join(PIECES))
    coded = ["content-encoding: gzip", "content-type: text/event-stream"]
    upstream.says(up.stream([packed[:20], packed[20:]], coded) if streams else up.answer(packed, "500 Error", coded))
    got = ask(base)
    assert got.body == packed
    assert ("content-encoding", "gzip") in got.headers
    assert up.wait_for(lambda: [answer.complete for answer in teller.answers] == [streams])


def test_an_error_inside_a_stream_is_relayed_and_nothing_is_learnt(base: str, upstream: up.Upstream, teller: Teller) -> None:
    """litellm#32086: it became an empty success."""
    upstream.says(up.stream([*PIECES[:3], ERROR]))
    assert ask(base).body == b"".join([*PIECES[:3], ERROR])
    assert [answer.complete for answer in teller.answers] == [False]


def test_a_head_request_has_no_body(base: str, upstream: up.Upstream) -> None:
    upstream.says([up.head("200 OK", ["content-length: 99"])])
    got = ask(base, None, "/v1/models", "HEAD")
    assert (got.status, got.body) == (200, b"")
    assert ("content-length", "99") in got.headers


def test_an_answer_that_lasts_until_the_connection_closes_is_whole(base: str, upstream: up.Upstream) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings = config.Settings(openai_url=f"http://127.0.0.1:{server.getsockname()[1]}/prefix")
        seen: list[bytes] = []

        def once() -> None:
            connection, _ = server.accept()
            seen.append(received_until(connection, b"\r\n\r\n"))
            connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nthe whole")
            connection.close()

        thread = threading.Thread(target=once)
        thread.start()
        with relaying(settings, Teller()) as base:
            got = ask(base, None, "/v1/models", "GET")
        thread.join(up.DEADLINE_SECONDS)
    assert (got.body, got.whole) == (b"the whole", True)
    assert seen[0].startswith(b"GET /prefix/v1/models HTTP/1.1\r\n")


# Faults


@pytest.mark.parametrize("before", [[], [up.head("200 OK", ["transfer-encoding: chunked"]) + b"3\r\nabc\r\n"]])
def test_the_upstream_is_left_at_once_when_the_client_leaves(base: str, upstream: up.Upstream, teller: Teller, before: list[bytes]) -> None:
    """litellm#36123, clodex#170: it kept generating."""
    hold = up.Hold()
    upstream.says([*before, hold])
    counted = telemetry.RELAY_REQUESTS.labels("messages", "client_closed")._value.get()
    with up.released(hold):
        with raw_socket(base) as connection:
            connection.sendall(request(base))
            assert up.wait_for(lambda: len(upstream.requests) == 1)
            if before:
                received_until(connection, b"abc")
        left = time.monotonic()
        assert upstream.gone.wait(up.DEADLINE_SECONDS)
        assert time.monotonic() - left < 1
    assert up.wait_for(lambda: [answer.complete for answer in teller.answers] == [False])
    assert telemetry.RELAY_REQUESTS.labels("messages", "client_closed")._value.get() == counted + 1
    upstream.says(up.answer(b"{}"))
    assert ask(base).status == 200


def test_a_client_that_leaves_during_its_upload_stops_the_call(base: str, upstream: up.Upstream, teller: Teller) -> None:
    with raw_socket(base) as connection:
        connection.sendall(request(base).replace(b"/v1/messages", b"/v1/files")[:-20])
        assert up.wait_for(lambda: len(upstream.requests) == 1)
    assert ask(base).status == 200


def test_a_client_that_leaves_after_the_stop_was_answered(base: str, upstream: up.Upstream, teller: Teller) -> None:
    hold = up.Hold()
    upstream.says(up.stream([*PIECES, hold]))
    with up.released(hold):
        with raw_socket(base) as connection:
            connection.sendall(request(base))
            received_until(connection, b'message_stop"}')
        assert up.wait_for(lambda: [answer.complete for answer in teller.answers] == [True])


@pytest.mark.parametrize("kind", ["chunked", "length"])
def test_an_answer_cut_off_by_the_upstream_is_cut_off_for_the_client(base: str, upstream: up.Upstream, teller: Teller, kind: str) -> None:
    """teamclaude PR#215 (client left hanging), opencodex#4561 (the next request failed)."""
    upstream.says(up.stream([*PIECES[:2], up.Cut()]) if kind == "chunked" else [up.head("200 OK", ["content-length: 999"]) + b"begin", up.Cut()])
    got = ask(base)
    assert got.status == 200
    assert not got.whole
    assert up.wait_for(lambda: [answer.complete for answer in teller.answers] == [False])
    upstream.says(up.answer(b"{}"))
    assert ask(base).whole


@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize("script", [[up.Cut()], [b"HTTP/1.1 200", up.Cut()], [b"SSH-2.0-OpenSSH\r\n\r\n"]])
def test_an_upstream_that_gives_no_answer_is_reported_once_and_asked_for_no_message_again(
    base: str, upstream: up.Upstream, method: str, script: up.Script
) -> None:
    ask(base)  # leaves a connection to be used again: that is where clients repeat calls by themselves
    upstream.requests.clear()
    upstream.says(script)
    got = ask(base, PERSON if method == "POST" else None, method=method)
    assert got.status == 502
    error = json.loads(got.body)
    assert (error["type"], error["error"]["type"]) == ("error", "api_error")
    assert "127.0.0.1" in error["error"]["message"]
    assert "BRB_ANTHROPIC_URL" in error["error"]["message"]
    repeatable = method == "GET" and isinstance(script[0], up.Cut)  # a kept connection ended without a word: most likely before the request was read
    assert len(upstream.requests) == (2 if repeatable else 1)


@pytest.fixture
def plain_server() -> Iterator[int]:
    """The port of a server that greets in clear, whatever it is told."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            connection, _ = server.accept()
            connection.sendall(b"hello\r\n")
            connection.recv(65536)
            connection.close()

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(up.DEADLINE_SECONDS)


@pytest.mark.parametrize(
    ("url", "cause"),
    [("http://127.0.0.1:1", "connection refused"), ("http://nowhere.invalid", "resolved"), ("https://localhost:{plain}", "TLS failed")],
)
def test_an_unreachable_upstream_is_named_with_the_cause(request: pytest.FixtureRequest, url: str, cause: str) -> None:
    port = request.getfixturevalue("plain_server") if "{plain}" in url else 0
    settings = config.Settings(anthropic_url=url.format(plain=port))
    with relaying(settings, Teller()) as base:
        got = ask(base)
    assert got.status == 502
    message = json.loads(got.body)["error"]["message"]
    assert str(urlsplit(settings.anthropic_url).hostname) in message
    assert cause in message


def test_an_answer_before_the_end_of_the_upload_comes_back(base: str, upstream: up.Upstream) -> None:
    """A body that is too large is refused by the real upstream before it was read."""
    upstream.read_bodies = False
    hold = up.Hold()
    upstream.says([*up.answer(b"too large", "413 Payload Too Large"), hold])
    with up.released(hold), raw_socket(base) as connection:
        connection.sendall(f"POST /v1/files HTTP/1.1\r\nhost: {urlsplit(base).netloc}\r\ncontent-length: 40000000\r\n\r\n".encode() + bytes(50_000))
        assert b"413" in received_until(connection, b"too large")


def test_a_websocket_is_refused_so_that_clients_go_on_over_http(base: str, upstream: up.Upstream) -> None:
    """Codex falls back to HTTP after a 404 on the upgrade."""
    upgrade = [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ]
    got = ask(base, None, "/v1/responses", "GET", upgrade)
    assert got.status == 404
    assert "WebSocket" in json.loads(got.body)["error"]["message"]
    assert upstream.requests == []


def test_a_broken_memory_does_not_cost_the_call(base: str, upstream: up.Upstream, teller: Teller) -> None:
    teller.breaks = True
    upstream.says(up.stream(PIECES))
    got = ask(base)
    assert (got.status, got.body) == (200, b"".join(PIECES))
    assert upstream.last.body == PERSON


def test_calls_run_side_by_side(base: str, upstream: up.Upstream, teller: Teller) -> None:
    hold = up.Hold()
    upstream.says(up.stream([PIECES[0], hold, *PIECES[1:]]))
    done: list[Answer] = []
    threads = [threading.Thread(target=lambda: done.append(ask(base))) for _ in range(30)]
    with up.released(hold):
        for thread in threads:
            thread.start()
        assert up.wait_for(lambda: len(upstream.requests) == 30)
    for thread in threads:
        thread.join(up.DEADLINE_SECONDS)
    assert [answer.body for answer in done] == [b"".join(PIECES)] * 30
    assert len(teller.answers) == 30


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What is logged, as the product sets it up, at its most talkative."""
    handlers = logging.root.handlers[:]
    telemetry.configure_logging("debug")
    shown = io.StringIO()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(shown))
    yield shown
    structlog.reset_defaults()
    logging.root.handlers[:] = handlers


@pytest.mark.parametrize("path", ["/v1/v1/messages", "/v1/v1", "/v1/v1/chat/completions?a=1"])
def test_a_base_url_with_a_version_too_much_is_relayed_and_logged(base: str, upstream: up.Upstream, path: str, logged: io.StringIO) -> None:
    upstream.says(up.answer(b"{}", "404 Not Found"))
    assert ask(base, path=path).status == 404
    assert upstream.last.target == path.encode()
    assert logged.getvalue().count("leave /v1 off the end of its base URL") == 1


def test_the_version_in_a_later_place_is_no_reason_to_warn(base: str, upstream: up.Upstream, logged: io.StringIO) -> None:
    assert ask(base, path="/v1/messages/v1/v1").status == 200
    assert "base URL" not in logged.getvalue()


def test_nothing_of_a_call_is_logged_but_how_it_went(base: str, upstream: up.Upstream, teller: Teller, logged: io.StringIO) -> None:
    teller.breaks = True
    ask(base, path="/v1/messages?key=QUERYSECRET", headers=[("x-api-key", "HEADERSECRET")])
    ask(base, PERSON.replace(b"1.10", b"BODYSECRET"))
    assert up.wait_for(lambda: logged.getvalue().count('"relayed"') >= 2)  # exchanges of other tests may end meanwhile
    assert logged.getvalue().count('"interceptor_failed"') == 2
    assert "RuntimeError" in logged.getvalue()
    assert "SECRET" not in logged.getvalue()
