"""How many turns a worker learns from in a second, where the time goes, and whether its memory stays flat."""

import contextlib
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import msgspec
import psutil

from services.core import config, errors, messages, seal
from services.core.adapters import celery_queue, redis_client, redis_jobs
from services.embedded import models as model_files
from services.embedded import programs
from services.embedded.bench import facts, learner, processes, report, turns

_SAMPLES = 20
_WARM_SHARE = 0.1
_MEGABYTE = 1_000_000
_POLL_SECONDS = 0.02
_STUCK_SECONDS = 60.0
_DONE_SECONDS = 3600.0
_STAGES = (learner.REDACT, learner.PARSE, learner.RULES, learner.REDIS)
_REST = "rest"
_GIVEN = "given.json"

NOTES = (
    "Turns of two sentences, one of them mostly worth keeping, with up to five earlier turns as their context; rules alone.",
    "turns/s, ms: of one core, by the time that the processes were on it. task: the worker's task called for one job after the other, over a "
    "real Redis. extraction: what of it is the extractor's. worker: the same jobs through Celery, with all that its processes cost.",
    f"{learner.REDACT}: as it is set by default; names redacted: also those of people, which takes a model. {learner.PARSE}: spaCy's part of the "
    f"extraction. {learner.REDIS}: claiming, finishing and publishing, with the seal. rest: also the leases.",
    f"RSS: MB of one process, first after {_WARM_SHARE:.0%} of the turns and then at its farthest from that. "
    "parent: of the worker's first process, which must not hold spaCy.",
)
COLUMNS = ("what", "#turns/s", "#ms", "#share", "#RSS", "#farthest")


class Plan(msgspec.Struct, frozen=True):
    """turns: for the task alone. named: the same with names of people redacted. through: for the worker; warm: before these, until it has loaded."""

    turns: int
    named: int
    through: int
    warm: int


PLANS: Mapping[report.Scale, Plan] = {
    "quick": Plan(turns=200, named=50, through=50, warm=10),
    "normal": Plan(turns=20_000, named=1_000, through=2_000, warm=50),
    "thorough": Plan(turns=60_000, named=5_000, through=10_000, warm=50),
}


class Through(msgspec.Struct, frozen=True):
    """What the worker took for its turns: seconds on the clock, and of a core in its first process and in those that learn; memory at the end."""

    turns: int
    wall_seconds: float
    parent_seconds: float
    child_seconds: float
    parent_mb: float
    child_mb: float


def measure(plan: Plan, progress: Callable[[str, float], None], data: Path | None = None) -> report.Report:
    """Each in a process of its own, beside a Redis of their own. data: turns of labelled data (`facts`) instead of made-up ones."""
    given = [words for example in facts.labelled(data) for words in example.turns] if data else []
    with beside_redis(progress) as (settings, folder):
        (folder / _GIVEN).write_bytes(msgspec.json.encode(given))
        through = _through_celery(settings, folder, plan, given, progress)
        samples = _alone(settings, folder, plan.turns, report.SEED, progress)
        named = _alone(settings.model_copy(update={"redaction": "person=redact"}), folder, plan.named, report.SEED + 2, progress)[-1]
    warm = next(each for each in samples if each.turns >= plan.turns * _WARM_SHARE)
    farthest = max((each.rss_mb for each in samples if each.turns >= warm.turns), key=lambda mb: abs(mb - warm.rss_mb))
    figures = _figures(samples[-1], named, through, warm.rss_mb, farthest)
    return report.Report(
        name="learn",
        figures=report.rounded(figures),
        n=samples[-1].turns + named.turns + through.turns,
        notes=(f"Turns of {data}; rules alone.", *NOTES[1:]) if data else NOTES,
        columns=COLUMNS,
        rows=tuple(_rows(figures)),
    )


def _figures(last: learner.Sample, named: learner.Sample, through: Through, warm_mb: float, farthest_mb: float) -> dict[str, float]:
    seconds = {stage: last.stages.get(stage, 0.0) for stage in _STAGES}
    seconds[_REST] = last.cpu_seconds - sum(seconds.values())
    extraction = seconds[learner.PARSE] + seconds[learner.RULES]
    return {
        "task.turns_per_core_second": last.turns / last.cpu_seconds,
        "task.turns_per_second": last.turns / last.wall_seconds,
        "task.core_ms": last.cpu_seconds / last.turns * 1000,
        "named.turns_per_core_second": named.turns / named.cpu_seconds,
        "named.core_ms": named.cpu_seconds / named.turns * 1000,
        "named.redact.core_ms": named.stages[learner.REDACT] / named.turns * 1000,
        "extraction.turns_per_core_second": last.turns / extraction,
        "extraction.core_ms": extraction / last.turns * 1000,
        "worker.turns_per_core_second": through.turns / (through.parent_seconds + through.child_seconds),
        "worker.turns_per_second": through.turns / through.wall_seconds,
        "worker.core_ms": (through.parent_seconds + through.child_seconds) / through.turns * 1000,
        "worker.parent_core_ms": through.parent_seconds / through.turns * 1000,
        **{f"{stage}.core_ms": spent / last.turns * 1000 for stage, spent in seconds.items()},
        **{f"{stage}.share_ratio": spent / last.cpu_seconds for stage, spent in seconds.items()},
        "turns_with_facts_ratio": last.stating / last.turns,
        "memory.warm_mb": warm_mb,
        "memory.farthest_mb": farthest_mb,
        "memory.drift_ratio": farthest_mb / warm_mb - 1,
        "worker.parent_mb": through.parent_mb,
        "worker.child_mb": through.child_mb,
    }


