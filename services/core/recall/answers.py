"""One question, answered from memories, from notes, or from both."""

import math

import msgspec
from msgspec.structs import replace

from services.core.recall import engine
from services.core.recall import notes as note_recall


class Answer(msgspec.Struct, frozen=True):
    """None for what was not asked for."""

    memories: engine.Recall | None = None
    notes: note_recall.Recall | None = None

    @property
    def mode(self) -> engine.Mode:
        """By words alone if one of them was."""
        used = {part.mode for part in (self.memories, self.notes) if part is not None}
        return used.pop() if len(used) == 1 else "bm25"

    @property
    def notices(self) -> tuple[str, ...]:
        """Each once."""
        return tuple(dict.fromkeys(notice for part in (self.memories, self.notes) if part is not None for notice in part.notices))

    def holds_until(self) -> float:
        """When it ceases to be right by itself (epoch seconds). One that could not be made as it was asked for does not hold: the next may be."""
        ends = [one.memory.valid_to for one in (self.memories.ranked if self.memories else ()) if one.memory.valid_to is not None]
        return 0.0 if self.notices else min(ends, default=math.inf)

    def unexplained(self) -> "Answer":
        """Without what was considered and dropped."""
        return Answer(self.memories and replace(self.memories, considered=()), self.notes and replace(self.notes, considered=(), passages=()))
