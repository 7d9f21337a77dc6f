"""How fast the embedded store writes and finds, and what it takes, by how many memories it holds and how many people share them."""

import gc
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import psutil

from services.core import errors, models, ports
from services.core.adapters import qdrant_edge
from services.core.recall import engine
from services.embedded.bench import memories, report

_MODEL = "random"
_BATCH = 500
_QUERY_WORDS = 6
_UNIT = 10_000
"""Memories that the figures of memory and disk are for."""
_BLOCK_BYTES = 512  # what `st_blocks` counts
_MEGABYTE = 1_000_000
_VISIBLE_SECONDS = 5.0
_KNOBS = engine.Knobs()

NOTES = (
    f"size: memories, people. Random unit vectors of {memories.DIMENSION} and made-up words; a person sees the own memories and the tenth of the "
    "others' that is shared.",
    f"put/s: batches of {_BATCH}, with their words encoded. write: ms from writing a single memory until a search finds it.",
    f"dense, words: ms for the {_KNOBS.candidates} candidates of one leg. recall, p95: both legs and the ranking, the embedding of the query being "
    "at hand. Medians but for p95.",
    f"RAM, disk: MB for {_UNIT:,} memories, in the process (with the pages of files that it has mapped) and on disk; "
    "of a small store mostly fixed costs.",
)
COLUMNS = ("size", "#put/s", "#write", "#dense", "#words", "#recall", "#p95", "#RAM", "#disk")


class Size(msgspec.Struct, frozen=True):
    memories: int
    people: int


class Plan(msgspec.Struct, frozen=True):
    """queries: of each kind. singles: memories written one by one."""

    sizes: tuple[Size, ...]
    queries: int
    singles: int


_NORMAL = (Size(1_000, 50), Size(20_000, 50), Size(20_000, 1))
PLANS: Mapping[report.Scale, Plan] = {
    "quick": Plan(sizes=(Size(200, 50),), queries=20, singles=5),
    "normal": Plan(sizes=_NORMAL, queries=300, singles=50),
    "thorough": Plan(sizes=(*_NORMAL, Size(100_000, 50), Size(100_000, 1)), queries=500, singles=50),
}


class Searches(msgspec.Struct, frozen=True):
    """Seconds of each search."""

    dense: tuple[float, ...]
    words: tuple[float, ...]
    recall: tuple[float, ...]


class Timed(msgspec.Struct, frozen=True):
    """put: seconds of each batch. visible: seconds of each memory. memory_mb, disk_mb: for `_UNIT` memories. in_scope: of the first person."""

    put: tuple[float, ...]
    visible: tuple[float, ...]
    searches: Searches
    memory_mb: float
    disk_mb: float
    in_scope: int


def measure(plan: Plan, progress: Callable[[str, float], None]) -> report.Report:
    """Each size in a folder of its own."""
    found = {size: _timed(size, plan, progress) for size in plan.sizes}
    figures = {size: _figures(size, timed) for size, timed in found.items()}
    return report.Report(
        name="store",
        figures=report.rounded({f"{size.memories}x{size.people}.{name}": value for size, own in figures.items() for name, value in own.items()}),
        n=sum(map(_operations, found.values())),
        notes=NOTES,
        columns=COLUMNS,
        rows=tuple(_row(size, own) for size, own in figures.items()),
    )


def _timed(size: Size, plan: Plan, progress: Callable[[str, float], None]) -> Timed:
    maker = memories.Maker(report.SEED, size.people)
    with tempfile.TemporaryDirectory(prefix="brb-bench-") as name:
        folder = Path(name)
        store = qdrant_edge.EdgeStore.open(folder, model=_MODEL, dimension=memories.DIMENSION)
        try:
            empty_disk, empty_memory = _disk_mb(folder), _rss_mb()
            put = _filled(store, maker, size, progress)
            share = _UNIT / size.memories
            memory, disk = (_rss_mb() - empty_memory) * share, (_disk_mb(folder) - empty_disk) * share
            searches = _searched(store, maker, plan.queries)
            in_scope = store.count(maker.scope(0))
            visible = tuple(_visible(store, one) for one in maker.memories(size.memories, plan.singles))
            return Timed(put, visible, searches, memory, disk, in_scope)
        finally:
            store.close()


