"""What a word is on its own: somebody's name, a word of the language, both, or neither. Pure."""

from collections.abc import Container, Iterator
from enum import StrEnum
from typing import NamedTuple

from spacy.lang.en.stop_words import STOP_WORDS

from services.worker.extraction import tools
from services.worker.redaction import vocabulary
from services.worker.redaction.gazetteer import Gazetteer

_SHORTEST_STEM = 2


class Sort(StrEnum):
    """Names by whether they are nothing else, a noun ("john" is one in a dictionary), or another word of the language ("mark")."""

    GIVEN = "given"
    GIVEN_NOUN = "given noun"
    GIVEN_WORD = "given word"
    GIVEN_PRODUCT = "given product"
    FAMILY = "family"
    FAMILY_NOUN = "family noun"
    FAMILY_WORD = "family word"
    WORD = "word"
    STRANGE = "strange"
    """Neither a name nor a word that is known."""
    FILLER = "filler"
    """An initial, or a small word within names."""


NAMES = frozenset(sort for sort in Sort if sort.startswith(("given", "family")))


class Lexicon(NamedTuple):
    """Words of the language, lower case: nouns, among them proper ones, and others, among which are none."""

    nouns: Container[str] = frozenset()
    others: Container[str] = frozenset()


class Sorter:
    def __init__(self, names: Gazetteer, lexicon: Lexicon) -> None:
        self._names = names
        self._lexicon = lexicon

    def sort(self, word: str) -> Sort:
        low = word.lower()
        if (len(word) == 1 and word.isupper()) or low in vocabulary.PARTICLES:
            return Sort.FILLER
        if low in STOP_WORDS:
            return Sort.WORD
        if is_product(low):
            return Sort.GIVEN_PRODUCT if low in self._names.given else Sort.WORD
        if low in self._names.given:
            return self._by_form([low], Sort.GIVEN, Sort.GIVEN_NOUN, Sort.GIVEN_WORD)
        forms = list(_forms(low))
        if low in self._names.family:
            return self._by_form(forms, Sort.FAMILY, Sort.FAMILY_NOUN, Sort.FAMILY_WORD)
        return self._by_form(forms, Sort.STRANGE, Sort.WORD, Sort.WORD)

    def _by_form(self, forms: list[str], neither: Sort, noun: Sort, other: Sort) -> Sort:
        for form in forms:
            if form in self._lexicon.others:
                return other
            if form in self._lexicon.nouns:
                return noun
        return neither


def is_product(word: str) -> bool:
    """Whether a word in lower case names a product; not single letters, though "r" and "c" do."""
    return len(word) > 1 and (word in vocabulary.PRODUCTS or tools.known(word))


def _forms(word: str) -> Iterator[str]:
    """The word, and what it may be the plural or another form of."""
    yield word
    for ending in ("s", "es", "ed", "ing"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > _SHORTEST_STEM:
            yield stem
            yield f"{stem}e"
            if stem[-1] == stem[-2]:
                yield stem[:-1]
