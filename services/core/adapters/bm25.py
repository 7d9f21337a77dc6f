"""Words to sparse vectors: the one BM25 encoding of every store, so that all of them find the same memories."""

import re
from typing import NamedTuple

import qdrant_edge

_AVERAGE_MEMORY_WORDS = 15.0  # memories are single statements; the encoder's own default of 256 fits pages
_IDENTIFIER = re.compile(r"(?<![^\W_])[^\W_]++(?:[._#-]++[^\W_]++)+")  # from the beginning of a word alone: a long one is looked along once
_SEPARATORS = re.compile(r"[._#-]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_GLUE = "ǀ"  # a letter to every tokenizer, but in nobody's words: keeps an identifier in one piece


class Sparse(NamedTuple):
    indices: list[int]
    values: list[float]


class Bm25:
    """English stemming and stop words. Thread-safe."""

    def __init__(self) -> None:
        self._encoder = qdrant_edge.Bm25(qdrant_edge.Bm25Config(avg_len=_AVERAGE_MEMORY_WORDS))

    def document(self, text: str) -> Sparse:
        """Term weights, saturated and length-normalised; the store multiplies by IDF. Empty if the text has stop words only."""
        vector = self._encoder.embed_document(indexed(text))
        return Sparse(vector.indices, vector.values)

    def query(self, text: str) -> Sparse:
        """Weight 1 for each distinct term."""
        vector = self._encoder.embed_query(indexed(text))
        return Sparse(vector.indices, vector.values)


def indexed(text: str) -> str:
    """The text, then its identifiers once more: whole (fix_auth_v2, JIRA-123, v1.2.3) and camelCase ones in parts."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    whole = [_SEPARATORS.sub(_GLUE, identifier) for identifier in _IDENTIFIER.findall(text)]
    parts = [split for word in re.findall(r"\w+", text) if (split := _CAMEL.sub(" ", word)) != word]
    return " ".join([text, *whole, *parts])
