"""Correcting a memory by hand, and looking at what it was."""

from collections.abc import Iterable

from msgspec.structs import replace

from services.core import errors, memory_ids, models, ports, walking


def edited(
    memory: models.Memory, *, text: str | None = None, category: models.Category | None = None, now: float
) -> tuple[models.Memory, models.Memory]:
    """The memory with its new text or category, and what it was, as a superseded memory of the same lineage. The id stays with the new one.

    A new text is its own evidence, as the person's own words; the old evidence stays with the archived version.
    `BadInput` when the text is empty or nothing changes.
    """
    wanted = memory.text if text is None else text.strip()
    if not wanted:
        raise errors.BadInput("the text is empty: to erase a memory, forget it")
    if wanted == memory.text and category in (None, memory.category):
        raise errors.BadInput("nothing changes: the memory says that already")
    archived = replace(
        memory,
        id=memory_ids.of_version(memory),
        status=models.Status.SUPERSEDED,
        superseded_by=memory.id,
        valid_to=now,
    )
    current = replace(_reworded(memory, wanted, now), category=category or memory.category, supersedes=archived.id, said_at=now, reinforced_at=now)
    return current, archived


def history(store: ports.MemoryStore, scope: models.Scope, memory_id: str) -> list[models.Memory]:
    """All versions of a memory that the scope sees: the current one first, then newest first. Empty if it sees no memory of that id."""
    memory = store.get(scope, memory_id)
    return sorted(lineage(store, scope, memory.lineage), key=_age) if memory else []


def lineage(store: ports.MemoryStore, scope: models.Scope, lineage_id: str) -> Iterable[models.Memory]:
    """Every memory of a lineage that the scope sees, in no order."""
    return walking.memories(store, scope, ports.Where(status=None, lineage=lineage_id))


def last_said(memory: models.Memory) -> float:
    """When the person last stood by the memory."""
    return max([memory.said_at, *(evidence.said_at for evidence in memory.evidence)])


def _age(memory: models.Memory) -> tuple[bool, float, float, str]:
    return (memory.status is models.Status.SUPERSEDED, -memory.said_at, -memory.created_at, memory.id)


def _reworded(memory: models.Memory, text: str, now: float) -> models.Memory:
    """What was read out of the old words stays only if the new ones differ in nothing but the value; otherwise the text speaks for itself."""
    if text == memory.text:
        return memory
    said = replace(memory, text=text, evidence=(models.Evidence(quote=text, turn=f"edit-{memory_ids.of_version(memory)}", said_at=now),))
    value = _new_value(memory, text)
    entities = tuple(entity for entity in memory.entities if entity.casefold() in text.casefold())
    if value:
        return replace(said, value=value, entities=entities)
    return replace(said, subject="user", attribute="", value="", replaces="", functional=False, polarity=True, entities=(), qualifiers=())


def _new_value(memory: models.Memory, text: str) -> str:
    """What stands where the value stood, in otherwise equal words; "" if there is no such thing."""
    head, found, tail = memory.text.rpartition(memory.value) if memory.value else ("", "", "")
    same_words = len(text) > len(head) + len(tail) and text.startswith(head) and text.endswith(tail)
    return text[len(head) : len(text) - len(tail)].strip(" .!") if found and same_words else ""
