"""Passwords told before their name ("use dragonfly as the password") or beside a user's ("log in as admin / Sup3rS3cret!")."""

import re
from collections.abc import Iterator

from services.core.redaction import values, words
from services.core.redaction.named import QUOTED
from services.core.redaction.spans import Kind, Span

_VALUE = rf"(?:{QUOTED}|(?P<plain>[^\s\"'`<>]{{3,100}}))"
_NAME = (
    r"(?:[\w.'’/-]{1,20}[ \t]{1,3}){0,3}?(?:pass[ -]?word|pass[ -]?phrase|passcode|pass|pwd|pw|(?:wi-?fi|wlan|wpa2?)[ -]key|passwort|kennwort|"
    r"mot de passe|contraseña|senha|hasło|пароль)(?=[ \t]{0,2}(?:[.!?,;:)\r\n]|\Z)|[ \t]+(?:for|on|in|at|when|and|but|so|to|of|there|here|now|"
    r"everywhere|this|instead|again|please|from)\b)"
)
_GIVEN_AS = re.compile(
    r"\b(?:[uU]s(?:e|es|ed|ing)|[pP]ut|[sS]et|[tT]ake|[cC]hoose|[cC]hose|[pP]ick(?:ed)?|[hH]a(?:ve|s|d)|[tT]r(?:y|ied)|[eE]nter(?:ed)?|"
    rf"[tT]ypey?d?|[wW]ith|[sS]ends?)[ \t]{{1,3}}{_VALUE}[ \t]{{1,3}}(?P<link>as|for)[ \t]{{1,3}}{_NAME}"
)
_IS_ONE = re.compile(
    rf"[ \t]{{1,3}}(?:is|was)[ \t]{{1,3}}(?:(?:still|now|actually|really)[ \t])?(?P<whose>the|my|our|your|his|her|their|its|a)[ \t]{{1,3}}{_NAME}"
)
_BEFORE = re.compile(rf"(?<![^\s(]){_VALUE}\Z")
_CLAUSE_START = re.compile(r"(?:\A|[.!?:;,\n(\"'])[ \t]{0,4}\Z")
_WINDOW = 120

_LOGIN_WORD = re.compile(
    r"\b(?:logins?|log(?:ged)?[ -]in|sign(?:ed)?[ -]?in|credentials?|creds|account|user(?:name)?[ ]?(?:/|and|&|\+)[ ]?(?:pass(?:word)?|pw))\b"
    r"[^\n\x1e]{0,40}\Z",
    re.IGNORECASE,
)
_PAIR = re.compile(
    r"(?<![\w.@/:-])(?=(?P<user>[A-Za-z][\w.+-]{1,40}(?:@[\w.-]{1,40})?)(?P<sep>[ \t]{1,2}[/|][ \t]{1,2}|:[ \t]?)"  # the next may begin in this one
    r"(?P<plain>[^\s\"'`<>,;|/][^\s\"'`<>,;|]{5,100}))"
)
_TIGHT_PAIR = re.compile(
    r"\b(?:creds|credentials|logins?)[ \t]{0,2}(?:(?:is|are|were|was)\b|[:=])[ \t]{1,3}(?P<user>[A-Za-z][\w.+-]{1,40})"
    r"/(?P<plain>[^\s\"'`<>,;|/]{6,100})(?!/)",
    re.IGNORECASE,
)
_NO_USER = re.compile(
    words.any_of("http https arn urn ssh ftp s3 gs file data docker image sha256 sha1 md5 see note at error port line step version v"), re.IGNORECASE
)
_USUAL_USER = re.compile(
    words.any_of("admin administrator root user username guest test tester demo postgres sa sysadmin superuser oracle ubuntu pi deploy"),
    re.IGNORECASE,
)
_PASSWORD_SYMBOL = re.compile(r"[^\w\s.,:;/()\[\]{}'’=-]")


def find(text: str) -> Iterator[Span]:
    yield from _told_before(text)
    yield from _beside_users(text)


def _told_before(text: str) -> Iterator[Span]:
    for match in _GIVEN_AS.finditer(text):
        if _is_given(match):
            yield _span(match, 0)
    for match in _IS_ONE.finditer(text):
        start = max(0, match.start() - _WINDOW)
        before = text[start : match.start()]
        value = _BEFORE.search(before)
        if value and _is_one(value, before, whose=match["whose"]):
            yield _span(value, start)


def _span(match: re.Match[str], offset: int) -> Span:
    return Span(Kind.SECRET, *(offset + at for at in match.span("quoted" if match["quote"] else "plain")))


def _is_given(match: re.Match[str]) -> bool:
    """`use X as the password`; what is used *for* it may be a tool, so it has to look like a password."""
    if match["quote"]:
        return len(match["quoted"]) >= 3 and values.is_literal(match["quoted"])
    value = match["plain"]
    if _looks_chosen(value):
        return True
    return match["link"] == "as" and words.is_password(value, ".") and not values.is_dummy(value)


def _is_one(match: re.Match[str], before: str, *, whose: str) -> bool:
    """`X is the password`; a plain word only where nothing but it stands before the verb."""
    if match["quote"]:
        return len(match["quoted"]) >= 3 and values.is_literal(match["quoted"])
    value = match["plain"]
    if _looks_chosen(value):
        return True
    alone = _CLAUSE_START.search(before[: match.start()]) is not None and whose != "a"
    return alone and words.is_password(value, ".") and not values.is_dummy(value)


def _looks_chosen(value: str) -> bool:
    named = words.MANY_WORDS.fullmatch(value) or words.CODE_NAME.fullmatch(value)
    return len(value) >= 5 and values.has_letters_and_digits(value) and values.is_password(value) and not named


def _beside_users(text: str) -> Iterator[Span]:
    for match in _PAIR.finditer(text):
        value = match["plain"].rstrip(".,:)]}")
        if _NO_USER.fullmatch(match["user"]) or not _looks_chosen(value) or len(value) < 6:
            continue
        before = text[max(0, match.start() - 70) : match.start()]
        slash = match["sep"].strip() != ":"
        told = _LOGIN_WORD.search(before) is not None
        known = _USUAL_USER.fullmatch(match["user"]) is not None
        if (told and (slash or _is_strong(value))) or (known and _is_strong(value)):
            yield Span(Kind.SECRET, match.start("plain"), match.start("plain") + len(value))

    for match in _TIGHT_PAIR.finditer(text):
        value = match["plain"].rstrip(".,:)]}")
        if len(value) >= 6 and _looks_chosen(value):
            yield Span(Kind.SECRET, match.start("plain"), match.start("plain") + len(value))


def _is_strong(value: str) -> bool:
    both_cases = value.lower() != value and value.upper() != value
    return len(value) >= 8 and (_PASSWORD_SYMBOL.search(value) is not None or (both_cases and re.search("[0-9]", value) is not None))
