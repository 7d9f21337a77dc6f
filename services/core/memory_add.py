"""A memory that somebody wrote down, rather than said in a conversation."""

from services.core import memory_ids, models

CONFIDENCE = 1.0


def added(principal: models.Principal, text: str, *, category: models.Category | None, project: str, now: float) -> models.Memory:
    """The text is its own evidence. Without a category it is about the project, if there is one, and else about the person."""
    memory_id = memory_ids.of_hand(principal, project, text, now)
    return models.Memory(
        id=memory_id,
        team=principal.team,
        owner=principal.user,
        project=project,
        text=text,
        category=category or (models.Category.PROJECT_CONTEXT if project else models.Category.PERSONAL_INFO),
        confidence=CONFIDENCE,
        evidence=(models.Evidence(quote=text, turn=f"hand-{memory_id}", said_at=now),),
        lineage=memory_id,
        created_at=now,
        said_at=now,
        reinforced_at=now,
        accessed_at=now,
    )


def says(memory: models.Memory, text: str, project: str) -> bool:
    """Whether the memory says just that, but for case, white space and the mark at the end."""
    return memory.project == project and _plain(memory.text) == _plain(text)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .!")
