"""Telephone numbers: international, North American, national ones with a trunk zero, and any digits that words call a number to ring."""

import re
from collections.abc import Iterator

import phonenumbers

from services.core.redaction.spans import Kind, Span

_SEP = r"[ \u00a0\u2009\u202f.()/\u2010\u2011\u2012\u2013-]{0,3}"
_EXTENSION = r"(?:[ ]?(?:x|ext\.?|extension)[ ]?[0-9]{1,6})?"
_END = r"(?![\w]|[.,:/-][0-9])"
_INTERNATIONAL = re.compile(rf"(?<![\w+.])\(?(?:\+|00)[ ]?\(?[1-9](?:{_SEP}[0-9]){{6,15}}(?![0-9]){_EXTENSION}")
_AMERICAN = re.compile(
    rf"(?<![\w.+-])(?<![#$=/])(?:1[ .-]?)?(?:\([2-9][0-9]{{2}}\)[ .-]?|[2-9][0-9]{{2}}(?P<sep>[ .-]))[0-9]{{3}}(?(sep)(?P=sep)|"
    rf"[ .-])[0-9]{{4}}{_EXTENSION}{_END}"
)
_TRUNK = re.compile(rf"(?<![\w.+:-])(?<![#$=/])\(?0(?:{_SEP}[0-9]){{7,12}}{_EXTENSION}{_END}")
_CALLED = re.compile(rf"(?<![\w.+-])\(?[0-9](?:{_SEP}[0-9]){{6,14}}{_EXTENSION}{_END}")
_PHONE_WORD = re.compile(
    r"(?:\b(?:(?:tele)?phone|tel|mobile|cell(?:phone)?|fax|whatsapp|sms|handy(?:nummer)?|telefon(?:nummer)?|teléfono|téléphone|portable|"
    r"telefono|hotline|landline|desk|registered(?: number)?|answer(?:ing)? (?:at|on))\b[^\n0-9]{0,30}"
    r"|\b(?:call|text|ring|dial|reach|phone)(?: (?:me|us|him|her|them|back|\w{2,12}))?(?: (?:at|on|under))?:? "
    r"|\bmy (?:(?:new|old|other|second|current|own|private|personal|direct|work|home|office|business|contact|emergency|"
    r"local|(?!id|pr)[a-z]{2}|passport|aadhaar|national|insurance|tax|nhs|"
    r"german|french|spanish|italian|dutch|polish|british|american|swiss|austrian|indian|swedish|danish|irish|japanese|chinese|"
    r"brazilian) )?"
    r"number(?: is|:)?:? )\(?$",
    re.IGNORECASE,
)
_PHONE_WORD_AFTER = re.compile(r"[ \t]?[-(]?[ \t]?(?:office|fax|mobile|cell|desk|landline)\b(?![ \t]+[a-z])", re.IGNORECASE)
_DIGIT_WORD = r"(?:zero|oh|nought|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:hundred|thousand)|(?:double|triple)[ -]\w{2,5})"
_SPELLED = re.compile(rf"(?<![\w-])(?:plus[ ])?{_DIGIT_WORD}(?:[ ,.-]{{1,3}}{_DIGIT_WORD}){{6,16}}(?![\w-])", re.IGNORECASE)
"""A number as it is read out ("oh seven seven, double-oh nine ..."); only words before it make it one to ring."""
_OTHER_WORD = re.compile(
    r"\b(?:order|invoice|ticket|case|tracking|serial|part|sku|build|issue|pr|pid|uid|id|ref|reference|account|isbn|issn|version|commit|"
    r"timestamp|epoch|port|line|rows?|bytes|error|code|"
    r"offset|seed|size|customer|employee|student|batch|lot|model|zip|postcode)s?(?: ?(?:number|no\.?|id|#))?(?: (?:is|was|of))?[ :#=(]*$",
    re.IGNORECASE,
)
_NO_PHONE = re.compile(
    r"[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{2,4}(?![./-]?[0-9])|[0-9]{4}[./-][0-9]{2}[./-][0-9]{2}(?:[ T.-]?[0-9 ]*)?|"
    r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?!\.?[0-9])|0[.][0-9 ]+|[0-9]{1,2}/[0-9]{4}(?![0-9]).*"
)
_HEX_DUMP = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{2} $")
_REGIONS = ("GB", "DE", "FR", "IT", "NL", "BE", "CH", "AT", "SE", "IE", "FI", "AU", "NZ", "JP", "IL", "TR", "IN", "BR", "ZA", "KR")
_CONTEXT = 60
_MOST_CHECKS = 400  # national plans looked up for one text; beyond that the spelling alone decides, on the side of replacing


