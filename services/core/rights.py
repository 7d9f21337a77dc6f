"""Who may do what in a team (pure). What a caller sees is its scope's business; these are about changing what is seen.

A member sees his own memories and those of the team, and changes his own. A curator decides about what is proposed, and corrects what the team has.
An admin also manages tokens and members. The operator of the machine (no team) manages tokens of any team, and sees nobody's memories.
"""

from msgspec.structs import replace

from services.core import errors, models

OPERATOR = models.Principal(team="", user="operator", role=models.Role.ADMIN)
"""Whoever has the machine's own key (`seal.secret_of`). There is no team of that name, so that its scope is empty."""


def managed(principal: models.Principal) -> models.Scope:
    """All that the caller may look at, whatever its project. Never for a recall on the wire."""
    return models.Scope(principal.team, principal.user, projects=None, curates=curates(principal))


def curates(principal: models.Principal) -> bool:
    """Whether it decides for the team what the team shall have."""
    return principal.role in (models.Role.CURATOR, models.Role.ADMIN)


def administers(principal: models.Principal) -> bool:
    return principal.role is models.Role.ADMIN


def changes(principal: models.Principal, one: models.Memory | models.Note) -> bool:
    """Whether it may edit or erase what it sees."""
    return one.owner == principal.user or (curates(principal) and one.visibility is not models.Visibility.PRIVATE)


def shown(viewer: models.Principal | models.Scope, memory: models.Memory) -> models.Memory:
    """A memory as the viewer, who sees it, is shown it. Of somebody else's: the first words that prove it and when they were said, but not in which
    conversation; what else its author said about it remains his."""
    if (viewer.team, viewer.user) == (memory.team, memory.owner):
        return memory
    return replace(memory, evidence=tuple(replace(one, turn="", session="") for one in memory.evidence[:1]))


def check_changes(principal: models.Principal, one: models.Memory | models.Note) -> None:
    if not changes(principal, one):
        raise errors.Denied(f"{one.id} belongs to {one.owner}: only its owner, or a curator of the team, changes or forgets it")


def check_curates(principal: models.Principal) -> None:
    if not curates(principal):
        raise errors.Denied("only a curator or an admin of the team decides about that")


def check_administers(principal: models.Principal) -> None:
    if not administers(principal):
        raise errors.Denied("only an admin of the team may do that")
