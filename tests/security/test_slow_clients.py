"""Clients that keep BRB waiting: for a head, for the rest of a body, for nothing at all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.proxy import front
from tests.support import raw
from tests.support.between import Between, between
from tests.support.interceptors import Keeping

SOON = 0.4


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Between]:
    """With little patience."""
    monkeypatch.setattr(front, "_HEAD_SECONDS", SOON)
    monkeypatch.setattr(front, "_BODY_SECONDS", SOON)
    with between(tmp_path, Keeping()) as one:
        yield one


def trickled(client: raw.Wire, data: bytes) -> bytes:
    """What comes back while this is sent slowly, again and again, until the other end has had enough."""
    said = b""
    client.socket.settimeout(SOON / 8)
    for _ in range(200):
        try:
            client.send(data)
            if not (piece := client.socket.recv(65_536)):
                return said
            said += piece
        except TimeoutError:
            continue
        except ConnectionError:
            return said
    raise AssertionError("it would be waited for without end")


@pytest.mark.parametrize("begun", [b"GET /v1/models HTTP/1.1\r\n", b"GET /memories HTTP/1.1\r\n", b"G"])
def test_a_head_that_never_ends_is_not_waited_for(place: Between, begun: bytes) -> None:
    """Slowloris: each line comes in time, the last one never does."""
    with raw.connect(place.base) as client:
        client.send(begun)
        line = b"ET" if begun == b"G" else b"x-a: b\r\n"
        assert trickled(client, line)[:12] in (b"HTTP/1.1 408", b"HTTP/1.1 400")
    place.works()


@pytest.mark.parametrize("sent", [b"", b"\r\n"])
def test_a_connection_that_asks_for_nothing_ends(place: Between, sent: bytes) -> None:
    with raw.connect(place.base) as client:
        assert (trickled(client, sent) if sent else client.rest()) in (b"",)
    place.works()


def test_a_connection_that_was_used_ends_when_it_is_idle(place: Between) -> None:
    with raw.connect(place.base) as client:
        client.send(raw.call(b"/healthz", method=b"GET"))
        assert client.answer().body == b"ok"
        assert client.rest() == b""


def test_a_second_head_that_never_ends_is_not_waited_for(place: Between) -> None:
    with raw.connect(place.base) as client:
        client.send(raw.call(b"/healthz", method=b"GET"))
        assert client.answer().body == b"ok"
        client.send(b"GET /healthz HTTP/1.1\r\n")
        assert trickled(client, b"x-a: b\r\n").startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("target", [b"/v1/messages", b"/memories"])
@pytest.mark.parametrize("framing", [(b"content-length", b"1000"), (b"transfer-encoding", b"chunked")])
def test_a_body_of_which_nothing_more_comes_is_not_waited_for(place: Between, target: bytes, framing: tuple[bytes, bytes]) -> None:
    with raw.connect(place.base) as client:
        client.send(raw.call(target, [framing, (b"content-type", b"application/json")], b"") + b"1\r\n{\r\n")
        assert client.answer().head.status == 408
        assert client.rest() == b""
    place.works()


def test_a_body_that_comes_slowly_is_waited_for(place: Between) -> None:
    body = b'{"model":"m","messages":[]}'
    with raw.connect(place.base) as client:
        client.send(raw.call(b"/v1/messages", [(b"content-length", b"%d" % len(body))], b""))
        for start in range(0, len(body), 3):
            assert client.silent(SOON / 4)
            client.send(body[start : start + 3])
        with place.taken() as wire:
            assert wire.request().body == body
            wire.send(raw.reply(b"answer"))
        assert client.answer().body == b"answer"


def test_an_answer_may_take_longer_than_a_request(place: Between) -> None:
    with raw.connect(place.base) as client:
        client.send(raw.call(b"/v1/messages", body=b'{"model":"m","messages":[]}'))
        with place.taken() as wire:
            wire.request()
            assert client.silent(2 * SOON)
            wire.send(raw.opening() + raw.chunk(b"begun"))
            pieces = client.answer_pieces(client.head())
            assert next(pieces) == b"begun"
            assert wire.silent(2 * SOON)  # nor is the upstream left
            wire.send(raw.END)
            assert list(pieces) == []


def test_two_hundred_idle_connections_keep_nobody_waiting(place: Between) -> None:
    idle = [raw.connect(place.base) for _ in range(200)]
    place.works()
    for one in idle:
        assert one.rest() == b""
        one.close()
