"""A member leaves: nobody signs in as him any more, what was his alone is erased, and what he shared is treated as the team has it
(`BRB_DEPARTED`).

Each step may be repeated, and what is shared is given away last: a run that was cut short is completed by the next one.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from services.core import member_api, models, ports, walking
from services.core.notes.writing import rescope
from services.proxy import erasing
from services.proxy.parts import Parts

_TOGETHER = 200


def left(parts: Parts, by: models.Principal, member: models.Principal) -> member_api.Left:
    """Carry it out. by: the admin, as the team's audit log names him. `Unavailable`: part of it may be done; again completes it."""
    revoked = sum(parts.tokens.revoke(one.token.id, parts.clock()) for one in parts.tokens.all() if _bears(one.token, member))
    receipt = erasing.departing(parts, by, member, shared=parts.settings.departed == "forget")
    with parts.owner_lock(member):
        memories = [*walking.memories(parts.store, _sight(member), ports.Where(status=None, owner=member.user))]
        notes = [*walking.notes(parts.notes, _sight(member), ports.NoteWhere(owner=member.user))]
        if parts.settings.departed == "anonymous":
            _hand_over(parts, member, memories, notes)
    return member_api.Left(member.team, member.user, parts.settings.departed, revoked, len(memories), len(notes), receipt)


def _hand_over(parts: Parts, member: models.Principal, memories: Sequence[models.Memory], notes: Sequence[models.Note]) -> None:
    """Blocks that name him are replayed nowhere: they are made anew."""
    for start in range(0, len(memories), _TOGETHER):
        some = memories[start : start + _TOGETHER]
        parts.ledger.forget([one.id for one in some])
        parts.store.update([nameless(one) for one in some])
        parts.ledger.forget([one.id for one in some])
    for note in notes:
        rescope(parts.notes, member, replace(note, owner=member_api.FORMER))


def nameless(memory: models.Memory) -> models.Memory:
    """The memory without its owner's name, and without the sessions that its words were said in."""
    evidence = tuple(replace(one, session="") for one in memory.evidence)
    own = {field: member_api.FORMER for field in ("reviewed_by", "edited_by") if getattr(memory, field) == memory.owner}
    return replace(memory, owner=member_api.FORMER, evidence=evidence, **own)


def _sight(member: models.Principal) -> models.Scope:
    return models.Scope(member.team, member.user, projects=None)


def _bears(token: ports.Token, member: models.Principal) -> bool:
    return (token.team, token.user) == (member.team, member.user)
