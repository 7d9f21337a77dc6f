"""What the worker does with a job: words to facts. Idempotent: the same turn gives the same follow-up jobs."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from services.core import memory_add, messages, models, ports, redaction, telemetry

_SECOND = "llm"  # the part of a turn's facts that the language model adds


def learn_turn(
    turn: messages.LearnTurn,
    *,
    extractor: ports.Extractor,
    redact: Callable[[str], str],
    policy: redaction.Policy = redaction.Policy(),  # noqa: B008 - frozen
    more: bool = False,
) -> Sequence[messages.Job]:
    """The job that stores what was learnt from the turn, if there was anything to learn; with `more`, also the job that has a language model read it.

    The words are redacted of structured PII and secrets before they are queued; they are redacted again here, with the worker's rules.
    policy: no fact is stored that holds what it drops. A statement written down by hand is one fact, whatever is read out of it, and no model's.
    """
    clean = replace(turn, words=redact(turn.words), context=tuple(redact(words) for words in turn.context), answer=redact(turn.answer))
    facts = extractor.extract(clean)
    if turn.by_hand:
        stated = memory_add.stated(clean.words, facts, turn.category)
        return [_job(_store(clean, _allowed((stated,), policy)))]
    facts = _allowed(facts, policy)
    _count(facts)
    jobs = [_job(_store(clean, facts))] if facts else []
    if more:
        jobs.append(messages.Job.of(messages.Task.LEARN_MORE, messages.LearnMore(clean.turn, clean, facts)))
    return jobs


def learn_more(
    payload: messages.LearnMore,
    *,
    extract: Callable[[messages.LearnMore], tuple[models.Fact, ...]],
    policy: redaction.Policy = redaction.Policy(),  # noqa: B008 - frozen
) -> Sequence[messages.Job]:
    """The job that stores what the language model found beside what is known of the turn."""
    facts = _allowed(extract(payload), policy)
    _count(facts)
    stored = _store(payload.said, facts, first=len(payload.known))
    return [_job(stored, part=_SECOND)] if facts else []


def _allowed(facts: tuple[models.Fact, ...], policy: redaction.Policy) -> tuple[models.Fact, ...]:
    kept = tuple(fact for fact in facts if not policy.drops(f"{fact.text}\n{fact.quote}"))
    if len(kept) < len(facts):
        telemetry.FACTS.labels("policy", "dropped").inc(len(facts) - len(kept))
    return kept


def _count(facts: Sequence[models.Fact]) -> None:
    telemetry.FACTS.labels("turn", "facts" if facts else "none").inc()


def _job(payload: messages.StoreFacts, part: str = "") -> messages.Job:
    return messages.Job.of(messages.Task.STORE_IMPORTED if payload.imported else messages.Task.STORE_FACTS, payload, part)


def _store(turn: messages.LearnTurn, facts: tuple[models.Fact, ...], *, first: int = 0) -> messages.StoreFacts:
    return messages.StoreFacts(
        turn=turn.turn,
        principal=turn.principal,
        said_at=turn.said_at,
        facts=facts,
        project=turn.project,
        first=first,
        session=turn.session,
        by_hand=turn.by_hand,
        imported=turn.imported,
    )
