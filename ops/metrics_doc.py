"""The table in docs/metrics.md, made of the metrics themselves: `python -m ops.metrics_doc` writes it."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

from prometheus_client import Counter, Gauge, Histogram

from services.core import messages, models, ports, telemetry
from services.core.redaction import spans
from services.indexer import writing
from services.proxy import access, exchange
from services.proxy.wire import routes
from services.worker.extraction import funnel, grounding

PAGE = Path(__file__).parent.parent / "docs" / "metrics.md"
BEGIN, END = "<!-- made by ops/metrics_doc.py -->", "<!-- up to here -->"
_ENGINES = get_args(funnel.Engine)

VALUES: dict[tuple[str, str], Sequence[str]] = {
    ("brb_relay_requests", "route"): list(routes.Route),
    ("brb_relay_requests", "outcome"): list(exchange.Outcome),
    ("brb_recall_stage_seconds", "stage"): ["embed", "search", "rank"],
    ("brb_recall_rewritten", "by"): ["context", "model"],
    ("brb_recall_cache", "outcome"): ["same", "similar", "fresh", "bypass"],
    ("brb_recall_outcome", "outcome"): ["injected", "empty", "repeated", "deadline", "ledger_away", "error"],
    ("brb_facts", "stage"): ["turn", "proposed", "ungrounded", "filtered", "invalid", "duplicate", "kept", "policy"],
    ("brb_facts", "outcome"): ["facts", "none", "dropped", "cut", "schema", *_ENGINES, *grounding.Flaw],
    ("brb_redactions", "kind"): list(spans.Kind),
    ("brb_dedup", "decision"): list(writing._NAMES.values()),
    ("brb_task_seconds", "task"): list(messages.PAYLOAD_OF),
    ("brb_task_seconds", "outcome"): ["done", "failed", "waiting", "lost", "dead"],
    ("brb_queue_depth", "queue"): list(messages.Lane),
    ("brb_queue_oldest_seconds", "queue"): list(messages.Lane),
    ("brb_llama_seconds", "op"): ["embed", "extract"],
    ("brb_memories", "scope"): list(models.Visibility),
    ("brb_memories", "status"): list(models.Status),
    ("brb_turns", "outcome"): list(telemetry.Turned),
    ("brb_memory_used", "used"): list(telemetry.Used),
    ("brb_reasks", "kind"): list(telemetry.Reask),
    ("brb_zombie_ratio", "kind"): list(telemetry.Zombie),
    ("brb_canary_runs", "outcome"): ["ok", "failed"],
    ("brb_canary_recall_at_k", "k"): [str(k) for k in telemetry.CANARY_KS],
    ("brb_review_waiting", "why"): list(get_args(models.Why)),
    ("brb_audit_events", "act"): [act for act in ports.Act if act is not ports.Act.UNREADABLE],
    ("brb_erased", "place"): telemetry.ERASED_PLACES,
    ("brb_dependency_up", "dependency"): ["redis", "qdrant", "llama.cpp", "worker", "indexer", "beat", "extraction model"],
    ("brb_denied", "reason"): list(access.Reason),
    ("brb_build_info", "version"): [],
    ("brb_build_info", "embed_model"): [],
}
"""Every value that a label may have; none listed: one, that of the settings."""


def metrics() -> Iterator[Counter | Gauge | Histogram]:
    """In the order in which they are defined."""
    for value in vars(telemetry).values():
        if isinstance(value, Counter | Gauge | Histogram):
            yield value


def rows() -> Iterator[str]:
    yield "| metric | kind | labels | meaning |"
    yield "|---|---|---|---|"
    for metric in metrics():
        kind = type(metric).__name__.lower()
        name = f"{metric._name}_total" if kind == "counter" else metric._name
        labels = "<br>".join(f"`{label}`: {', '.join(VALUES[metric._name, label]) or 'of the settings'}" for label in metric._labelnames)
        yield f"| `{name}` | {kind} | {labels} | {metric._documentation} |"


def page(text: str) -> str:
    """The page with the table of today."""
    table = "\n".join((BEGIN, *rows(), END))
    return re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: table, text, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
