"""Made-up memories and queries: random directions and words as uneven as those of a language."""

import itertools
import math
import random
import uuid
from collections.abc import Iterator

from services.core import models, ports

DIMENSION = 384
TEAM = "team"

_VOCABULARY = 5000
_SYLLABLES = tuple(a + b for a in "bdfgklmnprstvz" for b in "aeiou")
_SHARED_OF = 10
"""Of each person's memories one in so many is shared with the team."""
NOW = 1_790_000_000.0
"""When the last of a million of them was said, epoch seconds."""
_MOST = 1_000_000


class Maker:
    """Memories of so many people of one team, in turns; the same each time."""

    def __init__(self, seed: int, people: int) -> None:
        self._draw = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self._people = people
        self._words = ["".join(syllables) for syllables in itertools.islice(itertools.product(_SYLLABLES, repeat=3), 0, None, 60)][:_VOCABULARY]
        self._weights = list(itertools.accumulate(1 / rank for rank in range(1, len(self._words) + 1)))

    def scope(self, number: int) -> models.Scope:
        """What one of the people may see, outside of any project."""
        return models.Scope(TEAM, f"user-{number % self._people}")

    def vector(self) -> list[float]:
        """Of unit length."""
        raw = [self._draw.gauss(0, 1) for _ in range(DIMENSION)]
        length = math.sqrt(sum(x * x for x in raw))
        return [x / length for x in raw]

    def words(self, count: int) -> str:
        return " ".join(self._draw.choices(self._words, cum_weights=self._weights, k=count))

    def memories(self, first: int, count: int) -> Iterator[ports.Embedded]:
        for number in range(first, first + count):
            yield ports.Embedded(self._memory(number), self.vector())

    def _memory(self, number: int) -> models.Memory:
        text, said = self.words(self._draw.randint(8, 16)), NOW - _MOST + number
        name = str(uuid.UUID(int=self._draw.getrandbits(128), version=4))
        return models.Memory(
            id=models.MemoryId(name),
            team=TEAM,
            owner=f"user-{number % self._people}",
            visibility=models.Visibility.PRIVATE if number // self._people % _SHARED_OF else models.Visibility.TEAM,
            text=text,
            category=models.Category.TECHNICAL_CHOICE,
            confidence=0.9,
            evidence=(models.Evidence(text, name, said),),
            lineage=name,
            created_at=said,
            said_at=said,
            reinforced_at=said,
            accessed_at=said,
        )
