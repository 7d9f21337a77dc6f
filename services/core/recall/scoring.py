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


class Score(msgspec.Struct, frozen=True):
    """The score and what it was made of."""

    score: float
    strength: float
    recency: float
    temporal: float


def score(memory: models.Memory, similarity: float, *, now: float, min_similarity: float) -> Score:
    """Score of a memory at a similarity (a cosine or a lexical similarity, never a fused rank); 0 under the floor. `now` in epoch seconds."""
    held = strength(memory.mentions, _days(memory.reinforced_at, now))
    recent = recency(_days(memory.accessed_at, now))
    temporal = STRENGTH_SHARE * held + RECENCY_SHARE * recent
    total = similarity * (TIMELESS_SHARE + TEMPORAL_SHARE * temporal) + CONFIDENCE_WEIGHT * memory.confidence
    return Score(score=total if similarity >= min_similarity else 0.0, strength=held, recency=recent, temporal=temporal)


def strength(mentions: int, days_since_reinforced: float) -> float:
    return min(1.0, mentions / FULL_STRENGTH_MENTIONS) * math.exp(-STRENGTH_DECAY_PER_DAY * days_since_reinforced)


def recency(days_since_accessed: float) -> float:
    return math.exp(-math.log(2) / RECENCY_HALF_LIFE_DAYS * days_since_accessed)


def _days(since: float, now: float) -> float:
    """A clock that went back makes no memory stronger than a fresh one."""
    return max(0.0, (now - since) / _DAY_SECONDS)
