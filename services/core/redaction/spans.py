"""What was found where, which finding wins, and the placeholders that stand for it."""

import re
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """The closed set of what is replaced; also the label of the metric. The more specific comes first."""

    SECRET = "secret"  # noqa: S105 - the name of a kind
    IBAN = "iban"
    CARD = "card"
    SSN = "ssn"
    NATIONAL_ID = "national_id"
    """Numbers of passports, licences and other papers, by their name."""
    BIRTH_DATE = "birth_date"
    IP = "ip"
    EMAIL = "email"
    ADDRESS = "address"
    PHONE = "phone"
    PERSON = "person"
    """Names of people: found only where a model of the language is at hand, in the worker."""


class Span(msgspec.Struct, frozen=True):
    """`text[start:end]` is of that kind."""

    kind: Kind
    start: int
    end: int


Detector = Callable[[str], Iterator[Span]]

PLACEHOLDER = re.compile(rf"<({'|'.join(kind.name for kind in Kind)})_([0-9]{{1,9}})>")
_OPAQUE = "\x1e"  # white space to every pattern, yet neither blank, tab nor line end: no pattern takes it in or steps over it
_RANK = {kind: rank for rank, kind in enumerate(Kind)}


def hide_placeholders(text: str) -> str:
    """The text with each placeholder blanked out; offsets stay."""
    return PLACEHOLDER.sub(lambda match: _OPAQUE * len(match[0]), text)


def resolve(spans: Iterable[Span], hidden: str) -> list[Span]:
    """Spans that do not overlap, in order of the text: secrets first, then the longest, then the most specific."""
    taken: list[Span] = []
    occupied = bytearray(len(hidden))
    for span in sorted(spans, key=lambda s: (s.kind is not Kind.SECRET, s.start - s.end, _RANK[s.kind], s.start)):
        if span.start == span.end or _OPAQUE in hidden[span.start : span.end] or any(occupied[span.start : span.end]):
            continue
        occupied[span.start : span.end] = b"\x01" * (span.end - span.start)
        taken.append(span)
    return sorted(taken, key=lambda s: s.start)
