"""The JSON of a self-test."""

from datetime import datetime

import msgspec

EVENTS = 5
"""Of the stream of the self-test."""
PAUSE_SECONDS = 0.1
"""Between two of them."""


class Check(msgspec.Struct, frozen=True):
    """One thing that was tried. found: what came of it, or why it is not well. away: the dependency that did not answer, if that is why."""

    name: str
    ok: bool
    found: str
    milliseconds: float
    away: str = ""


class SelfTest(msgspec.Struct, frozen=True):
    """at: the clock of the machine that BRB runs on."""

    at: datetime
    checks: tuple[Check, ...]


class Event(msgspec.Struct, frozen=True):
    """One of `GET /selftest/stream`, as a client reads it: `data` counts from 0."""

    data: str
