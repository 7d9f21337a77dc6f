"""`brb token`: who may call this BRB."""

import re
from typing import Annotated

import typer

from services.cli import options, output
from services.core import access_api, errors, models

_DURATION = re.compile(r"(\d{1,5})([mhdw])")
_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def created(
    user: Annotated[str, typer.Argument(metavar="USER", help="Whose memories calls with it have to do with: letters, digits and . _ - @.")],
    team: Annotated[str, typer.Option(help="Of which team; without it, of your own.")] = "",
    role: Annotated[
        models.Role, typer.Option(help="A curator decides what the team shares; an admin also manages tokens and members.")
    ] = models.Role.MEMBER,
    label: Annotated[str, typer.Option(help="What it is for, for people.")] = "",
    expires: Annotated[str, typer.Option(metavar="TIME", help="After how long it is void: 90d, 12h, 4w. Without it, never.")] = "",
    as_json: options.Json = False,
) -> None:
    """Make a token, and show it this once.

    It is made as whoever BRB_KEY says. Without one, on the machine that BRB runs on, as its operator, who may make tokens of any team: that is how
    the first one of a team is made.
    """
    wanted = access_api.MakeToken(user=user, team=team, role=role, label=label, expires_in_seconds=seconds_of(expires) if expires else None)
    with options.operating() as brb:
        made = brb.make_token(wanted)
        address = brb.base_url
    if as_json:
        return output.json(made)
    output.line(made.token)
    until = f", until {output.minute(made.expires_at)}" if made.expires_at else ""
    output.note(f"{made.id} of {made.user} ({made.role} of {made.team}{until}). It is shown this once: keep it like a password.")
    output.note(f"  commands       BRB_URL={address} BRB_KEY=<token>")
    output.note(f"  Claude Code    ANTHROPIC_BASE_URL={address} ANTHROPIC_CUSTOM_HEADERS='X-BRB-Key: <token>'")
    output.note(f"  others         {address}/k/<token> as the base URL (OpenAI: with /v1 behind it)")


def listed(
    every: Annotated[bool, typer.Option("--all", help="Also those that have expired or were revoked.")] = False,
    as_json: options.Json = False,
) -> None:
    """List your tokens; as an admin, those of the team. Never the tokens themselves."""
    with options.operating() as brb:
        tokens = brb.tokens()
    if as_json:
        return output.json(tokens)
    shown = [one for one in tokens.tokens if every or one.state == "valid"]
    output.table(["id", "team", "user", "role", "state", "expires", "last used", "label"], [_row(one) for one in shown])
    if not shown:
        output.note("there is no token: make one with `brb token create`")


def revoked(
    token_ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of tokens, as `brb token list` shows them.")],
    as_json: options.Json = False,
) -> None:
    """Revoke tokens: calls with them are refused at once, and sessions of the page that were begun with them are over."""
    with options.operating() as brb:
        done = [brb.revoke_token(token_id) for token_id in token_ids]
    if as_json:
        return output.json(done)
    for one in done:
        output.line(f"{one.id} of {one.user} ({one.team}) is revoked")


def seconds_of(duration: str) -> float:
    """`90d`, `12h`, `30m`, `4w`."""
    parsed = _DURATION.fullmatch(duration.strip().lower())
    if parsed is None:
        raise errors.BadInput(f"{duration!r} is no time: write 90d, 12h, 30m or 4w")
    return float(int(parsed[1]) * _SECONDS[parsed[2]])


def _row(one: access_api.Token) -> list[str]:
    expires = output.day(one.expires_at) if one.expires_at else "never"
    used = output.minute(one.used_at) if one.used_at else "never"
    return [one.id, one.team, one.user, one.role, one.state, expires, used, one.label]
