"""A memory that somebody wrote down, rather than said in a conversation: it is there at once, and later decided about like any other statement."""

from collections.abc import Sequence

from msgspec.structs import replace

from services.core import memory_ids, messages, models

CONFIDENCE = 1.0
_UNREAD = "hand"  # as the turn of the evidence, until the statement's own turn is worked off
_LEAD_WORDS = 4  # "just so you know", before a statement that stands alone
_ALONE_WORDS = 3
_END = " .!"
_STANDS = frozenset({models.Status.CURRENT, models.Status.QUARANTINED})


def added(
    principal: models.Principal, text: str, *, category: models.Category | None, project: str, now: float
) -> tuple[models.Memory, messages.LearnTurn]:
    """The memory as it is written at once, and the turn that decides about it. The text is its own evidence.

    Its id is that of the turn's only fact, so that the turn changes this memory and makes no second one. Without a category it is taken for a
    matter of the project until it is read.
    """
    turn = f"hand-{memory_ids.of_hand(principal, project, text, now)}"
    memory_id = memory_ids.of_fact(principal, turn, 0)
    memory = models.Memory(
        id=memory_id,
        team=principal.team,
        owner=principal.user,
        project="" if category in models.PERSONAL_CATEGORIES else project,
        text=text,
        category=category or models.Category.PROJECT_CONTEXT,
        confidence=CONFIDENCE,
        evidence=(models.Evidence(quote=text, turn=_UNREAD, said_at=now),),
        lineage=memory_id,
        created_at=now,
        said_at=now,
        reinforced_at=now,
        accessed_at=now,
    )
    return memory, messages.LearnTurn(turn=turn, principal=principal, said_at=now, words=text, project=project, by_hand=True, category=category)


def unread(memory: models.Memory) -> bool:
    """Whether it still is what its person wrote down, and not decided about."""
    return bool(memory.evidence) and memory.evidence[0].turn == _UNREAD and memory.status in _STANDS


def as_read(memory: models.Memory) -> models.Memory:
    """The memory as one that nobody is going to read: of an export that came in between."""
    if not unread(memory):
        return memory
    first, *others = memory.evidence
    return replace(memory, evidence=(replace(first, turn=f"{_UNREAD}-{memory.id}"), *others))


def says(memory: models.Memory, text: str, project: str) -> bool:
    """Whether the memory says just that, but for case, white space and the mark at the end."""
    return memory.project in ("", project) and _plain(memory.text) == _plain(text)


def stated(words: str, facts: Sequence[models.Fact], category: models.Category | None) -> models.Fact:
    """The one fact that words written down by hand are: as they were read, if that leaves out nothing but a lead ("note that …"); else the words
    themselves, with the category of what was read first. facts: what was read. category: the one given by the person, which holds."""
    if len(facts) == 1 and _covers(facts[0], words):
        return replace(facts[0], quote=words, confidence=CONFIDENCE, category=category or facts[0].category)
    read = [fact.category for fact in facts if not fact.closes]
    about = category or (read[0] if read else models.Category.PROJECT_CONTEXT)
    subject = "user" if about in models.PERSONAL_CATEGORIES else "team"
    return models.Fact(text=words, category=about, confidence=CONFIDENCE, quote=words, subject=subject)


def _covers(fact: models.Fact, words: str) -> bool:
    """Whether the fact states all that the words do, and stands alone."""
    if fact.closes or (fact.correction and not fact.attribute):
        return False
    lead, found, rest = _plain(words).rpartition(_plain(fact.text))
    allowed = _LEAD_WORDS if len(found.split()) >= _ALONE_WORDS else 0
    return bool(found) and not rest and len(lead.split()) <= allowed


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(_END)
