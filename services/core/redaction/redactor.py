"""Detect, number, replace."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from services.core.redaction import credentials, internet, named, numbers, phones, streets, vendors
from services.core.redaction.spans import PLACEHOLDER, Detector, Kind, Span, hide_placeholders, resolve

_DETECTORS: tuple[Detector, ...] = (
    credentials.find,
    vendors.find,
    named.find,
    internet.find_emails,
    internet.find_addresses,
    numbers.find_cards,
    numbers.find_ibans,
    numbers.find_ssns,
    phones.find,
    streets.find,
)
_MOST_PASSES = 8  # two are the rule: one that finds, one that finds nothing more
_SAME_WHATEVER_THE_SPELLING = {Kind.PHONE, Kind.CARD, Kind.IBAN, Kind.SSN}


class Redacted(msgspec.Struct, frozen=True):
    """The text without what was found, and how many pieces of each kind were replaced (keys are values of `Kind`)."""

    text: str
    counts: Mapping[str, int]


class Redactor:
    """Numbers placeholders consistently over all texts given to it. Not thread-safe; make one for each turn.

    reserved: other texts whose placeholders stay in use, so that no new value gets one of their numbers.
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._placeholders: dict[tuple[Kind, str], str] = {}
        self._last: Counter[Kind] = Counter()
        for text in reserved:
            self._reserve(text)

    def redact(self, text: str) -> Redacted:
        """Idempotent; placeholders already in the text are neither changed nor given to another value."""
        self._reserve(text)
        counts: Counter[str] = Counter()
        for _ in range(_MOST_PASSES):
            spans = detect(text)
            if not spans:
                break
            counts.update(span.kind.value for span in spans)
            text = self._replace(text, spans)
        return Redacted(text, dict(counts))

    def _replace(self, text: str, spans: list[Span]) -> str:
        pieces: list[str] = []
        end = 0
        for span in spans:
            pieces += text[end : span.start], self._placeholder(span.kind, text[span.start : span.end])
            end = span.end
        return "".join((*pieces, text[end:]))

    def _placeholder(self, kind: Kind, value: str) -> str:
        key = (kind, _canonical(kind, value))
        if key not in self._placeholders:
            self._last[kind] += 1
            self._placeholders[key] = f"<{kind.name}_{self._last[kind]}>"
        return self._placeholders[key]

    def _reserve(self, text: str) -> None:
        for name, number in PLACEHOLDER.findall(text):
            kind = Kind[name]
            self._last[kind] = max(self._last[kind], int(number))


def detect(text: str) -> list[Span]:
    """What would be replaced in one pass."""
    hidden = hide_placeholders(text)
    return resolve((span for find in _DETECTORS for span in find(hidden)), hidden)


def redact(text: str) -> Redacted:
    """One text on its own."""
    return Redactor().redact(text)


def _canonical(kind: Kind, value: str) -> str:
    if kind in _SAME_WHATEVER_THE_SPELLING:
        return re.sub(r"[\W_]", "", value).upper()
    return value.lower() if kind in (Kind.EMAIL, Kind.IP) else value
