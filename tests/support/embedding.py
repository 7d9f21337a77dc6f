"""An embedder without a model."""

import hashlib
import math
import re
from collections.abc import Sequence
from typing import Literal


class HashingEmbedder:
    """`ports.Embedder`: each word has its own direction, so that texts sharing words have a high cosine."""

    def __init__(self, dimension: int = 64, model: str = "hashing") -> None:
        self._dimension = dimension
        self._model = model

    @property
    def model(self) -> str:
        return self._model

    @property
    def dimension(self) -> int:
        return self._dimension

    def embed(self, texts: Sequence[str], kind: Literal["query", "document"], *, timeout_seconds: float | None = None) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    def ping(self) -> None:
        return

    def _vector(self, text: str) -> list[float]:
        words = re.findall(r"\w+", text.lower()) or [""]
        total = [sum(column) for column in zip(*map(self._direction, words), strict=True)]
        length = math.sqrt(sum(x * x for x in total)) or 1.0
        return [x / length for x in total]

    def _direction(self, word: str) -> list[float]:
        size = self._dimension
        raw = b"".join(hashlib.blake2b(f"{block} {word}".encode()).digest() for block in range(-(-size // 64)))
        return [byte / 127.5 - 1 for byte in raw[:size]]
