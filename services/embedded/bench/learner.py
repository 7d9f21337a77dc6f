"""The worker's task in a process of its own, called for one job after the other: `python -m services.embedded.bench.learner TURNS EVERY SEED`.

It is the task that Celery would call, over the Redis of the settings; only the broker's delivery is left out. Prints a `Sample` a line, after
every so many turns.
"""

import functools
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import psutil
from spacy.language import Language

from services.core import config, errors, messages, seal, telemetry
from services.core.adapters import celery_queue, redis_client, redis_jobs
from services.embedded.bench import turns
from services.worker.app import create_worker
from services.worker.extraction import rules
from services.worker.redaction.turns import Turns

_MEGABYTE = 1_000_000
_BATCH = 100  # jobs that are recorded at once, which is not timed
_DONE_SECONDS = 3600.0

_WARM = 20  # turns before those that are timed: spaCy is loaded with the first
_OTHERS = 1_000_000  # seeds between those and these

REDACT, PARSE, RULES, REDIS = "redact", "parse", "rules", "redis"
"""Stages of a turn. parse: what of the extraction is spaCy's; redis: with sealing and publishing."""


class Sample(msgspec.Struct, frozen=True):
    """How far it is: turns done so far, how many of them stated something, the seconds they took on the clock and of a core, those of a core of
    each stage, and the memory of the process."""

    turns: int
    stating: int
    wall_seconds: float
    cpu_seconds: float
    stages: dict[str, float]
    rss_mb: float


class Stages:
    """Seconds of a core of each stage, without those of the stages within it. For one thread."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.open: list[str] = []
        self.thread = threading.get_ident()
        self._since = 0.0

    @contextmanager
    def within(self, stage: str) -> Iterator[None]:
        self._turn_over()
        self.open.append(stage)
        try:
            yield
        finally:
            self._turn_over()
            self.open.pop()

    def _turn_over(self) -> None:
        now = time.thread_time()
        if self.open:
            self.seconds[self.open[-1]] += now - self._since
        self._since = now

    def spacy(self) -> str:
        return REDACT if REDACT in self.open else PARSE

    def watch(self, owner: Any, name: str, stage: Callable[[], str]) -> None:
        real = getattr(owner, name)

        @functools.wraps(real)
        def timed(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != self.thread:
                return real(*args, **kwargs)
            with self.within(stage()):
                result = real(*args, **kwargs)
                return iter(list(result)) if isinstance(result, Generator) else result  # a generator does its work when it is read

        setattr(owner, name, timed)


def watched() -> Stages:
    """The stages of the production code, from outside."""
    stages = Stages()
    stages.watch(Turns, "redacted", lambda: REDACT)
    for name in ("__call__", "pipe"):
        stages.watch(Language, name, stages.spacy)
    stages.watch(rules.Parses, "ahead", lambda: PARSE)
    stages.watch(rules.RulesExtractor, "extract", lambda: RULES)
    for name in ("claim", "finish"):
        stages.watch(redis_jobs.RedisJobBook, name, lambda: REDIS)
    stages.watch(celery_queue.Publisher, "__call__", lambda: REDIS)
    return stages


def samples(settings: config.Settings, count: int, every: int, seed: int, given: Sequence[str] = ()) -> Iterator[Sample]:
    """given: see `turns.Maker`. `Unavailable`: a turn was not learnt from."""
    stages, process = watched(), psutil.Process()
    learn = create_worker(settings).tasks[str(messages.Task.LEARN_TURN)]
    client = redis_client.connect(settings.redis_address, timeout_seconds=5)
    book = redis_jobs.RedisJobBook(
        client, seal.Seal(seal.secret_of(settings)), lease_seconds=settings.lease_seconds * 100, done_seconds=_DONE_SECONDS
    )

    def learnt(said: list[messages.LearnTurn]) -> None:
        for turn in said:
            if (outcome := learn(messages.Job.of(messages.Task.LEARN_TURN, turn).id)) != "done":
                raise errors.Unavailable("the worker's task", f"a job ended as {outcome}")

    def batches(made: Iterator[messages.LearnTurn]) -> Iterator[list[messages.LearnTurn]]:
        while batch := list(islice(made, _BATCH)):
            book.add([messages.Job.of(messages.Task.LEARN_TURN, turn) for turn in batch])
            yield batch

    for batch in batches(turns.Maker(seed + _OTHERS, given).turns(_WARM)):
        learnt(batch)
    stages.seconds.clear()
    before = book.pending()[messages.Lane.INDEX]
    wall = cpu = 0.0
    done = 0
    for batch in batches(turns.Maker(seed, given).turns(count)):
        wall_before, cpu_before = time.perf_counter(), time.process_time()
        learnt(batch)
        wall, cpu, done = wall + time.perf_counter() - wall_before, cpu + time.process_time() - cpu_before, done + len(batch)
        if done % every < _BATCH or done == count:
            stating = book.pending()[messages.Lane.INDEX] - before
            yield Sample(done, stating, wall, cpu, dict(stages.seconds), float(process.memory_info().rss) / _MEGABYTE)


def main(count: int, every: int, seed: int, given: Path) -> None:
    """given: a JSON list of texts, empty for made-up ones."""
    said = msgspec.json.decode(given.read_bytes(), type=list[str])
    settings = config.load()
    telemetry.configure_logging("warning")
    for sample in samples(settings, count, every, seed, said):
        sys.stdout.write(msgspec.json.encode(sample).decode() + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _count, _every, _seed, _given = sys.argv[1:]
    main(int(_count), int(_every), int(_seed), Path(_given))