def _filled(store: ports.MemoryStore, maker: memories.Maker, size: Size, progress: Callable[[str, float], None]) -> tuple[float, ...]:
    """Seconds of each batch; making the memories is not counted."""
    stage = f"storing {size.memories:,} memories of {size.people}"
    seconds = []
    for first in range(0, size.memories, _BATCH):
        progress(stage, first / size.memories)
        batch = list(maker.memories(first, min(_BATCH, size.memories - first)))
        started = time.perf_counter()
        store.put(batch)
        seconds.append(time.perf_counter() - started)
    progress(stage, 1.0)
    return tuple(seconds)


def _searched(store: ports.MemoryStore, maker: memories.Maker, queries: int) -> Searches:
    dense, words, recall = [], [], []
    for number in range(queries):
        scope, vector, text = maker.scope(number), maker.vector(), maker.words(_QUERY_WORDS)
        dense.append(_seconds(lambda: store.nearest(scope, vector, limit=_KNOBS.candidates)))  # noqa: B023 - called at once
        words.append(_seconds(lambda: store.lexical(scope, text, limit=_KNOBS.candidates)))  # noqa: B023
        recall.append(_seconds(lambda: _recalled(store, scope, vector, text)))  # noqa: B023
    return Searches(tuple(dense), tuple(words), tuple(recall))


def _recalled(store: ports.MemoryStore, scope: models.Scope, vector: list[float], text: str) -> engine.Recall:
    return engine.recall(text, scope, store=store, embedder=None, knobs=_KNOBS, now=memories.NOW, vector=vector)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _visible(store: ports.MemoryStore, one: ports.Embedded) -> float:
    """`Unavailable` if it is not found in time."""
    scope = models.Scope(one.memory.team, one.memory.owner)
    started = time.perf_counter()
    store.put([one])
    while not any(hit.memory.id == one.memory.id for hit in store.nearest(scope, one.vector, limit=1)):
        if time.perf_counter() - started > _VISIBLE_SECONDS:
            raise errors.Unavailable("Qdrant Edge", f"what was written is not found within {_VISIBLE_SECONDS:.0f} s")
    return time.perf_counter() - started


def _figures(size: Size, timed: Timed) -> dict[str, float]:
    searches = {"dense": timed.searches.dense, "words": timed.searches.words, "recall": timed.searches.recall}
    return {
        "in_scope": timed.in_scope,
        "put_per_second": size.memories / sum(timed.put),
        "visible_p50_ms": report.p50_ms(timed.visible),
        **{f"{name}_p50_ms": report.p50_ms(seconds) for name, seconds in searches.items()},
        **{f"{name}_p95_ms": report.p95_ms(seconds) for name, seconds in searches.items()},
        "memory_of_10000_mb": timed.memory_mb,
        "disk_of_10000_mb": timed.disk_mb,
    }


def _operations(timed: Timed) -> int:
    return sum(map(len, (timed.put, timed.visible, timed.searches.dense, timed.searches.words, timed.searches.recall)))


def _row(size: Size, found: Mapping[str, float]) -> tuple[str, ...]:
    searches = (f"{found[f'{name}_ms']:.1f}" for name in ("visible_p50", "dense_p50", "words_p50", "recall_p50", "recall_p95"))
    taken = (f"{found[f'{what}_of_10000_mb']:.0f}" for what in ("memory", "disk"))
    return (f"{size.memories:,} {size.people}", f"{found['put_per_second']:.0f}", *searches, *taken)


def _rss_mb() -> float:
    gc.collect()
    return float(psutil.Process().memory_info().rss) / _MEGABYTE


def _disk_mb(folder: Path) -> float:
    """What is allocated: Qdrant's files are longer than what is in them."""
    return sum(path.stat().st_blocks for path in folder.rglob("*") if path.is_file()) * _BLOCK_BYTES / _MEGABYTE
