"""The JSON of what is brought in from elsewhere: shared by the proxy and `brb memories import`."""

from typing import Literal

import msgspec

from services.core import models

Source = Literal["chatgpt", "claude", "claude-code", "claude-md", "mem0"]

MOST_TURNS = 64
"""Turns in one request: each is redacted before the answer comes."""
MOST_WAITING = 2_000
"""Turns that may wait to be learnt. Beyond that an import is asked to pause: each is a record in Redis, and holds up nobody else's."""
LONGEST_ID = 500
MOST_TEXTS = 100
"""Texts of one message."""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What a person said in one message, or a statement that stands for itself.

    id: the source's own name of it, the same in each of its exports. said_at: epoch seconds. words: the texts of the message as the client has
    them: BRB finds in them what is the person's own. context: what the person said before, oldest first; answer: the end of the assistant's
    previous message. session: the source's name of the conversation. statement: it is kept as it is, in the category given, else as it reads.
    """

    id: str
    said_at: float
    words: tuple[str, ...]
    context: tuple[str, ...] = ()
    answer: str = ""
    project: str = ""
    session: str = ""
    statement: bool = False
    category: models.Category | None = None


class Turns(msgspec.Struct, frozen=True):
    """Body of `POST /import/turns`."""

    source: Source
    turns: tuple[Turn, ...]


class Taken(msgspec.Struct, frozen=True):
    """What became of the turns. known: taken before; empty: nothing in them is the person's own. waiting: how many turns wait to be learnt by now.
    busy: there are too many of these, and nothing was taken: to be sent again in a moment."""

    new: int = 0
    known: int = 0
    empty: int = 0
    waiting: int = 0
    busy: bool = False
