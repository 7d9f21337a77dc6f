"""The composite score of a memory. Constants and form: the README of the first BRB, checked against its code."""

import math

import msgspec

from services.core import models

FULL_STRENGTH_MENTIONS = 15
STRENGTH_SHARE = 0.65
RECENCY_SHARE = 0.35
TIMELESS_SHARE = 0.68
TEMPORAL_SHARE = 0.32
CONFIDENCE_WEIGHT = 0.05

_DAY_SECONDS = 86_400.0


class Decay(msgspec.Struct, frozen=True):
    """How long it takes until half is left of what telling a memory, and of what saying it, is worth. The first BRB's: exp(-0.009 · days) and 140."""

    recency_half_life_days: float = 140.0
    strength_half_life_days: float = math.log(2) / 0.009


DECAY = Decay()


class Standing(msgspec.Struct, frozen=True):
    """What of a memory's score does not depend on what is asked."""

    strength: float
    recency: float
    temporal: float
    confidence: float

    @classmethod
    def of(cls, memory: models.Memory, now: float, decay: Decay = DECAY) -> "Standing":
        """now: epoch seconds."""
        held = strength(memory.mentions, _days(memory.reinforced_at, now), decay)
        recent = recency(_days(memory.accessed_at, now), decay)
        return cls(held, recent, STRENGTH_SHARE * held + RECENCY_SHARE * recent, memory.confidence)

    def score(self, similarity: float, min_similarity: float) -> float:
        """At a similarity (a cosine or a lexical similarity, never a fused rank); 0 under the floor."""
        if similarity < min_similarity:
            return 0.0
        return similarity * (TIMELESS_SHARE + TEMPORAL_SHARE * self.temporal) + CONFIDENCE_WEIGHT * self.confidence


def strength(mentions: int, days_since_reinforced: float, decay: Decay = DECAY) -> float:
    return min(1.0, mentions / FULL_STRENGTH_MENTIONS) * _left(days_since_reinforced, decay.strength_half_life_days)


def recency(days_since_accessed: float, decay: Decay = DECAY) -> float:
    return _left(days_since_accessed, decay.recency_half_life_days)


def _left(days: float, half_life_days: float) -> float:
    return math.exp(-math.log(2) / half_life_days * days)


def _days(since: float, now: float) -> float:
    """A clock that went back makes no memory stronger than a fresh one."""
    return max(0.0, (now - since) / _DAY_SECONDS)
