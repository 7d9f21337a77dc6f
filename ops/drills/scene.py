"""One drill from its beginning to its proof: start BRB, let people talk, do the fault, end it, wait until all is well, read the books."""

import asyncio
import contextlib
import random
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import psutil

from ops.drills import gate, installation, proof, talking
from ops.drills.installation import Installation
from ops.drills.proof import Turn
from ops.drills.talking import Pace, Person, Talk

TEAMS: Mapping[str, Sequence[str]] = {"acme": ("ana", "leo", "mia"), "zeta": ("kim", "ole", "pia")}
_WARM_SECONDS = 5.0
_TAIL_SECONDS = 5.0  # people go on talking after the fault
_RECOVERY_SECONDS = 180.0  # until all must be well
_LEARNING_SECONDS = 900.0  # until everything must be learnt: minutes of faults leave a queue, and a small machine takes its time
SLACK_SECONDS = 2.0  # of a first byte beside the recall deadline: callers, upstream and a BRB that is starting parts again share the machine

Say = Callable[[str], None]
Down = Callable[[Installation], AsyncIterator[None]]


class Scene:
    """What a fault can get hold of. proxy_down, lost: as `proof.balance` takes them. dead: dead letters that the fault makes on purpose."""

    def __init__(self, brb: Installation, talk: Talk, people: list[Person], between: gate.Gate | None, say: Say) -> None:
        self.brb = brb
        self.talk = talk
        self.people = people
        self.gate = between
        self.say = say
        self.random = random.Random(len(people))
        self.proxy_down: list[proof.Interval] = []
        self.lost: list[proof.Interval] = []
        self.dead = 0

    async def kill(self, name: str) -> None:
        """SIGKILL for one process, by its name in `Installation.parts`. Returns at once, but after the proxy when it serves again."""
        process = (await asyncio.to_thread(self.brb.parts)).get(name)
        if process is None:
            return
        began = time.monotonic()
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
        if name == "proxy":
            await self.until(self.brb.serves, "the proxy did not come back", 60)
            self.proxy_down.append((began - 0.1, time.monotonic() + 0.5))

    async def until(self, holds: Callable[[], object], complaint: str, seconds: float) -> None:
        await asyncio.to_thread(installation.until, lambda: holds() or None, complaint, seconds)


class Drill(msgspec.Struct, frozen=True):
    """name, seconds: as on the command line. fault: returns when it is over. gate_setting: which setting names a gate, if one is wanted.
    cannot: why this machine can't do it, or "". around: what is done to the installation before it starts, and undone at the end.
    """

    name: str
    what: str
    seconds: float
    fault: Callable[[Scene, float], Awaitable[None]]
    environment: Mapping[str, str] = {}
    pace: Pace = Pace()
    gate_setting: str = ""
    cannot: Callable[[], str] = lambda: ""
    around: Callable[[Path], contextlib.AbstractContextManager[Mapping[str, str]]] = lambda _: contextlib.nullcontext({})


class Result(msgspec.Struct, frozen=True):
    """wrong: why the proof does not hold; nothing if it does."""

    drill: str
    books: proof.Books
    recovery_seconds: float
    seconds: float
    dead: int
    wrong: tuple[str, ...]


async def play(drill: Drill, seconds: float, say: Say, *, folder: Path | None = None) -> Result:
    """folder: where its files are left; without one they go when it is over. Raises `DidNotHappen` if BRB does not get well."""
    async with contextlib.AsyncExitStack() as stack:
        place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="brb-drill-", ignore_cleanup_errors=True)))
        place.mkdir(parents=True, exist_ok=True)
        more = stack.enter_context(drill.around(place))
        url = stack.enter_context(installation.vendor(place))
        brb = Installation(place, url, {**drill.environment, **more})
        between = None
        if drill.gate_setting:
            between = await stack.enter_async_context(gate.Gate(_behind(drill, brb, stack)).open())
            brb.environment[drill.gate_setting] = between.url
        stack.push_async_callback(asyncio.to_thread, brb.close)
        await asyncio.to_thread(brb.start)
        people = await asyncio.to_thread(brb.people, TEAMS)
        talk = await stack.enter_async_context(Talk(brb.url, people, drill.pace, seed=len(drill.name)))
        return await _played(drill, seconds, Scene(brb, talk, people, between, say))


