"""Where a call carries the token that says who is calling: in `X-BRB-Key`, in front of its path (`/k/<token>/v1/messages`), or, on BRB's own routes,
in `Authorization`. On the vendors' routes that header is the upstream's."""

from collections.abc import Mapping
from typing import NamedTuple

KEY = "x-brb-key"
PREFIX = b"/k/"
_BEARER = "bearer "
_OURS = "brb_"


class Split(NamedTuple):
    """A request target without the token in front of it, and that token; None if there is none."""

    target: bytes
    token: str | None = None


def split(target: bytes) -> Split:
    """target: in origin form, with or without a query. The prefix is never part of what is asked for, whatever stands in it."""
    if not target.startswith(PREFIX):
        return Split(target)
    end = min((at for at in (target.find(mark, len(PREFIX)) for mark in (b"/", b"?")) if at >= 0), default=len(target))
    rest = target[end:]
    return Split(rest if rest.startswith(b"/") else b"/" + rest, target[len(PREFIX) : end].decode("latin-1"))


def given(headers: Mapping[str, str], prefixed: str | None, *, own: bool) -> str | None:
    """The token of a call, or None: of several, the one in the header counts. headers: by lower-case name. own: it is for a route of BRB's own."""
    if key := headers.get(KEY, "").strip():
        return key
    if prefixed is not None:
        return prefixed
    scheme, value = headers.get("authorization", "")[: len(_BEARER)], headers.get("authorization", "")[len(_BEARER) :].strip()
    return value if own and scheme.lower() == _BEARER and value.startswith(_OURS) else None
