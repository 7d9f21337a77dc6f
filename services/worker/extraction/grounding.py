"""The last gate: nothing is kept that the person's words do not prove."""

import re

from services.core import models

_TOKEN = re.compile(r"<[A-Z][A-Z_]*(?:_\d+)?>|[^\W_][\w.+#/@:-]*")
_PUNCTUATION = "./@:-"  # part of a token only inside it
_OPENERS = frozenset({"i", "my", "we", "our", "the", "this", "a", "an", "i'm", "i've", "we're", "we've"})


def grounded(fact: models.Fact, words: str, context: tuple[str, ...] = ()) -> bool:
    """Whether the quote stands in the words, and every name, number and identifier of the fact in the quote.

    White space counts as one blank. What a correction took over from its antecedent may stand in the words or in the context instead.
    """
    quote = _flat(fact.quote)
    if not quote or quote not in _flat(words):
        return False
    proof = _tokens(quote)
    if fact.replaces or fact.correction:
        proof |= _tokens(words).union(*map(_tokens, context))
        if fact.value and not _telling(fact.value) <= _tokens(quote):
            return False
    return all(_telling(text) <= proof for text in (fact.text, fact.value, fact.replaces))


def _flat(text: str) -> str:
    return " ".join(text.split())


def _tokens(text: str) -> frozenset[str]:
    plain = text.replace("`", "").replace("*", "").replace("’", "'")
    return frozenset(token.rstrip(_PUNCTUATION).casefold() for token in _TOKEN.findall(plain))


def _telling(text: str) -> frozenset[str]:
    """Names, numbers and identifiers: what must not be invented."""
    tokens = (token.rstrip(_PUNCTUATION) for token in _TOKEN.findall(text))
    return frozenset(t.casefold() for t in tokens if t.casefold() not in _OPENERS and (t != t.lower() or not t.isalpha()))
