"""What connections carry beside single calls: pipelines, garbage, other protocols asked for, what one call leaves behind for the next."""

import json
from collections.abc import Iterator

import pytest

from services.proxy import upstream as connections
from tests.support import raw
from tests.support.between import Between, between
from tests.support.interceptors import Keeping
from tests.support.upstream import wait_for

BODY = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}'
UPGRADE = [(b"connection", b"Upgrade, HTTP2-Settings"), (b"upgrade", b"h2c"), (b"http2-settings", b"AAEAAEAAAAIAAAAB")]
PROBE = raw.call(b"/", method=b"HEAD")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Between]:
    with between(tmp_path_factory.mktemp("data"), Keeping()) as place:
        yield place


@pytest.fixture
def place(running: Between) -> Between:
    running.upstream.hang_up()
    running.keeping.clear()
    return running


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("framing", [(b"content-length", b"%d" % len(BODY)), (b"transfer-encoding", b"chunked")])
def test_a_call_that_would_rather_speak_another_protocol_goes_on_in_this_one(place: Between, framing: tuple[bytes, bytes], apart: bool) -> None:
    """Every call of the JDK's client over plain HTTP asks for h2c (RFC 9110 §7.8: it may be ignored)."""
    head = raw.call(pairs=[*UPGRADE, framing], body=b"")
    body = raw.chunk(BODY) + raw.END if framing[0] == b"transfer-encoding" else BODY
    with raw.connect(place.base) as client:
        client.send(head if apart else head + body + PROBE)
        if apart:
            client.send(body)
            client.send(PROBE)
        with place.taken() as wire:
            received = wire.request()
            wire.send(raw.reply(b"heard"))
        assert client.answer().body == b"heard"
        assert client.answer("HEAD").head.status == 204
    assert received.body == BODY
    assert received.head.all(b"upgrade") == []
    assert len(place.keeping.calls) == 1


def test_brbs_own_routes_hear_such_a_call_whole(place: Between) -> None:
    asked = b'{"query": "anything"}'
    with raw.connect(place.base) as client:
        client.send(raw.call(b"/recall", [*UPGRADE, (b"content-type", b"application/json")], asked))
        assert client.answer().head.status in (200, 201)


def test_a_good_call_is_answered_whatever_comes_behind_it(place: Between) -> None:
    for garbage in (b"garbage\r\n\r\n", b"GET /v1/models HTTP/1.1\r\nx: " + b"y" * (2 * connections.LONGEST_HEAD_BYTES)):
        with raw.connect(place.base) as client:
            client.send(raw.call(body=BODY))
            with place.taken() as wire:
                wire.request()
                wire.send(raw.opening() + raw.chunk(b"one"))
                pieces = client.answer_pieces(client.head())
                assert next(pieces) == b"one"
                with client.sending(garbage):
                    pass
                wire.send(raw.chunk(b"two") + raw.END)
            assert list(pieces) == [b"two"]
            assert client.gone()
    place.works()


@pytest.mark.parametrize("between_them", [b"", raw.call(b"/v1/models", method=b"GET")])
@pytest.mark.parametrize("behind", [b"garbage\r\n\r\n", raw.call(b"/v1/models#x", method=b"GET")])
def test_a_good_call_of_an_own_route_is_answered_whatever_comes_behind_it(place: Between, between_them: bytes, behind: bytes) -> None:
    with raw.connect(place.base) as client:
        client.send(raw.call(b"/healthz", method=b"GET") + between_them + behind)
        got = client.answer()
        assert (got.head.status, got.body) == (200, b"ok")
        assert client.gone()


def test_a_long_pipeline_is_answered_to_its_end(place: Between) -> None:
    with raw.connect(place.base) as client, client.sending(raw.call(b"/v1/models", method=b"GET") + PROBE * 1500):
        with place.taken() as wire:
            wire.request()
            wire.send(raw.reply(b"late"))
        assert client.answer().body == b"late"
        assert [client.answer("HEAD").head.status for _ in range(1500)] == [204] * 1500


def test_a_large_call_behind_another_in_a_pipeline_comes_in_whole(place: Between) -> None:
    large = BODY.replace(b"hello", b"hello" * 120_000)
    with raw.connect(place.base) as client, client.sending(raw.call(body=BODY) + raw.call(body=large)):
        for body in (BODY, large):
            with place.taken() as wire:
                assert wire.request().body == body
                wire.send(raw.reply(b"answer"))
            assert client.answer().body == b"answer"


def test_an_origin_that_makes_no_sense_is_that_of_another_site(place: Between) -> None:
    received, got = place.exchange(raw.call(pairs=[(b"origin", b"http://[")], body=BODY))
    assert (received.body, got.head.status) == (BODY, 200)
    assert place.keeping.calls == []


