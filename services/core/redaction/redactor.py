"""Detect, number, replace."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from services.core.redaction import codes, commands, credentials, internet, logins, named, numbers, phones, streets, vendors
from services.core.redaction.echoes import Echoes
from services.core.redaction.spans import PLACEHOLDER, Detector, Kind, Span, hide_placeholders, resolve

_DETECTORS: tuple[Detector, ...] = (
    credentials.find,
    vendors.find,
    named.find,
    logins.find,
    codes.find,
    commands.find,
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


class _Work:
    """A text on its way. Only what changed is looked through again."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.counts: Counter[str] = Counter()
        self.spans: list[Span] = []
        self.changed = True

    def look(self) -> None:
        self.spans = detect(self.text) if self.changed else []


class Redactor:
    """Numbers placeholders consistently over all texts given to it, and replaces what it found in one of them in the others too.

    Not thread-safe; make one for each turn. reserved: other texts whose placeholders stay in use, so that no new value gets one
    of their numbers.
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._placeholders: dict[tuple[Kind, str], str] = {}
        self._last: Counter[Kind] = Counter()
        self._echoes = Echoes()
        for text in reserved:
            self._reserve(text)

    def redact(self, text: str) -> Redacted:
        """One more text: also without the values that earlier ones revealed."""
        return self.redact_all([text])[0]

    def redact_all(self, texts: Sequence[str]) -> list[Redacted]:
        """The texts of one turn, in their order: a value that one of them reveals is replaced in all.

        Idempotent; placeholders already in a text are neither changed nor given to another value.
        """
        for text in texts:
            self._reserve(text)
        works = [_Work(text) for text in texts]
        for _ in range(_MOST_PASSES):
            for work in works:
                work.look()
                for span in work.spans:
                    self._echoes.know(span.kind, work.text[span.start : span.end])
            for work in works:
                self._pass(work)
            if not any(work.changed for work in works):
                break
        return [Redacted(work.text, dict(work.counts)) for work in works]

    def _pass(self, work: _Work) -> None:
        """Replace what was found in the text, and what any text revealed."""
        hidden = hide_placeholders(work.text)
        spans = resolve([*work.spans, *self._echoes.find(hidden)], hidden)
        work.counts.update(span.kind.value for span in spans)
        work.text = self._replace(work.text, spans)
        work.changed = bool(spans)

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
