"""What a call of BRB's own routes passes before its handler: whether it is served at all, and who is calling.

A handler finds the caller in `scope["user"]` (a `models.Principal`) and the id of his token in `scope["auth"]`. A token in front of the path is gone
from there.
"""

import asyncio
from collections.abc import Mapping

import msgspec
from litestar.datastructures import Headers
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from services.core import api, config, errors, models, rights
from services.proxy import access
from services.proxy.web import sessions
from services.proxy.wire import credentials

OPEN = frozenset({"/healthz", "/readyz"})
"""They say nothing of anybody, and supervisors have no tokens."""
WATCHED = frozenset({"/health", "/metrics"})
"""For whoever runs BRB: an admin, the operator, or programs on this machine."""
SIGN_IN = f"{sessions.PATH}/sign-in"
STATIC = f"{sessions.PATH}/static/"
_OPERATED = frozenset({"tokens", "members", "jobs", "whoami", "health", "metrics", "schema", "selftest"})
_KINDS = {access.UNAUTHORIZED: "denied", access.TOO_MANY: "too_many"}
_Headers = list[tuple[bytes, bytes]]


class Entrance:
    """Around the app."""

    def __init__(self, app: ASGIApp, settings: config.Settings, doors: access.Access, pages: sessions.Sessions) -> None:
        self._app = app
        self._settings = settings
        self._access = doors
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: Mapping[str, str] = Headers.from_scope(scope)
        if reason := access.refusal(headers, self._settings):
            access.count_host()
            return await _answer(scope, send, 403, "denied", reason)
        token = _unprefixed(scope)
        path = _plain(scope["path"])
        session = self._pages.read(headers) if _is_page(path) else None
        scope.setdefault("state", {})[sessions.COOKIE] = session
        token = credentials.given(headers, token, own=True)
        address = (scope.get("client") or ("", 0))[0]
        if path in OPEN or (path in WATCHED and token is None and access.is_local(address, headers)):
            return await self._app(scope, receive, send)
        try:
            if token is None and session is not None and session.token_id:
                admitted = self._access.admit_session(session.token_id, session.begun_at, address)
            else:
                admitted = self._access.admit(token, address, own=True)
        except errors.Unavailable as error:
            return await _answer(scope, send, 503, "unavailable", str(error))
        if isinstance(admitted, access.Refused):
            return await self._refused(admitted, scope, receive, send, headers)
        if reason := _forbidden(admitted.principal, path):
            return await _answer(scope, send, 403, "denied", reason)
        scope["user"], scope["auth"] = admitted.principal, admitted.token_id
        await self._app(scope, receive, send)

    async def _refused(self, refused: access.Refused, scope: Scope, receive: Receive, send: Send, headers: Mapping[str, str]) -> None:
        path = scope["path"]
        if path == SIGN_IN or path.startswith(STATIC):
            return await self._app(scope, receive, send)
        await asyncio.sleep(refused.delay_seconds)
        more: _Headers = []
        if refused.wait_seconds:
            more.append((b"retry-after", b"%d" % refused.wait_seconds))
        elif not _is_page(path):
            more.append((b"www-authenticate", access.CHALLENGE.encode()))
        elif "hx-request" in headers:
            more.append((b"hx-redirect", SIGN_IN.encode()))
        else:  # a form as well: its session has ended
            return await _answer(scope, send, 303, "denied", refused.message, [(b"location", SIGN_IN.encode())])
        await _answer(scope, send, refused.status, _KINDS[refused.status], refused.message, more)


def _unprefixed(scope: Scope) -> str | None:
    """Take the token off the front of the path."""
    target, token = credentials.split(scope["path"].encode("utf-8", "surrogatepass"))
    if token is not None:
        scope["path"] = target.decode("utf-8", "surrogatepass")
        scope["raw_path"] = credentials.split(scope.get("raw_path") or b"").target
    return token


def _plain(path: str) -> str:
    """As the app's router reads it: `//metrics/` is `/metrics`."""
    return "/" + "/".join(filter(None, path.split("/")))


def _is_page(path: str) -> bool:
    return path == sessions.PATH or path.startswith(f"{sessions.PATH}/")


def _forbidden(principal: models.Principal, path: str) -> str | None:
    """Why a route is not for this caller, whatever he wants there."""
    if principal == rights.OPERATOR and path.strip("/").partition("/")[0] not in _OPERATED:
        return "the operator's key is for tokens, members, jobs and health: use a token of a team for memories"
    if path in WATCHED and not rights.administers(principal):
        return "only an admin of the team may do that"
    return None


async def _answer(scope: Scope, send: Send, status: int, kind: str, message: str, more: _Headers | None = None) -> None:
    if scope["type"] == ScopeType.WEBSOCKET:
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    body = msgspec.json.encode(api.Problem(api.Trouble(kind, message)))
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *(more or [])]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope.get("method") == "HEAD" else body, "more_body": False})
