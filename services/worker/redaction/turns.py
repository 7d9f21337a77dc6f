"""Redaction of a turn in the worker: once more what the proxy looks for, and names of people if the policy wants them replaced."""

from collections.abc import Iterable, Mapping

from services.core import messages, redaction, telemetry
from services.core.redaction import redactor
from services.core.redaction.spans import Kind, Span
from services.worker.redaction import introductions


def needs_names(policy: redaction.Policy) -> bool:
    """Whether there is anything to do for a model of the language."""
    return policy.of(Kind.PERSON) is not redaction.Action.KEEP


class Turns:
    """secret: of the placeholders' numbers, the proxy's. look: what finds (`engine.Engine.look`, or what needs no model)."""

    def __init__(self, secret: str, policy: redaction.Policy, look: redactor.Look = redactor.structured) -> None:
        self._secret = secret
        self._policy = policy
        self._look = look

    def redacted(self, turn: messages.LearnTurn) -> Mapping[str, str]:
        """Each text of the turn, and what it is without what was found in any of them. The speaker's own name stays."""
        texts = list(dict.fromkeys((turn.words, *turn.context, turn.answer)))
        own = introductions.names((turn.words, *turn.context))
        done = redaction.Redactor(
            look=lambda hidden: _others(self._look(hidden), hidden, own),
            policy=self._policy,
            numbering=redaction.Keyed(self._secret, turn.principal.team),
        ).redact_all(texts)
        for one in done:
            telemetry.count_redacted(one.counts)
        return {text: one.text for text, one in zip(texts, done, strict=True)}


def _others(spans: Iterable[Span], text: str, own: frozenset[str]) -> Iterable[Span]:
    """Without the person's own name, or a part of it."""
    return (span for span in spans if span.kind is not Kind.PERSON or not own.issuperset(text[span.start : span.end].casefold().split()))
