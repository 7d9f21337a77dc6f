"""Load: `python -m ops.drills.load [--streams 200] [--rate 50] [--seconds 600]`; `--overload`: more turns than are learnt, and a small Redis.

Callers, upstream and BRB share the machine. Facts are stated in the first tenth; then people go on talking, but say nothing new: memories take
their room, and what still grows when the last of them is stored is a leak. Prints the memory of every process, its slope, and the
books. Exit status 1 if a call failed, a turn is missing, memory grows, or less load came than was asked for; of an overload, if a call failed, a
turn is missing, nothing went to the spool, or not all of it was learnt in the end.
"""

import argparse
import asyncio
import contextlib
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import httpx2
import psutil

from ops.drills import installation, proof, scene
from ops.drills.installation import Installation
from ops.drills.proof import Books, Turn
from ops.drills.talking import Pace, Person, Talk, Words
from services.core import api, telemetry
from services.core.adapters import redis_client

_TEAMS: Mapping[str, Sequence[str]] = {team: tuple(f"user{n}" for n in range(5)) for team in ("acme", "zeta", "kilo", "nova")}
_SAMPLE_SECONDS = 5.0
_MEGABYTE = 1_000_000
_LEAST_LATE_SECONDS = 60.0
_LEAST_SHARE = 0.95  # of the load that was asked for: callers start and end a little apart
_MOST_SLOPE_MB = 1.0  # a minute: 60 MB an hour of a process that holds 200 are no leak yet, a leak is steeper
_OVERHEAD_SECONDS = 0.45  # of a turn beside its stream, when callers, upstream and BRB have their hands full
_STATING = 0.5  # of the turns in the first tenth; in an overload all do, all the time
_STEPS = (20, 40, 80, 120)  # turns a second
_OVERLOAD_SECONDS = 24.0
_OVERLOAD_STREAM_SECONDS = 1.0
_REDIS_MEGABYTES = 64  # the least that it may be given: shares of less are too small for what is written between two looks at how full it is
_WAITING_BYTES = 1_500_000  # some 600 jobs and their messages
_KEPT_BYTES = 1_500  # of a turn, for days, without why it was told what (of which such a Redis takes no more): 1,200 were measured
_BALLAST_BYTES = 65_536
_DRAIN_SECONDS = 1800.0
_RECALLS, _TURNS = "brb_recall_outcome_total", "brb_turns_total"


class Sample(NamedTuple):
    """at: seconds since the load began. megabytes: of each process, without mapped files (the store's). waiting: jobs in Redis; spooled: on disk;
    memories: that are stored."""

    at: float
    megabytes: Mapping[str, float]
    cpu_seconds: Mapping[str, float]
    waiting: int
    spooled: int
    memories: int
    streams: int


class Behind(NamedTuple):
    """What is not learnt yet: jobs in Redis and on disk (-1: not known), and the share of Redis that is taken."""

    waiting: int
    spooled: int
    full: float

    def __str__(self) -> str:
        return f"waiting {self.waiting}, spooled {self.spooled}, Redis {self.full:.0%} full"


class Step(NamedTuple):
    """Of an overload. shed: turns that went to the spool."""

    asked: float
    turns: int
    seconds: float
    books: Books
    behind: Behind
    shed: int
    outcomes: Mapping[str, int]


def sample(brb: Installation, began: float, streams: int) -> Sample:
    megabytes, cpu = {}, {}
    for name, process in brb.parts().items():
        try:
            memory = process.memory_info()
            megabytes[name] = (memory.rss - getattr(memory, "shared", 0)) / _MEGABYTE
            times = process.cpu_times()
            cpu[name] = times.user + times.system
        except psutil.Error:
            continue
    health = brb.health()
    waiting, spooled = queued(health)
    return Sample(time.monotonic() - began, megabytes, cpu, waiting, spooled, (health and health.memories) or -1, streams)


def queued(health: api.Health | None) -> tuple[int, int]:
    return (sum(health.pending.values()), health.spooled) if health else (-1, -1)


def behind(brb: Installation) -> Behind:
    waiting, spooled = queued(brb.health())
    with contextlib.closing(brb.redis()) as client:
        return Behind(waiting, spooled, redis_client.filled(client) or 0.0)


