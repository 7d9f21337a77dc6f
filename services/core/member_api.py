"""The JSON of who is in a team, and of what became of what a member left. Times are ISO 8601 in UTC."""

from datetime import datetime
from typing import Literal

import msgspec

from services.core import erasure_api, models

FORMER = "former member"
"""The owner of what a nameless member has left: nobody can sign in by a name with a blank in it (`tokens.checked_name`)."""


class Member(msgspec.Struct, frozen=True):
    """roles, tokens, used_at: of tokens that are valid. private, shared: how many memories are the member's alone (proposed ones among them), and how
    many the team has of him."""

    user: str
    roles: tuple[models.Role, ...]
    tokens: int
    used_at: datetime | None
    private: int
    shared: int


class Members(msgspec.Struct, frozen=True):
    """By name."""

    team: str
    members: tuple[Member, ...]


class Left(msgspec.Struct, frozen=True):
    """A receipt. erased: of what is gone. memories_kept, notes_kept: what the team goes on with, under the owner's name or (`anonymous`) without it.
    Zeros: there was nothing (any more)."""

    team: str
    user: str
    departed: Literal["keep", "anonymous", "forget"]
    tokens_revoked: int
    memories_kept: int
    notes_kept: int
    erased: erasure_api.Receipt
