"""How alike a query and a memory are: the number that the thresholds apply to, and what it rests on."""

import msgspec

from services.core.recall import lexical
from services.core.recall.fusion import Candidate
from services.core.recall.query import Query

HARD_IDENTIFIER = 0.50
"""Similarity of a memory that holds an unmistakable identifier of the query (JIRA-123): clearly over the gate, under a real match."""
SOFT_IDENTIFIER = 0.40
"""... and of one that holds a name of the query (GitHub, auth-service), if something else supports it."""
SUPPORT = 0.15
"""Least cosine or lexical similarity that supports a soft identifier."""
AGREEMENT_WEIGHT = 0.30
"""What the best BM25 hit gains. Measured on LoCoMo (turns of 3 conversations, 495 questions), recall@10: .48 by cosine alone, .65 by fused
ranks, .64 by BM25 alone, .69 by cosine raised so (.66 behind the gate)."""


class Likeness(msgspec.Struct, frozen=True):
    """similarity: what the thresholds apply to. agreed: the same raised by how well BM25 agrees, which orders what is over the thresholds and
    admits nothing. matched: shared identifiers and words, for people to read ("identifier rs256", "word database").
    """

    similarity: float
    agreed: float
    matched: tuple[str, ...]


def likeness(query: Query, candidate: Candidate) -> Likeness:
    """The cosine where there is one, else the lexical similarity; at least that of an exact identifier which both hold."""
    text = candidate.memory.text
    stems = lexical.stems(text)
    measured = candidate.cosine if candidate.cosine is not None else lexical.similarity(query.stems, stems)
    hard, soft = _shared(query.identifiers, text)
    by_name = HARD_IDENTIFIER if hard else SOFT_IDENTIFIER if soft and measured >= SUPPORT else 0.0
    similarity = max(measured, by_name)
    gain = AGREEMENT_WEIGHT * candidate.agreement if candidate.cosine is not None else 0.0
    matched = [f"identifier {name}" for name in sorted(hard | soft)] + [f"word {stem}" for stem in sorted(query.stems & stems)]
    return Likeness(similarity=similarity, agreed=min(1.0, similarity + gain), matched=tuple(matched))


def _shared(wanted: lexical.Identifiers, text: str) -> tuple[frozenset[str], frozenset[str]]:
    if not wanted.hard and not wanted.soft:
        return frozenset(), frozenset()
    named = lexical.tokens(text)
    return wanted.hard & named, wanted.soft & named
