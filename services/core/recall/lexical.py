"""What two texts share in words, without a corpus: stems of content words, and exact identifiers."""

import re
from functools import lru_cache

import msgspec
import Stemmer  # type: ignore[import-not-found]

_WORD = re.compile(r"\w+(?:'\w+)?")
_OWN = re.compile(r"\b(my|our)\s+(?:(?:own|new|old|best|little|current|main)\s+)*(\w+)", re.IGNORECASE)
_TOKEN = re.compile(r"\w[\w.\-@#+]*")


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


STOP_WORDS = word_set("""
    a about above after again all almost along already also although always am among an and another any anybody anyone anything are aren't
    around as at away be because been before being below between both but by can can't cannot could couldn't did didn't do does doesn't
    doing don't done down during each either else even ever every everything few for from further had hadn't has hasn't have haven't having
    he he's her here hers herself him himself his how i i'd i'll i'm i've if in into is isn't it it's its itself just least less let let's
    lot many may maybe me might mine more most much must my myself neither no nor not nothing now of off often ok okay on once one only onto
    or other our ours ourselves out over own per perhaps please quite rather really same shall she should shouldn't since so some somebody
    someone something sometimes still such than that that's the their theirs them themselves then there there's these they they're thing
    things this those though through to together too toward under until up upon us very was wasn't we we'd we'll we're we've were weren't
    what what's when where where's whether which while who who's whom whose why will with within without won't would wouldn't yes yet you
    you'd you'll you're you've your yours yourself
""")
"""English words that say nothing about the subject."""

GENERIC_STEMS = word_set("""
    actual add advic answer ask avoid back base best better bit build call case chang check choos clear come consid correct creat curious
    current day definit detail differ do easi easili effect end error especi exact exampl experi explain fact feel file find first fix focus
    follow form function generat get give given go good got great handl happen hear heard help hope idea implement import improv includ
    inform interest issu keep kind know last learn let like line list littl long longer look love main make mani mean mention mind month
    need new next number old open option order part particular peopl pick plan pleas point possibl prefer problem provid put question quick
    read recent recommend relat rememb requir respons right run say see sens set sever share short show simpl small sort sound specif start
    stop stuff suggest sure take task tell test text thank think thought time tip today tomorrow tonight top topic tri turn two type
    understand updat use user valu want way week well whole wonder word work world write year
""")
"""Stems that most requests to an assistant hold: sharing one is little evidence of sharing a subject."""

GENERIC_WEIGHT = 0.25
_KEPT_TEXTS = 4096

_UNITS = re.compile(r"\d+(?:st|nd|rd|th|s|x|k|h|m|d|am|pm|ms|mb|gb|kb|min|px|em|rem)", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")
_VERSION = re.compile(r"v?\d{1,3}", re.IGNORECASE)


class Identifiers(msgspec.Struct, frozen=True):
    """Names that mean one thing, casefolded. hard: their form alone says so (JIRA-123, fix_auth_v2, RS256, main.py);
    soft: it only hints at it (GitHub, SQL, auth-service, v2)."""

    hard: frozenset[str]
    soft: frozenset[str]


@lru_cache(maxsize=_KEPT_TEXTS)
def stems(text: str) -> frozenset[str]:
    """Stems of the content words of a text. Those of the last texts are kept: memories are candidates again and again."""
    words = set(_WORD.findall(text.casefold().replace("’", "'"))) - STOP_WORDS
    return frozenset(stem(word.removesuffix("'s")) for word in words)


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The English Snowball stem of a casefolded word. A new stemmer each time: the library's are not thread-safe (and cost 1 µs)."""
    return str(Stemmer.Stemmer("english", 0).stemWord(word))


@lru_cache(maxsize=_KEPT_TEXTS)
def own(text: str) -> frozenset[str]:
    """What a text calls the writer's own, as "my" or "our" and the stem of the first word about a subject after it ("my wife")."""
    found = ((whose.casefold(), stem(word.casefold())) for whose, word in _OWN.findall(text))
    return frozenset(f"{whose} {thing}" for whose, thing in found if is_telling(thing))


def similarity(query: frozenset[str], text: frozenset[str]) -> float:
    """Share of the query's stems that the text holds, 0 to 1; generic ones count little, even on their own."""
    return _weight(query & text) / max(_weight(query), 1.0)


def is_telling(stem: str) -> bool:
    """Whether it says something about the subject: neither a generic word nor a bare number."""
    return stem not in GENERIC_STEMS and not stem.isdigit()


def tokens(text: str) -> frozenset[str]:
    """The words of a text as identifiers are compared: casefolded, dots, dashes and underscores kept."""
    return frozenset(token.casefold() for token in _tokens(text))


def identifiers(text: str) -> Identifiers:
    """The exact identifiers of a text. In a text all of capitals, capitals mean nothing."""
    cased = any(letter.islower() for letter in text)
    hard, soft = set(), set()
    for token in _tokens(text):
        if _is_hard(token):
            hard.add(token.casefold())
        elif _is_soft(token, cased):
            soft.add(token.casefold())
    return Identifiers(hard=frozenset(hard), soft=frozenset(soft))


def _tokens(text: str) -> list[str]:
    return [token for found in _TOKEN.findall(text) if (token := found.rstrip(".-@#"))]


def _weight(of: frozenset[str]) -> float:
    return sum(1.0 if is_telling(one) else GENERIC_WEIGHT for one in of)


def _is_hard(token: str) -> bool:
    if token.isdigit():
        return len(token) >= 4 and not _YEAR.fullmatch(token)
    if _UNITS.fullmatch(token) or _VERSION.fullmatch(token):
        return False
    digits = any(sign.isdigit() for sign in token)
    letters = any(sign.isalpha() for sign in token)
    return (digits and letters) or "_" in token.strip("_") or _dotted(token)


def _dotted(token: str) -> bool:
    """main.py and 3.11, but not e.g. and i.e."""
    parts = token.split(".")
    return len(parts) > 1 and any(len(part) > 1 for part in parts)


def _is_soft(token: str, cased: bool) -> bool:
    if _VERSION.fullmatch(token):
        return not token.isdigit()
    inner_capital = any(sign.isupper() for sign in token[1:]) and cased and len(token) > 1
    dashed = "-" in token and all(len(part) > 2 for part in token.split("-"))
    return (inner_capital or dashed) and token.casefold() not in STOP_WORDS
