"""Whether two texts say the same. Pure; English words, any language's numbers and names.

A cosine is blind to what turns a statement into another one: numbers, dates, names, negation, who and where. These are compared as *marks*.
"""

import re
import unicodedata
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Literal

import msgspec

from services.indexer import alignment, english

_TOKEN = re.compile(r"[^\W_]+(?:['’._/:@#+-]+[^\W_]+)*[+#]*", re.UNICODE)
_APOSTROPHE = str.maketrans("’", "'")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)$")
_VERSION = re.compile(r"^v(?=\d)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_CANT_STAND = re.compile(r"\b(?:can'?t|cannot) (?:stand|bear)\b", re.IGNORECASE)
_SPACED_NAMES = re.compile(r"\b(?:visual studio|vs) code\b", re.IGNORECASE)
_PRODUCT_ENDING = re.compile(r"(?<=[a-z]{4})(?:ql|db)$|(?<=[a-z]{3})\.js$|(?<=node)js$|(?<=react)js$|(?<=vue)js$")
_ALIASES = {"pg": "postgres", "k8s": "kubernetes", "golang": "go", "nvim": "neovim", "next.js": "nextjs", "psql": "postgres", "ts": "typescript"}
_ALIASES |= {"js": "javascript", "nest.js": "nestjs", "osx": "macos", "rabbit": "rabbitmq", "tailwindcss": "tailwind", "sklearn": "scikit-learn"}


def _each(text: str) -> list[str]:
    return text.split()


_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        _each(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
        )
    )
    if word != "one"  # mostly a pronoun
} | {"thirty": "30", "forty": "40", "fifty": "50", "hundred": "100", "thousand": "1000", "million": "1000000"}
_MONTHS = _each("january february march april may june july august september october november december")
_DAYS = _each("monday tuesday wednesday thursday friday saturday sunday")
_DATES = {name: name[:3] for name in [*_MONTHS, *_DAYS]} | {f"{day}s": day[:3] for day in _DAYS} | {month[:3]: month[:3] for month in _MONTHS}
_DATES |= {"sept": "sep", "tues": "tue", "thurs": "thu"}
_ENVIRONMENTS = {
    "staging": "staging", "production": "production", "prod": "production", "dev": "development", "development": "development",
    "test": "test", "tests": "test", "testing": "test", "qa": "test", "local": "local", "locally": "local", "localhost": "local",
    "ci": "ci", "preview": "preview", "sandbox": "sandbox", "frontend": "frontend", "backend": "backend", "mobile": "mobile",
    "morning": "morning", "mornings": "morning", "evening": "evening", "evenings": "evening", "night": "night", "weekend": "weekend",
    "weekends": "weekend",
}  # fmt: skip
_PEOPLE = (
    {
        word: word
        for word in _each(
            "daughter son child wife husband partner girlfriend boyfriend mother father brother sister uncle aunt cousin grandmother grandfather "
            "friend manager boss colleague teammate mentor dog cat"
        )
    }
    | {"mum": "mother", "mom": "mother", "dad": "father", "sons": "son", "daughters": "daughter", "dogs": "dog", "cats": "cat"}
    | dict.fromkeys(("kid", "kids", "children"), "child")
)
_ANYBODY = frozenset(_each("a an the some any every each no many several few"))
_OPPOSITES = [
    frozenset(pair.split("/"))
    for pair in _each(
        "on/off in/out inside/outside up/down before/after more/less many/few big/small large/small first/last left/right top/bottom old/new "
        "open/closed early/late earlier/later same/different tabs/spaces light/dark public/private internal/external enable/disable "
        "enabled/disabled sync/async minimum/maximum min/max upper/lower hot/cold increase/decrease above/below start/end always/sometimes "
        "short/long fast/slow monthly/weekly weekly/daily single/double static/dynamic vertical/horizontal"
    )
]
_NEGATIONS = frozenset(_each("not no never none nobody nothing neither nor without cannot cant dont doesnt didnt isnt arent wasnt wont stopped quit"))
_AGAINST = frozenset(_each("hate hates hated dislike dislikes disliked despise avoid avoids detest loathe"))
_FOR = frozenset(_each("love loves loved like likes liked enjoy enjoys prefer prefers adore want wants longer anymore again more"))
_FUTURE = frozenset(_each("will plan plans planning planned going intend intends upcoming might may could"))
_PAST = frozenset(_each("was were previously formerly"))

