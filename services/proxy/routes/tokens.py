"""Tokens: who has which, making and revoking them; and who one is."""

import math
from typing import Any

from litestar import Request, Response, Router, delete, get, post
from litestar.params import FromPath, JSONBody

from services.core import access_api, errors, models, ports, rights, tokens
from services.proxy import auditing
from services.proxy.parts import Parts
from services.proxy.routes import failures, given

_SHORTEST_SECONDS = 60.0
_LONGEST_SECONDS = 10 * 366 * 86_400.0


def router() -> Router:
    return Router("/", route_handlers=failures.told(listed, made, revoked, who), tags=["access"])


@get("/whoami", sync_to_thread=False)
def who(parts: given.Parts, principal: given.Principal, request: Request[Any, Any, Any]) -> access_api.Whoami:
    """Who is calling, and in which role."""
    return access_api.Whoami(principal.team, principal.user, principal.role, str(request.auth or ""), parts.settings.auth)


@get("/tokens", sync_to_thread=True)
def listed(parts: given.Parts, principal: given.Principal) -> access_api.Tokens:
    """The caller's tokens; for an admin, those of the team. Never the tokens themselves."""
    now = parts.clock()
    return access_api.Tokens(tuple(access_api.token_of(one, now) for one in seen(parts, principal)))


@post("/tokens", sync_to_thread=True)
def made(parts: given.Parts, principal: given.Principal, data: JSONBody[access_api.MakeToken]) -> Response[access_api.MadeToken]:
    """Make a token for somebody of one's team (the machine's operator: of any). It is shown this once."""
    return Response(make(parts, principal, data), status_code=201, headers={"Cache-Control": "no-store"})


@delete("/tokens/{token_id:str}", status_code=200, sync_to_thread=True)
def revoked(parts: given.Parts, principal: given.Principal, token_id: FromPath[str]) -> access_api.Token:
    """Revoke a token: calls with it are refused from now on, and sessions of the page that were begun with it have ended. Again is the same."""
    return revoke(parts, principal, token_id)


def seen(parts: Parts, principal: models.Principal) -> list[ports.Token]:
    """Oldest first."""
    return [one.token for one in parts.tokens.all() if tokens.sees(principal, one.token.team, one.token.user)]


def make(parts: Parts, principal: models.Principal, wanted: access_api.MakeToken) -> access_api.MadeToken:
    rights.check_administers(principal)
    team, user = tokens.checked_name(wanted.team or principal.team, "team"), tokens.checked_name(wanted.user, "user")
    if not tokens.may_make(principal, team):
        raise errors.Denied(f"you make tokens of team {principal.team} only")
    now, seconds = parts.clock(), wanted.expires_in_seconds
    if seconds is not None and not (math.isfinite(seconds) and _SHORTEST_SECONDS <= seconds <= _LONGEST_SECONDS):
        raise errors.BadInput("expires_in_seconds is to be between a minute and ten years; leave it out for a token that does not expire")
    if len(wanted.label) > access_api.LONGEST_LABEL:
        raise errors.BadInput(f"label has {len(wanted.label)} characters: at most {access_api.LONGEST_LABEL} are taken")
    new = tokens.make()
    token = ports.Token(
        id=new.id,
        team=team,
        user=user,
        role=wanted.role,
        label=wanted.label,
        created_by=principal.user,
        created_at=now,
        expires_at=None if seconds is None else now + seconds,
    )
    parts.tokens.add(token, new.digest)
    _noted(parts, principal, token, ports.Act.MADE_TOKEN)
    return access_api.made_of(token, new.text, now)


def revoke(parts: Parts, principal: models.Principal, token_id: str) -> access_api.Token:
    token = _found(parts, principal, token_id)
    if parts.tokens.revoke(token.id, parts.clock()):
        _noted(parts, principal, token, ports.Act.REVOKED_TOKEN)
    return access_api.token_of(_found(parts, principal, token.id), parts.clock())


def _found(parts: Parts, principal: models.Principal, token_id: str) -> ports.Token:
    stored = parts.tokens.find(token_id)
    if stored is None or not tokens.sees(principal, stored.token.team, stored.token.user):
        raise errors.NotFound(f"there is no token {token_id[:80]}")
    return stored.token


def _noted(parts: Parts, principal: models.Principal, token: ports.Token, act: ports.Act) -> None:
    """In the log of the token's team: the operator has none."""
    auditing.note(parts, models.Principal(token.team, principal.user, principal.role), act, [token.id], detail=f"{token.user} {token.role}")
