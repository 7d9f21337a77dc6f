"""What a block's memories are like beside each other, and how old."""

from collections.abc import Iterable, Sequence

import numpy as np

from services.core import memory_edit, models

_DAY_SECONDS = 86_400.0


def redundancy(vectors: Sequence[Sequence[float]]) -> float | None:
    """The mean cosine between two of them; None of fewer than two. The same fact told in many words is near 1."""
    if len(vectors) < 2:
        return None
    units = np.asarray(vectors, dtype=float)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    count = len(units)
    return float((np.square(units.sum(axis=0)).sum() - count) / (count * (count - 1)))


def ages_days(memories: Iterable[models.Memory], now: float) -> list[float]:
    """Since each was last said. now: epoch seconds."""
    return [max(0.0, now - memory_edit.last_said(memory)) / _DAY_SECONDS for memory in memories]
