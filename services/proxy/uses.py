"""Taking note of what people ask for and look at. That it can't be noted now is no reason not to answer."""

from collections.abc import Sequence
from contextlib import suppress

from services.core import errors, models, ports
from services.proxy import redacting
from services.proxy.parts import Parts

_LONGEST = 500  # characters of the words that are kept


def asked(parts: Parts, principal: models.Principal, words: str, found: Sequence[str]) -> None:
    """A recall that somebody asked for, not one of the wire: most of the calls there have nothing to find, and nobody opens what they show."""
    clean = redacting.Redacting.of(parts.settings).within(principal.team)([words])[0]
    _note(parts, principal, ports.Asked(" ".join(clean.split())[:_LONGEST], tuple(found), parts.clock()))


def opened(parts: Parts, principal: models.Principal, one_id: str) -> None:
    _note(parts, principal, ports.Opened(one_id, parts.clock()))


def _note(parts: Parts, principal: models.Principal, use: ports.Use) -> None:
    with suppress(errors.Unavailable):
        parts.uses.add(principal, use)
