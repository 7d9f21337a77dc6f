"""What the relay does when one side leaves, hangs, dies, floods or talks nonsense. Client and upstream are bare sockets."""

import asyncio
import contextlib
import datetime
import ipaddress
import os
import selectors
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from services.core import config
from services.proxy import relay
from services.proxy.wire import calls
from tests.support import raw
from tests.support.between import Between, between
from tests.support.interceptors import Keeping
from tests.support.relaying import ROOT, Apart, apart, relaying
from tests.support.upstream import wait_for

LEFT_SECONDS = 1.0
"""How soon the upstream must be left once the client has gone."""
FEW_BYTES = 40_000_000
MANY_BYTES = 200_000_000
ENDLESS_BYTES = 20_000_000
"""Of headers: so much more than anybody's that it may as well not end."""
PIECE = bytes(65_536)
BODY = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}'
MESSAGES, CHAT, FILES = b"/v1/messages", b"/v1/chat/completions", b"/v1/files"
BEGINNING = b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1"}}\n\n'

Leave = Callable[[raw.Wire], None]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Between]:
    with between(tmp_path_factory.mktemp("data"), Keeping()) as place:
        yield place


@pytest.fixture
def place(running: Between) -> Between:
    running.upstream.hang_up()
    running.keeping.clear()
    return running


@pytest.fixture
def upstream() -> Iterator[raw.Upstream]:
    with raw.Upstream() as one:
        yield one


@pytest.fixture
def alone(upstream: raw.Upstream) -> Iterator[Apart]:
    """A relay in a process of its own, warmed up."""
    with apart(upstream.url) as one:
        whole(one.url, upstream)
        yield one


def whole(base: str, upstream: raw.Upstream) -> None:
    """A call goes through."""
    with raw.connect(base) as client:
        client.send(raw.call(b"/v1/models", method=b"GET"))
        with upstream.take() as wire:
            wire.request()
            wire.send(raw.reply(b"alive", pairs=[(b"connection", b"close")]))
            assert client.answer().body == b"alive"


def hang_up(client: raw.Wire) -> None:
    client.close()


def reset(client: raw.Wire) -> None:
    client.abort()


def half_close(client: raw.Wire) -> None:
    client.half_close()


# The client leaves


@pytest.mark.parametrize("leave", [hang_up, reset, half_close])
@pytest.mark.parametrize("target", [MESSAGES, CHAT, FILES])
@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 200", raw.opening(), raw.opening() + raw.chunk(BEGINNING)], ids=["nothing", "half a head", "head", "begun"]
)
def test_the_upstream_is_left_when_the_client_leaves(place: Between, target: bytes, said: bytes, leave: Leave) -> None:
    """litellm#36123, clodex#170: it went on generating an answer for nobody."""
    with raw.connect(place.base) as client:
        client.send(raw.call(target, body=BODY))
        with place.upstream.take() as wire:
            wire.request()
            wire.send(said)
            if said.startswith(raw.opening()):
                client.until(b"\r\n\r\n")
            leave(client)
            assert wire.gone(LEFT_SECONDS)
    if target != FILES:
        assert place.keeping.told() == [False]
    place.works()


@pytest.mark.parametrize("leave", [hang_up, reset, half_close])
@pytest.mark.parametrize("framing", [(b"content-length", b"1000"), (b"transfer-encoding", b"chunked")])
def test_the_upstream_is_left_when_the_client_leaves_during_its_upload(place: Between, framing: tuple[bytes, bytes], leave: Leave) -> None:
    with raw.connect(place.base) as client:
        client.send(raw.call(FILES, [framing], b"") + b"5\r\nhello\r\n")
        with place.upstream.take() as wire:
            wire.head()
            wire.until(b"hello")
            leave(client)
            assert wire.gone(LEFT_SECONDS)
    place.works()


@pytest.mark.parametrize("leave", [hang_up, reset, half_close])
@pytest.mark.parametrize("framing", [(b"content-length", b"1000"), (b"transfer-encoding", b"chunked")])
def test_half_a_message_of_a_client_that_left_goes_nowhere(place: Between, framing: tuple[bytes, bytes], leave: Leave) -> None:
    with raw.connect(place.base) as client:
        client.send(raw.call(MESSAGES, [framing], b"") + b"d\r\n" + BODY[:13] + b"\r\n")
        leave(client)
        assert client.fileno() < 0 or client.gone()
    assert place.keeping.calls == []
    place.works()  # and this is the first call that the upstream sees


def test_the_upstream_is_left_when_the_client_leaves_an_upload_that_the_upstream_does_not_read(place: Between) -> None:
    with raw.connect(place.base) as client:
        client.send(raw.call(FILES, [(b"content-length", b"%d" % MANY_BYTES)], b""))
        with place.upstream.take() as wire:
            wire.head()
            assert pushed(client) < FEW_BYTES
            client.abort()
            assert wire.lost(LEFT_SECONDS)
    place.works()


def test_the_upstream_is_left_when_the_client_leaves_two_requests_behind(place: Between) -> None:
    with raw.connect(place.base) as client:
        client.send(raw.call(MESSAGES, body=BODY) * 2)
        with place.upstream.take() as wire:
            wire.request()
            client.close()
            assert wire.gone(LEFT_SECONDS)
    assert place.keeping.told() == [False]
    place.works()


