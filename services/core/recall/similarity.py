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
LISTED = 0.50
"""Similarity of a memory of the kind that is asked for, and the share of the cosine that orders these."""
LISTED_SHARE = 0.30
AGREEMENT_WEIGHT = 0.40
"""What the best BM25 hit gains if it holds all words of the query; less by as much as its BM25 score is under the best, and its share of the words
under the whole. Measured, and beside what else was tried: docs/recall.md."""
SUPPORTING = 0.50
"""Least lexical similarity that may lift a cosine over the thresholds: half of what a request says about its subject, one telling word at least."""
SUPPORT_WEIGHT = 0.10
"""What a lexical similarity of 1 lifts a cosine by. Sentence embeddings of few words miss a subject that both name (a cosine of 0.27 for "Which
message broker did we pick and why?" and "We picked NATS as message broker"); so little keeps out whatever has nothing but the word in common."""

UNSUPPORTED = 0.10
"""What the cosine to a message that speaks of nothing of one's own is worth less where the memory shares no telling word with it: among 2,000
memories one is as like to almost anything, and nothing but the model says so ("Describe the taste of durian", "Renske can't eat coriander")."""


class Likeness(msgspec.Struct, frozen=True):
    """similarity: what the thresholds apply to. lift: how far words alone may carry what is under them. agreement: what BM25 adds to what is over
    them; it orders, and admits nothing. matched: the kind asked for, shared identifiers and words, for people to read ("identifier rs256",
    "own my wife", "word databas").
    """

    similarity: float
    lift: float
    agreement: float
    matched: tuple[str, ...]


def likeness(query: Query, candidate: Candidate) -> Likeness:
    """The cosine where there is one (less where no word supports it), else the lexical similarity; at least that of an exact identifier or a
    thing of the person's own which both name, and of a kind that is asked for."""
    stems = lexical.stems(candidate.memory.text)
    shared = query.stems & stems
    words = max(lexical.similarity(part.stems, stems) for part in query.parts)
    measured = words if candidate.cosine is None else candidate.cosine - _doubt(query, shared)
    hard, soft = _shared(query.identifiers, candidate.memory.text)
    own = query.own & lexical.own(candidate.memory.text) if query.own else query.own
    by_name = HARD_IDENTIFIER if hard else SOFT_IDENTIFIER if (soft or own) and measured >= SUPPORT else 0.0
    kinds = [f"kind {candidate.memory.category}"] if candidate.listed else []
    names = [f"identifier {name}" for name in sorted(hard | soft)] + [f"own {thing}" for thing in sorted(own)]
    return Likeness(
        similarity=max(measured, by_name, _by_kind(candidate)),
        lift=_lift(words, shared) if candidate.cosine is not None and not query.impersonal else 0.0,
        agreement=AGREEMENT_WEIGHT * candidate.agreement * words if candidate.cosine is not None else 0.0,
        matched=(*kinds, *names, *(f"word {stem}" for stem in sorted(shared))),
    )


def _lift(words: float, shared: frozenset[str]) -> float:
    return SUPPORT_WEIGHT * words if words >= SUPPORTING and _tells(shared) else 0.0


def _doubt(query: Query, shared: frozenset[str]) -> float:
    """Both legs have to speak for a memory where the words speak of nothing of one's own."""
    return UNSUPPORTED if query.impersonal and not _tells(shared) else 0.0


def _tells(shared: frozenset[str]) -> bool:
    return any(map(lexical.is_telling, shared))


def _by_kind(candidate: Candidate) -> float:
    return LISTED + LISTED_SHARE * max(0.0, candidate.cosine or 0.0) if candidate.listed else 0.0


def _shared(wanted: lexical.Identifiers, text: str) -> tuple[frozenset[str], frozenset[str]]:
    if not wanted.hard and not wanted.soft:
        return frozenset(), frozenset()
    named = lexical.tokens(text)
    return wanted.hard & named, wanted.soft & named
