"""A member leaves: nobody signs in as him any more, what was his alone is erased, and what he shared is treated as the team has it
(`BRB_DEPARTED`).

Each step may be repeated, and what is shared is given away last: a run that was cut short is completed by the next one.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from services.core import errors, member_api, messages, models, ports, walking
from services.core.notes.writing import rescope
from services.proxy import erasing
from services.proxy.parts import Parts

_TOGETHER = 200


def left(parts: Parts, by: models.Principal, member: models.Principal) -> member_api.Left:
    """Carry it out. by: the admin, as the team's audit log names him. `Unavailable`: part of it may be done; again completes it."""
    revoked = sum(parts.tokens.revoke(one.token.id, parts.clock()) for one in parts.tokens.all() if _bears(one.token, member))
    receipt = erasing.departing(parts, by, member, shared=parts.settings.departed == "forget")
    if parts.settings.departed != "keep":
        for owner in erasing.team_of(parts, member.team):
            if owner.user != member.user:
                with parts.owner_lock(owner):
                    _unname(parts, member, [*_memories(parts, owner)])
    with parts.owner_lock(member):
        memories, notes = [*_memories(parts, member)], erasing.own_notes(parts, member)
        if parts.settings.departed != "keep":
            _unname(parts, member, memories)
            for note in notes:
                rescope(parts.notes, member, replace(note, owner=member_api.FORMER))
    return member_api.Left(member.team, member.user, parts.settings.departed, revoked, len(memories), len(notes), receipt)


def shut_out(parts: Parts, principal: models.Principal) -> bool:
    """Whether all his tokens are revoked: since then he may have left, and what he had is erased. While Redis is away nobody leaves."""
    if parts.settings.auth == "off":
        return False
    try:
        his = [one.token for one in parts.tokens.all() if _bears(one.token, principal)]
    except errors.Unavailable:
        return False
    return bool(his) and all(token.revoked_at is not None for token in his)


def take_back(parts: Parts, jobs: Sequence[messages.Job]) -> None:
    """Of somebody who was shut out while they were recorded. Whoever leaves is shut out first, and his jobs are cleared then: one of the two
    finds them."""
    ids = {job.id for job in jobs}
    parts.unspool(lambda job: job.id in ids)
    parts.book.forget(lambda job: job.id in ids)


def _unname(parts: Parts, member: models.Principal, memories: Sequence[models.Memory]) -> None:
    """Blocks that name him are replayed nowhere: they are made anew."""
    pairs = [(one, nameless(one, member.user)) for one in memories]
    changed = [new for old, new in pairs if new != old]
    for start in range(0, len(changed), _TOGETHER):
        some = changed[start : start + _TOGETHER]
        parts.ledger.forget([one.id for one in some])
        parts.store.update(some)
        parts.ledger.forget([one.id for one in some])


def nameless(memory: models.Memory, user: str) -> models.Memory:
    """The memory without the user's name. His own, too, without the sessions that its words were said in."""
    named = {field: member_api.FORMER for field in ("owner", "reviewed_by", "edited_by") if getattr(memory, field) == user}
    own = {"evidence": tuple(replace(one, session="") for one in memory.evidence)} if memory.owner == user else {}
    return replace(memory, **named, **own)


def _memories(parts: Parts, owner: models.Principal) -> Iterator[models.Memory]:
    return walking.memories(parts.store, _sight(owner), ports.Where(status=None, owner=owner.user))


def _sight(member: models.Principal) -> models.Scope:
    return models.Scope(member.team, member.user, projects=None)


def _bears(token: ports.Token, member: models.Principal) -> bool:
    return (token.team, token.user) == (member.team, member.user)
