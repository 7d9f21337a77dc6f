"""More clients than may be connected: those that ask for nothing make room, and nobody's stream ends."""

import asyncio
import contextlib
import resource
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from services.core import config
from services.proxy import crowd
from services.proxy.front import Front
from tests.support import raw
from tests.support.between import Between
from tests.support.interceptors import Keeping
from tests.support.relaying import apart, relaying, serving, url_of
from tests.support.upstream import wait_for

MOST = 8
PIECE = bytes(40_000)  # less than what BRB holds back for a client that does not read


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Between]:
    with raw.Upstream() as upstream, relaying(settings(upstream, tmp_path), Keeping()) as base:
        yield Between(base, upstream, Keeping())


def settings(upstream: raw.Upstream, folder: Path) -> config.Settings:
    return config.Settings(anthropic_url=upstream.url, openai_url=upstream.url, data_dir=folder, max_connections=MOST)


@contextlib.contextmanager
def streaming(base: str, upstream: raw.Upstream) -> Iterator["Stream"]:
    with raw.connect(base) as client:
        client.send(raw.call(b"/v1/messages", body=b'{"model":"m","messages":[]}'))
        wire = upstream.take()
        wire.request()
        wire.send(raw.opening() + raw.chunk(b"begun"))
        stream = Stream(client, wire)
        assert stream.next() == b"begun"
        yield stream
        wire.close()


class Stream:
    """An answer that is under way."""

    def __init__(self, client: raw.Wire, wire: raw.Wire) -> None:
        self._wire = wire
        self._pieces = client.answer_pieces(client.head())

    def next(self) -> bytes:
        return next(self._pieces)

    def goes_on(self) -> bool:
        self._wire.send(raw.chunk(b"more"))
        return self.next() == b"more"

    def ends(self) -> bool:
        self._wire.send(raw.END)
        return list(self._pieces) == []


def alive(client: raw.Wire) -> bool:
    client.send(raw.call(b"/healthz", method=b"GET"))
    return client.answer().body == b"ok"


def test_whoever_asks_for_nothing_makes_room(place: Between) -> None:
    """Those that have waited longest: new ones, used ones, and such as never end their head."""
    with streaming(place.base, place.upstream) as stream, contextlib.ExitStack() as opened:
        used = opened.enter_context(raw.connect(place.base))
        assert alive(used)
        begun = opened.enter_context(raw.connect(place.base))
        begun.send(b"GET /healthz HTTP/1.1\r\n")
        later = [opened.enter_context(raw.connect(place.base)) for _ in range(5 * MOST)]
        assert used.rest() == b""
        assert begun.rest() == b""
        assert all(one.rest() == b"" for one in later[: -(MOST - 1)])
        assert all(alive(one) for one in later[-(MOST - 1) :])
        assert stream.goes_on()
        assert stream.ends()
    place.works()


def test_whoever_has_yet_to_read_an_answer_makes_no_room(tmp_path: Path) -> None:
    """It would end when it has read it, at its leisure, and be counted no more: so there would be any number of them."""
    with raw.Upstream() as upstream, serving(settings(upstream, tmp_path), Keeping()) as running, raw.connect(url_of(running)) as client:
        assert alive(client)
        (front,) = running.server_state.connections
        assert isinstance(front, Front)
        asked = 0
        while not front.transport.get_write_buffer_size():  # what the system takes is sent, however much
            client.send(raw.call(b"/v1/models", method=b"GET"))
            with upstream.take() as wire:
                wire.request()
                wire.send(raw.reply(PIECE))
            asked += 1
            assert wait_for(lambda asked=asked: front.answering is None)
        with contextlib.ExitStack() as opened:
            for _ in range(5 * MOST):
                opened.enter_context(raw.connect(url_of(running)))
            assert alive(opened.enter_context(raw.connect(url_of(running))))
            assert len(running.server_state.connections) <= MOST
            assert [len(client.answer().body) for _ in range(asked)] == [len(PIECE)] * asked
            assert alive(client)


def test_whoever_has_just_asked_makes_no_room(tmp_path: Path) -> None:
    """Of many that came at the same moment, some were sent away with what they had asked unread, and heard nothing."""
    with raw.Upstream() as upstream, serving(settings(upstream, tmp_path), Keeping()) as running, raw.connect(url_of(running)) as client:
        assert alive(client)
        (front,) = running.server_state.connections
        assert isinstance(front, Front)

        async def asked() -> bool:
            client.send(raw.call(b"/healthz", method=b"GET"))
            return front.give_way()

        async def idle() -> bool:
            return front.give_way()

        loop = running.servers[0].get_loop()
        assert not asyncio.run_coroutine_threadsafe(asked(), loop).result(10)
        assert client.answer().body == b"ok"
        assert asyncio.run_coroutine_threadsafe(idle(), loop).result(10)
        assert client.rest() == b""


def test_where_everybody_is_answered_a_new_one_is_told_to_come_again(place: Between) -> None:
    with contextlib.ExitStack() as opened:
        streams = [opened.enter_context(streaming(place.base, place.upstream)) for _ in range(MOST)]
        for _ in range(3):
            with raw.connect(place.base) as client:
                client.send(raw.call(b"/v1/messages", body=b'{"model":"m","messages":[]}'))
                got = client.answer()
            assert got.head.status == 503
            assert b"BRB_MAX_CONNECTIONS" in got.body
        assert all(stream.goes_on() for stream in streams)
        assert streams[0].ends()
        with raw.connect(place.base) as client:
            assert alive(client)
        assert all(stream.ends() for stream in streams[1:])


def test_a_thousand_that_are_turned_away_leave_nothing_behind(place: Between) -> None:
    with contextlib.ExitStack() as opened:
        streams = [opened.enter_context(streaming(place.base, place.upstream)) for _ in range(MOST)]
        before = psutil.Process().num_fds()
        for _ in range(1000):
            with contextlib.suppress(OSError):
                raw.connect(place.base).close()
        assert wait_for(lambda: psutil.Process().num_fds() <= before)
        assert all(stream.ends() for stream in streams)
    place.works()


@pytest.mark.skipif(sys.platform != "linux", reason="another process's limits can be set on Linux alone")
def test_where_files_run_out_streams_go_on_and_it_recovers() -> None:
    """They do not, as connections are bounded; but something else may take them."""
    with raw.Upstream() as upstream, apart(upstream.url) as relay, streaming(relay.url, upstream) as stream:
        process = psutil.Process(relay.process.pid)
        soft, hard = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        assert soft == crowd.raised_files()
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (process.num_fds() + 10, hard))
        address = relay.url.removeprefix("http://").split(":")
        opened = [socket.create_connection((address[0], int(address[1]))) for _ in range(100)]
        assert wait_for(lambda: process.num_fds() >= resource.prlimit(process.pid, resource.RLIMIT_NOFILE)[0] - 1)
        assert stream.goes_on()
        for one in opened:
            one.close()
        assert stream.goes_on()
        assert wait_for(lambda: answers(relay.url))
        assert stream.ends()


def answers(base: str) -> bool:
    try:
        with raw.connect(base) as client:
            return alive(client)
    except (OSError, raw.Cut):
        return False
