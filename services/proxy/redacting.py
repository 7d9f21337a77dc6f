"""Redaction of texts that come again and again: memories at each recall, the earlier turns of a conversation with each new one."""

import hashlib
from collections.abc import Callable, Sequence

from services.core import redaction

Redact = Callable[[Sequence[str]], list[str]]
"""All texts that belong together at once: what one of them gives away is hidden in the others, too."""


class Redacting:
    """A `Redact` that looks only once at a text in which nothing is to be redacted.

    found: told how many pieces of each kind were replaced. most: so many texts are known; kept are their digests, not the texts. Thread-safe.
    """

    def __init__(self, found: Callable[[redaction.Redacted], None], *, most: int = 4096) -> None:
        self._found = found
        self._most = most
        self._clean: dict[bytes, None] = {}

    def __call__(self, texts: Sequence[str]) -> list[str]:
        digests = [hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest() for text in texts]
        new = [text for text, digest in zip(texts, digests, strict=True) if digest not in self._clean]
        redacted = _redacted(new)
        if not any(one.counts for one in redacted):  # none gives anything away that could be in the clean ones
            self._keep(digests)
            return list(texts)
        if len(new) < len(texts):
            redacted = _redacted(texts)
        for one in redacted:
            self._found(one)
        return [one.text for one in redacted]

    def _keep(self, digests: Sequence[bytes]) -> None:
        self._clean.update(dict.fromkeys(digests))
        for oldest in list(self._clean)[: max(0, len(self._clean) - self._most)]:
            self._clean.pop(oldest, None)


def _redacted(texts: Sequence[str]) -> list[redaction.Redacted]:
    """With the same placeholder for the same value."""
    return redaction.Redactor().redact_all(texts) if texts else []
