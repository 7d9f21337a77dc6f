"""The time that a statement speaks of, and from when to when it holds where that is certain. Pure.

Days are those of UTC. Of two readings of an end the later one counts ("until May": to the end of May): a memory must not vanish while it
may still hold. What was over when it was said ("I lived in Bonn until 2019") is a statement about the past and holds as long as any.
"""

import calendar
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from typing import NamedTuple


class Stated(NamedTuple):
    """when: the words, "" if there are none. valid_from, valid_to: epoch seconds; the first moment of validity and the first after it."""

    when: str
    valid_from: float | None = None
    valid_to: float | None = None


class _Days(NamedTuple):
    """From the first day to the one after the last."""

    first: date
    end: date


class _Way(Enum):
    """Which May is meant by "May": the last one, the next one, or whichever is clearly nearer."""

    BACK = -1
    NEAR = 0
    AHEAD = 1


_MONTHS = {name.lower(): number for names in (calendar.month_name, calendar.month_abbr) for number, name in enumerate(names) if name} | {"sept": 9}
_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)} | {
    "mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4,
}  # fmt: skip
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "couple of": 2, "a couple of": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip


def _any(words: dict[str, int]) -> str:
    return "(?:" + "|".join(sorted(map(re.escape, words), key=len, reverse=True)) + r")\b\.?"


_MONTH, _WEEKDAY = _any(_MONTHS), _any(_WEEKDAYS)
_UNIT = r"(?:week|month|quarter|year)\b"
_NUMBER = rf"(?:\d{{1,3}}|{_any(_NUMBERS)})"
_YEAR = r"(?:19[5-9]\d|20[0-4]\d)(?![\d.,:-]\d|\d)(?!\s+(?!this\b|is\b|was\b|has\b|us\b|as\b|always\b)\w+s\b)"
_NTH = r"\d{1,2}(?:st|nd|rd|th)\b"
_DATE = (
    rf"(?:\d{{4}}-\d\d-\d\d\b|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b(?!:)(?:,? \d{{4}}\b)?"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?{_MONTH}(?:,? \d{{4}}\b)?|today\b|tomorrow\b|yesterday\b"
    rf"|(?:this|next|last|the coming|this coming) (?:{_UNIT}|{_WEEKDAY}|{_MONTH}))"
)
_SPAN = rf"(?:{_DATE}|{_MONTH}(?:,? \d{{4}}\b)?|[Qq][1-4](?: (?:of )?\d{{4}})?\b|the {_NTH}|{_WEEKDAY}|{_YEAR})"
_ENDING = rf"(?:(?:the |this )?end of (?:{_SPAN}|(?:the |this )?{_UNIT}))"
_PERIOD = rf"(?:{_ENDING}|{_SPAN})"
_UNTIL = r"(?:until|till|'?til|through|thru|up to(?: and including)?)"
_I = re.IGNORECASE

_SINCE = re.compile(rf"\b(?:ever )?since (?:the )?(?P<period>{_PERIOD})", _I)
_ON = re.compile(
    rf"\b(?:(?:starting|beginning|effective|as of)(?: from| on| in| with)? (?P<period>{_PERIOD}|now\b)"
    rf"|from (?P<onward>{_PERIOD}|now|here)(?: on(?:wards?)?| forward)\b)",
    _I,
)
_END = re.compile(rf"\b{_UNTIL} (?:the )?(?P<period>{_PERIOD})", _I)
_RANGE = re.compile(rf"\b(?:from|between) (?P<first>{_PERIOD})(?: {_UNTIL} | to | and | ?[–-] ?)(?P<last>{_PERIOD})", _I)
_NEXT = re.compile(rf"\bfor the next (?P<number>{_NUMBER} )?(?P<unit>day|week|month|quarter|year)s?\b", _I)
_REST = re.compile(rf"\b(?:for )?the (?:rest|remainder) of (?:the|this) (?P<unit>{_UNIT})", _I)
_POINT = re.compile(
    rf"\b(?:(?:by|before|after|on|in|around|due|during) (?:the )?{_PERIOD}|{_ENDING}|{_DATE}"
    rf"|(?:in|within|for|over) (?:the (?:next|past|last) )?(?:{_NUMBER}|a few|several) (?:day|week|month|quarter|year)s?\b"
    rf"|(?:{_NUMBER}|a few|several) (?:day|week|month|quarter|year)s? ago\b"
    r"|(?:for now|for the time being|until further notice)\b)",
    _I,
)
_RECURS = re.compile(r"\b(?:every|each)(?: \w+)?$|\bany$", _I)
_FAR_DAYS = 300  # "until May 15", said at the end of May, hardly means that of the next year


