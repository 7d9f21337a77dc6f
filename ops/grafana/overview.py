"""Is it well? For whoever is on call: one look, and where to look next."""

from ops.grafana.panels import NO_TRAFFIC, SEVERITIES, Dashboard, Kind, Limit, Panel, Query, Row, greatest, newest, often, quantile, rate, share

_BROKEN = 'outcome=~"upstream_error|unreachable|cut"'
_WITHOUT = 'outcome=~"deadline|ledger_away|error"'
_FRESH = 'outcome!="repeated"'


def _firing(where: str = "") -> str:
    """Alerts of BRB: Prometheus's own series. Those of the whole service have neither job nor instance."""
    return f'ALERTS{{alertstate="firing",alertname=~"Brb.+"{where and f",{where}"}}}'


def _alerts(severity: str, meaning: str) -> Panel:
    where = f'severity="{severity}"'
    return Panel(
        f"Alerts: {severity}",
        f"How many fire. {meaning} {NO_TRAFFIC}: Prometheus has no rules of BRB, so that nothing can fire.",
        "short",
        (Query(f"count({_firing(where)}) or 0 * brb:alert_rules:evaluated{{}}"),),
        Kind.NUMBER,
        3,
        (Limit(1, SEVERITIES[severity]),),
    )


OVERVIEW = Dashboard(
    uid="brb-overview",
    title="Overview",
    about="Whether BRB is well. Start here; the links above lead to why.",
    rows=(
        Row(
            "What fires now",
            (
                _alerts("critical", "Somebody must look now."),
                _alerts("warning", "Somebody must look today."),
                _alerts("info", "Somebody should look when there is time."),
                Panel(
                    "Alerts by name",
                    "What each means, where to look and what to do is in ops/runbook.md under its name. count: of how many processes or parts.",
                    "short",
                    (Query(f"count by (severity, alertname) ({_firing()})", "{{severity}}: {{alertname}}"),),
                    Kind.TABLE,
                    15,
                    nothing="none",
                ),
            ),
        ),
        Row(
            "Is it well?",
            (
                Panel("Calls", "Calls that are relayed.", "reqps", (Query(rate("brb_relay_requests_total")),), Kind.NUMBER, 3, base="blue"),
                Panel(
                    "Calls that failed",
                    "Share of the calls that the upstream refused, broke off or could not be reached for.",
                    "percentunit",
                    (Query(share(rate("brb_relay_requests_total", where=_BROKEN), rate("brb_relay_requests_total"))),),
                    Kind.NUMBER,
                    3,
                    (Limit(0.02, "orange"), Limit(0.1, "red")),
                ),
                Panel(
                    "Time that BRB adds",
                    "95 of 100 calls go upstream within this time. The recall deadline is 0.4 s unless set otherwise.",
                    "s",
                    (Query(quantile(0.95, "brb_relay_overhead_seconds")),),
                    Kind.NUMBER,
                    3,
                    (Limit(0.25, "orange"), Limit(0.4, "red")),
                ),
                Panel(
                    "Recalls that failed open",
                    "Share of the new turns that went out without memories because the recall was late or broken.",
                    "percentunit",
                    (Query(share(rate("brb_recall_outcome_total", where=_WITHOUT), rate("brb_recall_outcome_total", where=_FRESH))),),
                    Kind.NUMBER,
                    3,
                    (Limit(0.02, "orange"), Limit(0.1, "red")),
                ),
                Panel(
                    "Canary: found in the first 5",
                    "Share of the hourly known-item probes whose memory was among the first five.",
                    "percentunit",
                    (Query(newest("brb_canary_recall_at_k", where='k="5"')),),
                    Kind.NUMBER,
                    3,
                    (Limit(0.8, "orange"), Limit(0.85, "green")),
                    base="red",
                ),
                Panel(
                    "Oldest job",
                    "Age of the oldest job of any queue that is not done.",
                    "s",
                    (Query(greatest("brb_queue_oldest_seconds", where='queue!="patient"')),),
                    Kind.NUMBER,
                    3,
                    (Limit(60, "orange"), Limit(900, "red")),
                ),
                Panel(
                    "Dead letters",
                    "Jobs that failed for good and wait for somebody: `brb jobs dead`.",
                    "short",
                    (Query(greatest("brb_dead_letters")),),
                    Kind.NUMBER,
                    3,
                    (Limit(1, "red"),),
                ),
                Panel(
                    "Targets that are down",
                    "Processes that Prometheus can't read.",
                    "short",
                    (Query("count(up{@} == 0) or vector(0)"),),
                    Kind.NUMBER,
                    3,
                    (Limit(1, "red"),),
                ),
            ),
        ),
        Row(
            "Conversations",
            (
                Panel(
                    "Calls by how they ended",
                    "ok: the whole answer was relayed. upstream_error: the upstream said no. cut: it broke off. client_closed: the client left.",
                    "reqps",
                    (Query(rate("brb_relay_requests_total", "outcome"), "{{outcome}}"),),
                    Kind.STACK,
                ),
                Panel("Calls by route", "What clients call.", "reqps", (Query(rate("brb_relay_requests_total", "route"), "{{route}}"),), Kind.STACK),
                Panel(
                    "Time that BRB adds before the upstream call",
                    "Reading, looking up, recalling and splicing; nothing is added after it.",
                    "s",
                    tuple(Query(quantile(q, "brb_relay_overhead_seconds"), f"p{q * 100:.0f}") for q in (0.5, 0.95, 0.99)),
                    limits=(Limit(0.4, "red"),),
                ),
            ),
        ),
        Row(
            "Memory",
            (
                Panel(
                    "New turns by what they were told",
                    "injected: told of memories. empty: nothing fitted. repeated: a retry, told what it was told before."
                    " deadline, ledger_away, error: went out without memories.",
                    "cpm",
                    (Query(often("brb_recall_outcome_total", "outcome"), "{{outcome}}"),),
                    Kind.STACK,
                    every="1m",
                ),
                Panel(
                    "Answered turns by what became of them",
                    "queued: to be learnt. spooled: kept on disk until Redis is back. nothing: no words to learn from.",
                    "cpm",
                    (Query(often("brb_turns_total", "outcome"), "{{outcome}}"),),
                    Kind.STACK,
                    every="1m",
                ),
                Panel(
                    "Told memories by whether the answer used them",
                    "Attributed after removing what the prompt already said; unknown: the memory said nothing else.",
                    "cpm",
                    (Query(often("brb_memory_used_total", "used"), "{{used}}"),),
                    Kind.STACK,
                    every="5m",
                ),
                Panel("Jobs not done", "By queue.", "short", (Query(greatest("brb_queue_depth", "queue"), "{{queue}}"),), width=6),
                Panel(
                    "Spooled jobs",
                    "Jobs that wait on the proxies' disks until Redis is back.",
                    "short",
                    (Query("sum(brb_spooled_jobs{@})", "spooled"),),
                    width=6,
                    limits=(Limit(1, "orange"),),
                ),
                Panel(
                    "Prompt cache of the upstream",
                    "Prompt tokens that the upstream read from its cache, and wrote to it. BRB must not make the writes grow.",
                    "cpm",
                    (Query(often("brb_upstream_cache_read_tokens_total"), "read"), Query(often("brb_upstream_cache_write_tokens_total"), "written")),
                    width=6,
                    every="1m",
                ),
                Panel(
                    "Calls turned away",
                    "By cause: no token, a wrong one, too many calls, a name that is not BRB's.",
                    "reqps",
                    (Query(rate("brb_denied_total", "reason"), "{{reason}}"),),
                    Kind.STACK,
                    6,
                ),
            ),
        ),
    ),
)
