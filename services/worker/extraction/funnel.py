"""What becomes of the facts that an extractor proposes, counted (`brb_facts_total`). Every extractor ends here: nothing unproved gets past it."""

from collections.abc import Iterable, Sequence
from typing import Literal

from services.core import messages, models, telemetry
from services.worker.extraction import filters, grounding

Engine = Literal["rules", "llm"]


def proved(engine: Engine, facts: Iterable[models.Fact], turn: messages.LearnTurn) -> list[models.Fact]:
    """Those facts that the turn's words prove and that say something. All are counted as proposed; what falls out, by its reason."""
    found = []
    for fact in facts:
        _count("proposed", engine)
        flaw = grounding.flaw(fact, turn.words, turn.context)
        if flaw is not None:
            _count("ungrounded", flaw)
        elif filters.says_nothing(fact.value):
            _count("filtered", engine)
        else:
            found.append(fact)
    return found


def refused(reason: grounding.Flaw | None, engine: Engine) -> None:
    """A proposal that did not become a fact: for a flaw, or (None) because what it says is not worth keeping."""
    _count("proposed", engine)
    _count(*(("filtered", engine) if reason is None else ("ungrounded", reason)))


def kept(engine: Engine, facts: Sequence[models.Fact], distinct: Sequence[models.Fact]) -> tuple[models.Fact, ...]:
    """The distinct ones of the proved facts; the others are counted as duplicates."""
    _count("duplicate", engine, len(facts) - len(distinct))
    _count("kept", engine, len(distinct))
    return tuple(distinct)


def invalid(reason: Literal["cut", "schema"]) -> None:
    """An answer of the language model that is none."""
    _count("invalid", reason)


def _count(stage: str, outcome: str, times: int = 1) -> None:
    telemetry.FACTS.labels(stage, outcome).inc(times)
