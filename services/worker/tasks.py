"""What the worker does with a job: words to facts. Idempotent: the same turn gives the same follow-up jobs."""

from collections.abc import Callable, Sequence

from services.core import messages, models, ports, redaction, telemetry

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
    policy: no fact is stored that holds what it drops.
    """
    clean = messages.LearnTurn(
        turn=turn.turn,
        principal=turn.principal,
        said_at=turn.said_at,
        words=redact(turn.words),
        project=turn.project,
        context=tuple(redact(words) for words in turn.context),
        answer=redact(turn.answer),
    )
    facts = _allowed(extractor.extract(clean), policy)
    _count(facts)
    jobs = [messages.Job.of(messages.Task.STORE_FACTS, _store(clean, facts))] if facts else []
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
    return [messages.Job.of(messages.Task.STORE_FACTS, stored, part=_SECOND)] if facts else []


def _allowed(facts: tuple[models.Fact, ...], policy: redaction.Policy) -> tuple[models.Fact, ...]:
    kept = tuple(fact for fact in facts if not policy.drops(f"{fact.text}\n{fact.quote}"))
    if len(kept) < len(facts):
        telemetry.FACTS.labels("policy", "dropped").inc(len(facts) - len(kept))
    return kept


def _count(facts: Sequence[models.Fact]) -> None:
    telemetry.FACTS.labels("turn", "facts" if facts else "none").inc()


def _store(turn: messages.LearnTurn, facts: tuple[models.Fact, ...], *, first: int = 0) -> messages.StoreFacts:
    return messages.StoreFacts(turn=turn.turn, principal=turn.principal, said_at=turn.said_at, facts=facts, project=turn.project, first=first)
