"""What of the memories is dead weight, from a sample of them, and how few of them are told."""

from collections.abc import Iterable, Mapping, Sequence

from services.core import memory_edit, models
from services.core.telemetry import Zombie

DAYS = 30
"""A memory counts when it is older than this, and is dead weight if it was not told for as long."""
TOP = 10


def zombie(memory: models.Memory, now: float) -> Zombie | None:
    """Of a memory of some age. Whoever tells it moves `accessed_at`; so does its person by saying it anew, which makes it none."""
    said = max(memory_edit.last_said(memory), memory.reinforced_at, memory.created_at)
    since = now - DAYS * 86_400
    if said >= since or memory.accessed_at >= since:
        return None
    return Zombie.NEVER if memory.accessed_at <= said else Zombie.NO_LONGER


def zombies(memories: Sequence[models.Memory], now: float) -> Mapping[Zombie, float] | None:
    """The share of each kind; None without any memory of some age."""
    if not memories:
        return None
    kinds = [zombie(memory, now) for memory in memories]
    return {kind: kinds.count(kind) / len(kinds) for kind in Zombie}


def top_share(most: Iterable[int], total: int) -> float | None:
    """most: how often each of the most told memories was told; total: of all. None while nothing was told."""
    return min(1.0, sum(most) / total) if total > 0 else None
