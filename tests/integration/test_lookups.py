"""Names of upstreams that can't be looked up, or not now. The system's resolver is stood in for: it can't be made to hang otherwise."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from services.core import config
from tests.support import raw
from tests.support.interceptors import Keeping
from tests.support.relaying import relaying
from tests.support.upstream import wait_for

CLAUDE = raw.call(b"/v1/messages", body=b"{}")
GPT = raw.call(b"/v1/chat/completions", body=b"{}")


class Resolver:
    """Hangs at `hung.example` until it is let go; then that is this machine."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.asked = 0
        self._real = socket.getaddrinfo

    def __call__(self, host: Any, *args: Any, **options: Any) -> Any:
        if host == "hung.example" and not options.get("flags"):
            self.asked += 1
            assert self.released.wait(raw.DEADLINE_SECONDS)
            host = "127.0.0.1"
        return self._real(host, *args, **options)


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Resolver]:
    standing_in = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", standing_in)
    yield standing_in
    standing_in.released.set()


def test_a_name_that_can_not_be_looked_up_holds_up_nobody_else(resolver: Resolver, tmp_path: Path) -> None:
    with raw.Upstream() as upstream, ExitStack() as open_ones:
        port = upstream.url.rpartition(":")[2]
        settings = config.Settings(anthropic_url=f"http://hung.example:{port}", openai_url=f"http://localhost:{port}", data_dir=tmp_path)
        base = open_ones.enter_context(relaying(settings, Keeping()))
        waiting = [open_ones.enter_context(raw.connect(base)) for _ in range(20)]
        for client in waiting:
            client.send(CLAUDE)
        assert wait_for(lambda: resolver.asked > 0)
        with raw.connect(base) as client:
            client.send(GPT)
            with upstream.take() as wire:
                assert wire.request().head.target == b"/v1/chat/completions"
                wire.send(raw.reply(b"answer"))
                assert client.answer().body == b"answer"
        assert resolver.asked == 1  # for all that wait for it
        resolver.released.set()
        for _ in waiting:
            with upstream.take() as wire:
                assert wire.request().head.target == b"/v1/messages"
                wire.send(raw.reply(b"late"))
        assert [client.answer().body for client in waiting] == [b"late"] * 20


def test_a_client_that_leaves_takes_the_lookup_from_nobody(resolver: Resolver, tmp_path: Path) -> None:
    with raw.Upstream() as upstream:
        port = upstream.url.rpartition(":")[2]
        settings = config.Settings(anthropic_url=f"http://hung.example:{port}", data_dir=tmp_path)
        with relaying(settings, Keeping()) as base, raw.connect(base) as client:
            with raw.connect(base) as leaving:
                leaving.send(CLAUDE)
                assert wait_for(lambda: resolver.asked > 0)
            client.send(CLAUDE)
            assert client.silent(0.1)
            resolver.released.set()
            with upstream.take() as wire:
                wire.request()
                wire.send(raw.reply(b"answer"))
                assert client.answer().body == b"answer"


@pytest.mark.parametrize("host", ["nowhere.invalid", "x" * 64 + ".example"])
def test_a_name_that_nobody_has_is_looked_up_again_for_the_next_call(host: str, tmp_path: Path) -> None:
    settings = config.Settings(anthropic_url=f"http://{host}", data_dir=tmp_path)
    with relaying(settings, Keeping()) as base, raw.connect(base) as client:
        for _ in range(2):
            client.send(CLAUDE)
            got = client.answer()
            assert (got.head.status, b"can't be resolved" in got.body) == (502, True)
