"""Which extractors read a turn, by `BRB_EXTRACTOR`. With both, the rules read it first, the language model in a job of its own (docs/adr/0011)."""

from typing import NamedTuple

from spacy.language import Language

from services.core import config, messages, models, ports
from services.worker.extraction import llm, rules


class Engines(NamedTuple):
    """first: reads every turn. second: the language model, where it reads turns after the rules."""

    first: ports.Extractor
    second: llm.LlmExtractor | None = None

    def more(self, payload: messages.LearnMore) -> tuple[models.Fact, ...]:
        """What the second finds beside what is known. Nothing where there is none any more: the settings changed while the job waited."""
        return self.second.beside(payload.said, payload.known) if self.second is not None else ()


def load(settings: config.Settings, model: llm.Model | None, nlp: Language) -> Engines:
    """The extractors of these settings, over one pipeline; `model` wherever a language model is one. Connects to nothing."""
    second = llm.LlmExtractor(model, nlp) if model is not None else None
    if settings.engines == "llm" and second is not None:
        return Engines(second, second)
    return Engines(rules.RulesExtractor(nlp), second)
