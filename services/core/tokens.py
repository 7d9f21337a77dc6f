"""Tokens of people and their clients (pure): `brb_<id>_<secret>`. The id is public; the secret has 256 random bits and a checksum behind it.

What is kept is a digest, so that nobody can use what he reads in the store. The key of the machine's operator is no token of a team: it follows
from the secret of the data folder, and nothing of it is kept.
"""

import hashlib
import hmac
import re
import secrets
import string
import zlib
from typing import NamedTuple

from services.core import errors, models

LONGEST_NAME = 64
_PREFIX = "brb"
_ID_CHARS = 12
_ID_ALPHABET = string.ascii_lowercase + string.digits
_SECRET_BYTES = 32
_SHAPE = re.compile(r"brb_([a-z0-9]{8,32})_([A-Za-z0-9_-]{43})([0-9a-f]{8})")
_OPERATOR = "brb_operator_"
_NAME = re.compile(r"[\w.@-]+", re.ASCII)


class Made(NamedTuple):
    """A new token: `text` is shown to its bearer once, `digest` is kept."""

    id: str
    text: str
    digest: bytes


def make() -> Made:
    token_id = "".join(secrets.choice(_ID_ALPHABET) for _ in range(_ID_CHARS))
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    text = f"{_PREFIX}_{token_id}_{secret}{_checksum(token_id, secret)}"
    return Made(token_id, text, digest(text))


def id_of(text: str) -> str | None:
    """The id in a token; None if it is none, or was copied with a mistake."""
    shaped = _SHAPE.fullmatch(text)
    return shaped[1] if shaped and hmac.compare_digest(_checksum(shaped[1], shaped[2]), shaped[3]) else None


def digest(text: str) -> bytes:
    """SHA-256. It has 256 random bits: a slow hash would add nothing but time."""
    return hashlib.sha256(text.encode(errors="replace")).digest()


def is_of(text: str, kept: bytes) -> bool:
    """Whether it is the token of this digest, in a time that tells nothing about where they differ."""
    return hmac.compare_digest(digest(text), kept)


def operator_key(secret: str) -> str:
    """What the machine's operator authenticates with. secret: of `seal.secret_of`."""
    return _OPERATOR + hmac.new(secret.encode(), b"brb-operator-v1", hashlib.sha256).hexdigest()


def names_operator(text: str) -> bool:
    return text.startswith(_OPERATOR)


def checked_name(text: str, what: str) -> str:
    """A team's or a user's name; `BadInput` unless it is letters, digits and `. _ - @`, up to 64."""
    if not text:
        raise errors.BadInput(f"{what} is missing")
    if len(text) > LONGEST_NAME or not _NAME.fullmatch(text):
        raise errors.BadInput(f"{what} is to be made of letters, digits and . _ - @, at most {LONGEST_NAME} characters")
    return text


def may_make(maker: models.Principal, team: str) -> bool:
    """Whether it may make tokens of that team: an admin of his own, the machine's operator (of no team) of any."""
    return maker.role is models.Role.ADMIN and maker.team in ("", team)


def sees(principal: models.Principal, team: str, user: str) -> bool:
    """Whether it may look at somebody's tokens, and revoke them: they are its own, or it may make such."""
    return (principal.team, principal.user) == (team, user) or may_make(principal, team)


def _checksum(token_id: str, secret: str) -> str:
    return f"{zlib.crc32(f'{token_id}{secret}'.encode()):08x}"
