"""Whether a sentence is what a memory says with one part exchanged that can be had only once: another doer of one deed, another place of birth. Pure.

Most sentences that differ in one part hold together ("has published articles on …", "speaks …", "is a friend of …"). Four kinds do not:

    deeds      a verb of making, winning or doing together, of one thing that both describe alike, done by somebody else
    occasions  what happened "once", told in the same words with one other name
    relations  a predicate that has one value ever or at a time, said of the same with another one
    contrasts  "Ana is a chef, while Ben …" after "Ben is a chef": what is said of one here was said of the other
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from services.indexer import english, likeness

_LEAST_OF_A = 5
"""Concepts besides the names that two sentences share when they tell of the same "a …": with fewer words it is one of many."""
_LEAST_OF_THE = 3
"""The same of "the …", which is one thing already."""
_LEAST_TURNED = 4
"""The same where the doer and another name have changed places."""
_LEAST_OF_A_CONTRAST = 2
"""Concepts of the memory and names that one half of a contrast repeats."""
_MOST_LEFT_OUT = 2
"""Concepts that only one of the two has."""

_JOINT = r"(?:collaborated|worked|partnered)(?: with [^,;]{1,60})? on|co-\w+ed|co(?:authored|founded|hosted)|co-?(?:host|lead|own)s?"
_MADE = (
    "created|composed|wrote|written|authored|designed|developed|built|invented|discovered|founded|established|started|launched|organi[sz]ed|hosted|"
    "produced|directed|published|edited|painted|recorded|won|curated|choreographed|illustrated"
)
_DEED = re.compile(rf"\b(?P<verb>(?P<joint>{_JOINT})|{_MADE}) (?P<determiner>an?|the)\b")
_WITH = re.compile(r"\bwith (?P<name>(?:[A-Z][\w.'-]+ ?)+)")
_ONCE = re.compile(r"\bonce (?P<verb>[a-z]+)\b")
_SPLIT = re.compile(r"[,;:]|\b(?:and|both)\b")

_PLURAL = re.compile(r"\band\b|^(?:we|they)$", re.IGNORECASE)
_RELATIONS = tuple(
    re.compile(rf"^(?P<who>.+?) (?P<relation>{relation}) (?P<value>[^,;]+)", re.IGNORECASE)
    for relation in (
        r"(?:was|were|is|are) born (?:in|on|at)",
        r"(?:grew up|was raised) in",
        r"(?:lives?|resides?|(?:is|are) (?:living|located|situated|headquartered)|(?:(?:is|are) )(?:(?:an?|the) [\w -]{3,60} )?based) in",
        r"(?:is|are|am) (?:married|engaged) to",
        r"(?:was|were) (?:founded|created|invented|discovered|directed|designed|composed|painted|written|established) by",
        r"(?:(?:is|am) an? (?:[\w-]+ ){0,2}?(?:professor|lecturer|teacher|engineer|developer|manager|researcher|analyst|nurse)|works?) at",
    )
)
_ONE = re.compile(r"^(?P<who>[A-Z]\S*(?: [A-Z]\S*){0,3}) is (?P<what>the (?!same\b|one\b|other\b)\S+ \S+.*)$")
_MET = re.compile(r"^(?P<who>.+?) (?:(?P<first>first) )?met (?P<value>(?:each other )?(?:at|in|on|during|while) .+)$", re.IGNORECASE)
_TITLE = r"(?:doctorate|doctoral degree|ph\.?d\.?|(?:master|bachelor|undergraduate|graduate|associate)(?:'?s)?(?: degree)?|mba|degree)"
_DEGREES = (
    re.compile(r"^(?P<who>.+?) (?:both )?graduated from (?P<school>.+?) with (?P<degree>.+)$", re.IGNORECASE),
    re.compile(
        rf"^(?P<who>.+?) (?:received|earned|completed|obtained|holds?|has|did|graduated with) "
        rf"(?P<degree>(?:an?|his|her|their|my|the) {_TITLE}(?: in .+?)?) (?:at|from) (?P<school>.+)$",
        re.IGNORECASE,
    ),
)
_BOTH = frozenset({"both"})
_CONTRAST = re.compile(r"^(?P<first>.+?), (?:while|whereas) (?P<second>.+)$")
_PRIZE = re.compile(r"^(?P<who>.+?) (?:received|won|was awarded|were awarded) (?P<prize>the .+?) in (?P<year>\d{4})\b", re.IGNORECASE)


class _Deed(NamedTuple):
    verb: str
    joint: bool
    one: bool
    doers: frozenset[str]
    names: frozenset[str]
    concepts: frozenset[str]


def exchanged(fact: str, memory: str) -> bool:
    """Whether the two texts can't both hold, because the one is the other with one part exchanged. Both are affirmed, of equal place."""
    found = _other_doer(fact, memory) or _other_occasion(fact, memory) or _other_value(fact, memory)
    return found and not any(likeness.statement(text).marks.negative for text in (fact, memory))


def _other_doer(fact: str, memory: str) -> bool:
    if not (_DEED.search(fact) and _DEED.search(memory)):
        return False
    mine, theirs = _deed(fact), _deed(memory)
    if not (mine and theirs) or mine.verb != theirs.verb or not (mine.doers - theirs.doers and theirs.doers - mine.doers):
        return False
    turned = mine.doers | mine.names == theirs.doers | theirs.names and not mine.joint
    least = _LEAST_OF_THE if mine.one and theirs.one else _LEAST_TURNED if turned else _LEAST_OF_A
    if mine.joint and not mine.doers & theirs.doers:
        return False
    return (mine.names == theirs.names or turned) and _same_thing(fact, memory, least)