class Pondering(Keeping):
    """Decides when it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()
        self.released = threading.Event()

    async def before(self, call: calls.Call) -> relay.Prepared:
        self.asked.set()
        await asyncio.get_running_loop().run_in_executor(None, self.released.wait, raw.DEADLINE_SECONDS)
        return await super().before(call)


def test_a_client_that_leaves_while_memories_are_recalled_never_reaches_the_upstream(tmp_path: Path) -> None:
    pondering = Pondering()
    with between(tmp_path, pondering) as place:
        with raw.connect(place.base) as client:
            client.send(raw.call(MESSAGES, body=BODY))
            assert pondering.asked.wait(raw.DEADLINE_SECONDS)
            client.half_close()
            assert client.gone(LEFT_SECONDS)
        pondering.released.set()
        place.works()  # and this is the first call that the upstream sees


def test_nothing_is_left_of_a_hundred_clients_that_left(alone: Apart, upstream: raw.Upstream) -> None:
    process = psutil.Process(alone.process.pid)
    before = process.num_fds()
    for number in range(100):
        with raw.connect(alone.url) as client:
            client.send(raw.call(MESSAGES, body=BODY))
            with upstream.take() as wire:
                wire.request()
                if number % 2:
                    wire.send(raw.opening() + raw.chunk(BEGINNING))
                    client.until(BEGINNING)
                client.abort()
                assert wire.gone()
    assert wait_for(lambda: process.num_fds() <= before)
    whole(alone.url, upstream)


# The upstream dies or talks nonsense

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n"


@pytest.mark.parametrize("ending", [raw.Wire.close, raw.Wire.abort])
@pytest.mark.parametrize(
    "said",
    [
        HEAD,
        HEAD + b"012345678",
        raw.opening(),
        raw.opening() + b"5",
        raw.opening() + b"5\r\nhel",
        raw.opening() + b"5\r\nhello",
        raw.opening() + raw.chunk(BEGINNING),
        raw.opening() + raw.chunk(BEGINNING) + b"0\r\n",
        raw.opening() + raw.chunk(BEGINNING) + b"not a size\r\n",
        raw.opening() + b"-1\r\n",
        raw.opening() + b"3\r\nhello\r\n",
    ],
)
@pytest.mark.parametrize("target", [MESSAGES, FILES])
def test_an_answer_that_breaks_off_breaks_off_for_the_client(place: Between, target: bytes, said: bytes, ending: Callable[[raw.Wire], None]) -> None:
    """teamclaude PR#215 (client left hanging), opencodex#4561 (the next request failed)."""
    with raw.connect(place.base) as client:
        client.send(raw.call(target, body=BODY))
        with place.upstream.take() as wire:
            wire.request()
            wire.send(said)
            head = client.head()
            ending(wire)
            with pytest.raises((raw.Cut, ConnectionResetError)):
                b"".join(client.answer_pieces(head))
    assert head.status == 200
    if target == MESSAGES:
        assert place.keeping.told() == [False]
    place.works()


def test_a_stream_that_breaks_off_behind_its_stop_is_complete(place: Between) -> None:
    """All that was said is there; the client is still told that the connection broke off."""
    with raw.connect(place.base) as client:
        client.send(raw.call(MESSAGES, body=BODY))
        with place.upstream.take() as wire:
            wire.request()
            wire.send(raw.opening() + raw.chunk(BEGINNING + b'event: message_stop\ndata: {"type":"message_stop"}\n\n'))
            pieces = client.answer_pieces(client.head())
            assert next(pieces).startswith(BEGINNING)
            wire.abort()
            with pytest.raises((raw.Cut, ConnectionResetError)):
                list(pieces)
    assert place.keeping.told() == [True]
    place.works()


def test_an_answer_without_length_that_is_reset_breaks_off_for_the_client(place: Between) -> None:
    with raw.connect(place.base) as client:
        client.send(raw.call(MESSAGES, body=BODY))
        with place.upstream.take() as wire:
            wire.request()
            wire.send(b"HTTP/1.1 200 OK\r\n\r\nbegun")
            head = client.head()
            pieces = client.answer_pieces(head)
            assert next(pieces) == b"begun"
            wire.abort()
            with pytest.raises((raw.Cut, ConnectionResetError)):
                list(pieces)
    assert place.keeping.told() == [False]
    place.works()


NONSENSE = {
    "nothing": b"",
    "half a head": b"HTTP/1.1 200 OK\r\ncontent-le",
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
    "TLS": b"\x15\x03\x01\x00\x02\x02\x46",
    "HTTP/2": b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x80",
    "zeros": bytes(1000),
    "a status that is no number": b"HTTP/1.1 OK 200\r\n\r\n",
    "a header without a colon": b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
    "a length that is no number": b"HTTP/1.1 200 OK\r\ncontent-length: ten\r\n\r\n",
    "a negative length": b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
    "an interim answer alone": b"HTTP/1.1 100 Continue\r\n\r\n",
    "another protocol at last": b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n",
}


@pytest.mark.parametrize("said", NONSENSE.values(), ids=NONSENSE)
@pytest.mark.parametrize("ending", [raw.Wire.close, raw.Wire.abort])
@pytest.mark.parametrize("target", [MESSAGES, FILES])
def test_an_upstream_that_gives_no_answer_is_reported(place: Between, target: bytes, said: bytes, ending: Callable[[raw.Wire], None]) -> None:
    with raw.connect(place.base) as client:
        client.send(raw.call(target, [(b"anthropic-version", b"2023-06-01")], BODY))
        with place.upstream.take() as wire:
            wire.request()
            wire.send(said)
            if said.startswith(b"HTTP/1.1 100") or not said:
                assert client.silent(0.05)
            ending(wire)
            got = client.answer()
    assert (got.head.status, got.head.all(b"content-type")) == (502, [b"application/json"])
    assert b'"type":"api_error"' in got.body
    if target == MESSAGES:
        assert place.keeping.told() == [False]
    place.works()


