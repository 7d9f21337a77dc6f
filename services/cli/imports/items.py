"""What readers find."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import msgspec

from services.core import import_api, note_api

Format = Literal["brb", "chatgpt", "claude", "claude-code", "claude-md", "mem0", "brain-kit"]


class Document(NamedTuple):
    """Something to read, as often as it takes. name: for messages. size: in bytes. modified_at: epoch seconds. path: on disk, if it has one there."""

    name: str
    size: int
    modified_at: float
    open: Callable[[], BinaryIO]
    path: Path | None = None


class Wanted(NamedTuple):
    """project: of what names none itself; None: not given."""

    project: str | None = None


class Skipped(msgspec.Struct, frozen=True):
    """What was left out: where it stands, and why."""

    place: str
    why: str


class Conversation(NamedTuple):
    """A conversation begins; its turns follow."""


class Archived(NamedTuple):
    """A memory or note of an archive of our own."""

    kind: Literal["memories", "notes"]
    record: Any
    place: str


Item = import_api.Turn | note_api.PutNote | Archived | Conversation | Skipped


def seconds(value: object) -> float | None:
    """A time as exports write it: epoch seconds or milliseconds, or ISO 8601, without a zone in UTC. None if it is none of these."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError:
            try:
                return seconds(float(value))
            except ValueError:
                return None
        value = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e14:
        return None
    return value / 1000 if value > 1e11 else float(value)
