"""A relay with a bare socket on either side."""

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from services.core import config
from tests.support import raw
from tests.support.interceptors import Keeping
from tests.support.relaying import relaying


@dataclass(frozen=True)
class Between:
    """A client on one side, an upstream on the other, the relay between them."""

    base: str
    upstream: raw.Upstream
    keeping: Keeping

    def exchange(
        self, request: bytes, answer: bytes = raw.reply(), method: str = "POST", *, cuts: tuple[int, ...] = ()
    ) -> tuple[raw.Message, raw.Message]:
        """One call: what the upstream got, and what the client got. `cuts`: where the answer is parted."""
        self.keeping.clear()
        with raw.connect(self.base) as client, client.sending(request), self.taken() as wire:
            received = wire.request()
            for start, end in itertools.pairwise([0, *sorted(cuts), len(answer)]):
                wire.send(answer[start:end])
            head = answer.partition(b"\r\n\r\n")[0].lower()
            if method != "HEAD" and b"\r\ncontent-length:" not in head and b"\r\ntransfer-encoding:" not in head:
                wire.close()
            return received, client.answer(method)

    @contextlib.contextmanager
    def taken(self) -> Iterator[raw.Wire]:
        """The upstream's side of the next call; further calls may come on it if all goes well."""
        wire = self.upstream.take()
        try:
            yield wire
        except BaseException:
            wire.abort()
            raise
        if wire.fileno() >= 0:
            self.upstream.keep(wire)

    def works(self) -> None:
        """One more call goes through."""
        received, got = self.exchange(raw.call(b"/v1/models?still", method=b"GET"), raw.reply(b"alive"))
        assert (received.head.target, got.head.status, got.body) == (b"/v1/models?still", 200, b"alive")


@contextlib.contextmanager
def between(folder: Path, keeping: Keeping, upstream_url: str = "{}") -> Iterator[Between]:
    """`upstream_url`: how the relay is told of the upstream; `{}` in it stands for the address."""
    with raw.Upstream() as upstream:
        url = upstream_url.format(upstream.url)
        with relaying(config.Settings(anthropic_url=url, openai_url=url, data_dir=folder), keeping) as base:
            yield Between(base, upstream, keeping)
