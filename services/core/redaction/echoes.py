"""Values found once, wherever else they stand: a secret that is said again has no name before it that gives it away."""

import re
from collections import defaultdict
from collections.abc import Iterator

from services.core.redaction import values, words
from services.core.redaction.spans import Kind, Span

_LEAST = 3
"""Characters of a value under which it would be found in everything; also of the start by which values are looked up."""
_LEAST_INSIDE = 6
_PLAIN = re.compile(r"[^\W_]+(?:[ '’-][^\W_]+)*")
_DEFAULTS = re.compile(
    words.any_of(
        "admin root guest test user app dev local default example public postgres postgresql mysql mariadb redis rabbitmq mongo mongodb minio "
        "elastic neo4j grafana jenkins oracle docker vagrant ubuntu raspberry django wordpress airflow kafka sqlserver"
    ),
    re.IGNORECASE,
)


class Echoes:
    """Finds known values. Each look takes time in step with the text, however many values there are."""

    def __init__(self) -> None:
        self._values: dict[str, Kind] = {}
        self._lengths: defaultdict[str, set[int]] = defaultdict(set)

    def know(self, kind: Kind, value: str) -> None:
        """From now on find that value. Not what everybody's test system has for a password: it is the name of a product, too."""
        if len(value) >= _LEAST and not _DEFAULTS.fullmatch(value) and not values.is_dummy(value):
            self._values.setdefault(value, kind)
            self._lengths[value[:_LEAST]].add(len(value))

    def find(self, text: str) -> Iterator[Span]:
        if not self._values:
            return
        at = 0
        while at <= len(text) - _LEAST:
            length = self._longest(text, at)
            if length:
                yield Span(self._values[text[at : at + length]], at, at + length)
            at += length or 1

    def _longest(self, text: str, at: int) -> int:
        for length in sorted(self._lengths.get(text[at : at + _LEAST], ()), reverse=True):
            value = text[at : at + length]
            if len(value) == length and value in self._values and (_may_be_inside(value) or _is_whole(text, at, at + length)):
                return length
        return 0


def _may_be_inside(value: str) -> bool:
    """Nothing else looks like it, so it is found within longer tokens; short values, words and numbers only on their own."""
    word_or_number = _PLAIN.fullmatch(value) is not None and not values.has_letters_and_digits(value)
    return len(value) >= _LEAST_INSIDE and not word_or_number and value.strip("0123456789 .-+()") != ""


def _is_whole(text: str, start: int, end: int) -> bool:
    return not _joined(text[start - 1 : start], text[start]) and not _joined(text[end : end + 1], text[end - 1])


def _joined(outer: str, inner: str) -> bool:
    return (outer.isalnum() or outer == "_") and (inner.isalnum() or inner == "_")
