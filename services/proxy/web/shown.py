"""How values read on the page. Pure; texts come back escaped or as plain strings that a template escapes."""

import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime

from markupsafe import Markup, escape

_STEPS = ((365 * 86_400, "year"), (30 * 86_400, "month"), (7 * 86_400, "week"), (86_400, "day"), (3_600, "hour"), (60, "minute"))
_JOINERS = frozenset("\u200c\u200d")  # emoji and several scripts need them
_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})


def said(text: str, *, strict: bool = False) -> Markup:
    """Somebody's words, with each character that nobody sees shown by its number: what hides or turns text around is to be seen.

    strict: also joiners, which are part of some writing.
    """
    return Markup("").join(_pieces(text, strict))


def _pieces(text: str, strict: bool) -> Iterator[Markup]:
    start = 0
    for place, character in enumerate(text):
        if _hidden(character, strict):
            yield escape(text[start:place])
            yield Markup('<span class="hidden-character">U+{:04X}</span>').format(ord(character))
            start = place + 1
    yield escape(text[start:])


def _hidden(character: str, strict: bool) -> bool:
    if character.isascii():
        return (character < " " and character not in "\n\t") or character == "\x7f"
    if character in _JOINERS:
        return strict
    return unicodedata.category(character) in _HIDDEN or "\U000e0100" <= character <= "\U000e01ef"


def time(at: datetime | float | None) -> Markup:
    """A point in time, to the minute, in UTC."""
    if at is None:
        return Markup("–")
    when = _datetime(at)
    return Markup('<time datetime="{}">{}</time>').format(f"{when:%Y-%m-%dT%H:%M:%SZ}", f"{when:%Y-%m-%d %H:%M}")


def day(at: datetime | float) -> Markup:
    when = _datetime(at)
    return Markup('<time datetime="{}">{}</time>').format(f"{when:%Y-%m-%dT%H:%M:%SZ}", f"{when:%Y-%m-%d}")


def ago(at: datetime | float, now: float) -> str:
    """How long before `now` (epoch seconds), in its largest unit."""
    seconds = now - _datetime(at).timestamp()
    for length, name in _STEPS:
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {name}{'s' * (count > 1)} ago"
    return "just now"


def number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def plain(name: object) -> str:
    """A name of a closed set, as words."""
    return str(name).replace("_", " ")


def short(text: str, longest: int = 80) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def plural(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _datetime(at: datetime | float) -> datetime:
    return at if isinstance(at, datetime) else datetime.fromtimestamp(at, UTC)
