"""Who shall see a memory that comes to be: its owner alone, the curators who decide about it, or the team at once (pure).

What a person says is private. What is said about a project, of a kind that others need as well, is proposed to the team or shared with it
(`BRB_PROMOTION`). What somebody kept to himself, or the team did not want, is not proposed again, however it is said again.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from services.core import memory_add, models

if TYPE_CHECKING:
    from services.core import config

Promotion = Literal["review", "auto", "off"]

SAME_COSINE = 0.95
"""From which two texts with the same numbers, of which no value was read, say the same: below it most pairs are different facts (docs/dedup.md)."""
_DECLINED = frozenset({models.Review.REJECTED, models.Review.KEPT})
_NUMBER = re.compile(r"\d+")


def in_force(settings: "config.Settings") -> Promotion:
    """Without tokens there is nobody to share with."""
    return settings.promotion if settings.auth == "token" else "off"


def placed(memory: models.Memory, former: Sequence[models.Memory] = (), *, promotion: Promotion, said_already: bool = False) -> models.Memory:
    """A memory that becomes current, with its visibility.

    former: what it takes the place of, or what it was itself when it was history. What was shared or proposed is proposed anew, and what was
    declined stays private. said_already: the team has it, or its owner said it before and it was declined (`repeats`).
    """
    if any(one.visibility is not models.Visibility.PRIVATE for one in former):
        return proposed(memory, promotion)
    declined = next((one for one in former if one.review in _DECLINED), None)
    if declined is not None and not memory.held:
        return replace(
            memory,
            visibility=models.Visibility.PRIVATE,
            review=declined.review,
            reviewed_by=declined.reviewed_by,
            reviewed_at=declined.reviewed_at,
        )
    if declined or said_already or not memory.project or memory.category in models.PERSONAL_CATEGORIES:
        return replace(memory, visibility=models.Visibility.PRIVATE)
    return proposed(memory, promotion)


def proposed(memory: models.Memory, promotion: Promotion) -> models.Memory:
    """As the policy has it: shared at once only if nothing in it waits for a look. A proposal has not been reviewed."""
    if promotion == "off":
        return replace(memory, visibility=models.Visibility.PRIVATE)
    visibility = models.Visibility.TEAM if promotion == "auto" and not memory.held else models.Visibility.PROPOSED
    return replace(memory, visibility=visibility, review=models.Review.NONE, reviewed_by="", reviewed_at=None)


def retired(memory: models.Memory) -> models.Memory:
    """As history. What was only proposed is its owner's alone from then on."""
    proposed = memory.visibility is models.Visibility.PROPOSED
    return replace(memory, visibility=models.Visibility.PRIVATE) if proposed else memory


def declined(memories: Iterable[models.Memory]) -> list[models.Memory]:
    return [one for one in memories if one.review in _DECLINED and one.status is not models.Status.SUPERSEDED]


def repeats(memory: models.Memory, other: models.Memory, cosine: float) -> bool:
    """Whether another memory says the same already: in the same words; the same value of the same attribute; or nearly the same text, with the same
    numbers and nothing against it. Two of a team may say the same: one of it is enough for all, and who says it again keeps his own."""
    if memory_add.says(other, memory.text, memory.project):
        return True
    if other.project not in ("", memory.project) or memory.polarity != other.polarity or memory.qualifiers != other.qualifiers:
        return False
    if memory.attribute and memory.attribute == other.attribute and memory.subject == other.subject:
        return memory.value.casefold() == other.value.casefold()
    return cosine >= SAME_COSINE and _NUMBER.findall(memory.text) == _NUMBER.findall(other.text)


def contradicts(memory: models.Memory, other: models.Memory) -> bool:
    """Whether they give one attribute, that has one value at a time, two. Shown to who decides: both may be right, each in its author's eyes."""
    one_at_a_time = bool(memory.attribute) and (memory.functional or other.functional)
    same_slot = memory.attribute == other.attribute and memory.subject == other.subject and memory.qualifiers == other.qualifiers
    here = other.project in ("", memory.project)
    return one_at_a_time and same_slot and here and (memory.value.casefold() != other.value.casefold() or memory.polarity != other.polarity)
