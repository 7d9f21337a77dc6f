"""The requests in a message that each ask for something of their own: an embedding of several at once, or of one after much else, resembles none."""

import re
from collections.abc import Iterator

from services.core.recall import estimate, lexical

MOST = 4
"""Texts embedded beside the whole: each takes some milliseconds of the deadline."""
LONGEST_TOKENS = 64

_SENTENCE_END = re.compile(r"(?<=[.!?;]) ")
_INTERROGATIVE = (
    r"(?:(?:what|who|whom|whose|when|where|why|how)\b(?!(?:['’]s)? (?:i|we|you|it|they|he|she|more)\b)|"
    r"which (?!(?:is|are|was|were|has|have|had|would|could|will|i|we|you|it|they|he|she)\b))"  # not the relative ones
)
_AUXILIARY = r"(?:is|are|was|were|do|does|did|can|could|should|may|must|will|would|have|has) (?:i|we|my|our|you|he|she|the|there|a|any)\b"
_REQUEST = (
    r"(?:please|add|build|check|configure|create|debug|deploy|design|find|fix|give|help|list|make|migrate|move|plan|prepare|recommend|refactor|"
    r"release|remind|remove|rename|review|run|schedule|send|set|ship|show|suggest|tell|update|write)\b"
)
_ASKS = rf"(?:{_INTERROGATIVE}|{_AUXILIARY}|{_REQUEST})"
_ASKING = re.compile(rf"(?:(?:and|or|but|then|also|so|anyway|now|finally|first|ok|okay)[,:]? )*{_ASKS}", re.IGNORECASE)
_CLAUSE = re.compile(rf"[,:] (?:(?:and|or|but|then|also|so) )?| (?:and|or|but|also|then) (?={_ASKS})", re.IGNORECASE)
_REFERRING = re.compile(r"\b(?:it|its|they|them|their|these|those|this|that|each|he|she|his|her|both)\b", re.IGNORECASE)
_LEAST_WORDS = 3


def sentences(text: str) -> list[str]:
    """Roughly, and the lines; runs of white space are one space."""
    return [sentence for line in text.splitlines() for sentence in _SENTENCE_END.split(" ".join(line.split())) if sentence]


def parts(text: str, most: int = MOST) -> tuple[str, ...]:
    """At most so many requests, the last ones, in order; none if the text is little more than one."""
    found = list(dict.fromkeys(clause for sentence in sentences(text) for clause in _clauses(sentence)))
    if len(found) == 1 and len(found[0]) * 2 > len(text):
        return ()
    return tuple(estimate.head(clause, LONGEST_TOKENS).strip() for clause in found[-most:])


def _clauses(sentence: str) -> Iterator[str]:
    """The clauses of a sentence that ask; the whole sentence if only one does."""
    clauses = [piece for piece in map(str.strip, _CLAUSE.split(sentence)) if _stands_alone(piece)]
    if len(clauses) > 1:
        yield from clauses
    elif clauses or _stands_alone(sentence):
        yield clauses[0] if clauses else sentence


def _stands_alone(piece: str) -> bool:
    """It asks for something, in some words, about a subject that it names itself."""
    return (
        len(piece.split()) >= _LEAST_WORDS
        and (bool(_ASKING.match(piece)) or piece.endswith("?"))
        and not _REFERRING.search(piece)
        and bool(lexical.stems(piece))
    )
