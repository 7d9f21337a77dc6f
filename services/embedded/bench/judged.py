"""Whether a produced fact is one that a person would keep, and what is wrong with it if not. Pure."""

import re

from services.core.recall import lexical

_COVERED = 0.6  # share of the shorter one's content words: what people keep is paraphrased
_ALIKE = 0.4  # F1: a fact of two words is not the same as a paragraph that holds them
_SAID = 0.75  # share of a label's content words that one sentence must have for it to have been said there
_PRONOUN = r"(?:it|them|him|her|this|that|these|those|theirs|hers|one|ones|there)"
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("about the other", r"\b(?:you|your|yours)\b"),
        (
            "hangs on what is said elsewhere",
            rf"\b{_PRONOUN}(?: too| so much| myself| a lot| all| things?)*$|\b(?:with|of|at|about|for) (?:it|them)\b|^(?:it|that|this|they|he|she)\b",
        ),
        ("passing", r"\b(?:right now|today|tonight|this (?:morning|afternoon|evening)|at the moment|tomorrow|yesterday|just)\b"),
        ("unsure", r"\b(?:maybe|perhaps|might|i guess|hope|would like|thinking (?:of|about)|wish|probably)\b"),
        ("small talk", r"^(?:i'm|i am) (?:glad|sorry|sure|excited|happy|good|fine|great|well|doing)\b|\b(?:thanks|nice to meet)\b"),
        ("cut short", r"\b(?:and|or|the|a|an|to|of|for|with|in|my|than)$"),
    )
)
_GOES_ON = re.compile(r",? and (?!(?:i|my|we|our|he|she|it|they|you|the|a|so|then|now|have|am|'m|also|that)\b)\w+", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


def same(fact: str, label: str) -> bool:
    """Whether the two say the same, by the stems of their content words."""
    first, second = _content(fact), _content(label)
    common, shorter = len(first & second), min(len(first), len(second))
    return shorter > 0 and common / shorter >= _COVERED and 2 * common / (len(first) + len(second)) >= _ALIKE


def said(label: str, words: str) -> bool:
    """Whether one sentence of the words that is no question says it."""
    telling = _content(label)
    sentences = (sentence for sentence in _SENTENCE.findall(words) if not sentence.endswith("?"))
    return bool(telling) and any(len(telling & _content(sentence)) >= _SAID * len(telling) for sentence in sentences)


def fault(text: str, quote: str, words: str) -> str:
    """The kind of a typical mistake that shows in a fact itself, whatever the labels say; "" if none does."""
    if _list_goes_on(quote, words):
        return "cut short"
    asked = any(
        quote in sentence and sentence.endswith("?") and len(sentence.split()) < len(quote.split()) + 3 for sentence in _SENTENCE.findall(words)
    )
    return "asked" if asked else next((kind for kind, pattern in _KINDS if pattern.search(text)), "")


def shape(label: str) -> str:
    """How a missed statement begins, to count what is missed by kind."""
    first, second = [*re.sub(r"[’']m\b", " am", label.lower()).split(), "", ""][:2]
    if first in {"i", "we"} and second in {"am", "are", "was", "have", "had", "will", "do", "can", "like", "love", "want"}:
        return f"{first} {second} ..."
    return f"{first} ..." if first in {"i", "we", "my", "our", "the", "will"} else "other"


def _content(text: str) -> frozenset[str]:
    return lexical.stems(text) or frozenset(text.casefold().split())


def _list_goes_on(quote: str, words: str) -> bool:
    """ "I like to run, cook" of "I like to run, cook, and read": the last member is lost."""
    rest = words[words.find(quote) + len(quote) :] if quote in words else ""
    return bool(_GOES_ON.match(rest))
