"""What the demo tells: plain values, ready for JSON and for the screen."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from services.core import models


class Talk(msgspec.Struct, frozen=True):
    """One conversation of one turn: what the person said, what the model answered, and how many memories BRB put in."""

    said: str
    answered: str
    memories: int


class Search(msgspec.Struct, frozen=True):
    """How much of the data folder was searched for `absent`, none of which was there."""

    files: int
    bytes: int
    absent: tuple[str, ...]


class Learnt(msgspec.Struct, frozen=True):
    category: models.Category
    confidence: float
    text: str
    evidence: tuple[str, ...]


class Request(msgspec.Struct, frozen=True):
    """A call's body: what arrived upstream is `sent` with `inserted` put in at byte `at`; all other bytes are equal."""

    sent_bytes: int
    received_bytes: int
    sent: str
    at: int
    inserted: str


class Correction(msgspec.Struct, frozen=True):
    current: str
    history: tuple[str, ...]


class Story(msgspec.Struct, frozen=True):
    """The whole demo."""

    conversations: tuple[Talk, Talk, Talk]
    redacted: Mapping[str, int]
    searched: Search
    learnt: tuple[Learnt, ...]
    request: Request
    correction: Correction
    seconds: float


class Insertion(NamedTuple):
    at: int
    text: str


def insertion(sent: bytes, received: bytes) -> Insertion | None:
    """The one piece by which `received` is longer than `sent`, all other bytes being equal; None if there is no such piece.

    Where the piece begins is ambiguous by the bytes it shares with its surroundings; it is taken to begin with the comma before a block.
    """
    longer = len(received) - len(sent)
    if longer <= 0:
        return None
    same = next((i for i, (a, b) in enumerate(zip(sent, received, strict=False)) if a != b), len(sent))
    while same >= 0 and sent[same:] == received[same + longer :]:
        if received[same : same + 1] == b",":
            return Insertion(same, received[same : same + longer].decode())
        same -= 1
    return None
