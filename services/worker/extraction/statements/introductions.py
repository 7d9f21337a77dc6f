"""People who say their name: by the shape of the words, since taggers take many names for verbs and adjectives. Pure."""

import re
from collections.abc import Container

from services.core.models import Category
from services.worker.extraction import tools, vocabulary
from services.worker.extraction.statements import drafts
from services.worker.extraction.statements.drafts import Draft

_CAPITAL = r"[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]*(?:['’-][A-ZÀ-Þ]?[a-zß-ÿ]+)?"
_LOWER = r"[a-zß-ÿ]{2,}"
_I_AM = re.compile(rf"^(?:I'm|i'm|I am|i am|Im|im) (?P<name>{_CAPITAL}(?: {_CAPITAL}){{0,2}})$")
_I_AM_LOWER = re.compile(rf"^(?:i'm|i am|im) (?P<name>{_LOWER})$", re.IGNORECASE)
_MY_NAME = re.compile(
    rf"^my (?:full |first |real |actual )?name(?:'s| is)(?: actually| really)? (?P<name>{_CAPITAL}(?: {_CAPITAL}){{0,3}}|{_LOWER}(?: {_LOWER})?)$",
    re.IGNORECASE,
)
_HERE = re.compile(rf"^(?P<name>{_CAPITAL}) here$")
_OF_LATE = re.compile(r"[\s,]+(?:now|nowadays|these days|again|officially)$", re.IGNORECASE)
_GREETING = re.compile(r"^(?:hi|hey|hello|hiya|good (?:morning|evening|afternoon)|greetings)\b", re.IGNORECASE)
_ASIDE = re.compile(r"\b(?:btw|by the way|nice to meet you|pleased to meet you)\b", re.IGNORECASE)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NO_NAME = _words(
    "not a an the in on at of to for also too so very only just still spelled spelt pronounced wrong misspelled missing taken different same similar"
    " long short weird strange common rare unusual hard difficult easy important unimportant irrelevant secret"
    " private unknown hidden confidential fine"
    " correct right below above here there visible already never always written listed shown on-file anonymous mine yours what that this gonna gotta"
    " wanna outta kinda sorta tbh imo afk wfh irl sooo soo btw lol lost redacted"
)
_PEOPLE_OF = re.compile(r"(?:ese|ish)$")


def introduced(text: str, said: str, ordinary: Container[str]) -> Draft | None:
    """The name in "I'm Annika", "my name is rose", "hey, Kit here"; said: the same with what leads to it and trails it.

    ordinary: words of the language, lower case. In lower case a word after "i'm" is a name only if it is no word and somebody greets with it.
    """
    text = _OF_LATE.sub("", text)
    if match := _MY_NAME.match(text):
        first = match["name"].split()[0].lower()
        return None if first in _NO_NAME or re.search(r"(?:ing|lled|nown)$", first) else _name(match["name"])
    if match := _I_AM.match(text):
        return _name(match["name"]) if _may_be_name(match["name"], ordinary) else None
    if match := _HERE.match(text):
        met = _GREETING.match(said) or match["name"].lower() not in ordinary
        return _name(match["name"]) if met and _may_be_name(match["name"], ordinary) and match["name"].lower() not in {"nothing", "same"} else None
    if (match := _I_AM_LOWER.match(text)) and (_GREETING.match(said) or _ASIDE.search(said)):
        name = match["name"].lower()
        strange = bool(ordinary) and name not in ordinary and not re.search(r"(?:ing|ed)$", name)  # no misspelt "confuzed"
        return _name(match["name"]) if strange and _may_be_name(name, ordinary) else None
    return None


def _may_be_name(name: str, ordinary: Container[str]) -> bool:
    words = name.lower().split()
    first, last = words[0], words[-1]
    known = vocabulary.NATIONALITIES_AND_STATES | vocabulary.TRANSIENT_STATES | _NO_NAME
    if (
        first in known
        or tools.known(name)
        or vocabulary.JOBS.fullmatch(last)
        or vocabulary.DIETS.match(name)
        or vocabulary.TRAITS.match(name.lower())
    ):
        return False
    return not (_PEOPLE_OF.search(first) or _participle(first, ordinary) or drafts.empty(name))


def _participle(word: str, ordinary: Container[str]) -> bool:
    """Such as "bored" and "testing", but not "Fred" and "Irving"."""
    stem = re.sub(r"(?:ing|ed)$", "", word)
    return stem != word and any(base in ordinary for base in (stem, f"{stem}e", stem[:-1], f"{stem[:-1]}y"))


def _name(name: str) -> Draft:
    return Draft(Category.PERSONAL_INFO, 0.9, attribute="name", value=name, functional=True)
