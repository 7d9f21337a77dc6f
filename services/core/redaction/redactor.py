"""Detect, number, replace."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from services.core.redaction import codes, commands, credentials, identity, internet, logins, named, numbers, phones, streets, vendors
from services.core.redaction.echoes import Echoes
from services.core.redaction.numbering import Numbering, Sequential
from services.core.redaction.policy import Action, Policy
from services.core.redaction.spans import PLACEHOLDER, Detector, Kind, Span, hide_placeholders, resolve

DETECTORS: Mapping[Kind, tuple[Detector, ...]] = {
    Kind.SECRET: (credentials.find, vendors.find, named.find, logins.find, codes.find, commands.find),
    Kind.EMAIL: (internet.find_emails,),
    Kind.IP: (internet.find_addresses,),
    Kind.CARD: (numbers.find_cards,),
    Kind.IBAN: (numbers.find_ibans,),
    Kind.SSN: (numbers.find_ssns,),
    Kind.NATIONAL_ID: (identity.find_ids,),
    Kind.BIRTH_DATE: (identity.find_birth_dates,),
    Kind.PHONE: (phones.find,),
    Kind.ADDRESS: (streets.find,),
}
"""What is found without a model of the language, by kind."""
_MOST_PASSES = 8  # two are the rule: one that finds, one that finds nothing more

Look = Callable[[str], Iterable[Span]]
"""Finds what may have to be replaced in a text whose placeholders are hidden (`hide_placeholders`); findings may overlap."""


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

    def look(self, look: Look, policy: Policy) -> None:
        self.spans = [span for span in detect(self.text, look) if policy.of(span.kind) is not Action.KEEP] if self.changed else []


class Redactor:
    """Replaces what it found in one of the texts given to it in the others too.

    Not thread-safe; make one for each turn. look: what finds; policy: which kinds stay as they are; numbering: the numbers of placeholders,
    from 1 on where none is given. reserved: other texts whose placeholders stay in use, so that no new value gets one of their numbers.
    """

    def __init__(
        self, reserved: Iterable[str] = (), *, look: Look | None = None, policy: Policy | None = None, numbering: Numbering | None = None
    ) -> None:
        self._look = look or structured
        self._policy = policy or Policy()
        self._numbering = numbering or Sequential()
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
                work.look(self._look, self._policy)
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
        return f"<{kind.name}_{self._numbering.number(kind, value)}>"

    def _reserve(self, text: str) -> None:
        for name, number in PLACEHOLDER.findall(text):
            self._numbering.reserve(Kind[name], int(number))


def structured(hidden: str) -> Iterable[Span]:
    """What is found without a model of the language."""
    return (span for detectors in DETECTORS.values() for find in detectors for span in find(hidden))


def detect(text: str, look: Look = structured) -> list[Span]:
    """What would be replaced in one pass, whatever the policy."""
    hidden = hide_placeholders(text)
    return resolve(look(hidden), hidden)


def redact(text: str) -> Redacted:
    """One text on its own."""
    return Redactor().redact(text)
