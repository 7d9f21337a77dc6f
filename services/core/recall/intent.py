"""What kind of question it is, told by its words alone: by their form, never by a list of subjects."""

import calendar
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from services.core.recall import lexical


class Kind(StrEnum):
    """What decides about a good answer: what happened, when it was, whom or what it is about, or none of these."""

    EVENT = "event"
    TEMPORAL = "temporal"
    ENTITY = "entity"
    GENERAL = "general"


class Window(NamedTuple):
    """A time that the words name, from and up to (epoch seconds, UTC days)."""

    start: float
    end: float


class Intent(NamedTuple):
    """names: those in the words, as written. window: the time that is asked about. recent: the newest is wanted."""

    kind: Kind
    names: tuple[str, ...] = ()
    window: Window | None = None
    recent: bool = False


_MONTHS = {name.casefold(): number for names in (calendar.month_name, calendar.month_abbr) for number, name in enumerate(names) if name}
_DAYS = {name.casefold(): number for number, name in enumerate(calendar.day_name)}
_MONTH = rf"(?P<month>{'|'.join(filter(None, (*calendar.month_name, *calendar.month_abbr)))})\b\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "a few": 3}
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_LATER_SECONDS = 86_400.0

# "may" is a month only in its capital, and with a day, a year or "in" beside it: as a verb it is in half of all requests
_ABSOLUTE = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b{_YEAR}-(?P<number>[01]\d)-(?P<day>[0-3]\d)\b",
        rf"\b{_DAY}(?: of)? {_MONTH},?(?: {_YEAR}\b)?",
        rf"\b{_MONTH} {_DAY}\b(?:,? {_YEAR}\b)?",
        rf"\b{_MONTH},? (?:of )?{_YEAR}\b",
        rf"\b(?:in|during|since|until|of|by|last|this|early|late|mid) {_MONTH}(?! [A-Z])",
        rf"\b(?:in|during|of) {_YEAR}\b",
    )
)
_AGO = re.compile(rf"\b(?P<count>{'|'.join(_COUNTS)}|\d{{1,3}}) (?P<unit>day|week|month|year)s? ago\b", re.IGNORECASE)
_LAST = re.compile(rf"\b(?:last|past|previous) (?P<unit>week(?:end)?|month|year|{'|'.join(_DAYS)})\b", re.IGNORECASE)
_NEAR = re.compile(r"\b(?P<day>yesterday|today|this (?P<unit>morning|afternoon|evening|week|month|year))\b", re.IGNORECASE)
_WHEN = re.compile(
    r"\b(?:when|how long ago|since when|until when|what (?:date|day|month|year|time)|which (?:date|day|month|year))\b|"
    r"\b(?:first|before|after|earlier|later) (?:than|did|was|were|i|we)\b",
    re.IGNORECASE,
)
_RECENT = re.compile(r"\b(?:latest|newest|most recent(?:ly)?|recently|lately|currently|nowadays|these days|right now|up to date)\b", re.IGNORECASE)
_EVENT = re.compile(
    r"\bwhat (?:has |had )?(?:happened|occurred|went wrong|took place|changed|came out)\b|"
    r"\b(?:outcome|result|cause|aftermath|course) of (?:the|our|my|last|this)\b|\bhow did (?:the|our|my) .{0,40}\bgo\b",
    re.IGNORECASE,
)
_BEFORE_CHARS = 40  # of a name, that tell whether a sentence begins with it
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n\"“(]\s*)$")
_NAME = re.compile(r"(?<![\w'’-])[A-Z][\w&-]*[a-z0-9][\w&-]*(?:['’][A-Z]\w+)?(?: (?:of |the |& )?[A-Z][\w&-]*)*")
_MARKED = re.compile(
    r"""\[\[([^\[\]\n|#]++)(?:[|#][^\[\]\n]*+)?+\]\]|(?<![\w/#&])#([A-Za-z][\w/-]*)|(?<![\w/@.+-])@([A-Za-z][\w.-]*\w)|"([^"\n]{3,60})"|“([^”\n]{3,60})”"""
)
_NO_NAMES = frozenset(_MONTHS) | frozenset(_DAYS) | lexical.STOP_WORDS


def of(text: str, now: float) -> Intent:
    """now: when it is asked, epoch seconds. What happened goes before when, when before about whom."""
    window = next(_windows(text, datetime.fromtimestamp(now, UTC)), None)
    recent = _RECENT.search(text) is not None
    named = tuple(dict.fromkeys(_names(text)))
    if _EVENT.search(text):
        kind = Kind.EVENT
    elif window or recent or _WHEN.search(text):
        kind = Kind.TEMPORAL
    else:
        kind = Kind.ENTITY if named else Kind.GENERAL
    return Intent(kind, named, window, recent)


def _names(text: str) -> Iterator[str]:
    """Marked ones, and words with a capital that does not begin a sentence."""
    for match in _MARKED.finditer(text):
        yield next(filter(None, match.groups())).strip()
    if any(letter.islower() for letter in text):
        for match in _NAME.finditer(text):
            name = match[0]
            if _SENTENCE_START.search(text[max(0, match.start() - _BEFORE_CHARS) : match.start()]):
                name = name.partition(" ")[2]
            if name and name[0].isupper() and name.casefold() not in _NO_NAMES:
                yield name


def _windows(text: str, now: datetime) -> Iterator[Window]:
    for pattern in _ABSOLUTE:
        for match in pattern.finditer(text):
            if window := _absolute(match.groupdict(), now):
                yield window
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for match in _AGO.finditer(text):
        count = match["count"].casefold()
        unit = _UNIT_DAYS[match["unit"].casefold()]
        middle = today - timedelta(days=unit * (_COUNTS.get(count) or int(count)))
        slack = timedelta(days=unit // 4)
        yield _of(middle - slack, middle + slack + timedelta(days=1))
    for match in _LAST.finditer(text):
        yield _last(match["unit"].casefold(), today)
    for match in _NEAR.finditer(text):
        if match["day"].casefold() == "yesterday":
            yield _of(today - timedelta(days=1), today)
        else:
            back = {"week": 7, "month": 31, "year": 366}.get((match["unit"] or "").casefold(), 0)
            yield _of(today - timedelta(days=back), today + timedelta(days=1))


def _absolute(found: dict[str, str | None], now: datetime) -> Window | None:
    month = int(found.get("number") or 0) or _MONTHS.get((found.get("month") or "").casefold(), 0)
    year, day = int(found.get("year") or 0), int(found.get("day") or 0)
    try:
        if not month:
            return _of(datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC))
        if not year:
            year = now.year - (1 if (month, day or 1) > (now.month, now.day) else 0)  # the last one that there was
        if day:
            start = datetime(year, month, day, tzinfo=UTC)
            return _of(start, start + timedelta(days=1))
        start = datetime(year, month, 1, tzinfo=UTC)
        return _of(start, start + timedelta(days=calendar.monthrange(year, month)[1]))
    except ValueError:  # the 31st of June
        return None


def _last(unit: str, today: datetime) -> Window:
    if unit in _DAYS:
        day = today - timedelta(days=(today.weekday() - _DAYS[unit] - 1) % 7 + 1)
        return _of(day, day + timedelta(days=1))
    if unit == "weekend":
        monday = today - timedelta(days=today.weekday())
        return _of(monday - timedelta(days=2), monday)
    days = _UNIT_DAYS[unit]
    return _of(today - timedelta(days=2 * days), today)


def _of(start: datetime, end: datetime) -> Window:
    return Window(start.timestamp(), end.timestamp())
