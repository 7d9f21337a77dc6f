"""What may be asked of Prometheus: BRB's own metrics as its code declares them, and those of others that dashboards and alerts read."""

from collections.abc import Mapping
from typing import NamedTuple

from prometheus_client import Counter, Gauge, Histogram

from services.core import messages, models, telemetry
from services.indexer import writing
from services.proxy import exchange


class Known(NamedTuple):
    """kind: counter, gauge or histogram. labels: beside job and instance."""

    kind: str
    labels: frozenset[str]


def unknown(name: str, matchers: Mapping[str, str]) -> set[str]:
    """What a selector of ours asks for that is never there: a label's value that no code sets would be taken for none of it happening."""
    return {
        f"{label}={value}"
        for label, matcher in matchers.items()
        if label not in ("job", "instance")
        for value in matcher.lstrip("=!~").split("|")
        if value not in VALUES[name, label]
    }


def _own() -> dict[str, Known]:
    """By the names of their series, without `_bucket`, `_sum` and `_count` of histograms."""
    found = {}
    for metric in vars(telemetry).values():
        if isinstance(metric, (Counter, Gauge, Histogram)):
            described = next(iter(metric.describe()))
            name = f"{described.name}_total" if described.type == "counter" else described.name
            found[name] = Known(described.type, frozenset(metric._labelnames))
    return found


def _foreign(kind: str, names: str, *labels: str) -> dict[str, Known]:
    return {name: Known(kind, frozenset(labels)) for name in names.split()}


OWN = _own()

PROMETHEUS = _foreign("gauge", "up")

WHOLE = {  # of the whole service, so without job and instance, but for some alerts
    **_foreign("gauge", "ALERTS", "alertname", "alertstate", "severity"),
    **_foreign("gauge", "brb:alert_rules:evaluated"),
}

CLIENT = {  # prometheus_client's, of the process that answers; Prometheus, Qdrant and others have them as well
    **_foreign("gauge", "process_resident_memory_bytes"),
    **_foreign("counter", "process_cpu_seconds_total"),
}

LLAMA_CPP = {  # tools/server/server-task.cpp of build 11434; no labels
    **_foreign("counter", "llamacpp:prompt_tokens_total llamacpp:prompt_tokens_cached_total llamacpp:tokens_predicted_total"),
    **_foreign("gauge", "llamacpp:requests_processing llamacpp:requests_deferred"),
}

QDRANT = {  # src/common/metrics.rs of 1.19
    **_foreign(
        "gauge",
        "collection_points collection_running_optimizations collection_update_queue_length collection_update_queue_deferred_points",
        "id",
    ),
    **_foreign("gauge", "memory_resident_bytes"),
    **_foreign("counter", "rest_responses_total", "method", "endpoint", "status"),
    **_foreign("histogram", "rest_responses_duration_seconds", "method", "endpoint", "status"),
}

VALUES: dict[tuple[str, str], set[str]] = {
    ("brb_relay_requests_total", "outcome"): set(exchange.Outcome),
    ("brb_recall_outcome_total", "outcome"): {"injected", "empty", "repeated", "deadline", "ledger_away", "error"},
    ("brb_turns_total", "outcome"): set(telemetry.Turned),
    ("brb_memory_used_total", "used"): set(telemetry.Used),
    ("brb_facts_total", "stage"): {"turn", "proposed", "ungrounded", "filtered", "duplicate", "policy", "kept", "invalid"},
    ("brb_facts_total", "outcome"): {"facts", "none"},  # of stage turn
    ("brb_dedup_total", "decision"): set(writing._NAMES.values()),
    ("brb_queue_oldest_seconds", "queue"): set(messages.Lane),
    ("brb_memories", "status"): set(models.Status),
    ("brb_canary_recall_at_k", "k"): {str(k) for k in telemetry.CANARY_KS},
    ("brb:canary_recall_at_k:newest", "k"): {str(k) for k in telemetry.CANARY_KS},
    ("ALERTS", "alertstate"): {"firing", "pending"},
    ("ALERTS", "alertname"): {"Brb.+"},
    ("ALERTS", "severity"): {"critical", "warning", "info"},
    ("brb_dependency_up", "dependency"): {"redis", "qdrant", "llama.cpp", "worker", "indexer", "beat", "extraction model"},
}
"""Of the labels that dashboards and rules select by."""

ALL = OWN | PROMETHEUS | WHOLE | CLIENT | LLAMA_CPP | QDRANT
