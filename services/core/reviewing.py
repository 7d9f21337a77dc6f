"""What may be decided about a memory that waits for somebody, what comes of it, and how it is undone (pure).

approve   a curator: the team has it                         reject    a curator: it stays its author's
keep      its owner: it is his alone, and no instruction     release   its owner: what was imported counts
promote   its owner: the team shall have it; of a curator it has it at once

Nobody but its owner takes a memory out of what is private: undoing a rejection proposes again what was proposed, and only as it was.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from services.core import errors, instructions, memory_edit, models, rights, sharing

Decision = models.Decision
Why = models.Why

OF_CURATORS = frozenset({Decision.APPROVE, Decision.REJECT})
_WAITING = frozenset({models.Status.QUARANTINED, models.Status.PENDING})
_OWNER, _AT = 6, 7  # in what `change` keeps
_STANDING = frozenset({models.Status.CURRENT, models.Status.QUARANTINED})


def waits(memory: models.Memory) -> Why | None:
    """What it waits for: None if nothing is to be decided."""
    match memory.status:
        case models.Status.QUARANTINED:
            return "quarantined"
        case models.Status.PENDING:
            return "pending"
        case models.Status.CURRENT if memory.visibility is models.Visibility.PROPOSED:
            return "proposed"
    return None


def possible(memory: models.Memory, principal: models.Principal) -> tuple[Decision, ...]:
    """What the caller may decide about a memory that it sees."""
    return tuple(decision for decision in Decision if _fits(memory, decision) and _entitled(memory, decision, principal))


def decided(
    memory: models.Memory, decision: Decision, principal: models.Principal, *, now: float, promotion: sharing.Promotion = "review"
) -> models.Memory:
    """The memory after the decision. `Denied`, `BadInput`: it is not the caller's to decide, or there is nothing to decide about it."""
    _check_entitled(memory, decision, principal)
    if not _fits(memory, decision):
        state = "history" if memory.status is models.Status.SUPERSEDED else f"{memory.visibility} and {memory.status}"
        raise errors.BadInput(f"{memory.id} is {state}: there is nothing to {decision}")
    match decision:
        case Decision.APPROVE:
            return _reviewed(memory, models.Review.APPROVED, principal, now, models.Visibility.TEAM, models.Status.CURRENT)
        case Decision.REJECT:
            return _reviewed(memory, models.Review.REJECTED, principal, now, models.Visibility.PRIVATE, memory.status)
        case Decision.KEEP:
            return _reviewed(memory, models.Review.KEPT, principal, now, models.Visibility.PRIVATE, models.Status.CURRENT)
        case Decision.RELEASE:
            return instructions.guarded(replace(memory, status=models.Status.CURRENT))
    looked = instructions.guarded(memory)
    if rights.curates(principal) and not looked.held:
        return _reviewed(looked, models.Review.APPROVED, principal, now, models.Visibility.TEAM, looked.status)
    return sharing.proposed(looked, "review" if promotion == "off" else promotion)


def edited(
    memory: models.Memory,
    principal: models.Principal,
    *,
    text: str | None,
    category: models.Category | None,
    now: float,
    promotion: sharing.Promotion,
) -> tuple[models.Memory, models.Memory]:
    """As `memory_edit.edited`, by somebody who may. What a member words anew is proposed anew; other words are looked at like any."""
    new, archived = memory_edit.edited(memory, text=text, category=category, now=now)
    archived = sharing.retired(archived)
    if new.text == memory.text:
        return new, archived
    status = models.Status.CURRENT if memory.status is models.Status.QUARANTINED else memory.status
    new = instructions.guarded(replace(new, held="", status=status, edited_by="" if principal.user == memory.owner else principal.user))
    if memory.visibility is models.Visibility.TEAM and not rights.curates(principal):
        return sharing.proposed(new, promotion), archived
    if memory.visibility is not models.Visibility.PRIVATE and new.held:
        return sharing.proposed(new, "review"), archived
    return new, archived


def change(before: models.Memory, after: models.Memory, at: float) -> tuple[str, ...]:
    """What a decision did to a memory, as the audit log keeps it (`ports.Event.before`): visibility, status and review as they were and as they
    became, the owner, and when."""
    return (*_state(before), *_state(after), before.owner, repr(at))


def owner_of(changed: Sequence[str]) -> str:
    """Whose memory it was that a decision changed."""
    return changed[_OWNER] if len(changed) > _AT else ""


def undone(memory: models.Memory, decision: Decision, changed: Sequence[str], principal: models.Principal) -> models.Memory:
    """The memory as it was before the decision; as it is, if the decision was noted and never carried out. `Denied`: whoever may not decide may not
    undo. `BadInput`: it is not as the decision left it."""
    _check_entitled(memory, decision, principal)
    if _state(memory) == tuple(changed[:3]):
        return memory
    at = float(changed[_AT])
    visibility, status, review = models.Visibility(changed[0]), models.Status(changed[1]), models.Review(changed[2])
    if _state(memory) != tuple(changed[3:_OWNER]) or memory.reviewed_at not in (None, at):
        raise errors.BadInput(f"{memory.id} was decided about again since, or is history")
    if memory.visibility is models.Visibility.PRIVATE and memory.owner != principal.user and memory_edit.last_said(memory) >= at:
        raise errors.BadInput(f"{memory.id} is private, and its owner has said it anew since: only he proposes that")
    return replace(memory, visibility=visibility, status=status, review=review, reviewed_by="", reviewed_at=None)


def _state(memory: models.Memory) -> tuple[str, str, str]:
    return (memory.visibility.value, memory.status.value, memory.review.value)


def _fits(memory: models.Memory, decision: Decision) -> bool:
    """Whether a memory is in a state that the decision is about."""
    proposed = memory.visibility is models.Visibility.PROPOSED
    match decision:
        case Decision.APPROVE | Decision.REJECT:
            return proposed and memory.status in _STANDING
        case Decision.KEEP:
            return memory.status in _WAITING or (memory.status is models.Status.CURRENT and memory.visibility is not models.Visibility.PRIVATE)
        case Decision.RELEASE:
            return memory.status is models.Status.PENDING
    return memory.visibility is models.Visibility.PRIVATE and memory.status in _STANDING


def _entitled(memory: models.Memory, decision: Decision, principal: models.Principal) -> bool:
    return rights.curates(principal) if decision in OF_CURATORS else memory.owner == principal.user


def _check_entitled(memory: models.Memory, decision: Decision, principal: models.Principal) -> None:
    if decision in OF_CURATORS:
        rights.check_curates(principal)
    elif memory.owner != principal.user:
        raise errors.Denied(f"{memory.id} belongs to {memory.owner}: only its owner may {decision} it")


def _reviewed(
    memory: models.Memory,
    review: models.Review,
    principal: models.Principal,
    now: float,
    visibility: models.Visibility,
    status: models.Status,
) -> models.Memory:
    return replace(memory, visibility=visibility, status=status, review=review, reviewed_by=principal.user, reviewed_at=now)
