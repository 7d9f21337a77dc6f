"""The BM25 weights of a passage, whose title and tags count more than its text."""

from collections import Counter
from collections.abc import Iterator

import qdrant_edge

from services.core import models
from services.core.adapters.bm25 import Bm25, Sparse, indexed

TITLE_WEIGHT, TAG_WEIGHT, TEXT_WEIGHT, CONTEXT_WEIGHT = 10.0, 5.0, 1.0, 0.5

_AVERAGE_WORDS = 90.0  # of passages of at most `passages.LONGEST` characters, without stop words
_K1, _B = 0.6, 0.9  # docs/recall.md
_UNSATURATED = 1e6  # with it for k, the encoder gives plain counts


class PassageTerms:
    """A word that stands n times in a field of weight w counts n·w times, before saturation and whatever the length: as SQLite's FTS5 weighs columns.

    Repeating the title in the text ten times would do the same to its words, but also make the passage ten titles longer, and so all its
    other words worth less. Queries are those of `Bm25`. Thread-safe.
    """

    def __init__(self) -> None:
        self._counter = qdrant_edge.Bm25(qdrant_edge.Bm25Config(k=_UNSATURATED, b=0.0))
        self._bm25 = Bm25()

    def query(self, text: str) -> Sparse:
        return self._bm25.query(text)

    def document(self, passage: models.Passage, context: str = "") -> Sparse:
        """Empty if there are stop words only. context: the texts beside the passage: often they hold words of a question that it answers."""
        weighted: Counter[int] = Counter()
        words = 0.0
        for text, weight in _fields(passage, context):
            counts = self._counter.embed_document(indexed(text))
            words += sum(counts.values)
            for index, count in zip(counts.indices, counts.values, strict=True):
                weighted[index] += count * weight  # type: ignore[assignment]
        length = _K1 * (1 - _B + _B * words / _AVERAGE_WORDS)
        return Sparse(list(weighted), [count * (_K1 + 1) / (count + length) for count in weighted.values()])


def _fields(passage: models.Passage, context: str) -> Iterator[tuple[str, float]]:
    yield passage.title, TITLE_WEIGHT
    yield " ".join(passage.tags), TAG_WEIGHT
    yield "\n".join([*(heading for heading in passage.headings if heading != passage.title), passage.text]), TEXT_WEIGHT
    yield context, CONTEXT_WEIGHT
