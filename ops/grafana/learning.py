"""What becomes of what people say, and of what is stored."""

from ops.grafana.panels import Dashboard, Kind, Limit, Panel, Query, Row, greatest, often, quantile, rate, share

_SLOW = "5m"


def _over_all(metric: str, where: str = "") -> str:
    """Of a counter, over all of the time that is shown."""
    return f"sum(increase({metric}{{@{where and f',{where}'}}}[$__range])) or vector(0)"


_KEPT = rate("brb_facts_total", where='stage="kept"')
_CURRENT = greatest("brb_memories", "scope", 'status="current"')
_PROPOSED = rate("brb_facts_total", where='stage="proposed"')

LEARNING = Dashboard(
    uid="brb-learning",
    title="Learning and store",
    about="From answered turns to memories: what falls out where, what waits, and what is stored.",
    since="now-24h",
    rows=(
        Row(
            "From turns to memories",
            (
                Panel(
                    "The funnel",
                    "Over the time shown. A turn may hold several facts, and most hold none.",
                    "short",
                    (
                        Query(_over_all("brb_turns_total", 'outcome!="nothing"'), "turns to learn from"),
                        Query(_over_all("brb_facts_total", 'stage="turn"'), "readings done"),
                        Query(_over_all("brb_facts_total", 'stage="proposed"'), "facts proposed"),
                        Query(_over_all("brb_facts_total", 'stage="kept"'), "facts kept"),
                        Query(_over_all("brb_dedup_total", 'decision=~"insert|supersede"'), "memories written"),
                    ),
                    Kind.BARS,
                    base="blue",
                ),
                Panel(
                    "Turns and readings",
                    "Answered turns that are to be learnt, and what readings of them found. The lines should keep up with each other.",
                    "cpm",
                    (
                        Query(often("brb_turns_total", "outcome"), "turns: {{outcome}}"),
                        Query(often("brb_facts_total", "outcome", 'stage="turn"'), "readings: {{outcome}}"),
                    ),
                    every=_SLOW,
                ),
                Panel(
                    "Facts by stage",
                    "proposed: by an extractor. ungrounded: the person's words don't prove them. filtered: say nothing. duplicate: found twice."
                    " policy: held what must not be kept. kept: go on to the store.",
                    "cpm",
                    (Query(often("brb_facts_total", "stage", 'stage!="turn"'), "{{stage}}"),),
                    every=_SLOW,
                ),
                Panel(
                    "Share of proposed facts that are kept",
                    "One that falls: the extractor proposes what nobody said.",
                    "percentunit",
                    (Query(share(_KEPT, _PROPOSED), "kept"),),
                    every="15m",
                    most=1,
                ),
                Panel(
                    "Facts that fell out",
                    "By stage and reason; invalid: an answer of the language model that is none.",
                    "cpm",
                    (Query(often("brb_facts_total", "stage, outcome", 'stage!~"turn|proposed|kept"'), "{{stage}}: {{outcome}}"),),
                    Kind.STACK,
                    every=_SLOW,
                ),
                Panel(
                    "What became of facts",
                    "insert: a new memory. reinforce: said again. supersede: a new value. close: ended. stale: older than what is known."
                    " drop: not kept.",
                    "cpm",
                    (Query(often("brb_dedup_total", "decision"), "{{decision}}"),),
                    Kind.STACK,
                    every=_SLOW,
                ),
                Panel(
                    "Pieces that were redacted",
                    "By kind, before anything was queued or stored.",
                    "cpm",
                    (Query(often("brb_redactions_total", "kind"), "{{kind}}"),),
                    Kind.STACK,
                    12,
                    every=_SLOW,
                ),
                Panel(
                    "Models: time of a call",
                    "embed: an embedding. extract: a language model that reads a turn or completes a question.",
                    "s",
                    (Query(quantile(0.5, "brb_llama_seconds", "op"), "{{op}} p50"), Query(quantile(0.95, "brb_llama_seconds", "op"), "{{op}} p95")),
                    width=12,
                ),
            ),
        ),
        Row(
            "Jobs",
            (
                Panel(
                    "Dead letters",
                    "Jobs that failed for good: `brb jobs dead` shows them, `brb jobs retry` tries again.",
                    "short",
                    (Query(greatest("brb_dead_letters")),),
                    Kind.NUMBER,
                    4,
                    (Limit(1, "red"),),
                ),
                Panel(
                    "Spooled",
                    "Jobs that wait on the proxies' disks until Redis is back.",
                    "short",
                    (Query("sum(brb_spooled_jobs{@})"),),
                    Kind.NUMBER,
                    4,
                    (Limit(1, "orange"),),
                ),
                Panel(
                    "Oldest job to learn",
                    "Age of the oldest turn that is not learnt.",
                    "s",
                    (Query(greatest("brb_queue_oldest_seconds", where='queue="learn"')),),
                    Kind.NUMBER,
                    4,
                    (Limit(60, "orange"), Limit(900, "red")),
                ),
                Panel(
                    "Waiting for a decision",
                    "Memories that are proposed, quarantined or imported, and wait for somebody.",
                    "short",
                    (Query(f"sum({greatest('brb_review_waiting', 'why')})"),),
                    Kind.NUMBER,
                    4,
                    (Limit(50, "orange"),),
                    base="blue",
                ),
                Panel(
                    "Oldest that waits",
                    "Age of the memory that waits longest for a decision.",
                    "s",
                    (Query(greatest("brb_review_oldest_seconds")),),
                    Kind.NUMBER,
                    4,
                    (Limit(604800, "orange"),),
                    base="blue",
                ),
                Panel(
                    "Current memories",
                    "That may be recalled, of all scopes.",
                    "short",
                    (Query(f"sum({_CURRENT})"),),
                    Kind.NUMBER,
                    4,
                    base="blue",
                ),
                Panel("Jobs not done", "By queue.", "short", (Query(greatest("brb_queue_depth", "queue"), "{{queue}}"),)),
                Panel(
                    "Age of the oldest job",
                    "By queue. A few seconds are normal; minutes mean that nobody works on it.",
                    "s",
                    (Query(greatest("brb_queue_oldest_seconds", "queue"), "{{queue}}"),),
                    limits=(Limit(900, "red"),),
                ),
                Panel(
                    "Jobs run, by outcome",
                    "done; waiting: a dependency is away; lost: another worker took it over; gone: done before; dead: failed for good.",
                    "cpm",
                    (Query(often("brb_task_seconds_count", "outcome"), "{{outcome}}"),),
                    Kind.STACK,
                    every="1m",
                ),
                Panel(
                    "Time of a job",
                    "95 of 100 runs of a task end within this time.",
                    "s",
                    (Query(quantile(0.95, "brb_task_seconds", "task"), "{{task}}"),),
                    width=12,
                ),
                Panel(
                    "Jobs run, by task",
                    "Runs of each task.",
                    "cpm",
                    (Query(often("brb_task_seconds_count", "task"), "{{task}}"),),
                    Kind.STACK,
                    12,
                    every="1m",
                ),
            ),
        ),
        Row(
            "Store",
            (
                Panel(
                    "Memories",
                    "By scope and status; only current ones are recalled.",
                    "short",
                    (Query(greatest("brb_memories", "scope, status"), "{{scope}}, {{status}}"),),
                ),
                Panel("Waiting for a decision", "By why.", "short", (Query(greatest("brb_review_waiting", "why"), "{{why}}"),), Kind.STACK),
                Panel(
                    "Dead weight",
                    "Share of the current memories of some age that no turn was ever (never), or lately (no_longer), told of.",
                    "percentunit",
                    (Query(greatest("brb_zombie_ratio", "kind"), "{{kind}}"),),
                    most=1,
                ),
                Panel(
                    "Who did what",
                    "Events of the audit log, by kind.",
                    "cpm",
                    (Query(often("brb_audit_events_total", "act"), "{{act}}"),),
                    Kind.STACK,
                    12,
                    every=_SLOW,
                ),
                Panel(
                    "Erased on request",
                    "Pieces, by where they were.",
                    "cpm",
                    (Query(often("brb_erased_total", "place"), "{{place}}"),),
                    Kind.STACK,
                    12,
                    every=_SLOW,
                ),
            ),
        ),
    ),
)