def stated(text: str, said_at: float) -> Stated:
    """The time in a clause that was said at that moment. A deadline ("by May 15") or a point in time ends nothing: it is `when` alone."""
    today = datetime.fromtimestamp(said_at, UTC).date()
    for form, read in _FORMS:
        for match in form.finditer(text):
            if not _RECURS.search(text[: match.start()].rstrip()):
                return _said(match[0], read(match, today), today)
    return Stated("")


def _said(words: str, days: tuple[date | None, date | None], today: date) -> Stated:
    first, end = days
    if end is not None and end <= today:
        return Stated(words)
    return Stated(words, _seconds(first), _seconds(end))


def _seconds(day: date | None) -> float | None:
    return None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def _since(match: re.Match[str], today: date) -> tuple[date | None, date | None]:
    days = _days(match["period"], today, _Way.BACK)
    return (days.first if days and days.first <= today else None), None


def _on(match: re.Match[str], today: date) -> tuple[date | None, date | None]:
    period = match["period"] or match["onward"]
    if period.lower() in {"now", "here"}:
        return today, None
    days = _days(period, today, _Way.NEAR)
    return (days.first if days else None), None


def _until(match: re.Match[str], today: date) -> tuple[date | None, date | None]:
    days = _days(match["period"], today, _Way.AHEAD)
    return None, (days.end if days else None)


def _range(match: re.Match[str], today: date) -> tuple[date | None, date | None]:
    if re.fullmatch(_WEEKDAY, match["first"], _I) and re.fullmatch(_WEEKDAY, match["last"], _I):
        return None, None  # each week, or this one
    last = _days(match["last"], today, _Way.AHEAD)
    first = _days(match["first"], last.first, _Way.BACK) if last else None
    return (first.first, last.end) if first and last and first.first < last.end else (None, None)


def _next(match: re.Match[str], today: date) -> tuple[date | None, date | None]:
    number = _number(match["number"]) if match["number"] else 1
    return today, _later(today, number, match["unit"].lower()) + timedelta(days=1)


def _rest(match: re.Match[str], today: date) -> tuple[date | None, date | None]:
    return today, _unit(match["unit"].lower(), today, 0).end


def _point(_match: re.Match[str], _today: date) -> tuple[date | None, date | None]:
    return None, None


_Reader = Callable[[re.Match[str], date], tuple[date | None, date | None]]
_FORMS: tuple[tuple[re.Pattern[str], _Reader], ...] = (
    (_RANGE, _range), (_SINCE, _since), (_ON, _on), (_END, _until), (_NEXT, _next), (_REST, _rest), (_POINT, _point),
)  # fmt: skip


def _days(period: str, today: date, way: _Way) -> _Days | None:
    """The days of a period as named on that day; None if that is not certain, or there is no such day."""
    if ending := re.fullmatch(r"(?:the |this )?end of (?:(?:the|this) (?=week|month|quarter|year))?(.+)", period, _I):
        unit = re.fullmatch(_UNIT, ending[1], _I)
        days = _unit(ending[1].lower(), today, 0) if unit else _days(ending[1], today, way)
        return _Days(days.end - timedelta(days=1), days.end) if days else None
    words = period.lower().replace(",", "").replace(".", "").removeprefix("the ").split()
    try:
        return _relative(words, today) or _dated(words, today, way)
    except (ValueError, OverflowError):
        return None  # May 42, or the last day that there is


