"""Every metric with its buckets, and the structlog set-up. Labels come from closed sets: no user, session, memory id or text."""

import itertools
import logging
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TextIO

import psutil
import structlog
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from services.core import ports

# Around the relay's aim (a few ms) and the recall deadline (400 ms).
_FAST_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.25, 0.4, 0.75, 1.5)
# First bytes of a model's answer: fractions of a second to a minute.
_ANSWER_SECONDS = (0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120)
# Tasks: a rule extraction takes milliseconds, an LLM extraction up to minutes.
_TASK_SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)
# An embedding takes milliseconds, an extraction seconds to minutes.
_MODEL_SECONDS = (*_FAST_SECONDS, 4, 15, 60, 120)
# Cosines and scores, finer around the gate (0.30) and the dedup threshold (0.82).
_COSINES = (0.0, 0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.82, 0.85, 0.9, 0.95, 1.0)
_MARGINS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
# Ratios of small sets: ten memories have no finer ones.
_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
# From the week in which something was said to the year after it.
_AGES_DAYS = (1, 3, 7, 14, 30, 90, 180, 365)


class Used(StrEnum):
    """Whether an answer used a memory that its turn was told. unknown: the memory says nothing that had not been
    said already, or the answer has no words."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Reask(StrEnum):
    """repeat: much the same question again. correction: the person says that the answer was wrong."""

    REPEAT = "repeat"
    CORRECTION = "correction"


class Zombie(StrEnum):
    """Why a current memory of some age counts as dead weight: no turn was ever told of it, or none for long."""

    NEVER = "never"
    NO_LONGER = "no_longer"


class Turned(StrEnum):
    """What became of an answered human turn: a job, a job on this machine until Redis is back, or nothing, as it had no words to learn from."""

    QUEUED = "queued"
    SPOOLED = "spooled"
    NOTHING = "nothing"


CANARY_KS = (1, 3, 5, 10)
ERASED_PLACES = ("deleted", "changed", "notes", "ledger", "answers", "uses", "turns", "jobs", "spooled")
"""As a receipt counts them."""

RELAY_OVERHEAD = Histogram("brb_relay_overhead_seconds", "Time before the upstream call that is BRB's own", buckets=_FAST_SECONDS)
UPSTREAM_TTFB = Histogram(
    "brb_relay_upstream_ttfb_seconds", "From sending the call upstream to the first byte of its answer", buckets=_ANSWER_SECONDS
)
RELAY_REQUESTS = Counter("brb_relay_requests_total", "Relayed calls", ["route", "outcome"])
RECALL_STAGE = Histogram("brb_recall_stage_seconds", "Stages of a recall", ["stage"], buckets=_FAST_SECONDS)
RECALL_REWRITTEN = Counter("brb_recall_rewritten_total", "Questions that lean on what was said before, by what completed them", ["by"])
RECALL_CACHE = Counter("brb_recall_cache_total", "Questions to the answer cache: same, similar, fresh, bypass", ["outcome"])
RECALL_OUTCOME = Counter("brb_recall_outcome_total", "Recalls on the wire by outcome", ["outcome"])
RECALL_SIMILARITY = Histogram("brb_recall_similarity", "Cosine of the best candidate", buckets=_COSINES)
RECALL_SCORE = Histogram("brb_recall_score", "Composite score of the best memory", buckets=_COSINES)
RECALL_MARGIN = Histogram("brb_recall_margin", "Best score less the second", buckets=_MARGINS)
INJECTED_MEMORIES = Histogram("brb_injected_memories", "Memories in an inserted block", buckets=(1, 2, 3, 5, 7, 10, 20))
INJECTED_TOKENS = Histogram("brb_injected_tokens", "Tokens (cl100k) of an inserted block", buckets=(32, 64, 128, 256, 512, 1024, 1536, 2048))
REPLAYED = Counter("brb_injection_replayed_total", "Blocks inserted again in a later call")
FACTS = Counter("brb_facts_total", "The extraction funnel", ["stage", "outcome"])
REDACTIONS = Counter("brb_redactions_total", "Replaced pieces of text", ["kind"])
DEDUP = Counter("brb_dedup_total", "What became of a fact", ["decision"])
TASKS = Histogram("brb_task_seconds", "Run time of a task", ["task", "outcome"], buckets=_TASK_SECONDS)
QUEUE_DEPTH = Gauge("brb_queue_depth", "Jobs recorded and not done", ["queue"], multiprocess_mode="mostrecent")
QUEUE_OLDEST = Gauge("brb_queue_oldest_seconds", "Age of the oldest job not done", ["queue"], multiprocess_mode="mostrecent")
DEAD_LETTERS = Gauge("brb_dead_letters", "Jobs that failed for good", multiprocess_mode="mostrecent")
SPOOLED = Gauge("brb_spooled_jobs", "Jobs waiting in the local spool for Redis", multiprocess_mode="mostrecent")
LLAMA = Histogram("brb_llama_seconds", "Calls of llama.cpp", ["op"], buckets=_MODEL_SECONDS)
MEMORIES = Gauge("brb_memories", "Stored memories", ["scope", "status"], multiprocess_mode="mostrecent")
TURNS = Counter("brb_turns_total", "Answered human turns by what became of them", ["outcome"])
MEMORY_USED = Counter("brb_memory_used_total", "Memories that a turn was told of, by whether its answer used them", ["used"])
INJECTED_REDUNDANCY = Histogram("brb_injected_redundancy", "Mean cosine between the memories of an inserted block", buckets=_SHARES)
INJECTED_AGE = Histogram("brb_injected_age_days", "Days since a memory of an inserted block was last said", buckets=_AGES_DAYS)
SUPERSEDED_SHOWN = Counter("brb_superseded_shown_total", "Memories in an inserted block that were not current any more")
REASKS = Counter("brb_reasks_total", "Human turns that ask the same again, or correct the answer", ["kind"])
ZOMBIES = Gauge("brb_zombie_ratio", "Share of the current memories of some age that are dead weight", ["kind"], multiprocess_mode="mostrecent")
TOP10 = Gauge("brb_injection_top10_ratio", "Share of the ten most told memories in all that was told lately", multiprocess_mode="mostrecent")
SHADOW = Histogram("brb_shadow_overlap", "Share of the exact nearest memories that the search found, in a sample of recalls", buckets=_SHARES)
CANARY_RUNS = Counter("brb_canary_runs_total", "Rounds of probes: facts stored, found and not found", ["outcome"])
CANARY_AT = Gauge("brb_canary_last_run_timestamp_seconds", "When the last whole round ended", multiprocess_mode="mostrecent")
CANARY_RECALL = Gauge("brb_canary_recall_at_k", "Share of the known-item probes found among the first k", ["k"], multiprocess_mode="mostrecent")
CANARY_MRR = Gauge("brb_canary_mrr", "Mean reciprocal rank of the known-item probes", multiprocess_mode="mostrecent")
CANARY_SILENT = Gauge("brb_canary_silent_ratio", "Share of the negative probes that were told nothing", multiprocess_mode="mostrecent")
CANARY_CROSSINGS = Gauge("brb_canary_crossings", "Memories of another scope that probes were told: must be 0", multiprocess_mode="mostrecent")
CANARY_WRITE_TO_READ = Gauge("brb_canary_write_to_read_seconds", "From recording a probe's job to its recall", multiprocess_mode="mostrecent")
WAITING = Gauge("brb_review_waiting", "Memories that wait for somebody's decision", ["why"], multiprocess_mode="mostrecent")
WAITING_OLDEST = Gauge("brb_review_oldest_seconds", "Age of the oldest memory that waits for a decision", multiprocess_mode="mostrecent")
AUDITED = Counter("brb_audit_events_total", "Events of the audit log", ["act"])
ERASED = Counter("brb_erased_total", "Pieces erased on request, by place", ["place"])
REDIS_MEMORY = Gauge("brb_redis_memory_bytes", "Memory in use by Redis", multiprocess_mode="mostrecent")
REDIS_LIMIT = Gauge("brb_redis_memory_limit_bytes", "maxmemory of Redis, 0 for none", multiprocess_mode="mostrecent")
DISK_FREE = Gauge("brb_disk_free_bytes", "Free on the file system of the data folder", multiprocess_mode="mostrecent")
DISK_SIZE = Gauge("brb_disk_size_bytes", "Size of the file system of the data folder", multiprocess_mode="mostrecent")
DEPENDENCY_UP = Gauge("brb_dependency_up", "1 if the dependency answers", ["dependency"], multiprocess_mode="mostrecent")
BUILD = Gauge("brb_build_info", "Always 1", ["version", "embed_model"], multiprocess_mode="mostrecent")
DENIED = Counter("brb_denied_total", "Calls that were turned away before anything was done, by cause", ["reason"])
CACHE_READ_TOKENS = Counter("brb_upstream_cache_read_tokens_total", "Prompt tokens that the upstream read from its cache")
CACHE_WRITE_TOKENS = Counter("brb_upstream_cache_write_tokens_total", "Prompt tokens that the upstream wrote to its cache")


_CLOSED: Sequence[tuple[Counter | Gauge, Sequence[Sequence[str]]]] = (
    (TURNS, [list(Turned)]),
    (MEMORY_USED, [list(Used)]),
    (REASKS, [list(Reask)]),
    (CANARY_RUNS, [["ok", "failed"]]),
    (RECALL_OUTCOME, [["injected", "empty", "repeated", "deadline", "ledger_away", "error"]]),
    (FACTS, [["turn"], ["facts", "none"]]),
    (DEDUP, [["insert", "reinforce", "supersede", "close", "stale", "drop"]]),
    (AUDITED, [list(ports.Act)]),
    (ERASED, [ERASED_PLACES]),
)


def start() -> None:
    """Every series of a closed set is there from the start, so that the first event is seen as a rise. Called once by each process that counts."""
    for metric, values in _CLOSED:
        for labels in itertools.product(*values):
            metric.labels(*labels)
    _take_room()


def _take_room() -> None:
    """The files of the multi-process mode are mapped into memory: on a full disk, the first event that needs a new page of one ended its process."""
    try:
        collector = MultiProcessCollector(CollectorRegistry())  # type: ignore[no-untyped-call]
    except ValueError:  # not in that mode
        return
    for file in Path(collector._path).glob(f"*_{os.getpid()}.db"):
        with suppress(OSError, AttributeError), file.open("rb+") as opened:  # macOS has no such call
            os.posix_fallocate(opened.fileno(), 0, file.stat().st_size)


def exposed() -> bytes:
    """All metrics as Prometheus text: of this process, or, in prometheus_client's multi-process mode, of all that count in its folder, also of those
    that have ended; what only a living process can tell (gauges of the `live` modes) goes with it."""
    together = CollectorRegistry()
    try:
        folder = Path(_Together(together).folder)
    except ValueError:  # not in that mode
        return generate_latest(REGISTRY)
    ProcessCollector(registry=together)
    for pid in {int(file.stem.rpartition("_")[2]) for file in folder.glob("gauge_live*_*.db")}:
        if not psutil.pid_exists(pid):
            mark_process_dead(pid)  # type: ignore[no-untyped-call]
    return generate_latest(together)


class _Together(MultiProcessCollector):
    """Passes by the file that a process has just begun: it is empty for a moment, and prometheus_client fails at it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry)  # type: ignore[no-untyped-call]
        self.folder: str = self._path

    def collect(self) -> Iterable[Metric]:
        files = [str(file) for file in Path(self.folder).glob("*.db") if file.stat().st_size]
        return self.merge(files, accumulate=True)  # type: ignore[no-untyped-call,no-any-return]


