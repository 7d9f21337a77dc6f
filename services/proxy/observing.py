"""What a told and an answered turn show about the memory, counted off the path of calls. Never a text. Caveats: docs/quality.md."""

from collections.abc import Iterable, Sequence

from services.core import messages, models, ports, telemetry
from services.core.quality import injected, reasks, shadow, used
from services.core.recall import engine
from services.proxy import framing
from services.proxy.telling import Finding
from services.proxy.wire import calls

SHADOW_K = 10
"""Nearest that a search is held against the exact ones by."""


def block(finding: Finding, now: float) -> None:
    """How much alike the memories of an inserted block are, and how old. now: epoch seconds."""
    shown = frozenset(finding.framed.memory_ids if finding.framed else ())
    vectors = [vector for each, vector in finding.recall.vectors.items() if each in shown]
    if len(vectors) == len(shown) and (alike := injected.redundancy(vectors)) is not None:
        telemetry.INJECTED_REDUNDANCY.observe(min(1.0, alike))
    for days in injected.ages_days((one.memory for one in finding.recall.ranked if one.memory.id in shown), now):
        telemetry.INJECTED_AGE.observe(days)


def superseded(shown: Iterable[models.Memory | None]) -> None:
    """shown: the memories of an inserted block as they are a moment later; None for one that was erased."""
    telemetry.SUPERSEDED_SHOWN.inc(sum(memory is not None and memory.status is not models.Status.CURRENT for memory in shown))


def shadowed(turn_id: str, scope: models.Scope, recall: engine.Recall, *, store: ports.MemoryStore, share: float) -> None:
    """Of a sample: search again with and without the index."""
    if recall.vector is None or not shadow.sampled(turn_id, share):
        return
    found, exact = ([hit.memory.id for hit in store.nearest(scope, recall.vector, limit=SHADOW_K, exact=exactly)] for exactly in (False, True))
    if (overlap := shadow.overlap(found, exact)) is not None:
        telemetry.SHADOW.observe(overlap)


def answered(call: calls.Call, answer: calls.Answer, block: str) -> None:
    """block: what the turn was told, "" for nothing. Only what people say counts: agents repeat themselves."""
    before = [turn.words for turn in call.old_turns[: len(call.old_turns) - call.begun]]
    for verdict in used.verdicts(framing.texts(block), [*before, call.answer, call.words], answer.text):
        telemetry.MEMORY_USED.labels(verdict).inc()
    again = reasks.kind(call.words, before, answered=bool(call.answer)) if call.learns else None
    if again is not None:
        telemetry.REASKS.labels(again).inc()


def turned(jobs: Sequence[messages.Job], *, recorded: bool) -> telemetry.Turned:
    """What became of an answered turn. recorded: whether Redis has its jobs."""
    if not any(job.task is messages.Task.LEARN_TURN for job in jobs):
        return telemetry.Turned.NOTHING
    return telemetry.Turned.QUEUED if recorded else telemetry.Turned.SPOOLED
