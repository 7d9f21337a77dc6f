"""Sessions of the page. A cookie says with which token somebody signed in, sealed, so that it can't be made up. Of sessions themselves nothing is
kept on the server: whoever's token is revoked is out at once, and signing out ends all that were begun with the same token. Every form and every
change carries a second value that another site can't know (CSRF).

Also without tokens, and before somebody has signed in, there is a session: of nobody, for that second value.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from http.cookies import CookieError, SimpleCookie
from typing import Any

import msgspec
from litestar import Request
from litestar.datastructures import Cookie
from litestar.exceptions import PermissionDeniedException

from services.core import errors
from services.core.seal import Seal

PATH = "/ui"
COOKIE = "brb_session"
CSRF_HEADER = "x-csrf-token"
CSRF_FIELD = "csrf"
LIFETIME_SECONDS = 12 * 3600
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

HEADERS = {
    # Scripts and styles of BRB's own files alone, none within a page; no page of another site shows this one.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    # To no other site: a path may hold a token. "no-referrer" would take the `Origin` from our own forms, too, which `access.foreign_page` asks for.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every answer under `/ui`; `Cache-Control` may differ for files that never change."""


class Session(msgspec.Struct, frozen=True):
    """token_id: of the token that was signed in with, "" for nobody's. until: when it ends (epoch seconds). csrf: what its forms carry."""

    token_id: str
    until: float
    nonce: str
    csrf: str = ""

    @property
    def begun_at(self) -> float:
        return self.until - LIFETIME_SECONDS


class Sessions:
    """secret: of `seal.secret_of`, asked for once. clock: epoch seconds."""

    def __init__(self, secret: Callable[[], str], clock: Callable[[], float] = time.time) -> None:
        self._secret = secret
        self._clock = clock

    def begin(self, token_id: str = "") -> Session:
        """A new session; `cookie` carries it. Whoever signs in gets a new one, so that nobody else knows it beforehand."""
        return self._with_csrf(Session(token_id, self._clock() + LIFETIME_SECONDS, secrets.token_urlsafe(16)))

    def read(self, headers: Mapping[str, str]) -> Session | None:
        """The session that a request's cookie names, if it has not ended."""
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
            session = msgspec.json.decode(self._seal.open(morsel.value.encode()), type=Session) if morsel else None
        except (CookieError, errors.Permanent, msgspec.DecodeError, UnicodeEncodeError):
            return None
        return self._with_csrf(session) if session is not None and self._clock() < session.until else None

    def cookie(self, session: Session, headers: Mapping[str, str]) -> Cookie:
        """headers: of the request, by lower-case name. Who claims to come by https without doing so harms himself only: he won't get it back."""
        value = self._seal.close(msgspec.json.encode(msgspec.structs.replace(session, csrf=""))).decode()
        return _cookie(value, LIFETIME_SECONDS, headers)

    def _with_csrf(self, session: Session) -> Session:
        key = hashlib.sha256(b"brb-csrf-v1" + self._secret().encode()).digest()
        return msgspec.structs.replace(session, csrf=hmac.new(key, session.nonce.encode(), hashlib.sha256).hexdigest())

    @cached_property
    def _seal(self) -> Seal:
        return Seal(f"page {self._secret()}")  # nothing that was sealed for another purpose is a session


def ended(headers: Mapping[str, str]) -> Cookie:
    """What takes the session's cookie away."""
    return _cookie("", 0, headers)


def _cookie(value: str, seconds: int, headers: Mapping[str, str]) -> Cookie:
    https = headers.get("x-forwarded-proto", "").split(",")[0].strip().lower() == "https"
    return Cookie(key=COOKIE, value=value, path=PATH, max_age=seconds, httponly=True, samesite="strict", secure=https)


def of(request: Request[Any, Any, Any]) -> Session | None:
    """The session of a request under `/ui`; None if it brought none: begin one and send its cookie along."""
    return request.scope["state"].get(COOKIE)


async def checked(request: Request[Any, Any, Any]) -> None:
    """A `before_request` of every route under `/ui`: what changes something carries the session's second value, as `X-CSRF-Token` or in the form."""
    if request.method in _SAFE:
        return
    given = request.headers.get(CSRF_HEADER) or str((await request.form()).get(CSRF_FIELD) or "")
    session = of(request)
    if session is None or not hmac.compare_digest(session.csrf.encode(), given.encode()):
        raise PermissionDeniedException("this page is out of date: load it again and repeat what you did")
