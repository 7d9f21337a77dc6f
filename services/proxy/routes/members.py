"""Who is in the team, and members leaving it."""

from litestar import Router, delete, get
from litestar.params import FromPath, FromQuery

from services.core import api, errors, member_api, models, ports, rights, tokens
from services.proxy import auditing, leaving
from services.proxy.parts import Parts
from services.proxy.routes import failures, given


def router() -> Router:
    return Router("/members", route_handlers=failures.told(listed, removed), tags=["members"])


@get(sync_to_thread=True)
def listed(parts: given.Parts, principal: given.Principal, team: FromQuery[str] = "") -> member_api.Members:
    """An admin: who has tokens or memories, and how many. Of what is private nothing but its number is shown."""
    team = _team(principal, team)
    held = [one.token for one in parts.tokens.all() if one.token.team == team]
    users = sorted({one.user for one in held} | {*parts.store.owners(team), *parts.notes.owners(team)})
    return member_api.Members(team, tuple(_member(parts, models.Principal(team, user), held) for user in users))


@delete("/{user:str}", status_code=200, sync_to_thread=True)
def removed(parts: given.Parts, principal: given.Principal, user: FromPath[str], team: FromQuery[str] = "") -> member_api.Left:
    """An admin (the machine's operator: of any `team`): revoke a member's tokens, erase what was his alone, and treat what he shared as BRB_DEPARTED
    has it. Again, it completes what was cut short, and otherwise changes nothing."""
    member = models.Principal(_team(principal, team), tokens.checked_name(user, "user"))
    if (member.team, member.user) == (principal.team, principal.user):
        raise errors.BadInput("you would remove yourself: another admin, or the operator of this BRB, does that")
    by = models.Principal(member.team, principal.user, principal.role)  # the operator has no team of his own
    receipt = leaving.left(parts, by, member)
    auditing.note(parts, by, ports.Act.REMOVED_MEMBER, detail=f"{member.user} {receipt.departed}")
    return receipt


def _team(principal: models.Principal, wanted: str) -> str:
    rights.check_administers(principal)
    team = tokens.checked_name(wanted or principal.team, "team")
    if not tokens.may_make(principal, team):
        raise errors.Denied(f"you manage the members of team {principal.team} only")
    return team


def _member(parts: Parts, member: models.Principal, held: list[ports.Token]) -> member_api.Member:
    now = parts.clock()
    valid = [one for one in held if one.user == member.user and one.valid(now)]
    used = max((one.used_at for one in valid if one.used_at is not None), default=None)
    sight = models.Scope(member.team, member.user, projects=None)
    whole = parts.store.count(sight, ports.Where(owner=member.user, status=None))
    shared = parts.store.count(sight, ports.Where(owner=member.user, status=None, visibility=models.Visibility.TEAM))
    return member_api.Member(
        user=member.user,
        roles=tuple(sorted({one.role for one in valid})),
        tokens=len(valid),
        used_at=None if used is None else api.time_of(used),
        private=whole - shared,
        shared=shared,
    )
