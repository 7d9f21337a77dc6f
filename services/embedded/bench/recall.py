"""What a new turn waits for when it is recalled for: through BRB as `brb up` runs it, with a full store, beside a bare relay and no relay.

The embedding and the searches of a recall are timed on their own in the same process: BRB's own metrics tell them, after a `POST /recall` between
the calls. What is left of the added time is BRB's.
"""

import contextlib
import itertools
import re
import shutil
import socket
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import httpx2
import msgspec
import uvloop

from services.core import config, errors, models, ports
from services.core.adapters import vectors
from services.embedded import models as model_files
from services.embedded import programs
from services.embedded.bench import bodies, load, memories, processes, report, upstream
from services.embedded.bench.added import Variant

_MODEL = "all-MiniLM-L6-v2"
_BYTES = 77_000
_BATCH = 500
_PEOPLE_AT_ONCE = (32, 100)
_VARIANTS = (Variant.DIRECT, Variant.BARE, Variant.BRB)
_SERVICES = ("billing", "search", "checkout", "shipping", "catalogue", "identity", "pricing", "returns")
_FACTS = (
    "The {} service uses Postgres 15 as its database",
    "Maria has to approve every release of the {} service",
    "Releases of the {} service are tagged on Thursdays",
    "The {} service must not depend on a queue",
    "The {} service runs on Fly.io in Frankfurt",
)
_QUESTION = "Ticket {}: which database does the {} service use, and who has to approve its release?"
_SUM = re.compile(r'^brb_recall_stage_seconds_sum\{stage="(\w+)"\} (\S+)$', re.MULTILINE)

NOTES = (
    "first byte: ms from sending a new turn of 77 KB to the first byte of its streamed answer, median and 95th percentile. added: less direct.",
    "embed, search: ms of a recall's embeddings and searches on their own, in the same process between the calls, medians.",
    "left: added, less what a bare relay adds, less embedding and searches: what BRB takes beside them.",
    "told: how many turns were given memories within the deadline; of those at the same instant, the least of all rounds.",
    "The store holds made-up memories of random directions, and some real ones that the questions ask for.",
)
COLUMNS = ("new turns at once", "through", "#first byte", "#p95", "#added", "#embed", "#search", "#left", "#told")


class Plan(msgspec.Struct, frozen=True):
    """turns: one at a time, through each way. rounds: of many at once."""

    memories: int
    turns: int
    rounds: int


PLANS: Mapping[report.Scale, Plan] = {
    "quick": Plan(memories=300, turns=3, rounds=1),
    "normal": Plan(memories=20_000, turns=100, rounds=3),
    "thorough": Plan(memories=20_000, turns=400, rounds=15),
}


class Stages(NamedTuple):
    """Seconds of one recall's stages."""

    embed: float
    search: float


class Timed(NamedTuple):
    """first_bytes: of the n-th turn through each way. told: how many of these turns were given memories. alone: of as many recalls.
    bursts: of many new turns, by how many they were."""

    first_bytes: Mapping[Variant, Sequence[float]]
    told: int
    alone: Sequence[Stages]
    bursts: Mapping[int, Sequence[load.Burst]]


