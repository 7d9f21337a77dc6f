"""The last gate, for every extractor: nothing is kept that the person's words do not prove. Pure."""

import re
import unicodedata
from enum import StrEnum

from services.core import block, models
from services.core.redaction.spans import PLACEHOLDER
from services.worker.extraction import own_words


class Flaw(StrEnum):
    """Why a fact is not proved: a closed set, also the label of the metric."""

    QUOTE = "quote"  # it does not stand in the person's words
    NEGATION = "negation"  # the quote leaves out a negation that it stands under
    WORDS = "words"  # the text has words of its own, or the quote's in another order
    NAME = "name"  # a name, number or identifier of a field is not in the quote
    POLARITY = "polarity"  # said to hold, and denied in the text, or the other way round
    PLACEHOLDER = "placeholder"  # a piece of a redacted value's placeholder


_PIECE = re.compile(r"<[A-Z][A-Z_]*_?\d*(?![A-Z_\d>])|(?<![<A-Z_\d])[A-Z][A-Z_]*_\d+>")
_OPENERS = frozenset({"i", "my", "we", "our", "the", "this", "a", "an", "i'm", "i've", "we're", "we've"})

_JOINTS = re.compile(r"[/'._-]")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)$")


def grounded(fact: models.Fact, words: str, context: tuple[str, ...] = ()) -> bool:
    """Whether the person's words prove the fact."""
    return flaw(fact, words, context) is None


def flaw(fact: models.Fact, words: str, context: tuple[str, ...] = ()) -> Flaw | None:
    """What is wrong with a fact; None if the quote stands in the words, and everything that the fact says in the quote.

    White space counts as one blank. BRB's own blocks are nobody's words. What a correction took over from its antecedent may stand in the
    words or in the context (the person's earlier turns) instead of the quote.
    """
    said = block.strip(words)
    if not (own_words.is_part(fact.quote, said) and own_words.is_part(fact.quote, words)):
        return Flaw.QUOTE  # also what stands together only since a block between it is gone
    if any(_PIECE.search(PLACEHOLDER.sub(" ", text)) for text in (fact.text, fact.value, fact.quote)):
        return Flaw.PLACEHOLDER
    if own_words.is_denied(fact.quote, said) or own_words.is_weakened(fact.quote, said):
        return Flaw.NEGATION
    if any(not _unseen(text) <= _unseen(fact.quote) for text in (fact.text, fact.subject, fact.attribute, fact.value, fact.when, fact.replaces)):
        return Flaw.WORDS
    takes_over = bool(fact.replaces or fact.correction)
    if not takes_over and not own_words.in_order(fact.text, fact.quote):
        return Flaw.WORDS
    if fact.polarity and own_words.is_denied(fact.value, fact.text) and not own_words.is_negative(fact.subject):
        return Flaw.POLARITY
    return _unproved(fact, (said, *context) if takes_over else ())


def _unproved(fact: models.Fact, also: tuple[str, ...]) -> Flaw | None:
    """also: texts that may prove what the quote does not, but for the value."""
    own = frozenset(own_words.words(fact.quote))
    proof = own.union(*map(own_words.words, also))
    if also and not proof.issuperset(own_words.words(fact.text)):
        return Flaw.WORDS
    if not (fact.closes or own.issuperset(own_words.words(fact.value))) or not all(
        _telling(each) <= proof for each in (fact.text, fact.subject, fact.replaces, fact.when)
    ):
        return Flaw.NAME
    pieces = proof.union(_ORDINAL.sub("", word) for word in proof).union(*map(_JOINTS.split, proof))
    return None if all(pieces.issuperset(own_words.words(each)) for each in fact.entities) else Flaw.NAME


def _unseen(text: str) -> frozenset[str]:
    """Characters that do not show: they turn the order of what is read, or hide in a word."""
    return frozenset(char for char in text if unicodedata.category(char) in {"Cf", "Cc"} and not char.isspace())


def _telling(text: str) -> frozenset[str]:
    """Names, numbers, identifiers, addresses and placeholders: what must not be invented."""
    found = ((token.word, text[token.start : token.end]) for token in own_words.tokens(text))
    return frozenset(word for word, said in found if word not in _OPENERS and (said != said.lower() or not said.isalpha()))