_FUNCTION_WORDS = frozenset(
    _each(
        "a an the this that these those i me my mine myself we us our ours you your he him his she her it its they them their is am are "
        "be been being do does did have has and or but of in on at to for from with by as into about there here who which what that's it's i'm "
        "we're very really just also so too currently now actually please always usually all some any s t re ve ll d m"
    )
)


DATE_WORDS = frozenset(_DATES.values())
"""Months and weekdays as `words` gives them."""
PLACES = frozenset(_ENVIRONMENTS)
"""The words that `environments` knows."""
_HABIT = re.compile(rf"\b(?:{'|'.join(_DAYS)})s\b", re.IGNORECASE)
_NUMBERED = frozenset(
    _each(
        "pr mr issue ticket task bug case chapter phase sprint step table figure milestone rfc adr item level story build exercise question episode"
    )
)
_MEASURING = frozenset(
    _each("on at by within to is are until till before after from of under below above over than least most port in for exceed exceeds is be = due")
)
_EVENT = re.compile(
    r"(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bbeen )\b(?:\w{2,}ed|met|had|was|were|went|saw|held|took|found|broke|lost|won|bought|got|came|began)\b",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"(?<!until )(?<!till )(?<!by )\bnow\b|\b(?:instead|anymore|any more|no longer|from now on|these days|nowadays)\b|\b(?:my|our|the) new\b"
    r"|\b(?:switch|mov|migrat|upgrad|downgrad|convert|chang|transition|port|went|gone|turn)\w*\b[^.;]*?\b(?:to|onto|into)\b|\b(?:replac|rewr[io])\w*\b",
    re.IGNORECASE,
)
_UPGRADE = re.compile(r"\b(?:up|down)grad|\bbump", re.IGNORECASE)
_INTRODUCING = frozenset(_each("the a an my our on at in by to from for with as using"))
_FILLING = frozenset(_each("now instead again currently already actually the a an"))
_WEIGHING = frozenset(_each("better more most best anymore now instead again too"))


class Marks(msgspec.Struct, frozen=True):
    """What must be equal before two texts can be the same statement. Numbers in their order: from 15 to 16 is not from 16 to 15."""

    numbers: tuple[str, ...]
    dates: frozenset[str]
    environments: frozenset[str]
    negative: bool
    when: frozenset[str]


class Statement(msgspec.Struct, frozen=True):
    """A text taken apart for comparison. `content` has no function words, `core` neither these nor words of being for or against."""

    normal: str
    words: frozenset[str]
    content: frozenset[str]
    core: frozenset[str]
    names: frozenset[str]
    marks: Marks


_REMEMBERED = 2048  # texts: each is held against many others

LESS_SAID_MARGIN = 0.04
"""How far above the threshold a cosine must be when the fact leaves out something that the memory says. Measured with all-MiniLM-L6-v2 on SICK."""


@lru_cache(_REMEMBERED)
def statement(text: str, entities: tuple[str, ...] = ()) -> Statement:
    tokens = words(text)
    present = frozenset(tokens)
    return Statement(
        normal=normalised(text),
        words=present,
        content=frozenset(_stem(token) for token in present - _FUNCTION_WORDS),
        core=frozenset(_stem(token) for token in present - _FUNCTION_WORDS - _NEGATIONS - _AGAINST - _FOR if not token.endswith("n't")),
        names=_names(text) | frozenset(word for entity in entities for word in words(entity)),
        marks=_marks(text, tokens),
    )


Difference = Literal["", "far", "marks", "names", "opposites", "more said", "order", "less said"]


def alike(fact: Statement, memory: Statement, cosine: float, threshold: float) -> bool:
    """Whether the memory says what the fact says."""
    return not difference(fact, memory, cosine, threshold)


