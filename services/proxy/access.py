"""Who is calling, and which callers are not served at all.

A web page must not reach a service on loopback: neither by a name that it re-points at 127.0.0.1 (DNS rebinding: the `Host` is then
the page's) nor from another site (the `Origin` or `Sec-Fetch-Site` is then the page's). A team's service is called by names that it was told of
(`BRB_ALLOWED_HOSTS`), and by people and programs that have a token.
"""

import functools
import ipaddress
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from litestar import Request
from litestar.exceptions import NotAuthorizedException

from services.core import config, models, ports, rights, seal, telemetry, tokens
from services.proxy import throttling

UNAUTHORIZED, MISDIRECTED, TOO_MANY = 401, 421, 429
CHALLENGE = 'Bearer realm="BRB"'


class Reason(StrEnum):
    """Why a call was turned away: a closed set, it labels a metric."""

    MISSING = "missing"  # no token
    MALFORMED = "malformed"
    UNKNOWN = "unknown"
    EXPIRED = "expired"
    REVOKED = "revoked"
    ATTEMPTS = "attempts"  # too many of those before
    RATE = "rate"
    HOST = "host"  # a name that is not BRB's, or another site's page


_SAID = {
    Reason.MISSING: "BRB needs a token: send it as X-BRB-Key, or put /k/<token> in front of the path (commands: set BRB_KEY). "
    "An admin of your team makes one with `brb token create`.",
    Reason.MALFORMED: "This is no token of a team, or it was copied with a mistake.",
    Reason.UNKNOWN: "This BRB does not know that token.",
    Reason.EXPIRED: "The token has expired: ask an admin of your team for a new one.",
    Reason.REVOKED: "The token was revoked: ask an admin of your team for a new one.",
    Reason.ATTEMPTS: "Too many calls from your address came with tokens that are not valid.",
    Reason.RATE: "Too many calls with this token (BRB_RATE_PER_MINUTE).",
}


class Admitted(NamedTuple):
    """token_id: "" where the caller needs none."""

    principal: models.Principal
    token_id: str = ""


class Refused(NamedTuple):
    """delay_seconds: how long the answer is to wait. wait_seconds: when it makes sense to call again, 0 if not at all."""

    reason: Reason
    status: int = UNAUTHORIZED
    delay_seconds: float = 0.0
    wait_seconds: int = 0

    @property
    def message(self) -> str:
        return _SAID[self.reason]


_NOBODYS = bytes(32)


class Access:
    """Tells callers apart, and how often each may call. Never waits, if the tokens' `find` and `used` do not."""

    def __init__(self, settings: config.Settings, known: ports.TokenBook, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._known = known
        self._clock = clock
        self._calls = throttling.Calls(settings.rate_per_minute if settings.auth == "token" else 0)
        self._failures = throttling.Failures()

    @property
    def needs_token(self) -> bool:
        return self._settings.auth == "token"

    def admit(self, token: str | None, address: str, *, own: bool) -> Admitted | Refused:
        """Who calls with this token from this address. own: it is for a route of BRB's own: the operator's key is good for these alone.
        `errors.Unavailable`: nobody can tell, because the tokens could not be read yet."""
        if own and token is not None and tokens.names_operator(token) and tokens.is_of(token, self._operator):
            return Admitted(rights.OPERATOR)
        if not self.needs_token:
            return Admitted(models.LOCAL)
        if token is None:
            return self._counted(Refused(Reason.MISSING))
        token_id = tokens.id_of(token)
        if token_id is None:
            return self._failed(Reason.MALFORMED, address)
        stored = self._known.find(token_id)
        right = tokens.is_of(token, _NOBODYS if stored is None else stored.digest)  # either way, lest the time tell which ids there are
        if stored is None or not right:
            return self._failed(Reason.UNKNOWN, address)
        return self._holding(stored.token, address)

    def admit_session(self, token_id: str, begun_at: float, address: str) -> Admitted | Refused:
        """Who calls in a session that was begun then with the token of this id."""
        if not self.needs_token:
            return Admitted(models.LOCAL)
        stored = self._known.find(token_id)
        if stored is None or (stored.signed_out_at is not None and begun_at <= stored.signed_out_at):
            return self._counted(Refused(Reason.UNKNOWN))
        return self._holding(stored.token, address)

    def _holding(self, token: ports.Token, address: str) -> Admitted | Refused:
        now = self._clock()
        if not token.valid(now):
            return self._failed(Reason.REVOKED if token.revoked_at is not None else Reason.EXPIRED, address)
        if wait := self._calls.wait_seconds(token.id):
            return self._counted(Refused(Reason.RATE, TOO_MANY, wait_seconds=wait))
        self._known.used(token.id, now)
        return Admitted(token.principal, token.id)

    def _failed(self, reason: Reason, address: str) -> Refused:
        cost = self._failures.failed(address)
        if cost.wait_seconds:
            return self._counted(Refused(Reason.ATTEMPTS, TOO_MANY, wait_seconds=cost.wait_seconds))
        return self._counted(Refused(reason, delay_seconds=cost.delay_seconds))

    def _counted(self, refused: Refused) -> Refused:
        telemetry.DENIED.labels(refused.reason).inc()
        return refused

    @functools.cached_property
    def _operator(self) -> bytes:
        return tokens.digest(tokens.operator_key(seal.secret_of(self._settings)))


def principal(request: Request[Any, Any, Any]) -> models.Principal:
    """The caller of a request, as the app has found out who it is."""
    found = request.scope.get("user")
    if not isinstance(found, models.Principal):
        raise NotAuthorizedException(_SAID[Reason.MISSING], headers={"WWW-Authenticate": CHALLENGE})
    return found


def refusal(headers: Mapping[str, str], settings: config.Settings) -> str | None:
    """Why a request with these headers (lower-case names) is not served, or None if it is."""
    return foreign_host(headers, settings) or foreign_page(headers)


def foreign_host(headers: Mapping[str, str], settings: config.Settings) -> str | None:
    """With tokens, any address will do: no page can make a browser call it by that and think that it is the page's own."""
    host = headers.get("host", "").lower()
    name = _hostname(host)
    if name in config.LOOPBACK | {settings.host.lower()} or (settings.auth == "token" and (name in settings.own_names or _is_address(name))):
        return None
    cure = f"use {settings.base_url}" if settings.auth == "off" else "its names are BRB_HOST and those of BRB_ALLOWED_HOSTS"
    return f"host {host or '(none)'} is not served: {cure}"


def foreign_page(headers: Mapping[str, str]) -> str | None:
    origin = headers.get("origin")
    if origin is not None and _authority(origin.lower()) != headers.get("host", "").lower():
        return "requests of other sites are not served"
    if headers.get("sec-fetch-site") == "cross-site":
        return "requests of other sites are not served"
    return None


def is_local(address: str, headers: Mapping[str, str]) -> bool:
    """Whether the caller is on this machine, and not behind a proxy that is."""
    forwarded = not {"forwarded", "x-forwarded-for", "x-real-ip"}.isdisjoint(headers)
    return not forwarded and _is_address(address) and ipaddress.ip_address(address).is_loopback


def count_host() -> None:
    """A call was turned away because of its `Host` or its page."""
    telemetry.DENIED.labels(Reason.HOST).inc()


def _is_address(name: str | None) -> bool:
    try:
        ipaddress.ip_address(name or "")
    except ValueError:
        return False
    return True


def _authority(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _hostname(authority: str) -> str | None:
    try:
        return urlsplit(f"//{authority}").hostname
    except ValueError:
        return None