def outcomes(brb: Installation, counter: str = _RECALLS) -> dict[str, int]:
    """How recalls (or what else is counted) ended, so far."""
    try:
        text = brb.http.get("/metrics", headers=brb.operator).raise_for_status().text
    except httpx2.HTTPError:
        return {}
    return {name: int(float(count)) for name, count in re.findall(rf'^{counter}\{{outcome="([^"]+)"\}} (\S+)$', text, re.MULTILINE)}


def slopes(samples: Sequence[Sample]) -> dict[str, float]:
    """Megabytes a minute of each process, of late."""
    late = of_late(samples)
    return {name: proof.slope_per_minute([(each.at, each.megabytes[name]) for each in late if name in each.megabytes]) for name in late[-1].megabytes}


def of_late(samples: Sequence[Sample]) -> list[Sample]:
    """The second half, by which all is loaded and cached that is at the first use; of that, since the last memory was stored."""
    return [each for each in samples if each.at >= samples[-1].at / 2 and each.memories == samples[-1].memories]


def not_flat(samples: Sequence[Sample]) -> list[str]:
    """What speaks against it. Redis keeps something of each turn: it is not asked to be."""
    seconds = samples[-1].at - of_late(samples)[0].at
    if seconds < _LEAST_LATE_SECONDS:
        return [f"{seconds:.0f} s without a new memory are too short to tell whether memory grows"]
    steep = {name: slope for name, slope in slopes(samples).items() if slope > _MOST_SLOPE_MB and not name.startswith("redis")}
    return [f"{name} grows by {slope:.2f} MB a minute" for name, slope in steep.items()]


def fell_short(streams: float, rate: float, *, asked_streams: int, asked_rate: float) -> list[str]:
    """What of the load did not come: what holds under less says nothing of it."""
    came = ((streams, asked_streams, "streams at once"), (rate, asked_rate, "turns a second"))
    return [f"{seen:.1f} {what} came of {asked:.0f}" for seen, asked, what in came if seen < _LEAST_SHARE * asked]


async def steady(brb: Installation, people: list[Person], streams: int, rate: float, seconds: float) -> int:
    pace = Pace(
        conversations=streams // len(people),
        turns=5,
        think_seconds=0.0,
        stream_seconds=streams / rate - _OVERHEAD_SECONDS,
        streamed=1.0,
        stating=_STATING,
    )
    samples: list[Sample] = []
    before, empty = await asyncio.to_thread(outcomes, brb), await asyncio.to_thread(brb.redis_kilobytes)
    async with Talk(brb.url, people, pace) as talk:
        began = time.monotonic()
        talk.start()
        while time.monotonic() < began + seconds:
            await asyncio.sleep(_SAMPLE_SECONDS)
            samples.append(await asyncio.to_thread(sample, brb, began, talk.open_streams))
            if samples[-1].at >= seconds / 10:
                talk.stating = 0.0  # what is learnt takes its room: with nothing more of that, what grows is a leak
            if len(samples) % 12 == 1:
                _say(_line(samples[-1], len(talk.turns)))
        turned, took = len(talk.turns), time.monotonic() - began
        await talk.finish()
        full = await asyncio.to_thread(brb.redis_kilobytes)
        drained = await _drained(brb)
        kept = (await asyncio.to_thread(brb.redis_kilobytes) - empty) / max(1, len(talk.turns))
    found = slopes(samples)
    later = [each.streams for each in samples[1:]]
    at_once = sum(later) / max(1, len(later))
    _say(f"{turned} turns in {took:.0f} s: {turned / took:.1f} a second; streams {at_once:.0f}, most {talk.most_open_streams}")
    for name in samples[-1].megabytes:
        first = next(each for each in samples if name in each.megabytes)
        busy = (samples[-1].cpu_seconds[name] - first.cpu_seconds[name]) / max(1.0, samples[-1].at - first.at)
        _say(f"  {name}: {first.megabytes[name]:.0f} MB at {first.at:.0f} s, {samples[-1].megabytes[name]:.0f} MB at the end,"
             f" {found[name]:+.2f} MB a minute of late; {busy:.0%} of a core")  # fmt: skip
    _say(f"  waiting to be learnt: {max(each.waiting for each in samples)} at most, {samples[-1].waiting} at the end; done {drained:.1f} s later;"
         f" spooled at most {max(each.spooled for each in samples)}")  # fmt: skip
    _say(f"  of late: since {of_late(samples)[0].at:.0f} s, when the last of {samples[-1].memories} memories was stored")
    _say(f"  Redis held {(full - empty) / 1000:.0f} MB before that; after it, {kept:.1f} KB of each turn: what it was told, and that it was done")
    _say(f"  recalls: {_listed(_more(before, await asyncio.to_thread(outcomes, brb)))}")
    short = fell_short(at_once, turned / took, asked_streams=streams, asked_rate=rate)
    return await asyncio.to_thread(_judged, brb, people, talk.turns, talk.whose, [*short, *not_flat(samples)])