def difference(fact: Statement, memory: Statement, cosine: float, threshold: float) -> Difference:
    """The first thing that tells them apart, "" if nothing does: they are equal but for typography, or near (`cosine`), and each word of the fact has
    its counterpart in the memory, in the same order.

    Less than is known is known; one word more, or exchanged for one that is not known to mean the same, is another statement, however near.
    Figures: docs/dedup.md.
    """
    if fact.normal == memory.normal:
        return ""
    if cosine < threshold:
        return "far"
    if fact.marks != memory.marks:
        return "marks"
    if fact.names - memory.words or memory.names - fact.words:
        return "names"
    if _opposed(fact.words, memory.words):
        return "opposites"
    aligned = alignment.align(ordered(memory.normal), ordered(fact.normal))
    if aligned.added:
        return "more said"
    if not aligned.ordered:
        return "order"
    little = len(aligned.dropped) == 1 and not english.PARTICLES & set(aligned.dropped) and cosine >= threshold + LESS_SAID_MARGIN
    return "less said" if aligned.dropped and not little else ""


@lru_cache(_REMEMBERED)
def ordered(text: str) -> alignment.Order:
    """The concepts of a text in their order."""
    return alignment.order(words(text), _FUNCTION_WORDS)


def named(text: str) -> frozenset[str]:
    """The names in it, with a capital at its beginning if another follows: "Ana Ruiz sings"."""
    tokens, names = words(text), _names(text)
    return names | frozenset(tokens[:1] if tokens[1:2] and tokens[1] in names and text[:1].isupper() else ())


def opposed(one: str, other: str) -> bool:
    """Whether the texts differ in two words that are opposites: tabs and spaces, light and dark."""
    return _opposed(frozenset(words(one)), frozenset(words(other)))


def measured(text: str) -> Literal["", "date", "number"]:
    """Whether the text is a date, begins with a number, or neither."""
    tokens = bare(text)
    if any(token in DATE_WORDS for token in tokens):
        return "date"
    return "number" if tokens and tokens[0][0].isdigit() else ""


def renumbered(one: str, other: str) -> bool:
    """Whether the texts are equal but for one quantity or date, and that not the name of something: "PR 260" and "PR 480" are two things.

    Numbers that come before it say what it is about and must be equal; a habit may have several weekdays ("on Fridays").
    """
    return not (_HABIT.search(one) or _HABIT.search(other)) and _one_apart(one, other)


def another_day(one: str, other: str) -> bool:
    """Whether both texts tell the same habit, with another weekday."""
    return bool(_HABIT.search(one) and _HABIT.search(other)) and _one_apart(one, other)


def _one_apart(one: str, other: str) -> bool:
    mine, theirs = _segments(one), _segments(other)
    if len(mine) != len(theirs):
        return False
    different = [position for position, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b]
    quantities = [position for position, (counted, _) in enumerate(mine) if counted]
    if len(different) != 1 or different[-1:] != quantities[-1:] or not theirs[different[0]][0]:
        return False
    before = mine[different[0] - 1][1][-1] if different[0] else ""
    return before not in _NUMBERED


def remeasured(one: str, other: str, *, loosely: bool) -> bool:
    """Whether both end in a quantity of the same name ("port 8001"); `loosely`: only one of them need have the name."""
    mine, theirs = frame(" ".join(bare(one))).split(), frame(" ".join(bare(other))).split()
    if not (mine and theirs) or mine[-1] != "#" or theirs[-1] != "#":
        return False
    shorter = min(len(mine), len(theirs))
    return (mine == theirs and shorter > 1) or (loosely and mine[-shorter:] == theirs[-shorter:])


def adverbial(text: str) -> bool:
    """Whether the last quantity or date of the text says when, where or how much ("by May 3", "is 80 %"), rather than what."""
    segments = _segments(text)
    last = max((position for position, (counted, _) in enumerate(segments) if counted), default=0)
    return last > 0 and segments[last - 1][1][-1] in _MEASURING


def event(text: str) -> bool:
    """Whether the text tells what happened: that can happen on another day again."""
    return bool(_EVENT.search(text))


def changing(text: str) -> bool:
    """Whether the words say that something is no longer as it was: now, instead, no longer, moved to …"""
    return bool(_CHANGE.search(text))


def upgrading(text: str) -> bool:
    """Whether the words speak of another version of one thing."""
    return bool(_UPGRADE.search(text))


def unversioned(value: str) -> list[str]:
    """The words of a name without its version."""
    return [word for word in bare(value) if not word[0].isdigit()]


def bare(value: str) -> tuple[str, ...]:
    """The words of a value without what only introduces or weighs it: "on the October 15th", "dark mode better"."""
    found = words(value)
    while len(found) > 1 and found[0] in _INTRODUCING:
        found = found[1:]
    while len(found) > 1 and found[-1] in _WEIGHING:
        found = found[:-1]
    return found