def _other_occasion(fact: str, memory: str) -> bool:
    if not (_once(fact) and _once(memory)):
        return False
    mine, theirs = frozenset(_names(fact)), frozenset(_names(memory))
    return len(mine - theirs) == len(theirs - mine) == 1 and _same_thing(fact, memory, _LEAST_OF_A)


def contrasted(fact: str, memory: str) -> bool:
    """Whether the fact says of one, in contrast to another, what the memory says of that other, or of both."""
    found = _CONTRAST.match(fact)
    if not found:
        return False
    first, second = found["first"], found["second"]
    return _told_of_other(memory, first, second) or _told_of_other(memory, second, first)


def _told_of_other(memory: str, here: str, there: str) -> bool:
    known, names = frozenset(_names(memory)), frozenset(_names(here))
    told = _concepts(memory) - _BOTH
    alike = told <= _concepts(here) and likeness.environments(memory) == likeness.environments(here)
    other = known - names
    return alike and bool(other) and other <= frozenset(_names(there)) and len(told) + len(known & names) >= _LEAST_OF_A_CONTRAST


def _once(text: str) -> bool:
    """Whether it tells of one occasion: "once drew", not "once a day"."""
    found = _ONCE.search(text)
    return found is not None and english.participle(found["verb"])


def _same_thing(fact: str, memory: str, least: int) -> bool:
    mine, theirs = _concepts(fact), _concepts(memory)
    alike = mine <= theirs or theirs <= mine
    one, other = likeness.statement(fact).marks, likeness.statement(memory).marks
    return alike and len(mine & theirs) >= least and len(mine ^ theirs) <= _MOST_LEFT_OUT and (one.numbers, one.dates) == (other.numbers, other.dates)


def _other_value(fact: str, memory: str) -> bool:
    readers = (_other_of_relation, _other_one, _met_elsewhere, _graduated_otherwise, _awarded_otherwise)
    return any(reads(fact, memory) for reads in readers)


def _other_of_relation(fact: str, memory: str) -> bool:
    for relation in _RELATIONS:
        mine = relation.match(fact)
        theirs = mine and relation.match(memory)
        if mine and theirs and _equal(mine["who"], theirs["who"]) and _equal(mine["relation"], theirs["relation"]):
            return _certain(mine["value"]) and _certain(theirs["value"]) and _apart(mine["value"], theirs["value"])
    return False


def _other_one(fact: str, memory: str) -> bool:
    """ "Ana is the head of design" and "Ben is the head of design": there is one."""
    mine = _ONE.match(fact)
    theirs = mine and _ONE.match(memory)
    if not (mine and theirs):
        return False
    return _equal(mine["what"], theirs["what"]) and _apart(mine["who"], theirs["who"])


def _met_elsewhere(fact: str, memory: str) -> bool:
    """Two people meet for the first time once."""
    mine = _MET.match(fact)
    theirs = mine and _MET.match(memory)
    if not (mine and theirs) or frozenset(_names(mine["who"])) != frozenset(_names(theirs["who"])):
        return False
    first = all(_PLURAL.search(each["who"]) or each["first"] for each in (mine, theirs))
    return first and _apart(mine["value"], theirs["value"])


def _graduated_otherwise(fact: str, memory: str) -> bool:
    """One degree of two schools, or two of one: with both exchanged it is another degree."""
    for degree in _DEGREES:
        mine = degree.match(fact)
        theirs = mine and degree.match(memory)
        if mine and theirs and _equal(mine["who"], theirs["who"]):
            return _equal(mine["school"], theirs["school"]) != _equal(mine["degree"], theirs["degree"])
    return False


def _awarded_otherwise(fact: str, memory: str) -> bool:
    mine = _PRIZE.match(fact)
    theirs = mine and _PRIZE.match(memory)
    if not (mine and theirs) or not _equal(mine["prize"], theirs["prize"]):
        return False
    return _equal(mine["who"], theirs["who"]) and mine["year"] != theirs["year"]


def _equal(one: str, other: str) -> bool:
    return likeness.normalised(one) == likeness.normalised(other)


def _certain(value: str) -> bool:
    """Whether it is a name, a number or a date: "in Berlin", not "in a small flat"."""
    return any(map(str.isupper, value)) or bool(likeness.measured(value))


def _apart(one: str, other: str) -> bool:
    """Whether neither value says the other more closely, and both are of one measure: Paris and Lyon, not Paris and 1990."""
    mine, theirs = (frozenset(likeness.bare(each)) for each in (one, other))
    return bool(mine - theirs and theirs - mine) and likeness.measured(one) == likeness.measured(other)


def _deed(text: str) -> _Deed | None:
    found = _DEED.search(text)
    if not found:
        return None
    joint = bool(found["joint"])
    doers = frozenset(_names(text[: found.start("determiner")]))
    if joint and (companion := _WITH.search(text, found.end())):
        doers |= frozenset(_names(companion["name"].strip()))
    verb = english.base(likeness.words(found["verb"])[0])
    return _Deed(verb, joint, found["determiner"] == "the", doers, frozenset(_names(text)) - doers, _concepts(text))


def _concepts(text: str) -> frozenset[str]:
    named = {english.concept(word) for word in likeness.named(text)}
    return frozenset(likeness.ordered(text).concepts) - named


def _names(text: str) -> Iterator[str]:
    """Each name of one or more words, lower case."""
    named = likeness.named(text)
    for part in _SPLIT.split(text):
        run: list[str] = []
        for word in (*likeness.words(part), ""):
            if word in named:
                run.append(word)
            elif run:
                yield " ".join(run)
                run = []