def _relative(words: list[str], today: date) -> _Days | None:
    shift = {"yesterday": -1, "today": 0, "tomorrow": 1}.get(words[0])
    if shift is not None:
        return _one(today + timedelta(days=shift))
    away = {"this": 0, "coming": 0, "next": 1, "last": -1}.get(words[0])
    if away is None:
        return None
    named = words[-1]
    if re.fullmatch(_UNIT, named):
        return _unit(named, today, away)
    if named in _WEEKDAYS:
        monday = today - timedelta(days=today.weekday() - 7 * away)
        return _one(monday + timedelta(days=_WEEKDAYS[named]))
    return None  # "next May" is said of two different ones


def _dated(words: list[str], today: date, way: _Way) -> _Days | None:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", words[0]):
        return _one(date.fromisoformat(words[0]))
    if words[0] in _WEEKDAYS:
        return _weekday(_WEEKDAYS[words[0]], today, way)
    if re.fullmatch(r"q[1-4]", words[0]):
        first = 3 * int(words[0][1]) - 2
        return _choose(lambda year: _Days(date(year, first, 1), _later(date(year, first, 1), 3, "month")), _year(words[-1]), today, way)
    month = next((_MONTHS[word] for word in words if word in _MONTHS), 0)
    day = next((int(match[0]) for word in words if (match := re.match(r"\d{1,2}(?!\d)", word))), 0)
    if month:
        return _choose(lambda year: _one(date(year, month, day)) if day else _month(year, month), _year(words[-1]), today, way)
    if day:
        return _day_of_month(day, today, way)
    year = _year(words[0])
    return _Days(date(year, 1, 1), date(year + 1, 1, 1)) if year else None


def _choose(of: Callable[[int], _Days], year: int, today: date, way: _Way) -> _Days | None:
    if year:
        return of(year)
    around = [of(today.year + shift) for shift in (-1, 0, 1)]
    back = max((days for days in around if days.first <= today), key=lambda days: days.first)
    ahead = min((days for days in around if days.end > today), key=lambda days: days.first)
    if way is _Way.BACK:
        return back
    far = (ahead.first - today).days
    if way is _Way.AHEAD:
        return ahead if far <= _FAR_DAYS else None
    since = (today - back.first).days
    return ahead if 2 * far <= since else back if 2 * since <= far else None


def _weekday(number: int, today: date, way: _Way) -> _Days:
    """Of a day of the same name the one a week away, as nobody calls today by its name."""
    away = (number - today.weekday()) % 7
    if way is _Way.BACK:
        return _one(today + timedelta(days=away - 7))
    return _one(today + timedelta(days=away or 7))


def _day_of_month(day: int, today: date, way: _Way) -> _Days:
    step = 0 if (day <= today.day if way is _Way.BACK else day >= today.day) else (-1 if way is _Way.BACK else 1)
    month = _later(today.replace(day=1), step, "month")
    return _one(month.replace(day=day))


def _unit(unit: str, today: date, away: int) -> _Days:
    first = {
        "week": today - timedelta(days=today.weekday()),
        "month": today.replace(day=1),
        "quarter": date(today.year, today.month - (today.month - 1) % 3, 1),
        "year": date(today.year, 1, 1),
    }[unit]
    return _Days(_later(first, away, unit), _later(first, away + 1, unit))


def _later(day: date, number: int, unit: str) -> date:
    if unit in {"day", "week"}:
        return day + timedelta(days=number * (7 if unit == "week" else 1))
    months = day.year * 12 + day.month - 1 + number * {"month": 1, "quarter": 3, "year": 12}[unit]
    year, month = divmod(months, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def _one(day: date) -> _Days:
    return _Days(day, day + timedelta(days=1))


def _month(year: int, month: int) -> _Days:
    return _Days(date(year, month, 1), _later(date(year, month, 1), 1, "month"))


def _year(word: str) -> int:
    return int(word) if re.fullmatch(r"(?:19|20)\d\d", word) else 0


def _number(words: str) -> int:
    words = words.strip().lower()
    return int(words) if words.isdigit() else _NUMBERS[words]
