"""The composite score of a memory. Constants and form: the README of the first BRB, checked against its code."""

import math

import msgspec

from services.core import models

FULL_STRENGTH_MENTIONS = 15
STRENGTH_DECAY_PER_DAY = 0.009
RECENCY_HALF_LIFE_DAYS = 140.0
STRENGTH_SHARE = 0.65
RECENCY_SHARE = 0.35
TIMELESS_SHARE = 0.68
TEMPORAL_SHARE = 0.32
CONFIDENCE_WEIGHT = 0.05

_DAY_SECONDS = 86_400.0


class Standing(msgspec.Struct, frozen=True):
    """What of a memory's score does not depend on what is asked."""

    strength: float
    recency: float
    temporal: float
    confidence: float

    @classmethod
    def of(cls, memory: models.Memory, now: float) -> "Standing":
        """now: epoch seconds."""
        held = strength(memory.mentions, _days(memory.reinforced_at, now))
        recent = recency(_days(memory.accessed_at, now))
        return cls(held, recent, STRENGTH_SHARE * held + RECENCY_SHARE * recent, memory.confidence)

    def score(self, similarity: float, min_similarity: float) -> float:
        """At a similarity (a cosine or a lexical similarity, never a fused rank); 0 under the floor."""
        if similarity < min_similarity:
            return 0.0
        return similarity * (TIMELESS_SHARE + TEMPORAL_SHARE * self.temporal) + CONFIDENCE_WEIGHT * self.confidence


def strength(mentions: int, days_since_reinforced: float) -> float:
    return min(1.0, mentions / FULL_STRENGTH_MENTIONS) * math.exp(-STRENGTH_DECAY_PER_DAY * days_since_reinforced)


def recency(days_since_accessed: float) -> float:
    return math.exp(-math.log(2) / RECENCY_HALF_LIFE_DAYS * days_since_accessed)


def _days(since: float, now: float) -> float:
    """A clock that went back makes no memory stronger than a fresh one."""
    return max(0.0, (now - since) / _DAY_SECONDS)
