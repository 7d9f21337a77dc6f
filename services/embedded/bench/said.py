"""What a person says, by the path of the worker: redaction, then extraction."""

from collections.abc import Callable, Sequence

from services.core import config, messages, models, ports, redaction
from services.worker import tasks

Learn = Callable[[messages.LearnTurn], tuple[models.Fact, ...]]


def learner(settings: config.Settings) -> Learn:
    """The facts that the rules find in a turn."""
    from services.worker.extraction import rules  # spaCy: only who measures this needs it

    extractor: ports.Extractor = rules.RulesExtractor(rules.load_nlp(settings.spacy_model))

    def learn(turn: messages.LearnTurn) -> tuple[models.Fact, ...]:
        texts = (turn.words, *turn.context, turn.answer)
        clean = dict(zip(texts, (redacted.text for redacted in redaction.Redactor().redact_all(texts)), strict=True))
        return stored(tasks.learn_turn(turn, extractor=extractor, redact=clean.__getitem__))

    return learn


def stored(jobs: Sequence[messages.Job]) -> tuple[models.Fact, ...]:
    """The facts that these jobs store."""
    return tuple(fact for job in jobs if isinstance(job.payload, messages.StoreFacts) for fact in job.payload.facts)


def statement(text: str) -> models.Fact:
    """A statement that nothing was read out of."""
    return models.Fact(text=text, category=models.Category.PROJECT_CONTEXT, confidence=1.0, quote=text)


def whole(learn: Learn, text: str) -> models.Fact:
    """The fact of a sentence that a person asks to remember; a bare statement if the rules do not keep it in one piece."""
    facts = learn(messages.LearnTurn(turn="said", principal=models.LOCAL, said_at=0.0, words=f"Remember that {text}"))
    return facts[0] if len(facts) == 1 and len(facts[0].text) >= len(text.strip(" .!")) else statement(text)