def measure(plan: Plan, progress: Callable[[str, float], None]) -> report.Report:
    """Fill a store, start everything over it, call it, end it."""
    with tempfile.TemporaryDirectory(prefix="brb-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        with processes.started(processes.Program("upstream"), folder=folder) as (answering,), _brb(folder, answering.url, plan, progress) as brb:
            logs = folder / "relays"
            logs.mkdir()
            with processes.started(processes.Program("bare", (answering.url,)), folder=logs) as (bare,):
                timed = uvloop.run(_timed(plan, {Variant.DIRECT: answering.url, Variant.BARE: bare.url, Variant.BRB: brb.url}, progress))
            memory = brb.rss_mb()
    return report.Report(
        name="recall",
        figures=report.rounded(figures(timed) | {"brb.rss_mb": memory}),
        n=sum(map(len, timed.first_bytes.values())) + sum(len(burst.first_bytes) for bursts in timed.bursts.values() for burst in bursts),
        notes=(*NOTES, f"rss_mb: {memory:.0f}, with the store of {plan.memories:,} memories and the indexer in the process"),
        columns=COLUMNS,
        rows=rows(timed),
    )


def figures(timed: Timed) -> dict[str, float]:
    """Named `one.<variant>.<figure>`, `one.<figure>` and `<turns at once>.<figure>`."""
    firsts = timed.first_bytes
    added = {variant: _added_ms(firsts, variant) for variant in firsts if variant is not Variant.DIRECT}
    embed, search = (1000 * statistics.median(one[stage] for one in timed.alone) for stage in (0, 1))
    both = 1000 * statistics.median(one.embed + one.search for one in timed.alone)
    return {
        **{f"one.{variant}.first_byte_p50_ms": report.p50_ms(seconds) for variant, seconds in firsts.items()},
        **{f"one.{variant}.first_byte_p95_ms": report.p95_ms(seconds) for variant, seconds in firsts.items()},
        **{f"one.{variant}.added_ms": value for variant, value in added.items()},
        "one.told_ratio": timed.told / len(firsts[Variant.BRB]),
        "one.embed_ms": embed,
        "one.search_ms": search,
        "one.left_ms": added[Variant.BRB] - added[Variant.BARE] - both,
        **{f"{count}.told": min(burst.told for burst in bursts) for count, bursts in timed.bursts.items()},
        **{f"{count}.first_byte_p50_ms": report.p50_ms(_firsts(bursts)) for count, bursts in timed.bursts.items()},
        **{f"{count}.first_byte_p95_ms": report.p95_ms(_firsts(bursts)) for count, bursts in timed.bursts.items()},
    }


def rows(timed: Timed) -> tuple[tuple[str, ...], ...]:
    """For people, in the order of `COLUMNS`."""
    found = figures(timed)

    def row(turns: str, variant: Variant, *names: str, told: str = "") -> tuple[str, ...]:
        shown = [f"{found[name]:.1f}" if name in found else "" for name in names]
        return (turns, variant, *shown, *[""] * (len(COLUMNS) - 3 - len(shown)), told)

    stages = ("one.embed_ms", "one.search_ms", "one.left_ms")
    one = [
        row(
            "1",
            variant,
            *(f"one.{variant}.{name}_ms" for name in ("first_byte_p50", "first_byte_p95", "added")),
            *(stages if variant is Variant.BRB else ()),
            told=f"{timed.told} of {len(timed.alone)}" if variant is Variant.BRB else "",
        )
        for variant in timed.first_bytes
    ]
    many = [
        row(str(count), Variant.BRB, f"{count}.first_byte_p50_ms", f"{count}.first_byte_p95_ms", told=f"{found[f'{count}.told']:.0f} of {count}")
        for count in timed.bursts
    ]
    return (*one, *many)


def _added_ms(firsts: Mapping[Variant, Sequence[float]], variant: Variant) -> float:
    """The median of the differences of what was called one right after the other."""
    return 1000 * statistics.median(through - direct for through, direct in zip(firsts[variant], firsts[Variant.DIRECT], strict=True))


def _firsts(bursts: Sequence[load.Burst]) -> list[float]:
    return [seconds for burst in bursts for seconds in burst.first_bytes]


async def _timed(plan: Plan, urls: Mapping[Variant, str], progress: Callable[[str, float], None]) -> Timed:
    turns = _turns()
    firsts: dict[Variant, list[float]] = {variant: [] for variant in _VARIANTS}
    told = 0
    alone: list[Stages] = []
    bursts: dict[int, list[load.Burst]] = {count: [] for count in _PEOPLE_AT_ONCE}
    async with contextlib.AsyncExitStack() as stack:
        callers = {variant: await stack.enter_async_context(load.callers(url)) for variant, url in urls.items()}
        own = await stack.enter_async_context(httpx2.AsyncClient(base_url=urls[Variant.BRB], trust_env=False, timeout=10))
        for number in range(-1, plan.turns):  # the first warms up
            progress("one new turn at a time", max(0, number) / plan.turns)
            for variant in _VARIANTS:
                burst = await callers[variant].burst([[next(turns)]])
                if number >= 0:
                    firsts[variant] += burst.first_bytes
                    told += burst.told
            stages = await _alone(own, next(turns))
            if number >= 0:
                alone.append(stages)
        for number in range(plan.rounds):
            for count in _PEOPLE_AT_ONCE:
                progress("many new turns at once", number / plan.rounds)
                bursts[count].append(await callers[Variant.BRB].burst([[turn] for turn in itertools.islice(turns, count)]))
    progress("many new turns at once", 1.0)
    if not told:
        raise errors.Unavailable("BRB", "no turn that asked for what is remembered was given a memory")
    return Timed(firsts, told, alone, bursts)


def _turns() -> Iterator[load.Call]:
    """New turns with words of their own, so that no embedding is there already; each in a session of its own."""
    answer_bytes = sum(map(len, upstream.events()))
    named = {service: bodies.body(_BYTES, stream=True, question=_QUESTION.format("T-000000", service)) for service in _SERVICES}
    for number in itertools.count(1):
        body = named[_SERVICES[number % len(_SERVICES)]].replace(b"T-000000", b"T-%06d" % number)
        yield load.Call(body, f"{number:08x}-0000-4000-8000-000000000000", True, answer_bytes)


async def _alone(own: httpx2.AsyncClient, turn: load.Call) -> Stages:
    """Of a recall for the words of this turn."""
    before = await _sums(own)
    words = msgspec.json.decode(turn.body)["messages"][-1]["content"][0]["text"]
    (await own.post("/recall", json={"query": words})).raise_for_status()
    after = await _sums(own)
    return Stages(**{stage: after[stage] - before.get(stage, 0.0) for stage in Stages._fields})


async def _sums(own: httpx2.AsyncClient) -> dict[str, float]:
    return {stage: float(seconds) for stage, seconds in _SUM.findall((await own.get("/metrics")).raise_for_status().text)}


@contextlib.contextmanager
def _brb(folder: Path, upstream_url: str, plan: Plan, progress: Callable[[str, float], None]) -> Iterator[processes.Server]:
    """BRB's proxy over a filled store, with the Redis and the llama.cpp that it needs; without a worker, which would take time from it."""
    settings = config.load(
        data_dir=folder / "data",
        host="127.0.0.1",
        port=_free_port(),
        anthropic_url=upstream_url,
        redis_url=None,
        qdrant_url=None,
        embed_url=None,
        embed_model=_MODEL,
    )
    models_dir = config.load().models_dir
    for made in (models_dir, settings.data, settings.run_dir, settings.metrics_dir, settings.data / "redis", settings.store_dir):
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
    settings.models_dir.symlink_to(models_dir, target_is_directory=True)
    files = model_files.ensure(settings, progress)
    wanted = {program.name: program for program in programs.programs(settings, files)}
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, settings.run_dir, ignore_errors=True)  # elsewhere if the folder's path is too long for a socket
        for name in ("redis", "llama"):
            stack.enter_context(processes.supporting(wanted[name], settings, folder=folder))
        _fill(settings, plan.memories, progress)
        yield stack.enter_context(processes.supporting(wanted["proxy"], settings, folder=folder))


def _fill(settings: config.Settings, count: int, progress: Callable[[str, float], None]) -> None:
    """Made-up memories of one person, and the facts."""
    maker = memories.Maker(report.SEED, 1)
    facts = [fact.format(service) for service in _SERVICES for fact in _FACTS]
    with contextlib.closing(vectors.open_store(settings)) as store, contextlib.closing(vectors.open_embedder(settings)) as embedder:
        for first in range(0, count, _BATCH):
            progress(f"storing {count:,} memories", first / count)
            store.put([_own(one) for one in maker.memories(first, min(_BATCH, count - first))])
        known = [one.memory for one in maker.memories(count, len(facts))]
        told = [msgspec.structs.replace(memory, text=text) for memory, text in zip(known, facts, strict=True)]
        store.put([_own(ports.Embedded(memory, vector)) for memory, vector in zip(told, embedder.embed(facts, "document"), strict=True)])


def _own(one: ports.Embedded) -> ports.Embedded:
    return one._replace(memory=msgspec.structs.replace(one.memory, team=models.LOCAL.team, owner=models.LOCAL.user))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