def stem(word: str) -> str:
    """Without its English ending, so that singular and plural are one."""
    return _stem(word)


@lru_cache(_REMEMBERED)
def environments(text: str) -> frozenset[str]:
    """Where a statement holds, as far as its words say: staging, production, backend …"""
    return frozenset(_ENVIRONMENTS[word] for word in words(text) if word in _ENVIRONMENTS)


@lru_cache(_REMEMBERED)
def people(text: str) -> frozenset[str]:
    """Whom of the person's people it is about: daughter, manager …; "a dog" is anybody's."""
    tokens = words(text)
    return frozenset(_PEOPLE[word] for before, word in pairwise(("", *tokens)) if word in _PEOPLE and not (before in _ANYBODY or _counts(before)))


def normalised(text: str) -> str:
    """For equality: case, spacing, typography and closing punctuation don't count."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_APOSTROPHE).casefold().split()).strip(" .!;,\"'")


@lru_cache(_REMEMBERED)
def words(text: str) -> tuple[str, ...]:
    """In order, lower case; numbers in digits, dates as three letters, products by one name."""
    return tuple(_canonical(token) for token in _tokens(text))


def forget() -> None:
    """Nobody's words outlive the decisions that they were taken apart for."""
    words.cache_clear()
    statement.cache_clear()
    environments.cache_clear()
    people.cache_clear()
    ordered.cache_clear()


def _marks(text: str, tokens: tuple[str, ...]) -> Marks:
    present = frozenset(tokens)
    return Marks(
        numbers=tuple(token for token in tokens if any(map(str.isdigit, token))),
        dates=present & DATE_WORDS,
        environments=environments(text),
        negative=_negative(present),
        when=_when(tokens),
    )


def _when(tokens: tuple[str, ...]) -> frozenset[str]:
    present = frozenset(tokens)
    past = bool(present & _PAST) or ("used", "to") in pairwise(tokens)
    return frozenset([*(["future"] if present & _FUTURE else []), *(["past"] if past else [])])


def _negative(present: frozenset[str]) -> bool:
    denied = bool(present & _NEGATIONS) or any(token.endswith("n't") for token in present)
    return denied != bool(present & _AGAINST)


def _opposed(one: frozenset[str], other: frozenset[str]) -> bool:
    mine, theirs = one - other, other - one
    return any(pair & mine and pair & theirs for pair in _OPPOSITES)


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s", "e"):
        if len(word) > len(ending) + 2 and word.endswith(ending):
            return word.removesuffix(ending)
    return word


def frame(text: str) -> str:
    """The text without its numbers and dates: equal frames differ in these alone."""
    return " ".join("#" if _counts(word) else word for word in words(text))


def _segments(text: str) -> list[tuple[bool, tuple[str, ...]]]:
    """Runs of words and runs of numbers and dates, in turn; words of change and introduction left out."""
    tokens = [word for word in bare(text) if word not in _FILLING]
    return [(counted, tuple(run)) for counted, run in groupby(tokens, key=_counts)]


def _counts(word: str) -> bool:
    return word in DATE_WORDS or any(map(str.isdigit, word))


def _tokens(text: str) -> list[str]:
    plain = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text).translate(_APOSTROPHE))
    return _TOKEN.findall(_CANT_STAND.sub("hate", _SPACED_NAMES.sub("vscode", plain)))


def _canonical(token: str) -> str:
    lower = _VERSION.sub("", _ORDINAL.sub("", token.casefold()))
    return _NUMBER_WORDS.get(lower) or _DATES.get(lower) or _ALIASES.get(lower) or _PRODUCT_ENDING.sub("", lower.removesuffix("'s"))


def _names(text: str) -> frozenset[str]:
    """Words written like names: a capital inside a sentence, or more than one of them."""
    found = set()
    for sentence in re.split(r"(?<=[.!?])\s+", text):
        for position, token in enumerate(_tokens(sentence)):
            inside = position > 0 and token[0].isupper()
            if (inside or sum(map(str.isupper, token)) > 1) and token.casefold() not in _FUNCTION_WORDS and len(token) > 1:
                found.add(_canonical(token))
    return frozenset(found)
