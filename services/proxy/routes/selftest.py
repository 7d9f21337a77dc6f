"""Trying out that BRB does its work, rather than that its parts are there: what `brb doctor` asks for.

All that is written is written for a team without a name, which nobody is of, and erased at once.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator

from litestar import Router, get, post
from litestar.openapi import ResponseSpec
from litestar.response import Stream

from services.core import api, errors, messages, models, ports, rights, selftest_api
from services.core.memory_add import added
from services.proxy.parts import EMBED_SECONDS, Parts
from services.proxy.routes import failures, given

_LEARN_SECONDS = 15.0  # a busy worker takes its time
_LOOK_SECONDS = 0.05
_STREAM = ResponseSpec(selftest_api.Event, description="Five events", media_type="text/event-stream", generate_examples=False)
_STATEMENT = "I prefer tabs over spaces in Python"


def router() -> Router:
    return Router("/selftest", route_handlers=failures.told(tried, streamed), tags=["operations"])


@post(status_code=200, sync_to_thread=True)
def tried(parts: given.Parts, watch: given.Watching) -> selftest_api.SelfTest:
    """Embed, write and read back a memory, and learn one from a turn; all of it is erased again. Takes a second or two."""
    tests = {"embedding": lambda: _embedded(parts), "round trip": lambda: _kept(parts), "learning": lambda: _learnt(parts), **watch.selftests}
    return selftest_api.SelfTest(api.time_of(parts.clock()), tuple(_check(name, test) for name, test in tests.items()))


@get("/stream", sync_to_thread=False, responses={200: _STREAM})
def streamed() -> Stream:
    """Five server-sent events with pauses between them: whoever gets them all at once is behind something that holds streams back."""
    return Stream(_events(), media_type="text/event-stream", headers={"cache-control": "no-store"})


async def _events() -> AsyncIterator[bytes]:
    for number in range(selftest_api.EVENTS):
        if number:
            await asyncio.sleep(selftest_api.PAUSE_SECONDS)
        yield f"data: {number}\n\n".encode()


def _check(name: str, test: Callable[[], str]) -> selftest_api.Check:
    started = time.monotonic()
    away = ""
    try:
        ok, found = True, test()
    except errors.BrbError as error:
        ok, found = False, str(error)
        if isinstance(error, errors.Unavailable):
            away = error.dependency
    return selftest_api.Check(name, ok, found, round((time.monotonic() - started) * 1000, 1), away)


def _nobody() -> models.Principal:
    return models.Principal(rights.OPERATOR.team, f"selftest-{uuid.uuid4().hex}")


def _embedded(parts: Parts) -> str:
    (vector,) = parts.embedder.embed([_STATEMENT], "document", timeout_seconds=EMBED_SECONDS)
    if len(vector) != parts.embedder.dimension:
        raise errors.SetupError(f"{parts.embedder.model} gives {len(vector)} dimensions, the store has {parts.embedder.dimension}: run `brb reindex`")
    return f"{parts.embedder.model} gives the {len(vector)} dimensions that the store has"


def _kept(parts: Parts) -> str:
    """Write a memory, find it by its id, by meaning and by words, and erase it."""
    nobody = _nobody()
    scope = rights.managed(nobody)
    memory, _ = added(nobody, _STATEMENT, category=models.Category.PREFERENCE, project="", now=parts.clock())
    (vector,) = parts.embedder.embed([memory.text], "document", timeout_seconds=EMBED_SECONDS)
    with parts.owner_lock(nobody):
        try:
            parts.store.put([ports.Embedded(memory, vector)])
            found = {
                "its id": parts.store.get(scope, memory.id) is not None,
                "meaning": any(hit.memory.id == memory.id for hit in parts.store.nearest(scope, vector, limit=1)),
                "words": any(hit.memory.id == memory.id for hit in parts.store.lexical(scope, "tabs", limit=1)),
            }
        finally:
            parts.store.delete(scope, [memory.id])
    if missed := [way for way, there in found.items() if not there]:
        raise errors.BrbError(f"a memory that was written is not found by {' and by '.join(missed)}")
    if parts.store.get(scope, memory.id) is not None:
        raise errors.BrbError("a memory that was erased is still there")
    return "a memory was written, found by its id, by meaning and by words, and erased"


def _learnt(parts: Parts) -> str:
    """Let the worker and the indexer learn from a turn."""
    nobody = _nobody()
    turn = messages.LearnTurn(turn=uuid.uuid4().hex, principal=nobody, said_at=parts.clock(), words=f"{_STATEMENT}.")
    started = time.monotonic()
    try:
        parts.enqueue([messages.Job.of(messages.Task.LEARN_TURN, turn)])
        for waited in _looks(started):
            if parts.store.count(rights.managed(nobody)):
                return f"what was said is remembered {waited:.1f} s later"
    finally:
        _erase(parts, nobody)
    raise errors.BrbError(f"nothing is learnt from what is said within {_LEARN_SECONDS:.0f} s: do the worker and the indexer run?")


def _looks(started: float) -> Iterator[float]:
    """Seconds since then, at each time to look."""
    while (waited := time.monotonic() - started) < _LEARN_SECONDS:
        yield waited
        time.sleep(_LOOK_SECONDS)


def _erase(parts: Parts, nobody: models.Principal) -> None:
    """Its jobs first, so that none writes afterwards."""
    parts.book.forget(lambda job: getattr(job.payload, "principal", None) == nobody)
    scope = rights.managed(nobody)
    with parts.owner_lock(nobody):
        parts.store.delete(scope, [memory.id for memory in parts.store.find(scope, ports.Where(status=None))])
