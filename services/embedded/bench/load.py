"""Callers: so many calls to one address, some at a time, each timed."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import aiohttp

from services.core import errors
from services.embedded.bench import bodies, upstream

_PATIENCE_SECONDS = 60.0
_MEMORIES = "x-brb-memories"


class Call(NamedTuple):
    """What to send, in which conversation, and how many bytes the answer must have."""

    body: bytes
    session: str
    stream: bool
    answer_bytes: int


class Burst(NamedTuple):
    """first_bytes: seconds from beginning to send to the first byte of the answer's body, of each call. seconds: of all calls together.
    told: how many of the calls were given memories."""

    first_bytes: tuple[float, ...]
    seconds: float
    told: int = 0


class Callers:
    """Callers of one server."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = f"{url}/v1/messages"

    async def burst(self, calls: Sequence[Iterable[Call]]) -> Burst:
        """As many callers at once as there are series of calls, each making those of its series one after the other.

        `Unavailable` if an answer is not the upstream's: wrong answers must not pass for fast ones.
        """
        started = time.perf_counter()
        found = list(itertools.chain.from_iterable(await asyncio.gather(*map(self._caller, calls))))
        return Burst(tuple(first for first, _ in found), time.perf_counter() - started, sum(told for _, told in found))

    async def _caller(self, calls: Iterable[Call]) -> list[tuple[float, bool]]:
        return [await self._once(call) for call in calls]

    async def _once(self, call: Call) -> tuple[float, bool]:
        """Seconds to the first byte; whether it was given memories."""
        headers = bodies.headers(call.session)
        if call.stream:
            headers[upstream.STREAM] = "1"
        started = time.perf_counter()
        try:
            async with self._session.post(self._url, data=call.body, headers=headers) as answer:
                size = len(await answer.content.readany())
                first_byte = time.perf_counter() - started
                async for chunk in answer.content.iter_any():
                    size += len(chunk)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise errors.Unavailable(self._url, error or "no answer in time") from error
        if (answer.status, size) != (200, call.answer_bytes):
            raise errors.Unavailable(self._url, f"answered {answer.status} with {size} bytes, not 200 with {call.answer_bytes}")
        return first_byte, answer.headers.get(_MEMORIES, "0") != "0"


@asynccontextmanager
async def callers(url: str) -> AsyncIterator[Callers]:
    """Connections are kept between calls."""
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=_PATIENCE_SECONDS),
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
    ) as session:
        yield Callers(session, url)
