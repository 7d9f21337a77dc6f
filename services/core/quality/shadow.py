"""A sample of recalls, searched once more without an index: what the index costs in memories that it does not find."""

import hashlib
from collections.abc import Sequence


def sampled(turn_id: str, share: float) -> bool:
    """Whether a turn is in the sample: the same turn always is, or never."""
    number = int.from_bytes(hashlib.blake2b(turn_id.encode(), digest_size=8).digest(), "big")
    return number < share * 2**64


def overlap(found: Sequence[str], exact: Sequence[str]) -> float | None:
    """The share of the exact nearest that the search found, too; None if there are none."""
    return len(set(found) & set(exact)) / len(exact) if exact else None
