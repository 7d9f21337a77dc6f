"""More clients than may be connected: those that ask for nothing make room, and nobody's stream ends."""

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
from tests.support import raw
from tests.support.between import Between
from tests.support.interceptors import Keeping
from tests.support.relaying import apart, relaying
from tests.support.upstream import wait_for

MOST = 8


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Between]:
    with raw.Upstream() as upstream:
        settings = config.Settings(anthropic_url=upstream.url, openai_url=upstream.url, data_dir=tmp_path, max_connections=MOST)
        with relaying(settings, Keeping()) as base:
            yield Between(base, upstream, Keeping())


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
