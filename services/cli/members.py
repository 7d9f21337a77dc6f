"""`brb members`: who is in the team, and members leaving it."""

from typing import Annotated

import typer

from services.cli import options, output
from services.core import errors, member_api

_SECONDS = 120.0  # all that somebody has is erased
Team = Annotated[str, typer.Option(help="Of which team; without it, of your own.")]


def listed(team: Team = "", as_json: options.Json = False) -> None:
    """As an admin: who has tokens or memories, and how many. Of what is private nothing but its number is shown."""
    with options.operating() as brb:
        found = brb.members(team)
    if as_json:
        return output.json(found)
    output.table(["user", "roles", "#tokens", "last used", "#private", "#shared"], [_row(one) for one in found.members])
    if not found.members:
        output.note(f"nobody is in {found.team}: make a token with `brb token create`")


def removed(
    user: Annotated[str, typer.Argument(metavar="USER", help="Who leaves, as `brb members list` shows him.")],
    team: Team = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    as_json: options.Json = False,
) -> None:
    """As an admin: revoke a member's tokens, erase for good what was his alone, and treat what he shared as BRB_DEPARTED has it.

    Asks on a terminal; in a pipe it takes --yes. Again, it completes what was cut short.
    """
    with options.operating(_SECONDS) as brb:
        if not yes:
            if not output.is_interactive():
                raise errors.BadInput(f"nothing was done yet: add --yes to remove {user}, and to erase what is his alone")
            there = next((one for one in brb.members(team).members if one.user == user), None)
            private = there.private if there else 0
            if not typer.confirm(f"Remove {user}, and erase {output.counted(private, 'private memory')} for good?"):
                raise typer.Exit(1)
        left = brb.remove_member(user, team)
    if as_json:
        return output.json(left)
    gone = f"{output.counted(left.erased.deleted, 'memory')} and {output.counted(left.erased.notes, 'note')} erased"
    output.line(f"{left.user} is removed from {left.team}: {output.counted(left.tokens_revoked, 'token')} revoked, {gone}")
    output.note(f"kept ({left.departed}): {output.counted(left.memories_kept, 'memory')}, {output.counted(left.notes_kept, 'note')}")
    for one in left.erased.left:
        output.note(f"left: {f'{one.count} ' if one.count else ''}{one.reason}")


def _row(one: member_api.Member) -> list[str]:
    used = output.minute(one.used_at) if one.used_at else "never"
    return [one.user, ", ".join(one.roles), str(one.tokens), used, str(one.private), str(one.shared)]
