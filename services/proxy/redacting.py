"""Redaction of texts that come again and again: memories at each recall, the earlier turns of a conversation with each new one."""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial

from services.core import config, redaction, seal, telemetry

Redact = Callable[[Sequence[str]], list[str]]
"""All texts that belong together at once: what one of them gives away is hidden in the others, too."""


class Redacting:
    """A `Redact` that looks only once at a text in which nothing is to be redacted.

    found: told how many pieces of each kind were replaced. policy: which kinds stay. secret: of the numbers of placeholders; without one
    they are those of the call alone. most: so many texts are known; kept are their digests, not the texts. Thread-safe.
    """

    def __init__(
        self,
        found: Callable[[redaction.Redacted], None],
        *,
        policy: redaction.Policy | None = None,
        secret: Callable[[], str] | None = None,
        most: int = 4096,
    ) -> None:
        self._found = found
        self._policy = policy or redaction.Policy()
        self._secret = secret
        self._most = most
        self._clean: dict[bytes, None] = {}

    @classmethod
    def of(cls, settings: config.Settings) -> "Redacting":
        """As the settings say, and counted in the metrics."""
        return cls(lambda one: telemetry.count_redacted(one.counts), policy=settings.redaction_policy, secret=lambda: seal.secret_of(settings))

    def within(self, team: str) -> Redact:
        """With the placeholders of that team: the same for the same value in each of its turns."""
        return partial(self, team=team)

    def __call__(self, texts: Sequence[str], *, team: str = "") -> list[str]:
        digests = [hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest() for text in texts]
        new = [text for text, digest in zip(texts, digests, strict=True) if digest not in self._clean]
        redacted = self._redacted(new, team)
        if not any(one.counts for one in redacted):  # none gives anything away that could be in the clean ones
            self._keep(digests)
            return list(texts)
        if len(new) < len(texts):
            redacted = self._redacted(texts, team)
        for one in redacted:
            self._found(one)
        return [one.text for one in redacted]

    def _keep(self, digests: Sequence[bytes]) -> None:
        self._clean.update(dict.fromkeys(digests))
        for oldest in list(self._clean)[: max(0, len(self._clean) - self._most)]:
            self._clean.pop(oldest, None)

    def _redacted(self, texts: Sequence[str], team: str) -> list[redaction.Redacted]:
        """With the same placeholder for the same value."""
        if not texts:
            return []
        numbering = redaction.Keyed(self._secret(), team) if self._secret else None
        return redaction.Redactor(policy=self._policy, numbering=numbering).redact_all(texts)
