"""What the worker does with a job: words to facts. Idempotent: the same turn gives the same follow-up job."""

from collections.abc import Callable, Sequence

from services.core import messages, models, ports, telemetry


def learn_turn(turn: messages.LearnTurn, *, extractor: ports.Extractor, redact: Callable[[str], str]) -> Sequence[messages.Job]:
    """The job that stores what was learnt from the turn, or nothing if there was nothing to learn.

    The words are redacted of structured PII and secrets before they are queued; they are redacted again here, with the worker's rules.
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
    facts = extractor.extract(clean)
    telemetry.FACTS.labels("turn", "facts" if facts else "none").inc()
    return [_store(clean, facts)] if facts else []


def _store(turn: messages.LearnTurn, facts: tuple[models.Fact, ...]) -> messages.Job:
    payload = messages.StoreFacts(turn=turn.turn, principal=turn.principal, said_at=turn.said_at, facts=facts, project=turn.project)
    return messages.Job.of(messages.Task.STORE_FACTS, payload)
