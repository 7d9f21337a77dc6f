"""The HTTP contract of tokens, and of who one is. Times are ISO 8601 in UTC."""

from datetime import datetime
from typing import Literal

import msgspec

from services.core import api, models, ports

State = Literal["valid", "expired", "revoked"]
LONGEST_LABEL = 200


class MakeToken(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """team: "" for the caller's own. label: what it is for, for people. expires_in_seconds: None for never."""

    user: str
    team: str = ""
    role: models.Role = models.Role.MEMBER
    label: str = ""
    expires_in_seconds: float | None = None


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """`ports.Token` with readable times. used_at: to the minute."""

    id: str
    team: str
    user: str
    role: models.Role
    state: State
    label: str
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None


class MadeToken(Token, frozen=True, kw_only=True):
    """token: the token itself, which is shown this once."""

    token: str


class Tokens(msgspec.Struct, frozen=True):
    """Oldest first."""

    tokens: tuple[Token, ...]


class Whoami(msgspec.Struct, frozen=True):
    """Who is calling. team: "" for the machine's operator. token: the id of the token, "" where none was needed. auth: `BRB_AUTH`."""

    team: str
    user: str
    role: models.Role
    token: str
    auth: str


def token_of(one: ports.Token, now: float) -> Token:
    return Token(
        id=one.id,
        team=one.team,
        user=one.user,
        role=one.role,
        state=_state(one, now),
        label=one.label,
        created_by=one.created_by,
        created_at=api.time_of(one.created_at),
        expires_at=_time(one.expires_at),
        revoked_at=_time(one.revoked_at),
        used_at=_time(one.used_at),
    )


def made_of(one: ports.Token, text: str, now: float) -> MadeToken:
    shown = token_of(one, now)
    return MadeToken(**{name: getattr(shown, name) for name in Token.__struct_fields__}, token=text)


def _state(one: ports.Token, now: float) -> State:
    if one.valid(now):
        return "valid"
    return "expired" if one.revoked_at is None else "revoked"


def _time(at: float | None) -> datetime | None:
    return None if at is None else api.time_of(at)