def not_shed(shed: int, *, most_spooled: int, left: Behind) -> list[str]:
    """What speaks against an overload that went to the spool and came back from it. shed: turns that went there; most_spooled: jobs that were seen
    there; left: in the end."""
    wrong = [] if shed and most_spooled else [f"{shed} turns went to the spool, at most {most_spooled} jobs were seen there: nothing is shown"]
    return wrong if (left.waiting, left.spooled) == (0, 0) else [*wrong, f"not everything was learnt: {left}"]


def crowd(seconds: float) -> int:
    """Bytes that Redis is to hold before an overload of so many seconds: jobs soon go to the spool, but what is kept of all turns has its room, else
    none would come back."""
    turns = seconds * sum(_STEPS) / len(_STEPS)
    return int(redis_client.JOBS * _REDIS_MEGABYTES * 2**20 - _WAITING_BYTES - turns * _KEPT_BYTES)


def fill_redis(brb: Installation, most: int) -> None:
    """For good: nobody gives it more room, and nothing of this is taken away again."""
    with contextlib.closing(brb.redis()) as client:
        while int(client.info("memory")["used_memory"]) < most:
            client.rpush("drill:ballast", bytes(_BALLAST_BYTES))


async def overload(brb: Installation, people: list[Person], seconds: float) -> int:
    """Every turn states a fact; each step more of them, until learning falls behind. Then nobody talks until all is learnt."""
    whose: dict[str, str] = {}
    words = Words(0)
    turns: list[Turn] = []
    seen: list[Behind] = []
    await asyncio.to_thread(fill_redis, brb, crowd(seconds))
    _say(f"nothing was said yet: {await asyncio.to_thread(behind, brb)}")
    empty = await asyncio.to_thread(brb.redis_kilobytes)
    for number, rate in enumerate(_STEPS):
        pace = Pace(
            conversations=max(1, round(rate * (_OVERLOAD_STREAM_SECONDS + _OVERHEAD_SECONDS) / len(people))),
            turns=5,
            think_seconds=0.0,
            stream_seconds=_OVERLOAD_STREAM_SECONDS,
            pieces=10,
            streamed=1.0,
        )
        recalls, ended = await asyncio.to_thread(outcomes, brb), await asyncio.to_thread(outcomes, brb, _TURNS)
        async with Talk(brb.url, people, pace, seed=number, whose=whose, words=words) as talk:
            began = time.monotonic()
            talk.start()
            await asyncio.sleep(seconds / len(_STEPS))
            seen.append(await asyncio.to_thread(behind, brb))
            count, took = len(talk.turns), time.monotonic() - began
            await talk.finish()
        turns += talk.turns
        shed = (await asyncio.to_thread(outcomes, brb, _TURNS)).get(telemetry.Turned.SPOOLED, 0) - ended.get(telemetry.Turned.SPOOLED, 0)
        told = _more(recalls, await asyncio.to_thread(outcomes, brb))
        _say(_shown(Step(rate, count, took, proof.balance(talk.turns, [], ours={}), seen[-1], shed, told)))
    over = time.monotonic()
    while not await asyncio.to_thread(brb.idle) and time.monotonic() < over + _DRAIN_SECONDS:
        seen.append(await asyncio.to_thread(behind, brb))
        _say(f"  nobody talks since {time.monotonic() - over:.0f} s: {seen[-1]}")
        await asyncio.sleep(_SAMPLE_SECONDS)
    left = await asyncio.to_thread(behind, brb)
    shed = (await asyncio.to_thread(outcomes, brb, _TURNS)).get(telemetry.Turned.SPOOLED, 0)
    most = max(each.spooled for each in seen)
    kept = (await asyncio.to_thread(brb.redis_kilobytes) - empty) / max(1, len(turns))
    _say(f"{shed} of {len(turns)} turns went to the spool, at most {most} jobs at once; {time.monotonic() - over:.0f} s after the last turn: {left},"
         f" which keeps {kept:.1f} KB of each turn")  # fmt: skip
    return await asyncio.to_thread(_judged, brb, people, turns, whose, not_shed(shed, most_spooled=most, left=left))


