"""The one scheme of memory ids: derived from what a memory comes from, so that doing a thing again makes no second memory."""

import uuid

from services.core import models

_NAMESPACE = uuid.UUID("8f3d0f0e-6a0b-5b58-9d59-3a1f7c2f6f10")


def of_fact(principal: models.Principal, turn: str, index: int) -> models.MemoryId:
    """The memory that the fact at this place of a turn's facts becomes."""
    return _derived("fact", principal.team, principal.user, turn, str(index))


def of_hand(principal: models.Principal, project: str, text: str, at: float) -> models.MemoryId:
    """The memory that somebody wrote down at that time."""
    return _derived("hand", principal.team, principal.user, project, text, repr(at))


def of_import(principal: models.Principal, source: str, item: str) -> str:
    """The turn that something said elsewhere is. item: the source's own name of it, the same in each of its exports."""
    return f"{source}-{_derived('import', principal.team, principal.user, source, item)}"


def of_version(memory: models.Memory) -> models.MemoryId:
    """The archived copy of a memory as it is now."""
    return _derived("version", memory.id, repr(memory.said_at), memory.text, memory.category)


def _derived(*parts: str) -> models.MemoryId:
    return models.MemoryId(str(uuid.uuid5(_NAMESPACE, "\0".join(parts))))
