"""A team's tokens, members, and the log of who did what."""

from typing import Any, NamedTuple

from litestar import Response, get, post
from litestar.params import FromPath

from services.core import access_api, errors, member_api, models, rights
from services.proxy.routes import audit, members, tokens
from services.proxy.web import forms, visits

_DAY_SECONDS = 86_400
_EVENTS = 100


class Said(NamedTuple):
    """made: a token that is shown this once."""

    text: str
    made: access_api.MadeToken | None = None


@get("/tokens", sync_to_thread=True)
def listed(visit: visits.Given) -> Response[str]:
    return _tokens(visit)


@post("/tokens", sync_to_thread=True)
def made(visit: visits.Given, form: forms.Given) -> Response[str]:
    wanted = access_api.MakeToken(
        user=form.get("user", "").strip(),
        role=_role(form.get("role", "")),
        label=form.get("label", "").strip(),
        expires_in_seconds=_seconds(form.get("days", "").strip()),
    )
    token = tokens.make(visit.parts, visit.principal, wanted)
    return _tokens(visit, Said(f"A token for {token.user} was made.", token))


@post("/tokens/{token_id:str}/revoke", sync_to_thread=True)
def revoked(visit: visits.Given, token_id: FromPath[str]) -> Response[str]:
    token = tokens.revoke(visit.parts, visit.principal, token_id)
    return _tokens(visit, Said(f"The token {token.id} of {token.user} is revoked."))


def _tokens(visit: visits.Visit, said: Said | None = None) -> Response[str]:
    found: access_api.Tokens = visit.ask(tokens.listed)
    own = str(visit.request.auth or "")
    return visit.page("tokens.html", tokens=found.tokens[::-1], own=own, makes=rights.administers(visit.principal), roles=[*models.Role], said=said)


def _role(given: str) -> models.Role:
    try:
        return models.Role(given or models.Role.MEMBER)
    except ValueError:
        raise errors.BadInput(f"{given[:80]!r} is no role") from None


def _seconds(days: str) -> float | None:
    if not days:
        return None
    if not (days.isascii() and days.isdigit() and len(days) < 6):
        raise errors.BadInput("days is to be a whole number of days; leave it out for a token that does not expire")
    return float(int(days) * _DAY_SECONDS)


@get("/members", sync_to_thread=True)
def people(visit: visits.Given) -> Response[str]:
    found: member_api.Members = visit.ask(members.listed)
    return visit.page("members.html", members=found, departed=visit.parts.settings.departed)


@get("/members/{user:str}/remove", sync_to_thread=True)
def leaving(visit: visits.Given, user: FromPath[str]) -> Response[str]:
    """What would become of what is a member's."""
    found: member_api.Members = visit.ask(members.listed)
    member = next((one for one in found.members if one.user == user), None)
    if member is None:
        raise errors.NotFound(f"there is no member {user[:80]}")
    return visit.page("leave.html", member=member, departed=visit.parts.settings.departed)


@post("/members/{user:str}/remove", sync_to_thread=True)
def removed(visit: visits.Given, user: FromPath[str]) -> Response[str]:
    receipt: member_api.Left = visit.ask(members.removed, user)
    return visit.page("left.html", receipt=receipt)


@get("/audit", sync_to_thread=True)
def log(visit: visits.Given) -> Response[str]:
    return visit.page("audit.html", **_events(visit, visit.request.query_params.get("before", "")))


def _events(visit: visits.Visit, before: str) -> dict[str, Any]:
    found = visit.ask(audit.listed, limit=_EVENTS, before=before)
    return {"events": found.events, "next": found.next, "everybody": rights.administers(visit.principal)}


HANDLERS = (listed, made, revoked, people, leaving, removed, log)
