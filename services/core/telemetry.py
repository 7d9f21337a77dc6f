"""Every metric with its buckets, and the structlog set-up. Labels come from closed sets: no user, session, memory id or text."""

import logging
import sys
from collections.abc import Mapping

import structlog
from prometheus_client import Counter, Gauge, Histogram

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
DENIED = Counter("brb_denied_total", "Calls that were turned away before anything was done, by cause", ["reason"])
CACHE_READ_TOKENS = Counter("brb_upstream_cache_read_tokens_total", "Prompt tokens that the upstream read from its cache")
CACHE_WRITE_TOKENS = Counter("brb_upstream_cache_write_tokens_total", "Prompt tokens that the upstream wrote to its cache")


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
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Brief("%(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=max(number, logging.INFO), handlers=[handler], force=True)
    for name in ("celery", "kombu", "httpx", "httpx2", "httpcore", "httpcore2", "uvicorn.access"):
        logging.getLogger(name).setLevel(logging.WARNING)


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
