"""What BRB adds to a call: beside a bare relay and beside no relay at all, in rounds that take turns, so that noise hits all alike."""

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import uvloop

from services.core import errors, models
from services.embedded.bench import added, bodies, load, processes, report, upstream
from services.embedded.bench.added import Cell, Sample, Variant
from services.proxy.wire import anthropic, splice

_KILOBYTE = 1000
_BLOCK_CHARS = 1500  # of a block with a handful of memories

NOTES = (
    "load: how the upstream answers, size of the call's body, callers at a time.",
    "direct: no relay. bare: the least that a relay of the same language and libraries can do. brb_relay: BRB's proxy with an interceptor that "
    "does nothing. brb: with recall, injection, ledger and learning, over parts in memory.",
    "ttfb, p95: ms to the first byte of the answer's body, median and 95th percentile of all rounds. added: median over the rounds of the "
    "difference to direct. per s: answered calls. /bare: divided by the bare relay's.",
    "CPU: time of the relay's process for one call, all threads, divided by the bare relay's. It is the figure that other load disturbs least.",
    "Callers and upstream share the machine's cores with the relay. Only ratios carry over to other machines.",
)


class Plan(msgspec.Struct, frozen=True):
    """calls: of one burst, by how many callers make them. repeats: of reading and splicing one body."""

    kilobytes: tuple[int, ...]
    calls: Mapping[int, int]
    rounds: int
    repeats: int


PLANS: Mapping[report.Scale, Plan] = {
    "quick": Plan(kilobytes=(77, 700), calls={1: 2, 10: 10}, rounds=1, repeats=3),
    "normal": Plan(kilobytes=(77, 700), calls={1: 20, 10: 60}, rounds=7, repeats=50),
    "thorough": Plan(kilobytes=(77, 700), calls={1: 30, 10: 100, 100: 300}, rounds=11, repeats=200),
}


def measure(plan: Plan, progress: Callable[[str, float], None]) -> report.Report:
    """Start the servers, call them in turns, end them."""
    with tempfile.TemporaryDirectory(prefix="brb-bench-") as folder, _servers(Path(folder)) as servers:
        samples = uvloop.run(_sampled(plan, servers, progress))
        memory = {f"{variant}.rss_mb": server.rss_mb() for variant, server in servers.items() if variant is not Variant.DIRECT}
    handling = _handled(plan)
    return report.Report(
        name="relay",
        figures=report.rounded(added.figures(samples) | memory | handling),
        n=sum(len(s.burst.first_bytes) for variants in samples.values() for found in variants.values() for s in found),
        notes=(*NOTES, *(f"{name}: {value:.1f}" for name, value in (memory | handling).items())),
        columns=added.COLUMNS,
        rows=added.rows(samples),
    )


@contextlib.contextmanager
def _servers(folder: Path) -> Iterator[dict[Variant, processes.Server]]:
    with processes.started(processes.Program("upstream"), folder=folder) as (answering,):
        relays = (
            processes.Program("bare", (answering.url,)),
            processes.Program("proxied", (answering.url, str(folder), "nothing")),
            processes.Program("proxied", (answering.url, str(folder), "memory")),
        )
        logs = folder / "relays"
        logs.mkdir()
        with processes.started(*relays, folder=logs) as found:
            yield dict(zip(Variant, (answering, *found), strict=True))


async def _sampled(plan: Plan, servers: Mapping[Variant, processes.Server], progress: Callable[[str, float], None]) -> added.Samples:
    cells = [Cell(stream, size, callers) for stream in (True, False) for size in plan.kilobytes for callers in plan.calls]
    calls = {cell: _call(cell) for cell in cells}
    samples: dict[Cell, dict[Variant, list[Sample]]] = {cell: {variant: [] for variant in Variant} for cell in cells}
    async with AsyncExitStack() as stack:
        callers = {variant: await stack.enter_async_context(load.callers(server.url)) for variant, server in servers.items()}
        for number in range(-1, plan.rounds):  # the first round warms up
            for place, cell in enumerate(cells):
                progress("calling", max(0.0, (number + place / len(cells)) / plan.rounds))
                for variant in _turn_about(number):
                    sample = await _sample(calls[cell], plan.calls[cell.concurrency], cell.concurrency, callers[variant], servers[variant])
                    if number >= 0:
                        samples[cell][variant].append(sample)
    progress("calling", 1.0)
    return samples


def _turn_about(number: int) -> list[Variant]:
    """Each round begins with another variant."""
    variants = list(Variant)
    first = number % len(variants)
    return variants[first:] + variants[:first]


async def _sample(call: load.Call, count: int, concurrency: int, callers: load.Callers, server: processes.Server) -> Sample:
    before = server.cpu_seconds()
    burst = await callers.burst(call, count, concurrency)
    return Sample(burst, server.cpu_seconds() - before)


def _call(cell: Cell) -> load.Call:
    answer_bytes = sum(map(len, upstream.events())) if cell.stream else len(upstream.document())
    return load.Call(bodies.body(cell.kilobytes * _KILOBYTE, stream=cell.stream), cell.stream, answer_bytes)


def _handled(plan: Plan) -> dict[str, float]:
    """Reading the largest body (which turns it has, their hashes and places) and putting one block into it, without any I/O."""
    body = bodies.body(max(plan.kilobytes) * _KILOBYTE, stream=True)
    headers = bodies.headers("session")
    reading, splicing = [], []
    for _ in range(plan.repeats):
        started = time.perf_counter()
        call = anthropic.read(headers, body, models.LOCAL, 0.0)
        read = time.perf_counter()
        if call.new_turn is None:
            raise errors.Permanent(f"the body of the measurement is taken for a call of kind {call.kind}")
        splice.insert(body, {call.new_turn.spot: "x" * _BLOCK_CHARS})
        reading.append(read - started)
        splicing.append(time.perf_counter() - read)
    name = f"handling.{max(plan.kilobytes)}kb"
    return {
        f"{name}.read_p50_ms": report.p50_ms(reading),
        f"{name}.splice_p50_ms": report.p50_ms(splicing),
        f"{name}.p95_ms": report.p95_ms([a + b for a, b in zip(reading, splicing, strict=True)]),
    }
