"""What BRB stands on: processes, Redis, Qdrant, llama.cpp, the disk, the upstream."""

from ops.grafana.panels import Dashboard, Kind, Limit, Panel, Query, Row, greatest, quantile, rate, share

_READ = "sum(rate(llamacpp:prompt_tokens_total{@}[$__rate_interval]))"
_CACHED = "sum(rate(llamacpp:prompt_tokens_cached_total{@}[$__rate_interval]))"

INFRASTRUCTURE = Dashboard(
    uid="brb-infrastructure",
    title="Infrastructure",
    about="Processes, Redis, Qdrant, llama.cpp, the disk and the upstream.",
    rows=(
        Row(
            "Processes",
            (
                Panel(
                    "Targets",
                    "1: Prometheus reads the process; 0: it can't.",
                    "short",
                    (Query("min by (job, instance) (up{@})", "{{job}} {{instance}}"),),
                    most=1,
                ),
                Panel(
                    "Dependencies, as the proxy sees them",
                    "1: answers. Conversations go on without memory when one is away.",
                    "short",
                    (Query("min by (dependency) (brb_dependency_up{@})", "{{dependency}}"),),
                    most=1,
                ),
                Panel(
                    "Memory of processes",
                    "Resident, of the process that Prometheus reads: under prefork that is the parent.",
                    "bytes",
                    (Query("process_resident_memory_bytes{@}", "{{job}} {{instance}}"),),
                ),
                Panel(
                    "CPU of processes",
                    "Seconds of CPU a second, of the process that Prometheus reads.",
                    "short",
                    (Query("sum by (job, instance) (rate(process_cpu_seconds_total{@}[$__rate_interval]))", "{{job}} {{instance}}"),),
                ),
                Panel(
                    "Versions",
                    "Processes by version and embedding model: two of either are normal only during an upgrade.",
                    "short",
                    (Query("count by (version, embed_model) (brb_build_info{@})", "{{version}}, {{embed_model}}"),),
                ),
            ),
        ),
        Row(
            "Calls",
            (
                Panel(
                    "Stages of a recall",
                    "95 of 100 take less.",
                    "s",
                    (Query(quantile(0.95, "brb_recall_stage_seconds", "stage"), "{{stage}}"),),
                    limits=(Limit(0.4, "red"),),
                ),
                Panel(
                    "Upstream: time to the first byte",
                    "From sending the call to the first byte of its answer.",
                    "s",
                    tuple(Query(quantile(q, "brb_relay_upstream_ttfb_seconds"), f"p{q * 100:.0f}") for q in (0.5, 0.95, 0.99)),
                ),
                Panel(
                    "Calls that did not end well",
                    "By how they ended. denied and refused are BRB's own answers.",
                    "reqps",
                    (Query(rate("brb_relay_requests_total", "route, outcome", 'outcome!="ok"'), "{{route}}: {{outcome}}"),),
                    Kind.STACK,
                ),
            ),
        ),
        Row(
            "llama.cpp",
            (
                Panel(
                    "Time of a call",
                    "As BRB sees it; llama.cpp has no such histogram itself.",
                    "s",
                    (Query(quantile(0.5, "brb_llama_seconds", "op"), "{{op}} p50"), Query(quantile(0.95, "brb_llama_seconds", "op"), "{{op}} p95")),
                    width=6,
                ),
                Panel("Calls", "By kind.", "reqps", (Query(rate("brb_llama_seconds_count", "op"), "{{op}}"),), width=6),
                Panel(
                    "Tokens",
                    "Prompt tokens that were computed, and tokens that were predicted, by server.",
                    "cps",
                    (
                        Query("sum by (job) (rate(llamacpp:prompt_tokens_total{@}[$__rate_interval]))", "{{job}} prompt"),
                        Query("sum by (job) (rate(llamacpp:tokens_predicted_total{@}[$__rate_interval]))", "{{job}} predicted"),
                    ),
                    width=6,
                ),
                Panel(
                    "Requests in work and waiting",
                    "Waiting: there was no free slot.",
                    "short",
                    (
                        Query("sum by (job) (llamacpp:requests_processing{@})", "{{job}} in work"),
                        Query("sum by (job) (llamacpp:requests_deferred{@})", "{{job}} waiting"),
                    ),
                    width=6,
                ),
                Panel(
                    "Prompt tokens from its cache",
                    "Share that was not computed again.",
                    "percentunit",
                    (Query(share(_CACHED, f"({_CACHED} + {_READ})"), "from the cache"),),
                    width=6,
                    most=1,
                ),
            ),
        ),
        Row(
            "Redis and disk",
            (
                Panel(
                    "Redis: share of its limit",
                    "At 1 it takes no writes: nothing is learnt, nothing new is told. Nothing is shown where no limit is set.",
                    "percentunit",
                    (Query(f"{greatest('brb_redis_memory_bytes')} / ({greatest('brb_redis_memory_limit_bytes')} > 0)", "used"),),
                    width=6,
                    limits=(Limit(0.8, "orange"), Limit(0.95, "red")),
                    most=1,
                ),
                Panel(
                    "Redis: memory",
                    "In use, and the limit (0: none).",
                    "bytes",
                    (Query(greatest("brb_redis_memory_bytes"), "in use"), Query(greatest("brb_redis_memory_limit_bytes"), "limit")),
                    width=6,
                ),
                Panel(
                    "Disk: share in use",
                    "Of the file systems that hold data folders.",
                    "percentunit",
                    (Query("1 - brb_disk_free_bytes{@} / (brb_disk_size_bytes{@} > 0)", "{{job}} {{instance}}"),),
                    width=6,
                    limits=(Limit(0.85, "orange"), Limit(0.95, "red")),
                    most=1,
                ),
                Panel(
                    "Disk: free",
                    "Of the file systems that hold data folders.",
                    "bytes",
                    (Query("brb_disk_free_bytes{@}", "{{job}} {{instance}}"),),
                    width=6,
                ),
            ),
        ),
        Row(
            "Qdrant (a cluster has it; an Edge store is part of the proxy)",
            (
                Panel("Points", "By collection.", "short", (Query("max by (id) (collection_points{@})", "{{id}}"),), width=6),
                Panel(
                    "Points hidden until they are indexed",
                    "Written, but not found yet.",
                    "short",
                    (Query("max by (id) (collection_update_queue_deferred_points{@})", "{{id}}"),),
                    width=6,
                    limits=(Limit(1, "orange"),),
                ),
                Panel(
                    "Answers",
                    "By status.",
                    "reqps",
                    (Query("sum by (status) (rate(rest_responses_total{@}[$__rate_interval]))", "{{status}}"),),
                    Kind.STACK,
                    6,
                ),
                Panel(
                    "Time of an answer",
                    "95 of 100 take less, by endpoint.",
                    "s",
                    (Query(quantile(0.95, "rest_responses_duration_seconds", "endpoint"), "{{endpoint}}"),),
                    width=6,
                ),
                Panel(
                    "Optimizations running, updates waiting",
                    "Some under writes are normal; both for long without writes are not.",
                    "short",
                    (
                        Query("sum by (id) (collection_running_optimizations{@})", "{{id}} optimizations"),
                        Query("sum by (id) (collection_update_queue_length{@})", "{{id}} updates"),
                    ),
                    width=12,
                ),
                Panel("Memory", "Resident, of the process.", "bytes", (Query("memory_resident_bytes{@}", "{{instance}}"),), width=12),
            ),
        ),
    ),
)
