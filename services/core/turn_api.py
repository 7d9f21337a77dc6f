"""The JSON of what turns were told. Times are ISO 8601 in UTC."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from services.core import api, models, ports

SHORTEST_PREFIX = 4
"""Characters of a turn's id that are enough to ask for it, if no other begins so."""


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """A turn. words: the person's, redacted. outcome: `injected`, `empty` (nothing fitted), `deadline`, `ledger_away`, `error`. memories: how many
    it was told of."""

    turn: str
    at: datetime
    project: str
    words: str
    outcome: str
    memories: int
    tokens: int
    took_ms: float


class Turns(msgspec.Struct, frozen=True):
    """Newest first."""

    turns: tuple[Brief, ...]


class Considered(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that was looked at. reason: why it was not told; "" if it was. text, owner, said_at: of what it is now; null once it is gone."""

    id: str
    score: float
    similarity: float
    cosine: float | None
    reason: str
    text: str | None
    owner: str | None
    said_at: datetime | None


class Turn(Brief, frozen=True, kw_only=True):
    """asked: what was looked up, where it differs from the words. gate: the similarity that a memory took, null if nothing was looked up.
    block: the exact text that was inserted. considered: best first, the best 20."""

    session: str
    asked: str
    gate: float | None
    notices: tuple[str, ...]
    block: str
    considered: tuple[Considered, ...]


def brief_of(told: ports.Told) -> Brief:
    return Brief(**_brief(told))


def turn_of(told: ports.Told, there: Mapping[str, models.Memory]) -> Turn:
    """there: those of the memories that the person sees."""
    considered = tuple(_considered(one, there.get(one.id)) for one in told.considered)
    return Turn(
        **_brief(told),
        session=told.session,
        asked=told.asked,
        gate=told.gate,
        notices=told.notices,
        block=told.block,
        considered=considered,
    )


def _brief(told: ports.Told) -> dict[str, Any]:
    kept = {name: getattr(told, name) for name in ("turn", "project", "words", "outcome", "tokens", "took_ms")}
    return {**kept, "at": api.time_of(told.at), "memories": sum(not one.reason for one in told.considered)}


def _considered(one: ports.Considered, memory: models.Memory | None) -> Considered:
    measured = {name: getattr(one, name) for name in ("id", "score", "similarity", "cosine", "reason")}
    if memory is None:
        return Considered(**measured, text=None, owner=None, said_at=None)
    return Considered(**measured, text=memory.text, owner=memory.owner, said_at=api.time_of(memory.said_at))
