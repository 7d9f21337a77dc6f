"""Callers: so many calls to one address, some at a time, each timed."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import aiohttp

from services.core import errors
from services.embedded.bench import bodies, upstream

_PATIENCE_SECONDS = 60.0


class Call(NamedTuple):
    """What to send, and how many bytes the answer must have."""

    body: bytes
    stream: bool
    answer_bytes: int


class Burst(NamedTuple):
    """first_bytes: seconds from beginning to send to the first byte of the answer's body, of each call. seconds: of all calls together."""

    first_bytes: tuple[float, ...]
    seconds: float


class Callers:
    """Callers of one server. Every call belongs to a new conversation, as far as the server can tell."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = f"{url}/v1/messages"
        self._sessions = itertools.count()

    async def burst(self, call: Call, count: int, concurrency: int) -> Burst:
        """`Unavailable` if an answer is not the upstream's: wrong answers must not pass for fast ones."""
        waiting = iter(range(count))
        started = time.perf_counter()
        found = await asyncio.gather(*(self._caller(call, waiting) for _ in range(concurrency)))
        return Burst(tuple(itertools.chain.from_iterable(found)), time.perf_counter() - started)

    async def _caller(self, call: Call, waiting: Iterator[int]) -> list[float]:
        return [await self._once(call) for _ in waiting]

    async def _once(self, call: Call) -> float:
        headers = bodies.headers(f"{next(self._sessions):08x}-0000-4000-8000-000000000000")
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
        return first_byte


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