def _shown(step: Step) -> str:
    books = step.books
    bad = books.streams_broken + books.calls_failed + books.inexact + books.altered
    return (
        f"asked {step.asked:.0f}, came {step.turns / step.seconds:.1f} turns a second; first byte p50 {books.first_byte_p50 * 1000:.0f} ms,"
        f" p99 {books.first_byte_p99 * 1000:.0f} ms; calls that went wrong {bad}; {step.shed} turns to the spool; {step.behind};"
        f" recalls: {_listed(step.outcomes)}"
    )


def _judged(brb: Installation, people: list[Person], turns: list[Turn], whose: Mapping[str, str], wrong: list[str]) -> int:
    books = proof.balance(turns, brb.kept(people), ours=whose)
    for line in scene.traces(brb, people, turns, books):
        _say(line)
    deadline, dead = brb.settings.recall_deadline_ms / 1000, brb.dead()
    wrong = [*proof.complaints(books, most_first_byte_seconds=deadline + scene.SLACK_SECONDS, dead=dead), *wrong]
    _say(scene.shown(scene.Result("load", books, 0.0, 0.0, dead, tuple(wrong))))
    return 1 if wrong else 0


async def _drained(brb: Installation) -> float:
    began = time.monotonic()
    await asyncio.to_thread(installation.until, lambda: brb.idle() or None, "not everything was learnt", _DRAIN_SECONDS)
    return time.monotonic() - began


def _more(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {name: count - before.get(name, 0) for name, count in after.items()}


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()) if count)


def _line(one: Sample, turns: int) -> str:
    held = ", ".join(f"{name} {megabytes:.0f}" for name, megabytes in one.megabytes.items())
    return f"{one.at:.0f} s: {turns} turns, {one.streams} streams, waiting {one.waiting}, spooled {one.spooled}; MB: {held}"


def _say(line: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stdout.flush()


async def run(options: argparse.Namespace) -> int:
    async with AsyncExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="brb-load-", ignore_cleanup_errors=True)))
        folder.mkdir(parents=True, exist_ok=True)
        settings = {"BRB_REDIS_MEGABYTES": str(_REDIS_MEGABYTES)} if options.overload else {}
        brb = Installation(folder, stack.enter_context(installation.vendor(folder)), settings)
        stack.push_async_callback(asyncio.to_thread, brb.close)
        await asyncio.to_thread(brb.start)
        people = await asyncio.to_thread(brb.people, _TEAMS)
        if options.overload:
            return await overload(brb, people, options.seconds or _OVERLOAD_SECONDS)
        return await steady(brb, people, options.streams, options.rate, options.seconds or 600.0)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m ops.drills.load", description="What BRB bears, and what it costs in memory.")
    parser.add_argument("--streams", type=int, default=200, help="at once")
    parser.add_argument("--rate", type=float, default=50.0, help="turns a second")
    parser.add_argument("--seconds", type=float, help="of the load (600), or of an overload (24)")
    parser.add_argument("--overload", action="store_true", help="more and more turns, each with a fact, and little room in Redis")
    parser.add_argument("--keep", type=Path, help="leave the files in this folder")
    return asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