@pytest.mark.parametrize("more", [b"x", b"\r\n\r\ngarbage", raw.reply(b"forged"), raw.reply(b"forged")[:30]])
@pytest.mark.parametrize("at_once", [True, False])
def test_bytes_behind_an_answer_reach_nobody(place: Between, more: bytes, at_once: bool) -> None:
    """A length shorter than the body: what is over must not pass for the answer to the next call."""
    with raw.connect(place.base) as client, raw.connect(place.base) as another:
        client.send(raw.call(MESSAGES, body=BODY))
        with place.upstream.take() as wire:
            wire.request()
            wire.send(raw.reply(b"proper") + (more if at_once else b""))
            assert client.answer().body == b"proper"
            if not at_once:
                wire.send(more)
            assert wire.gone()
        another.send(raw.call(MESSAGES, body=BODY))
        with place.taken() as wire:
            wire.request()
            wire.send(raw.reply(b"another"))
            assert another.answer().body == b"another"


def test_large_headers_pass_both_ways(place: Between) -> None:
    pairs = [(b"x-many-%d" % number, b"v" * 300) for number in range(100)] + [(b"x-long", b"v" * 30_000)]
    received, got = place.exchange(raw.call(MESSAGES, pairs, BODY), raw.reply(pairs=pairs))
    assert [pair for pair in received.head.pairs if pair in pairs] == pairs
    assert [pair for pair in got.head.pairs if pair in pairs] == pairs


@pytest.mark.parametrize("said", [b"x-endless: v\r\n" * 5000, b"v" * 65_536], ids=["many", "one"])
def test_headers_of_an_upstream_without_end_are_given_up(alone: Apart, upstream: raw.Upstream, said: bytes) -> None:
    before = alone.rss_bytes()
    with raw.connect(alone.url) as client:
        client.send(raw.call(MESSAGES, body=BODY))
        with upstream.take() as wire:
            wire.request()
            wire.send(b"HTTP/1.1 200 OK\r\nx: ")
            assert is_given_up(wire, said)
            assert client.answer().head.status == 502
    assert alone.rss_bytes() - before < FEW_BYTES
    whole(alone.url, upstream)