def _behind(drill: Drill, brb: Installation, stack: contextlib.AsyncExitStack) -> Path | str | None:
    """What stands behind the gate."""
    match drill.gate_setting:
        case "BRB_EMBED_URL":
            return stack.enter_context(installation.llama(brb))
        case "BRB_QDRANT_URL":
            return stack.enter_context(installation.qdrant(brb))
    return None


async def _played(drill: Drill, seconds: float, scene: Scene) -> Result:
    began = time.monotonic()
    scene.talk.start()
    await asyncio.sleep(_WARM_SECONDS)
    await drill.fault(scene, seconds)
    over = time.monotonic()
    tail = asyncio.create_task(asyncio.sleep(_TAIL_SECONDS))
    await scene.until(scene.brb.is_ready, "BRB did not get well", _RECOVERY_SECONDS)
    await tail
    await scene.talk.finish()
    try:
        await scene.until(scene.brb.idle, "not everything was learnt", _LEARNING_SECONDS)
    except installation.DidNotHappen as error:  # the books tell what is missing
        scene.say(f"{error}: {await asyncio.to_thread(scene.brb.health)}")
    recovery = time.monotonic() - over
    dead = await asyncio.to_thread(scene.brb.dead)
    books = await audited(scene)
    for line in await asyncio.to_thread(traces, scene.brb, scene.people, scene.talk.turns, books):
        scene.say(f"{line}; the proxy was down: {scene.proxy_down}")
    deadline = scene.brb.settings.recall_deadline_ms / 1000
    wrong = proof.complaints(books, most_first_byte_seconds=deadline + SLACK_SECONDS, dead=dead, dead_expected=scene.dead)
    return Result(drill.name, books, recovery, time.monotonic() - began, dead, tuple(wrong))


async def audited(scene: Scene) -> proof.Books:
    kept = await asyncio.to_thread(scene.brb.kept, scene.people)
    return proof.balance(scene.talk.turns, kept, proxy_down=scene.proxy_down, lost=scene.lost, ours=scene.talk.whose)


def traces(brb: Installation, people: Sequence[Person], turns: Sequence[Turn], books: proof.Books) -> list[str]:
    """What is to be found of turns that are missing: a memory that is not current, jobs that were done or not."""
    missing = [turn for turn in turns if turn.word in books.missing][:5]
    kept = brb.kept(people) if missing else []
    return [
        f"missing: {turn.word} of {turn.owner}: {turn.attempts}; memories {[each for each in kept if turn.word in each.words]};"
        f" jobs {[key for each in turn.attempts if each.turn for key in brb.jobs_of(each.turn)]}"
        for turn in missing
    ]


def shown(result: Result) -> str:
    """The books as a person reads them."""
    books = result.books
    lines = [
        f"{result.drill}: {'holds' if not result.wrong else 'DOES NOT HOLD: ' + '; '.join(result.wrong)}",
        f"  turns {books.turns}, answered {books.answered}, learnt {books.learnt}, missing {len(books.missing)}, excused {books.excused},"
        f" doubled {len(books.doubled)}, without a turn {len(books.invented)}, dead letters {result.dead}",
        f"  streams broken {books.streams_broken}, calls failed {books.calls_failed}, with the proxy {books.with_proxy},"
        f" other bytes {books.inexact}, altered requests {books.altered}, words of others {len(books.foreign)}",
        f"  first byte p50 {books.first_byte_p50 * 1000:.0f} ms, p99 {books.first_byte_p99 * 1000:.0f} ms, longest {books.longest_first_byte:.2f} s;"
        f" longest silence in a stream {books.longest_gap:.2f} s; recovered after {result.recovery_seconds:.1f} s; all in {result.seconds:.0f} s",
    ]
    if result.wrong:
        lines.append(f"  missing {books.missing[:5]}, doubled {books.doubled[:5]}, invented {books.invented[:5]}, foreign {books.foreign[:5]}")
    return "\n".join(lines)


__all__ = ["TEAMS", "Drill", "Result", "Scene", "audited", "play", "shown", "talking", "traces"]
