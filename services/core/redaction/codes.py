"""Secrets that people type or write down: PINs, CVVs, alarm codes, one-time and backup codes, words of a seed phrase."""

import re
from collections.abc import Iterator

from services.core.redaction import values, words
from services.core.redaction.spans import Kind, Span

_ABOUT = r"(?:[ \t](?:for|on|of|to|at|in|we|I)(?:[ \t][\w.'’/-]{1,30}){1,4}?)?"
_LINK = (
    r"(?:[ \t]{0,2}[:=]|[ \t](?:is|are|was|were|will be|ist|es|est)(?:[ \t](?:now|still|currently|set to))?[ \t]{0,2}:?|"
    r"[ \t](?:changed|set|reset)?[ \t]?to)"
)
_GAP = r"[ \t]{0,3}(?:(?:\r?\n){1,2}[ \t]{0,6}(?:[-*][ \t])?)?[\"'`“(*]{0,2}"
_END = r"(?![\w%]|[.,:/-]?[0-9]|[ \t]?(?:digits?|char(?:acter)?s?|lines?|bytes|bits|mm|seconds|minutes|numbers|attempts|times|errors?)\b)"

_ANY_NAME = re.compile("pin|cv[vc]|code|card verif|comb|puk|otp|phrase|mnemonic|seed|words|key", re.IGNORECASE)

_CARD_CODE = re.compile(
    r"(?<![\w-])(?:cv[vc]2?|card verification (?:code|value|number)|(?:card )?security code)(?:[ ](?:code|number))?"
    rf"{_ABOUT}(?:{_LINK})?{_GAP}([0-9]{{3,4}}){_END}",
    re.IGNORECASE,
)
_PIN = re.compile(
    rf"(?<![\w-])(?:(?:(?i:my|our|the|a|card|bank|sim|phone|new|old)[ ])?(?i:pin)(?:[ -](?i:code|number))?{_ABOUT}{_LINK}|"
    rf"PIN(?:[ -]code)?|(?i:puk)[12]?(?:[ -](?i:code))?{_ABOUT}(?:{_LINK})?){_GAP}([0-9]{{4,12}}|[0-9]{{2}}[ ][0-9]{{2}}){_END}"
)
_LOCK = re.compile(
    r"(?<![\w-])(?:alarm|door|front door|gate|entry|entrance|access|security|safe|lock|padlock|lock[ -]?box|key[ -]?box|locker|garage|unlock|keypad|"
    r"building|burglar|vault|voicemail|parental)(?:[ -](?:system|panel|lock|box))?[ -](?:code|combination|combo|passcode)"
    rf"{_ABOUT}(?:{_LINK})?{_GAP}([0-9]{{3,10}}[#*]?|[0-9]{{1,3}}(?:[ -][0-9]{{1,3}}){{2,4}}[#*]?|"
    rf"(?=[A-Z0-9#*]{{0,11}}[0-9])[A-Z0-9#*]{{4,12}}){_END}",
    re.IGNORECASE,
)
_ITEM = r"[A-Za-z0-9]{4,16}(?:-[A-Za-z0-9]{3,16}){0,5}|[0-9]{3}[ ][0-9]{3}(?![ ]?[0-9])"
_ONE_TIME = re.compile(
    r"(?<![\w-])(?:(?:2fa|mfa|t?otp|sms|one[ -]?time|verification|authenticat(?:or|ion)|auth|login|log[ -]in|sign[ -]?in|two[ -]factor|backup|"
    r"recovery|rescue|reset|emergency|scratch)[ -](?:(?:backup|recovery|verification|one[ -]time)[ -])?(?:pass)?(?:code|key|pin)s?|t?otp)"
    rf"{_ABOUT}(?:{_LINK})?{_GAP}({_ITEM}){_END}",
    re.IGNORECASE,
)
_NEXT_ITEM = re.compile(
    rf"[ \t]{{0,2}}[,;/|]?[ \t]{{0,3}}(?:\r?\n[ \t]{{0,6}}(?:(?:[-*]|[0-9]{{1,2}}[.)])[ \t])?)?(?:(?:and|or)[ \t])?[\"'`]?({_ITEM}){_END}"
)

_PASSPHRASE = re.compile(
    r"\b(?:pass[ _-]?phrase|(?:seed|recovery|mnemonic|backup)(?:[ _-]phrase)|mnemonic)[ \t]{0,3}(?:is|was|=|:|to)[ \t]{0,3}:?[ \t]{0,3}[\"']?"
    r"(?P<words>[a-z]{2,12}(?:[ \t-][a-z]{2,12}){2,23})"
)
_SEED = re.compile(
    r"\b(?:(?:(?:12|15|18|21|24|twelve|twenty[- ]four)[ -])?(?:(?:seed|recovery|mnemonic|backup|wallet|secret)[ _-]?){1,3}"
    r"(?:words?|phrases?)|mnemonic|seed)\b[^\n\x1e:=]{0,30}?(?:is|are|was|were|[:=])[ \t]{0,3}:?\s{0,4}[\"'`(]?"
    r"(?P<words>(?!(?:and|the|for|are|was|not|our|its|from)\b)(?:[0-9]{1,2}[.)][ \t]?)?[a-z]{3,8}(?:[ \t,;\r\n-]{1,4}(?:[0-9]{1,2}[.)][ \t]?)?"
    r"(?!(?:and|the|for|are|was|not|our|its|from)\b)[a-z]{3,8}\b){11,23})",
    re.IGNORECASE,
)
_CONJUNCTION = re.compile(r"[ \t](?:and|but|so|for|which|because)[ \t]")
_FUNCTION_WORD = re.compile(
    rf"\b(?:{words.any_of('an? the in on at to of from by with is are was not too very my your our it its that this only stored saved kept')})\b"
)


def find(text: str) -> Iterator[Span]:
    if not _ANY_NAME.search(text):
        return
    for pattern in (_CARD_CODE, _PIN, _LOCK):
        for match in pattern.finditer(text):
            yield Span(Kind.SECRET, *match.span(1))
    for match in _ONE_TIME.finditer(text):
        if _is_code(match[1]):
            yield Span(Kind.SECRET, *match.span(1))
            yield from _more_codes(text, match)
    for match in _PASSPHRASE.finditer(text):
        said = _CONJUNCTION.split(match["words"])[0]
        if not _FUNCTION_WORD.search(said) and len(said.split()) >= 3:
            yield Span(Kind.SECRET, match.start("words"), match.start("words") + len(said))
    for match in _SEED.finditer(text):
        yield Span(Kind.SECRET, *match.span("words"))


def _is_code(value: str) -> bool:
    compact = re.sub("[ -]", "", value)
    return re.search("[0-9]", value) is not None and values.is_password(compact) and not words.NUMBERED_WORD.fullmatch(value)


def _more_codes(text: str, first: re.Match[str]) -> Iterator[Span]:
    """The rest of a list: what looks like its first item."""
    following = _NEXT_ITEM.match(text, first.end(1))
    while following and len(following[1]) == len(first[1]) and following[1].count("-") == first[1].count("-"):
        if not following[1].isalpha():
            yield Span(Kind.SECRET, *following.span(1))
        following = _NEXT_ITEM.match(text, following.end(1))