@pytest.mark.parametrize("said", [b"x-endless: v\r\n" * 5000, b"v" * 65_536], ids=["many", "one"])
def test_headers_of_a_client_without_end_are_given_up(alone: Apart, upstream: raw.Upstream, said: bytes) -> None:
    before = alone.rss_bytes()
    with raw.connect(alone.url) as client:
        client.send(b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nx: ")
        assert is_given_up(client, said)
    assert alone.rss_bytes() - before < FEW_BYTES
    whole(alone.url, upstream)


def is_given_up(wire: raw.Wire, said: bytes) -> bool:
    """Whether the other side hangs up on somebody who says this again and again."""
    try:
        for _ in range(ENDLESS_BYTES // len(said)):
            wire.send(said)
    except ConnectionError:
        return True
    return wire.gone(LEFT_SECONDS)


# Connections that are kept


def test_calls_one_after_the_other_share_a_connection(place: Between) -> None:
    before = place.upstream.accepted
    for _ in range(20):
        place.exchange(raw.call(MESSAGES, body=BODY), raw.opening() + raw.chunk(BEGINNING) + raw.END)
    assert place.upstream.accepted - before == 1


@pytest.mark.parametrize("ending", [raw.Wire.close, raw.Wire.abort, raw.Wire.half_close])
def test_a_kept_connection_that_the_upstream_closed_is_not_used_again(place: Between, ending: Callable[[raw.Wire], None]) -> None:
    with raw.connect(place.base) as client:
        for _ in range(100):
            client.send(raw.call(MESSAGES, body=BODY))
            with place.upstream.take() as wire:
                wire.request()
                wire.send(raw.reply(b"answer"))
                assert client.answer().body == b"answer"
                ending(wire)


@pytest.mark.parametrize("ending", [raw.Wire.close, raw.Wire.abort, raw.Wire.half_close])
def test_a_kept_connection_that_was_closed_while_the_relay_was_busy_is_not_used(
    alone: Apart, upstream: raw.Upstream, ending: Callable[[raw.Wire], None]
) -> None:
    """It hears of the request first, and of the end of the connection after it; both have happened by then."""
    with raw.connect(alone.url) as client:
        client.send(raw.call(MESSAGES, body=BODY))
        with upstream.take() as wire:
            wire.request()
            wire.send(raw.reply(b"answer"))
            assert client.answer().body == b"answer"
            alone.process.send_signal(signal.SIGSTOP)
            client.send(raw.call(MESSAGES, body=BODY))
            ending(wire)
            alone.process.send_signal(signal.SIGCONT)
            with upstream.take() as another:
                another.request()
                another.send(raw.reply(b"another"))
                assert client.answer().body == b"another"


def test_a_kept_connection_on_which_the_upstream_takes_its_leave_is_not_used_again(place: Between) -> None:
    """Servers say 408 on a connection that was idle for too long."""
    with raw.connect(place.base) as client:
        for _ in range(50):
            client.send(raw.call(MESSAGES, body=BODY))
            with place.upstream.take() as wire:
                wire.request()
                wire.send(raw.reply(b"answer"))
                assert client.answer().body == b"answer"
                wire.send(raw.reply(b"too late", b"408 Request Timeout", [(b"connection", b"close")]))


def kept(place: Between, client: raw.Wire) -> raw.Wire:
    """The upstream's side of a connection that has been used."""
    client.send(raw.call(b"/v1/models", method=b"GET"))
    wire = place.upstream.take()
    wire.request()
    wire.send(raw.reply(b"first"))
    assert client.answer().body == b"first"
    return wire


@pytest.mark.parametrize("ending", [raw.Wire.close, raw.Wire.abort, raw.Wire.half_close])
@pytest.mark.parametrize("method", [b"GET", b"HEAD", b"DELETE", b"OPTIONS"])
def test_a_call_that_may_be_repeated_does_not_notice_that_a_kept_connection_ended(
    place: Between, method: bytes, ending: Callable[[raw.Wire], None]
) -> None:
    """The upstream closes a connection while the request is on its way (RFC 9112 §9.3.1)."""
    request = raw.call(b"/v1/files/f-1", method=method)
    with raw.connect(place.base) as client:
        place.upstream.keep(kept(place, client))
        client.send(request)
        with place.upstream.take() as wire:
            asked = wire.request()
            ending(wire)
            with place.taken() as another:
                assert another.request() == asked
                another.send(raw.reply(b"" if method == b"HEAD" else b"found"))
        assert client.answer(method.decode()).head.status == 200
    place.works()


def test_a_call_is_repeated_only_once(place: Between) -> None:
    with raw.connect(place.base) as client:
        place.upstream.keep(kept(place, client))
        client.send(raw.call(b"/v1/models", method=b"GET"))
        for _ in range(2):
            with place.upstream.take() as wire:
                wire.request()
        assert client.answer().head.status == 502
        assert place.upstream.unasked(0.1)
    place.works()


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (raw.call(MESSAGES, body=BODY), b""),
        (raw.call(FILES, body=BODY), b""),
        (raw.call(FILES, body=b""), b""),
        (raw.call(b"/v1/responses/r/cancel"), b""),
        (raw.call(FILES, body=b"{}", method=b"PUT"), b""),
        (raw.call(FILES, method=b"PATCH"), b""),
        (raw.call(b"/v1/models", method=b"GET"), b"H"),
        (raw.call(b"/v1/models", method=b"GET"), b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    ],
    ids=["message", "file", "empty", "no body", "PUT with a body", "PATCH", "a byte of the answer", "an interim answer"],
)
def test_a_call_that_may_have_been_carried_out_is_not_repeated(place: Between, request_: bytes, said: bytes) -> None:
    with raw.connect(place.base) as client:
        place.upstream.keep(kept(place, client))
        client.send(request_)
        with place.upstream.take() as wire:
            wire.request()
            wire.send(said)
        got = client.answer()
        while got.head.status < 200:
            got = client.answer()
        assert got.head.status == 502
        assert place.upstream.unasked(0.1)
    place.works()


def test_a_call_on_a_new_connection_is_not_repeated(place: Between) -> None:
    with raw.connect(place.base) as client:
        client.send(raw.call(b"/v1/models", method=b"GET"))
        with place.upstream.take() as wire:
            wire.request()
        assert client.answer().head.status == 502
        assert place.upstream.unasked(0.1)


def test_a_connection_that_the_upstream_wants_closed_is_closed(place: Between) -> None:
    with raw.connect(place.base) as client:
        for _ in range(3):
            client.send(raw.call(MESSAGES, body=BODY))
            with place.upstream.take() as wire:
                wire.request()
                wire.send(raw.reply(b"answer", pairs=[(b"connection", b"close")]))
                assert client.answer().body == b"answer"
                assert wire.gone(LEFT_SECONDS)


def test_requests_of_one_connection_are_answered_in_their_order(place: Between) -> None:
    names = [b"/v1/messages", b"/v1/files?2", b"/v1/models", b"/v1/messages?4", b"/v1/responses"]
    with raw.connect(place.base) as client:
        client.send(b"".join(raw.call(name, body=BODY if b"models" not in name else None) for name in names))
        for name in names:
            with place.taken() as wire:
                assert wire.request().head.target == name
                assert place.upstream.unasked(0.05)  # the next one waits for this one's answer
                wire.send(raw.opening() + raw.chunk(name) + raw.END)
            assert client.answer().body == name


def test_own_routes_and_relayed_calls_share_a_connection(place: Between) -> None:
    with raw.connect(place.base) as client:
        client.send(raw.call(b"/healthz", method=b"GET") + raw.call(MESSAGES, body=BODY) + raw.call(b"/healthz", method=b"GET"))
        assert client.answer().body == b"ok"
        with place.taken() as wire:
            wire.request()
            wire.send(raw.reply(b"relayed"))
        assert client.answer().body == b"relayed"
        assert client.answer().body == b"ok"


def test_a_client_that_wants_its_connection_closed_gets_it_closed(place: Between) -> None:
    with raw.connect(place.base) as client:
        client.send(raw.call(MESSAGES, [(b"Connection", b"close")], BODY))
        with place.taken() as wire:
            wire.request()
            wire.send(raw.reply(b"answer"))
        got = client.answer()
        assert (got.body, got.head.all(b"connection")) == (b"answer", [b"close"])
        assert client.gone(LEFT_SECONDS)


@pytest.mark.parametrize("target", [MESSAGES, FILES])
def test_a_client_that_expects_100_waits_no_longer_than_needed(place: Between, target: bytes) -> None:
    with raw.connect(place.base) as client:
        client.send(raw.call(target, [(b"Expect", b"100-Continue"), (b"content-length", b"%d" % len(BODY))], b""))
        assert client.head().status == 100
        client.send(BODY)
        with place.taken() as wire:
            received = wire.request()
            assert (received.body, received.head.all(b"expect")) == (BODY, [])
            wire.send(raw.reply(b"answer"))
        assert client.answer().body == b"answer"


def test_an_answer_before_the_end_of_the_upload_comes_back_and_the_upload_stops(place: Between) -> None:
    with raw.connect(place.base) as client:
        client.send(raw.call(FILES, [(b"content-length", b"%d" % MANY_BYTES)], b"") + bytes(1000))
        with place.upstream.take() as wire:
            wire.head()
            wire.send(raw.reply(b"too large", b"413 Payload Too Large"))
            got = client.answer()
            assert (got.head.status, got.body) == (413, b"too large")
            assert wire.gone(LEFT_SECONDS)
    place.works()


# Addresses and TLS


def test_an_upstream_that_refuses_connections_is_reported_until_it_listens_again(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    settings = config.Settings(anthropic_url=f"http://127.0.0.1:{port}", data_dir=tmp_path)
    with relaying(settings, Keeping()) as base, raw.connect(base) as client:
        client.send(raw.call(MESSAGES, body=BODY))
        got = client.answer()
        assert got.head.status == 502
        assert b"connection refused" in got.body
        with socket.create_server(("127.0.0.1", port)) as listener:
            client.send(raw.call(MESSAGES, body=BODY))
            with raw.Wire(listener.accept()[0]) as wire:
                assert wire.request().body == BODY
                wire.send(raw.reply(b"back"))
                assert client.answer().body == b"back"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Self-signed: for this host, for another, and for this host in the past."""
    folder, now = tmp_path_factory.mktemp("certificates"), datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    spans = {"good": (now - day, now + day), "other host": (now - day, now + day), "expired": (now - 3 * day, now - 2 * day)}
    made = {}
    for name, (start, end) in spans.items():
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        names: list[x509.GeneralName] = [x509.DNSName("other.example")]
        if name != "other host":
            names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(end)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        made[name] = folder / f"{name}.pem"
        secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        made[name].write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + secret)
    trusted = folder / "trusted.pem"
    trusted.write_bytes(b"".join(path.read_bytes() for path in made.values()))
    return made | {"trusted": trusted}


def secure(listener: socket.socket, certificate: Path) -> raw.Wire:
    """The upstream's side of a TLS connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    connection, _ = listener.accept()
    connection.settimeout(raw.DEADLINE_SECONDS)
    try:
        return raw.Wire(context.wrap_socket(connection, server_side=True))
    except (OSError, ssl.SSLError):
        connection.close()
        raise


def test_calls_go_over_tls(certificates: dict[str, Path]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://localhost:{listener.getsockname()[1]}"
        with apart(url, environment={"SSL_CERT_FILE": str(certificates["trusted"])}) as one, raw.connect(one.url) as client:
            body = os.urandom(3_000_000)
            with client.sending(raw.call(b"/v1/messages/batches", body=body)), secure(listener, certificates["good"]) as wire:
                assert wire.request().body == body
                with wire.sending(raw.opening() + raw.chunk(body) + raw.END):
                    assert client.answer().body == body
                client.send(raw.call(MESSAGES, body=BODY))
                assert wire.request().body == BODY
                wire.send(raw.opening() + raw.chunk(BEGINNING))
                head = client.head()
                wire.close()
                with pytest.raises((raw.Cut, ConnectionResetError)):
                    b"".join(client.answer_pieces(head))


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize(("target", "version"), [(MESSAGES, b"1.1"), (FILES, b"1.1"), (FILES, b"1.0")])
def test_over_tls_only_an_end_that_the_upstream_declares_is_the_end_of_an_answer(
    certificates: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, target: bytes, version: bytes, in_order: bool
) -> None:
    """Of an answer without a length anybody on the way could cut off the rest (RFC 9112 §9.8)."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates["trusted"]))
    keeping, said = Keeping(), b'{"type":"message","content":[{"type":"text","text":"hi"}]}'
    with socket.create_server(("127.0.0.1", 0)) as listener:
        settings = config.Settings(anthropic_url=f"https://localhost:{listener.getsockname()[1]}", data_dir=tmp_path)
        pairs = [(b"anthropic-version", b"2023-06-01")]
        with relaying(settings, keeping) as base, raw.connect(base) as client:
            client.send(raw.call(target, pairs, BODY).replace(b"HTTP/1.1", b"HTTP/" + version))
            with secure(listener, certificates["good"]) as wire:
                wire.request()
                wire.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + (said if in_order else said[:-2]))
                head = client.head()
                if in_order:
                    with contextlib.suppress(OSError, ssl.SSLError):  # the other side does not wait for the end of ours
                        wire.socket.unwrap()  # type: ignore[attr-defined]
            if in_order:
                assert b"".join(client.answer_pieces(head)) == said
            else:
                with pytest.raises((raw.Cut, ConnectionResetError)):
                    b"".join(client.answer_pieces(head))
            if target == MESSAGES:
                assert keeping.told() == [in_order]


@pytest.mark.parametrize(("presented", "trusted"), [("good", "other host"), ("other host", "trusted"), ("expired", "trusted")])
def test_an_upstream_that_can_not_prove_its_name_gets_nothing(certificates: dict[str, Path], presented: str, trusted: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://localhost:{listener.getsockname()[1]}"
        with apart(url, environment={"SSL_CERT_FILE": str(certificates[trusted])}) as one, raw.connect(one.url) as client:
            client.send(raw.call(MESSAGES, body=BODY))
            heard = b""
            with contextlib.suppress(OSError), secure(listener, certificates[presented]) as wire:
                heard = wire.socket.recv(1)
            got = client.answer()
    assert heard == b""
    assert got.head.status == 502
    assert b"its certificate is not trusted" in got.body


@pytest.mark.parametrize(
    "said",
    [b"", b"hello\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x16\x03\x03\x00\x7a\x02"],
    ids=["nothing", "greeting", "HTTP", "half a handshake"],
)
def test_an_upstream_that_does_not_speak_tls_is_reported(tmp_path: Path, said: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        settings = config.Settings(anthropic_url=f"https://localhost:{listener.getsockname()[1]}", data_dir=tmp_path)
        with relaying(settings, Keeping()) as base, raw.connect(base) as client:
            client.send(raw.call(MESSAGES, body=BODY))
            with raw.Wire(listener.accept()[0]) as wire:
                wire.until(b"\x01")
                wire.send(said)
            assert client.answer().head.status == 502
            client.send(raw.call(b"/healthz", method=b"GET"))
            assert client.answer().body == b"ok"


# Slow sides


def pushed(wire: raw.Wire, most: int = MANY_BYTES) -> int:
    """How many bytes the other side takes until it holds back."""
    wire.socket.setblocking(False)
    sent = 0
    try:
        with selectors.DefaultSelector() as ready:
            ready.register(wire, selectors.EVENT_WRITE)
            while sent < most and ready.select(1.0):
                sent += wire.socket.send(PIECE[: most - sent])
    finally:
        wire.socket.settimeout(raw.DEADLINE_SECONDS)
    return sent


@pytest.mark.parametrize("target", [MESSAGES, FILES])
@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_a_client_that_does_not_read_holds_the_upstream_back(alone: Apart, upstream: raw.Upstream, target: bytes, framing: str) -> None:
    before = alone.rss_bytes()
    most = []
    with raw.connect(alone.url) as client:
        client.send(raw.call(target, body=BODY))
        with upstream.take() as wire:
            wire.request()
            opening = {"chunked": b"transfer-encoding: chunked\r\n", "length": b"content-length: %d\r\n" % MANY_BYTES, "close": b""}[framing]
            wire.send(b"HTTP/1.1 200 OK\r\n" + opening + b"\r\n" + (b"%x\r\n" % MANY_BYTES if framing == "chunked" else b""))
            head = client.head()
            sent = pushed(wire)
            assert sent < FEW_BYTES
            most.append(alone.rss_bytes())
            got = 0
            with wire.sending(bytes(MANY_BYTES - sent) + (b"\r\n" + raw.END if framing == "chunked" else b"")):
                pieces = client.answer_pieces(head)
                while got < MANY_BYTES:
                    got += len(next(pieces))
                    most.append(alone.rss_bytes())
            wire.half_close()
            assert got + sum(map(len, pieces)) == MANY_BYTES
    assert max(most) - before < FEW_BYTES + (33_554_432 if target == MESSAGES else 0)  # of a message's answer a copy is read in the end


@pytest.mark.parametrize(("target", "framing"), [(FILES, "length"), (FILES, "chunked"), (MESSAGES, "chunked")])
def test_an_upstream_that_does_not_read_holds_the_client_back(alone: Apart, upstream: raw.Upstream, target: bytes, framing: str) -> None:
    passed = 33_554_432 if target == MESSAGES else 0  # what is kept of a message until it is too long to be read
    before = alone.rss_bytes()
    most = []
    with raw.connect(alone.url) as client:
        chunked = framing == "chunked"
        client.send(raw.call(target, [(b"transfer-encoding", b"chunked") if chunked else (b"content-length", b"%d" % MANY_BYTES)], b""))
        client.send(b"%x\r\n" % MANY_BYTES if chunked else b"")
        sent = pushed(client)
        assert sent < FEW_BYTES + passed
        with upstream.take() as wire:
            head = wire.head()
            most.append(alone.rss_bytes())
            got = 0
            with client.sending(bytes(MANY_BYTES - sent) + (b"\r\n" + raw.END if chunked else b"")):
                for piece in wire.pieces(head):
                    got += len(piece)
                    most.append(alone.rss_bytes())
            assert got == MANY_BYTES
            wire.send(raw.reply(b"taken"))
            assert client.answer().body == b"taken"
    assert max(most) - before < FEW_BYTES + 2 * passed


TEXT_OF_32_MB = BODY.replace(b"hello", b"word " * 6_500_000)
FILE_OF_32_MB = BODY.replace(
    b'"hello"', b'[{"type":"document","source":{"type":"base64","data":"%b"}},{"type":"text","text":"hello"}]' % (b"QlJC" * 8_000_000)
)


@pytest.mark.parametrize(
    ("body", "times"),
    [
        (FILE_OF_32_MB, 3),  # its pieces, and the body that they make
        (TEXT_OF_32_MB, 7),  # and what the person said, as a text and as what identifies it
    ],
    ids=["file", "text"],
)
def test_a_message_of_32_mb_for_an_upstream_that_does_not_read_stays_bounded(alone: Apart, upstream: raw.Upstream, body: bytes, times: int) -> None:
    before = alone.rss_bytes()
    with raw.connect(alone.url) as client, client.sending(raw.call(MESSAGES, body=body)), upstream.take() as wire:
        head = wire.head()
        assert b"".join(wire.pieces(head)) == body
        wire.send(raw.reply(b"taken"))
        assert client.answer().body == b"taken"
    assert alone.most_rss_bytes() - before < times * len(body)


@pytest.mark.parametrize("target", [MESSAGES, b"/v1/messages/batches"])
def test_over_tls_no_second_body_waits_for_an_upstream_that_does_not_read(certificates: dict[str, Path], target: bytes) -> None:
    """What TLS is given at once it codes at once, on the loop that all streams share."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://localhost:{listener.getsockname()[1]}"
        with apart(url, environment={"SSL_CERT_FILE": str(certificates["trusted"])}) as one, raw.connect(one.url) as client:
            client.send(raw.call(b"/v1/messages", body=BODY))
            with secure(listener, certificates["good"]) as wire:
                wire.request()
                wire.send(raw.reply(b"warm"))
                assert client.answer().body == b"warm"
                before = one.rss_bytes()
                with client.sending(raw.call(target, body=FILE_OF_32_MB)):
                    head = wire.head()
                    assert b"".join(wire.pieces(head)) == FILE_OF_32_MB
                    wire.send(raw.reply(b"taken"))
                    assert client.answer().body == b"taken"
            assert one.most_rss_bytes() - before < 3 * len(FILE_OF_32_MB)


@pytest.mark.parametrize("target", [MESSAGES, FILES])
def test_a_client_that_uploads_byte_by_byte_is_waited_for(place: Between, target: bytes) -> None:
    with raw.connect(place.base) as client:
        for octet in raw.call(target, body=BODY):
            client.send(bytes([octet]))
        with place.taken() as wire:
            assert wire.request().body == BODY
            wire.send(raw.reply(b"answer"))
        assert client.answer().body == b"answer"


def opened(place: Between, count: int) -> list[tuple[raw.Wire, raw.Wire, Iterator[bytes]]]:
    """So many streams that have begun: the client's side, the upstream's, and what the client reads."""
    clients = {}
    for number in range(count):
        clients[b"%d" % number] = client = raw.connect(place.base)
        client.send(raw.call(MESSAGES, [(b"x-number", b"%d" % number)], BODY))
    streams = []
    for _ in range(count):
        wire = place.upstream.take()
        client = clients[wire.request().head.all(b"x-number")[0]]
        wire.send(raw.opening())
        streams.append((client, wire, client.answer_pieces(client.head())))
    return streams


def rounds(streams: list[tuple[raw.Wire, raw.Wire, Iterator[bytes]]], count: int) -> None:
    """In each round every upstream says something, and every client has to hear it before the next round."""
    for number in range(count):
        for place, (_, wire, _) in enumerate(streams):
            wire.send(raw.chunk(b"%d/%d;" % (number, place)))
        for place, (_, _, pieces) in enumerate(streams):
            wanted = b"%d/%d;" % (number, place)
            got = b""
            while len(got) < len(wanted):
                got += next(pieces)
            assert got == wanted


def ended(streams: list[tuple[raw.Wire, raw.Wire, Iterator[bytes]]]) -> None:
    for client, wire, pieces in streams:
        wire.send(raw.END)
        assert list(pieces) == []
        client.close()
        wire.close()


def test_two_hundred_streams_go_on_side_by_side(place: Between) -> None:
    streams = opened(place, 200)
    rounds(streams, 20)
    ended(streams)
    assert len(place.keeping.told(200)) == 200


def test_streams_go_on_beside_one_that_floods_and_one_that_is_not_read(place: Between) -> None:
    streams = opened(place, 22)
    (unread, unread_wire, _), (flooded, flooding, flood), *others = streams
    unread_wire.send(b"%x\r\n" % MANY_BYTES)
    assert pushed(unread_wire) < FEW_BYTES
    over = threading.Event()
    read = 0

    def pour() -> None:
        with contextlib.suppress(OSError):
            while not over.is_set():
                flooding.send(raw.chunk(PIECE))

    def drink() -> None:
        nonlocal read
        with contextlib.suppress(OSError, raw.Cut):
            for piece in flood:
                read += len(piece)

    threads = [threading.Thread(target=pour), threading.Thread(target=drink)]
    for thread in threads:
        thread.start()
    try:
        before = read
        rounds(others, 50)
        assert wait_for(lambda: read > before)
    finally:
        over.set()
        threads[0].join(raw.DEADLINE_SECONDS)
        for wire in (flooding, unread_wire, unread):
            wire.close()
        threads[1].join(raw.DEADLINE_SECONDS)
        flooded.close()
    ended(others)
    place.works()


# The end

HOST_SECONDS = 60


@pytest.fixture
def host(upstream: raw.Upstream, redis_address: str, llama_socket: Path) -> Iterator[Apart]:
    """The process that people run."""
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="brb-", dir="/tmp") as folder:
        (Path(folder) / "run").mkdir()
        (Path(folder) / "run" / "llama.sock").symlink_to(llama_socket)
        (Path(folder) / "models").symlink_to(ROOT / "data" / "models", target_is_directory=True)
        environment = config.environment_without_settings() | {
            "BRB_DATA_DIR": folder,
            "BRB_PORT": str(port),
            "BRB_REDIS_URL": redis_address,
            "BRB_ANTHROPIC_URL": upstream.url,
        }
        process = subprocess.Popen([sys.executable, "-m", "services.embedded.host"], cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
        try:
            assert wait_for(lambda: listens(port), HOST_SECONDS)
            yield Apart(f"http://127.0.0.1:{port}", process)
        finally:
            process.kill()
            process.wait()


def listens(port: int) -> bool:
    with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def refused(base: str) -> bool:
    return not listens(int(base.rpartition(":")[2]))


def test_running_streams_finish_after_sigterm_and_the_process_ends_well(host: Apart, upstream: raw.Upstream) -> None:
    with raw.connect(host.url) as client, raw.connect(host.url) as idle:
        idle.send(raw.call(b"/healthz", method=b"GET"))
        assert idle.answer().body == b"ok"
        client.send(raw.call(MESSAGES, body=BODY))
        with upstream.take() as wire:
            wire.request()
            wire.send(raw.opening() + raw.chunk(BEGINNING))
            head = client.head()
            pieces = client.answer_pieces(head)
            assert next(pieces) == BEGINNING
            host.process.send_signal(signal.SIGTERM)
            assert wait_for(lambda: refused(host.url))
            assert idle.gone()
            for number in range(5):
                wire.send(raw.chunk(b"%d" % number))
                assert next(pieces) == b"%d" % number
            wire.send(raw.END)
            assert list(pieces) == []
    assert host.process.wait(HOST_SECONDS) == 0


def test_a_second_sigterm_does_not_wait_for_streams(host: Apart, upstream: raw.Upstream) -> None:
    with raw.connect(host.url) as client:
        client.send(raw.call(MESSAGES, body=BODY))
        with upstream.take() as wire:
            wire.request()
            wire.send(raw.opening() + raw.chunk(BEGINNING))
            pieces = client.answer_pieces(client.head())
            assert next(pieces) == BEGINNING
            host.process.send_signal(signal.SIGTERM)
            assert wait_for(lambda: refused(host.url))
            host.process.send_signal(signal.SIGTERM)
            with pytest.raises((raw.Cut, ConnectionResetError)):
                list(pieces)
            assert wire.gone()
    assert host.process.wait(HOST_SECONDS) == 0


def test_streams_that_outlast_the_drain_time_break_off(upstream: raw.Upstream) -> None:
    with apart(upstream.url, drain_seconds=1) as one, raw.connect(one.url) as client:
        client.send(raw.call(MESSAGES, body=BODY))
        with upstream.take() as wire:
            wire.request()
            wire.send(raw.opening() + raw.chunk(BEGINNING))
            pieces = client.answer_pieces(client.head())
            assert next(pieces) == BEGINNING
            one.process.send_signal(signal.SIGTERM)
            with pytest.raises((raw.Cut, ConnectionResetError)):
                list(pieces)
            assert wire.gone()
        assert one.process.wait(raw.DEADLINE_SECONDS) == 0


# Web pages


def test_preflights_of_a_web_page_are_the_upstreams_to_answer(place: Between) -> None:
    pairs = [(b"origin", b"https://evil.example"), (b"access-control-request-method", b"POST")]
    received, got = place.exchange(raw.call(MESSAGES, pairs, method=b"OPTIONS"), raw.reply(b"", b"403 Forbidden"))
    assert (received.head.method, [pair for pair in received.head.pairs if pair in pairs]) == (b"OPTIONS", pairs)
    assert (got.head.status, [name for name, _ in got.head.lower if name.startswith(b"access-control")]) == (403, [])


STRANGERS: list[raw.Pairs] = [
    [(b"host", b"evil.example")],
    [(b"host", b"127.0.0.1"), (b"origin", b"https://evil.example")],
    [(b"host", b"127.0.0.1"), (b"origin", b"null")],
    [(b"host", b"127.0.0.1"), (b"sec-fetch-site", b"cross-site")],
]


@pytest.mark.parametrize("pairs", STRANGERS)
def test_calls_of_a_web_page_are_relayed_without_memory(place: Between, pairs: raw.Pairs) -> None:
    """A page that reaches the port (cross-site, or by DNS rebinding) could plant memories, or read them with a key of its own."""
    request = b"POST /v1/messages HTTP/1.1\r\n" + raw.lines([*pairs, (b"content-length", b"%d" % len(BODY))]) + b"\r\n" + BODY
    assert place.exchange(request)[0].body == BODY
    assert place.keeping.calls == []


@pytest.mark.parametrize("pairs", STRANGERS)
@pytest.mark.parametrize("target", [b"/memories", b"/metrics", b"/health", b"/jobs"])
def test_a_web_page_gets_nothing_of_brbs_own(place: Between, target: bytes, pairs: raw.Pairs) -> None:
    with raw.connect(place.base) as client:
        client.send(b"GET %b HTTP/1.1\r\n" % target + raw.lines(pairs) + b"\r\n")
        got = client.answer()
    assert got.head.status == 403
    assert [name for name, _ in got.head.lower if name.startswith(b"access-control")] == []