def find(text: str) -> Iterator[Span]:
    for match in _INTERNATIONAL.finditer(text):
        end = _international_end(match[0])
        if end:
            yield Span(Kind.PHONE, match.start(), match.start() + end)
    for match in _AMERICAN.finditer(text):
        if not _OTHER_WORD.search(text[max(0, match.start() - _CONTEXT) : match.start()]):
            yield Span(Kind.PHONE, *match.span())
    yield from _national(text)
    for match in _CALLED.finditer(text):
        before = text[max(0, match.start() - _CONTEXT) : match.start()]
        called = _PHONE_WORD.search(before) or _PHONE_WORD_AFTER.match(text, match.end())
        if called and not _NO_PHONE.fullmatch(match[0]) and not _OTHER_WORD.search(before):
            yield Span(Kind.PHONE, match.start(), match.end())
    for match in _SPELLED.finditer(text):
        before = text[max(0, match.start() - _CONTEXT) : match.start()]
        if _PHONE_WORD.search(before) and not _OTHER_WORD.search(before):
            yield Span(Kind.PHONE, *match.span())


def _national(text: str) -> Iterator[Span]:
    checks = 0
    for match in _TRUNK.finditer(text):
        before = text[max(0, match.start() - _CONTEXT) : match.start()]
        if not _grouped(match[0]) or _NO_PHONE.match(match[0]) or _HEX_DUMP.search(before) or _OTHER_WORD.search(before):
            continue
        checks += 1
        if checks > _MOST_CHECKS or any(_valid(match[0], region) for region in _REGIONS):
            yield Span(Kind.PHONE, *match.span())


def _international_end(candidate: str) -> int:
    """Where the longest possible number at the start ends; 0 if there is none. Digits that follow it may have been taken in."""
    plus = re.sub(r"^\(?00", "+", candidate)
    shift = len(candidate) - len(plus)
    ends = [len(plus), *(found.start() for found in reversed(list(re.finditer(r"(?<=[0-9)])[^0-9)]", plus))))]
    for end in ends:
        number = _parse(plus[:end], None)
        if number is None:
            continue
        long_enough = len(re.sub("[^0-9]", "", plus[:end])) >= 9 and phonenumbers.is_possible_number(number)
        if phonenumbers.is_valid_number(number) or (long_enough and candidate[0] != "0" and candidate[:2] != "(0"):
            return shift + end
    return 0


def _grouped(candidate: str) -> bool:
    """Groups as people write them: not ranges ("0-14 15-24"), not one long number that is no mobile's, not single digits."""
    groups = re.findall("[0-9]+", candidate)
    return (groups[0] != "0" or len(groups[1]) >= 3) and sum(len(group) == 1 for group in groups) <= 1


def _valid(candidate: str, region: str) -> bool:
    """Part of the region's plan; without any grouping only if it is a mobile's."""
    number = _parse(candidate, region)
    if number is None or not phonenumbers.is_valid_number(number):
        return False
    return not candidate.isdigit() or phonenumbers.number_type(number) == phonenumbers.PhoneNumberType.MOBILE


def _parse(candidate: str, region: str | None) -> phonenumbers.PhoneNumber | None:
    try:
        return phonenumbers.parse(candidate, region)
    except phonenumbers.NumberParseException:
        return None
