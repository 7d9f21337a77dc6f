"""The last answer on a connection reaches a client that is still sending: what it sends unread must not take its answer from it."""

from collections.abc import Iterator

import pytest

from services.proxy import front
from services.proxy import upstream as connections
from tests.support import raw
from tests.support.between import Between, between
from tests.support.interceptors import Keeping
from tests.support.upstream import wait_for

BODY = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}'
UNREAD_BYTES = 20_000_000
CLOSE = (b"connection", b"close")
LENGTH = (b"content-length", b"%d" % UNREAD_BYTES)
PROBE = raw.call(b"/", [CLOSE], method=b"HEAD")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Between]:
    with between(tmp_path_factory.mktemp("data"), Keeping()) as place:
        yield place


@pytest.fixture
def place(running: Between) -> Between:
    running.upstream.hang_up()
    running.keeping.clear()
    return running


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (b"no request\r\n\r\n", 400),
        (b"GET /v1/models HTTP/2.0\r\n\r\n", 400),
        (raw.call(b"/v1/messages#part", [LENGTH]), 400),
        (raw.call(b"/v1/messages", [(b"host", b"another"), LENGTH]), 400),
        (raw.call(b"/v1/messages", [(b"transfer-encoding", b"gzip, chunked")]), 501),
        (raw.call(b"/v1/messages", [(b"x", b"y" * 2 * connections.LONGEST_HEAD_BYTES), LENGTH]), 431),
        (raw.call(b"/v1/responses", [(b"connection", b"upgrade, close"), (b"upgrade", b"websocket"), LENGTH]), 404),
        (raw.call(b"/memories", [(b"origin", b"https://evil.example"), CLOSE, LENGTH]), 403),
        (raw.call(b"/nowhere", [CLOSE, LENGTH]), 404),
    ],
    ids=["garbage", "version", "fragment", "two hosts", "coding", "long head", "websocket", "a page's call", "no route"],
)
def test_a_refusal_reaches_a_client_that_reads_only_when_all_is_sent(place: Between, said: bytes, status: int) -> None:
    """Most HTTP libraries write the whole body before they look for an answer."""
    with raw.connect(place.base) as client:
        client.send(said + bytes(UNREAD_BYTES))
        assert client.answer().head.status == status
        assert client.rest() == b""
    place.works()


@pytest.mark.parametrize("target", [b"/v1/messages", b"/v1/files"])
def test_a_refusal_of_the_upstream_reaches_a_client_that_reads_only_when_all_is_sent(place: Between, target: bytes) -> None:
    too_large = 40_000_000  # passes unread
    with raw.connect(place.base) as client:
        with client.sending(raw.call(target, [CLOSE, (b"content-length", b"%d" % too_large)]) + bytes(too_large)), place.upstream.take() as wire:
            wire.head()
            wire.send(raw.reply(b"too large", b"413 Payload Too Large"))
            assert wire.gone()
        assert client.answer().body == b"too large"
        assert client.rest() == b""


def test_the_beginning_of_an_answer_that_breaks_off_reaches_a_client_that_is_still_sending(place: Between) -> None:
    with raw.connect(place.base) as client:
        with client.sending(raw.call(b"/v1/files", [LENGTH]) + bytes(UNREAD_BYTES)), place.upstream.take() as wire:
            wire.head()
            wire.send(raw.opening() + raw.chunk(b"begun"))
            wire.half_close()
            assert wire.gone()
        pieces = client.answer_pieces(client.head())
        assert next(pieces) == b"begun"
        with pytest.raises(raw.Cut):
            next(pieces)


@pytest.mark.parametrize("behind", [raw.call(body=BODY), raw.call(b"/v1/models", method=b"GET"), b"garbage\r\n\r\n"])
@pytest.mark.parametrize("at_once", [True, False])
def test_what_comes_behind_the_last_request_is_not_carried_out(place: Between, behind: bytes, at_once: bool) -> None:
    with raw.connect(place.base) as client:
        client.send(PROBE + (behind if at_once else b""))
        assert client.answer("HEAD").head.status == 204
        if not at_once:
            client.send(behind)
        assert client.rest() == b""
        assert place.upstream.unasked(0.1)
    assert place.keeping.calls == []


def test_a_client_that_does_not_leave_is_left_after_a_while(place: Between, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "_LINGER_SECONDS", 0.2)
    with raw.connect(place.base) as client:
        client.send(PROBE)
        assert client.rest().startswith(b"HTTP/1.1 204")
        assert wait_for(lambda: hears_nobody(client))


def hears_nobody(client: raw.Wire) -> bool:
    try:
        client.send(b"x")
    except ConnectionError:
        return True
    return False


def test_a_client_that_does_not_stop_is_left_after_so_much(place: Between, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "_LINGER_SECONDS", 3600)
    with raw.connect(place.base) as client:
        client.send(PROBE)
        with pytest.raises(ConnectionError):
            client.send(bytes(4 * front._LINGER_BYTES))
