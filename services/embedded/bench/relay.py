"""What BRB adds to a call: beside a bare relay and beside no relay at all, in rounds that take turns, so that noise hits all alike."""

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import uvloop

from services.core import errors, models
from services.embedded.bench import added, bodies, load, processes, report, upstream
from services.embedded.bench.added import Cell, History, Sample, Variant
from services.proxy.wire import reading as wire
from services.proxy.wire import routes, splice
from services.proxy.wire.calls import Call

_KILOBYTE = 1000
_CONVERSATIONS = 100_000  # of one kind of load, at most
_BLOCK_CHARS = 1500  # of a block with a handful of memories

NOTES = (
    "load: how the upstream answers, what the relay has seen of the calls before, size of their bodies, callers at a time.",
    "session: each caller's calls carry the history of the one before and a step of tools. first: each call is of another conversation, and a "
    "new turn. same: the same new turn again and again, each time in a session of its own.",
    "direct: no relay. bare: the least that a relay of the same language and libraries can do. brb_relay: BRB's proxy with an interceptor that "
    "does nothing. brb: with recall, injection, ledger and learning, over parts in memory.",
    "ttfb, p95: ms to the first byte of the answer's body, median and 95th percentile of all rounds. added: median over the rounds of the "
    "difference to direct. per s: answered calls. /bare: divided by the bare relay's.",
    "CPU: time of the relay's process for one call, all threads, divided by the bare relay's. It is the figure that other load disturbs least.",
    "handling: reading and splicing without any I/O, by API. first: a call of a conversation never seen before. next: one that goes on with it.",
    "Callers and upstream share the machine's cores with the relay. Only ratios carry over to other machines.",
)


class Plan(msgspec.Struct, frozen=True):
    """calls: of one burst, by how many callers make them. rounds: of each, by how many callers. repeats: of reading and splicing one body."""

    kilobytes: tuple[int, ...]
    calls: Mapping[int, int]
    rounds: Mapping[int, int]
    repeats: int


PLANS: Mapping[report.Scale, Plan] = {
    "quick": Plan(kilobytes=(77, 700), calls={1: 2, 10: 10}, rounds={1: 1, 10: 1}, repeats=3),
    "normal": Plan(kilobytes=(77, 700), calls={1: 10, 10: 40, 100: 100}, rounds={1: 5, 10: 4, 100: 2}, repeats=50),
    "thorough": Plan(kilobytes=(77, 700), calls={1: 10, 10: 60, 100: 200}, rounds={1: 11, 10: 11, 100: 7}, repeats=200),
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
    makers = {cell: _Maker(cell, place, plan) for place, cell in enumerate(_cells(plan))}
    samples: dict[Cell, dict[Variant, list[Sample]]] = {cell: {variant: [] for variant in Variant} for cell in makers}
    todo = [(number, cell) for number in range(max(plan.rounds.values())) for cell in makers if number < plan.rounds[cell.concurrency]]
    async with AsyncExitStack() as stack:
        callers = {variant: await stack.enter_async_context(load.callers(server.url)) for variant, server in servers.items()}
        for done, (number, cell) in enumerate(todo):
            progress("calling", done / len(todo))
            for variant in _turn_about(number):
                if number == 0:
                    await callers[variant].burst(makers[cell].beginnings())
                samples[cell][variant].append(await _sample(makers[cell].calls(number), callers[variant], servers[variant]))
    progress("calling", 1.0)
    return samples


def _cells(plan: Plan) -> list[Cell]:
    """Streams as every client asks for them, and short answers, which show what a call costs, where it is deep in a session."""
    return [
        Cell(stream, size, callers, history)
        for stream, histories in ((True, tuple(History)), (False, (History.SESSION,)))
        for history in histories
        for size in plan.kilobytes
        for callers in plan.calls
    ]


class _Maker:
    """The calls of one cell's bursts, the same for all variants. Its conversations are no other cell's."""

    def __init__(self, cell: Cell, place: int, plan: Plan) -> None:
        self._cell = cell
        self._first = place * _CONVERSATIONS
        self._each = plan.calls[cell.concurrency] // cell.concurrency
        steps = plan.rounds[cell.concurrency] * self._each if cell.history is History.SESSION else 0
        self._bodies = bodies.session(cell.kilobytes * _KILOBYTE, 1 + steps, stream=cell.stream)
        self._answer_bytes = sum(map(len, upstream.events())) if cell.stream else len(upstream.document())

    def beginnings(self) -> list[Iterator[load.Call]]:
        """The first call of each caller's session; of calls without one, some to warm up."""
        return [iter([self._call(0, caller)]) for caller in range(self._cell.concurrency)]

    def calls(self, number: int) -> list[Iterator[load.Call]]:
        """Of each caller in the n-th round. Made when they are due: together they would take hundreds of megabytes."""
        return [self._of(caller, number * self._each) for caller in range(self._cell.concurrency)]

    def _of(self, caller: int, done: int) -> Iterator[load.Call]:
        for number in range(done + 1, done + 1 + self._each):
            if self._cell.history is History.SESSION:
                yield self._call(number, caller)
            else:
                yield self._call(0, number * self._cell.concurrency + caller)

    def _call(self, step: int, conversation: int) -> load.Call:
        number = self._first + conversation
        body = self._bodies[step] if self._cell.history is History.SAME else bodies.numbered(self._bodies[step], number)
        return load.Call(body, f"{number:08x}-0000-4000-8000-000000000000", self._cell.stream, self._answer_bytes)


def _turn_about(number: int) -> list[Variant]:
    """Each round begins with another variant."""
    variants = list(Variant)
    first = number % len(variants)
    return variants[first:] + variants[:first]


async def _sample(calls: Sequence[Iterable[load.Call]], callers: load.Callers, server: processes.Server) -> Sample:
    before = server.cpu_seconds()
    burst = await callers.burst(calls)
    return Sample(burst, server.cpu_seconds() - before)


def _handled(plan: Plan) -> dict[str, float]:
    """Reading the largest body (which turns it has, their hashes and places) and putting one block into it, without any I/O."""
    body = bodies.body(max(plan.kilobytes) * _KILOBYTE, stream=True)
    reading, splicing = [], []
    for _ in range(plan.repeats):
        started = time.perf_counter()
        call = _read(wire.Reader(), routes.Route.MESSAGES, body)
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
        **_reading(plan, name),
    }


def _reading(plan: Plan, name: str) -> dict[str, float]:
    """Reading the calls of a session of each API: as the first that is seen of it, and as the next."""
    session = bodies.session(max(plan.kilobytes) * _KILOBYTE, 1 + plan.repeats, stream=True)
    spelt = {
        routes.Route.MESSAGES: session,
        routes.Route.CHAT: [bodies.chat(body) for body in session],
        routes.Route.RESPONSES: [bodies.response(body) for body in session],
    }
    readers = {route: wire.Reader() for route in spelt}
    times: dict[str, list[float]] = {}
    for number in range(1 + plan.repeats):
        for route, calls in spelt.items():
            for kind, reader in (("first", wire.Reader()), ("next", readers[route])):
                started = time.perf_counter()
                _read(reader, route, calls[number])
                times.setdefault(f"{name}.{route}.{kind}_p50_ms", []).append(time.perf_counter() - started)
    return {figure: report.p50_ms(taken[1:]) for figure, taken in times.items()}


def _read(reader: wire.Reader, route: routes.Route, body: bytes) -> Call:
    return reader.read(route, bodies.headers("session"), body, models.LOCAL, 0.0)