def count_redacted(counts: Mapping[str, int]) -> None:
    """How many pieces of which kind were replaced in a text."""
    for kind, count in counts.items():
        REDACTIONS.labels(kind).inc(count)


def configure_logging(level: str) -> None:
    """One JSON line an event on stderr: event name and fields, never a memory's text, a token or a key."""
    number = logging.getLevelNamesMapping()[{"warn": "warning"}.get(level, level).upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _without_tracebacks,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(_Unfailing(sys.stderr)),  # type: ignore[arg-type]
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(_Unfailing(sys.stderr))
    handler.setFormatter(_Brief("%(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=max(number, logging.INFO), handlers=[handler], force=True)
    for name in ("celery", "kombu", "httpx", "httpx2", "httpcore", "httpcore2", "uvicorn.access"):
        logging.getLogger(name).setLevel(logging.WARNING)


class _Unfailing:
    """Where a line can't be written, the disk being full, it is not: what was to be told of goes on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            return self._stream.write(text)
        return 0

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


class _Brief(logging.Formatter):
    """The logs of libraries, under the same rule as ours."""

    def formatException(self, ei: object) -> str:
        fields = _without_tracebacks(None, "", {"exc_info": ei})
        return f"{fields.get('error')} at {fields.get('where')}"


def _without_tracebacks(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """An exception's text may quote a request: only its type and where it was raised are logged."""
    exc = event.pop("exc_info", None)
    if exc is True:
        exc = sys.exc_info()[1]
    elif isinstance(exc, tuple):
        exc = exc[1]
    if isinstance(exc, BaseException):
        event["error"] = type(exc).__name__
        frame = exc.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        if frame is not None:
            event["where"] = f"{frame.tb_frame.f_code.co_filename.rsplit('/', 2)[-1]}:{frame.tb_lineno}"
    return event
