"""Presidio's analyzer with our recognizers only, over a pipeline that is loaded already. Reads nothing from the network."""

from collections.abc import Iterable, Iterator

from presidio_analyzer import AnalyzerEngine, EntityRecognizer, RecognizerRegistry, RecognizerResult
from presidio_analyzer.nlp_engine import NlpArtifacts, NlpEngine
from spacy.language import Language
from spacy.tokens import Doc

from services.core import errors
from services.core.redaction import redactor
from services.core.redaction.spans import Detector, Kind, Span
from services.worker.redaction import gazetteer, people
from services.worker.redaction.namelike import Lexicon

LANGUAGE = "en"
_CERTAIN = 1.0
"""Recognizers decide; there is no score to set a threshold on."""
_PEOPLE = frozenset({"PERSON"})
_ORGANISATIONS = frozenset({"ORG"})
_OTHERS = frozenset({"GPE", "LOC", "FAC", "PRODUCT", "LANGUAGE", "NORP", "EVENT", "LAW"})


class Engine:
    """Finds all that `core.redaction` finds, and names of people. `SetupError` if the pipeline has no entity recognizer.

    nlp: a pipeline with "ner", and a lemmatizer with its dictionary. Not to be shared between threads, as the pipeline is not.
    """

    def __init__(self, nlp: Language) -> None:
        if "ner" not in nlp.component_names:
            raise errors.SetupError(
                "the spaCy model can't tell names: set BRB_SPACY_MODEL to one with an entity recognizer, or person=keep in BRB_REDACTION"
            )
        self._nlp = _Pipeline(nlp)
        recognizers = [_Structured(kind, detectors) for kind, detectors in redactor.DETECTORS.items()]
        registry = RecognizerRegistry([*recognizers, _People(people.People(gazetteer.load(), _lexicon(nlp)))], supported_languages=[LANGUAGE])
        self._analyzer = AnalyzerEngine(registry=registry, nlp_engine=self._nlp, supported_languages=[LANGUAGE])

    def look(self, hidden: str) -> Iterable[Span]:
        """A `redactor.Look`."""
        with self._nlp.nlp.memory_zone():
            found = self._analyzer.analyze(hidden, LANGUAGE, nlp_artifacts=self._nlp.process_text(hidden, LANGUAGE))
            return [Span(Kind[result.entity_type], result.start, result.end) for result in found]


def _lexicon(nlp: Language) -> Lexicon:
    lookups = getattr(nlp.get_pipe("lemmatizer"), "lookups", None) if nlp.has_pipe("lemmatizer") else None
    if lookups is None or not lookups.has_table("lemma_index"):
        return Lexicon()
    index = lookups.get_table("lemma_index")
    return Lexicon(frozenset(index["noun"]), frozenset(word for kind in ("verb", "adj", "adv") for word in index[kind]))


class _Structured(EntityRecognizer):
    """One kind, found by the detectors that the proxy uses, too."""

    def __init__(self, kind: Kind, detectors: tuple[Detector, ...]) -> None:
        self._kind = kind
        self._detectors = detectors
        super().__init__([kind.name], name=f"BRB {kind}", supported_language=LANGUAGE)

    def load(self) -> None:
        """Nothing to load."""

    def analyze(self, text: str, entities: list[str], nlp_artifacts: NlpArtifacts) -> list[RecognizerResult]:
        return [RecognizerResult(self._kind.name, span.start, span.end, _CERTAIN) for find in self._detectors for span in find(text)]


class _People(EntityRecognizer):
    def __init__(self, found: people.People) -> None:
        self._people = found
        super().__init__([Kind.PERSON.name], name="BRB people", supported_language=LANGUAGE)

    def load(self) -> None:
        """Nothing to load."""

    def analyze(self, text: str, entities: list[str], nlp_artifacts: NlpArtifacts) -> list[RecognizerResult]:
        labels = people.Labels(*(_spans(nlp_artifacts, names) for names in (_PEOPLE, _ORGANISATIONS, _OTHERS)))
        return [RecognizerResult(Kind.PERSON.name, span.start, span.end, _CERTAIN) for span in self._people.find(text, labels)]


def _spans(artifacts: NlpArtifacts, names: frozenset[str]) -> list[tuple[int, int]]:
    return [(entity.start_char, entity.end_char) for entity in artifacts.entities if entity.label_ in names]


class _Pipeline(NlpEngine):
    """Only the tokenizer and the entity recognizer of a pipeline that others use, too; the latter only where a word could be a name."""

    def __init__(self, nlp: Language) -> None:
        self.nlp = nlp

    def load(self) -> None:
        """Loaded already."""

    def is_loaded(self) -> bool:
        return True

    def process_text(self, text: str, language: str) -> NlpArtifacts:
        doc = self.nlp.make_doc(text)
        if people.may_name(text):
            doc = self.nlp.get_pipe("ner")(doc)
        return _artifacts(doc, self)

    def process_batch(
        self, texts: Iterable[str], language: str, batch_size: int = 1, n_process: int = 1, **_: object
    ) -> Iterator[tuple[str, NlpArtifacts]]:
        return ((text, self.process_text(text, language)) for text in texts)

    def is_stopword(self, word: str, language: str) -> bool:
        return bool(self.nlp.vocab[word].is_stop)

    def is_punct(self, word: str, language: str) -> bool:
        return bool(self.nlp.vocab[word].is_punct)

    def get_supported_entities(self) -> list[str]:
        return [Kind.PERSON.name]

    def get_supported_languages(self) -> list[str]:
        return [LANGUAGE]


def _artifacts(doc: Doc, engine: NlpEngine) -> NlpArtifacts:
    """Without lemmas and keywords: no recognizer of ours has context words to look for."""
    return NlpArtifacts(list(doc.ents), doc, [token.idx for token in doc], [], engine, LANGUAGE, scores=[])