@pytest.mark.parametrize("target", [b"/v1/messages", b"/v1/files"])
def test_a_length_with_blanks_behind_it_is_a_length(place: Between, target: bytes) -> None:
    """The client must not be given a length and a transfer coding at once (RFC 9112 §6.3)."""
    _, got = place.exchange(raw.call(target, body=BODY), b"HTTP/1.1 200 OK\r\nContent-Length: 2 \t\r\n\r\n{}")
    assert got.body == b"{}"
    assert len(got.head.all(b"content-length") + got.head.all(b"transfer-encoding")) == 1


def test_two_hosts_are_one_too_many(place: Between) -> None:
    with raw.connect(place.base) as client:
        client.send(raw.call(pairs=[(b"Host", b"other")], body=BODY))
        assert client.answer().head.status == 400
        assert client.gone()


def test_the_upstream_is_told_its_host_also_where_the_client_names_none(place: Between) -> None:
    with raw.connect(place.base) as client:
        client.send(b"GET /v1/models HTTP/1.0\r\n\r\n")
        with place.taken() as wire:
            assert wire.request().head.all(b"host") == [place.upstream.netloc]
            wire.send(raw.reply(b"told"))
        assert client.rest().endswith(b"told")


def test_what_is_left_of_a_request_that_was_answered_early_does_not_come_before_the_next(place: Between) -> None:
    large = BODY.replace(b"hello", b"word " * 4_000_000)
    with raw.connect(place.base) as client, client.sending(raw.call(body=large)):
        first = place.upstream.take()
        first.head()
        first.send(raw.reply(b"slow down", b"429 Too Many Requests"))
        assert client.answer().head.status == 429
    with raw.connect(place.base) as client:
        client.send(raw.call(body=BODY))
        with place.taken() as wire:
            assert wire.request().body == BODY
            wire.send(raw.reply(b"next"))
        assert client.answer().body == b"next"
    first.close()


def test_a_mistake_at_the_end_of_an_answer_leaves_no_client_waiting(place: Between, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a mistake")

    with raw.connect(place.base) as client:
        client.send(raw.call(b"/v1/models", method=b"GET"))
        with place.taken() as wire:
            wire.request()
            with monkeypatch.context() as patched:
                patched.setattr(connections.Upstream, "keep", broken)
                wire.send(raw.reply(b"fine"))
                assert wait_for(lambda: client.gone(0.05))
    place.works()


@pytest.mark.parametrize(
    ("said", "word"),
    [
        (b"GET /v1/models\r\n", b"HTTP/1.0"),
        (b"GET /healthz\r\n", b"HTTP/1.0"),
        (b"GET /v1/models\r\n\r\n", b"HTTP/1.0"),
        (b"GET /v1/models HTTP/0.9\r\n\r\n", b"HTTP/1.0"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", b"HTTP/1.1"),
        (b"GET /v1/models HTTP/2.0\r\nhost: 127.0.0.1\r\n\r\n", b"HTTP/1.0"),
        (b"GET /healthz HTTP/2.0\r\nhost: 127.0.0.1\r\n\r\n", b"HTTP/1.0"),
        (b"GET /v1/models HTTP/3\r\nhost: 127.0.0.1\r\n\r\n", b"HTTP/1.1"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500), b"without TLS"),
        (raw.call(b"/v1/models#part", method=b"GET"), b"fragment"),
        (raw.call(b"/v1/models?a=b#part", body=BODY), b"fragment"),
        (raw.call(b"/healthz#part", method=b"GET"), b"fragment"),
        (raw.call(b"http://127.0.0.1/v1/models#part", method=b"GET"), b"fragment"),
    ],
)
def test_what_is_no_request_of_this_protocol_gets_a_400_that_says_so(place: Between, said: bytes, word: bytes) -> None:
    with raw.connect(place.base) as client:
        client.send(said)
        got = client.answer()
        assert (got.head.status, got.head.all(b"connection"), got.head.all(b"content-type")) == (400, [b"close"], [b"application/json"])
        assert word in json.loads(got.body)["error"]["message"].encode()
        assert client.gone(1.0)
    place.works()  # and this is the first call that the upstream sees


def test_the_first_line_of_a_request_may_come_in_any_parts(place: Between) -> None:
    request = raw.call(b"/v1/models", method=b"GET")
    for cut in range(1, request.index(b"\r\n") + 3):
        with raw.connect(place.base) as client:
            client.send(request[:cut])
            client.send(request[cut:])
            with place.taken() as wire:
                assert wire.request().head.start == b"GET /v1/models HTTP/1.1"
                wire.send(raw.reply(b"heard"))
            assert client.answer().body == b"heard"
