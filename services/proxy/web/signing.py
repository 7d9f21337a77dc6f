"""Signing in with a token, and out; and how light the page is."""

import asyncio
from urllib.parse import urlsplit

import structlog
from litestar import Response, get, post
from litestar.datastructures import Cookie

from services.core import errors, rights
from services.proxy import access
from services.proxy.routes import given
from services.proxy.web import forms, sessions, visits

log = structlog.get_logger(__name__)

SIGN_IN = f"{sessions.PATH}/sign-in"
_YEAR_SECONDS = 365 * 86_400
_HAVE_OWN = (["memories"], ["turns"], ["notes"])  # pages of one
_OPERATOR = "That key is the machine's own: it makes tokens (`brb token create`), and a token of a team signs in here."


@get("/sign-in", sync_to_thread=True)
def asked(visit: visits.Given) -> Response[str]:
    return visit.page("sign_in.html", problem="") if visit.shared else visit.to(sessions.PATH)


@post("/sign-in")
async def signed_in(visit: visits.Given, doors: given.Doors, form: forms.Given) -> Response[str]:
    address = visit.request.client.host if visit.request.client else ""
    try:
        admitted = doors.admit(form.get("token", "").strip(), address, own=True)
    except errors.Unavailable as error:
        return visit.page("sign_in.html", status=503, problem=str(error))
    if isinstance(admitted, access.Refused):
        await asyncio.sleep(admitted.delay_seconds)
        return visit.page("sign_in.html", status=admitted.status, problem=admitted.message)
    if admitted.principal == rights.OPERATOR:
        return visit.page("sign_in.html", status=403, problem=_OPERATOR)
    response = visit.to(sessions.PATH)
    response.cookies = [visit.pages.cookie(visit.pages.begin(admitted.token_id), visit.request.headers)]
    return response


@post("/sign-out", sync_to_thread=True)
def signed_out(visit: visits.Given) -> Response[str]:
    """Also from what others may have copied, and in other browsers; while that can't be written down, from this one."""
    if visit.session.token_id:
        try:
            visit.parts.tokens.signed_out(visit.session.token_id, visit.now)
        except errors.Transient as error:
            log.warning("sign_out_not_kept", cause=type(error).__name__)
    response = visit.to(SIGN_IN)
    response.cookies = [sessions.ended(visit.request.headers)]
    return response


@post("/theme", sync_to_thread=True)
def themed(visit: visits.Given, form: forms.Given) -> Response[str]:
    """Light, dark, or as the machine has it: kept in a cookie of its own."""
    theme = form.get("theme", "")
    response = visit.to(came_from(visit.request.headers.get("referer", "")))
    if theme in visits.THEMES:
        response.set_cookie(Cookie(key=visits.THEME_COOKIE, value=theme, path=sessions.PATH, max_age=_YEAR_SECONDS, httponly=True, samesite="strict"))
    return response


def came_from(referer: str) -> str:
    """The page that somebody was on, or the one that it belongs to: what only answers a form can't be gone to."""
    try:
        path = urlsplit(referer).path.split("/")
    except ValueError:
        return sessions.PATH
    if path[1:2] != [sessions.PATH.strip("/")]:
        return sessions.PATH
    return "/".join(path[: 4 if path[2:3] in _HAVE_OWN else 3])


HANDLERS = (asked, signed_in, signed_out, themed)