def _rows(found: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
    def speed(name: str) -> tuple[str, str]:
        return f"{found[f'{name}.turns_per_core_second']:.0f}", f"{found[f'{name}.core_ms']:.1f}"

    yield ("task", *speed("task"), "100%", f"{found['memory.warm_mb']:.0f}", f"{found['memory.farthest_mb']:.0f}")
    for stage in (*_STAGES, _REST):
        yield (f"  {stage}", "", f"{found[f'{stage}.core_ms']:.1f}", f"{found[f'{stage}.share_ratio']:.0%}", "", "")
    yield ("extraction", *speed("extraction"), "", "", "")
    yield ("task, names redacted", *speed("named"), "", "", "")
    yield (f"  {learner.REDACT}", "", f"{found['named.redact.core_ms']:.1f}", "", "", "")
    yield ("worker", *speed("worker"), "", f"{found['worker.child_mb']:.0f}", "")
    yield ("  parent", "", f"{found['worker.parent_core_ms']:.1f}", "", f"{found['worker.parent_mb']:.0f}", "")


@contextlib.contextmanager
def beside_redis(progress: Callable[[str, float], None]) -> Iterator[tuple[config.Settings, Path]]:
    """Settings of a BRB of which a Redis alone runs, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="brb-bench-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        settings = config.load(data_dir=folder / "data", redis_url=None, extractor="rules", redaction="", worker_processes=1)
        models_dir = config.load().models_dir
        for made in (models_dir, settings.data, settings.run_dir, settings.metrics_dir, settings.data / "redis"):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings.models_dir.symlink_to(models_dir, target_is_directory=True)
        stack.callback(shutil.rmtree, settings.run_dir, ignore_errors=True)  # elsewhere if the folder's path is too long for a socket
        progress("starting Redis", 0.0)
        stack.enter_context(processes.supporting(program(settings, "redis"), settings, folder=folder))
        yield settings, folder


def program(settings: config.Settings, name: str) -> programs.Program:
    """One of those of `brb up`."""
    return next(each for each in programs.programs(settings, model_files.ensure(settings)) if each.name == name)


def _alone(settings: config.Settings, folder: Path, count: int, seed: int, progress: Callable[[str, float], None]) -> list[learner.Sample]:
    stage, found = f"learning from {count:,} turns{' without names' if settings.redaction else ''}", []
    argv = [sys.executable, "-m", learner.__name__, str(count), str(max(1, count // _SAMPLES)), str(seed), str(folder / _GIVEN)]
    log = folder / "learner.log"
    with log.open("wb") as out, processes.running(argv, settings, folder=folder, log=out) as child:
        assert child.stdout is not None  # noqa: S101 - a pipe was asked for
        for line in child.stdout:
            found.append(msgspec.json.decode(line, type=learner.Sample))
            progress(stage, found[-1].turns / count)
    if not found or found[-1].turns < count:
        raise errors.SetupError(f"the worker's task failed: {_last_line(log)}")
    return found


def _last_line(log: Path) -> str:
    return log.read_text(errors="replace").strip().rpartition("\n")[2]


def _through_celery(settings: config.Settings, folder: Path, plan: Plan, given: Sequence[str], progress: Callable[[str, float], None]) -> Through:
    made = turns.Maker(report.SEED + 1, given).turns(plan.warm + plan.through)
    with processes.supporting(program(settings, "worker"), settings, folder=folder) as server:
        jobs = _Jobs(settings, folder / "worker.log")
        jobs.learnt(list(islice(made, plan.warm)), lambda share: progress("warming up the worker", share))
        started, parent, children = time.perf_counter(), server.cpu_seconds(), _children_seconds(server.process)
        jobs.learnt(list(made), lambda share: progress(f"learning from {plan.through:,} turns through the worker", share))
        wall = time.perf_counter() - started
        return Through(
            turns=plan.through,
            wall_seconds=wall,
            parent_seconds=server.cpu_seconds() - parent,
            child_seconds=_children_seconds(server.process) - children,
            parent_mb=server.rss_mb(),
            child_mb=max(float(child.memory_info().rss) / _MEGABYTE for child in server.process.children()),
        )


class _Jobs:
    """Hands turns to the worker as the proxy does."""

    def __init__(self, settings: config.Settings, log: Path) -> None:
        self._log = log
        client = redis_client.connect(settings.redis_address, timeout_seconds=5)
        self._book = redis_jobs.RedisJobBook(client, seal.Seal(seal.secret_of(settings)), lease_seconds=600, done_seconds=_DONE_SECONDS)
        self._publish = celery_queue.Publisher(celery_queue.create_celery(settings, "brb-bench"))

    def learnt(self, said: list[messages.LearnTurn], progress: Callable[[float], None]) -> None:
        """Until the worker is done with them. `Unavailable`: it does not get on, or gave one up."""
        added = [messages.Job.of(messages.Task.LEARN_TURN, turn) for turn in said]
        self._book.add(added)
        for job in added:
            self._publish(job.id, job.task)
        left, since = len(added), time.monotonic()
        while left:
            time.sleep(_POLL_SECONDS)
            now = self._book.pending()[messages.Lane.LEARN]
            if now < left:
                left, since = now, time.monotonic()
                progress(1 - left / len(added))
            if time.monotonic() - since > _STUCK_SECONDS:
                raise errors.Unavailable("the worker", f"it has done nothing for {_STUCK_SECONDS:.0f} s: {_last_line(self._log)}")
        if dead := self._book.dead(1):
            raise errors.Unavailable("the worker", f"it gave a turn up: {dead[0].error}")


def _children_seconds(process: psutil.Process) -> float:
    """Of a core, of its children, also of those that have ended."""
    own = process.cpu_times()
    running = [child.cpu_times() for child in process.children()]
    return float(own.children_user + own.children_system) + sum(float(times.user + times.system) for times in running)
