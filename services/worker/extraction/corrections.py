"""Words that correct what was said before without naming it: "actually it's Leoncio", "sorry, I meant Hamburg", "make that 8 GB". Pure."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

import msgspec

from services.core import models
from services.worker.extraction import filters, values

_MARK = (
    r"(?:(?:oh|ah|um|uh|hmm+|well|and|but|so|hey|ok|okay)[\s,]+)*(?:actually|no|nope|sorry|wait|oops|whoops|correction"
    r"|scratch that|my (?:bad|mistake)|typo|rather|let me correct (?:that|myself)|i (?:misspoke|mistyped|was wrong|made a (?:typo|mistake))"
    r"|i got (?:that|it) wrong|(?:that|this)(?:'s| is| was) (?:wrong|a typo))(?:[\s,.!:—–-]+(?:actually|no|sorry|wait"
    r"|oops|correction|i mean))*"
)
_IS = (
    r"(?:it'?s|it is|that'?s|that is|that should be|it should be|should be|make (?:that|it)|i (?:meant|mean)(?: to (?:say"
    r"|write))?|i should have said|it was|it's now|the (?:right|correct) one is)"
)
_ADV = r"(?:\s+(?:actually|really|now|spelled|spelt|written|called|supposed to be))*"
_SURE = (
    re.compile(rf"^{_MARK}[\s,.!:—–-]+{_IS}{_ADV}\s+(?P<new>.+)$", re.IGNORECASE),
    re.compile(
        r"^(?:(?:oh|ah|well|um|and|but|so)[\s,]+)*(?:i meant(?: to (?:say|write))?|make (?:that|it)|it'?s actually|it is actually"
        r"|it'?s spell?ed|that should be|it should be)"
        rf"{_ADV}\s+(?P<new>.+)$",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?:(?:no|actually|sorry|wait)[\s,]+)*(?:it'?s|it is|that'?s|my name is|my name's)(?: not|n't) (?P<old>[^,]+?)[,;]? "
        r"(?:but|it'?s|it is)\s+(?P<new>.+)$",
        re.IGNORECASE,
    ),
    re.compile(r"^(?:it'?s|it is|that'?s)\s+(?P<new>[^,]+?),? not (?!to\b)(?P<old>.+)$", re.IGNORECASE),
    re.compile(r"^(?:it'?s|it is|that'?s)\s+(?P<new>.+?),? (?:actually|though)$", re.IGNORECASE),
)
_UNSURE = (  # say little: they correct only what is known to have been said
    re.compile(rf"^(?:{_MARK}[\s,.!:—–-]+)?not (?P<old>[^,]{{1,40}}?)(?:,? but|[,;.])\s+(?P<new>.+)$", re.IGNORECASE),
    re.compile(rf"^(?:{_MARK}[\s,.!:—–-]+)?(?P<new>[^,]+?),? i (?:mean|meant)$", re.IGNORECASE),
    re.compile(rf"^{_MARK}\s*[,:—–-]+\s*(?P<new>.+)$", re.IGNORECASE),
    re.compile(r"^(?P<new>[^,]+?),? (?:sorry|oops|my bad|my mistake|typo)$", re.IGNORECASE),
    re.compile(r"^\*(?P<new>\S.*)$|^(?P<star>\S.*\S)\*$"),
)
_DENIAL = re.compile(rf"^(?:{_MARK}[\s,.!:—–-]+)?not (?P<old>\S[^,]{{0,40}})$", re.IGNORECASE)
_NEVER = re.compile(
    r"^(?:a|an|not|been|just|so|too|very|because|like|about|going|i|we|you|my|our|your|it|that|this|they|he|she|there|what|why"
    r"|how|when|if|the (?:same|one|other|error|problem|issue|first|second|wrong|right)|all|only|still|working|fine|ok|okay"
    r"|good|bad|great"
    r"|wrong|right|broken|nothing|something|more|better|worse|please|can|could|do|does|don't|is|are|use|try|thanks|thank"
    r"|never|yes|no|wait|sorry|shorter|longer|bigger|smaller|faster|simpler|async|red|blue|green|bold|work|look|sure|let"
    r"|(?:for|in|on|at|to|with|from)(?! \W?[A-Z\d])|and)\b",
    re.IGNORECASE,
)
_PREPOSITION = re.compile(r"^(?:for|in|on|at|to|with|from) (?=\S)", re.IGNORECASE)
_WITH_OLD = re.compile(r"^(?P<new>.+?),?\s+(?:not|instead of|rather than)\s+(?P<old>.+)$", re.IGNORECASE)
_SPELT_OUT = re.compile(
    r",?\s+with(?:out)? (?:an?|one|two|a double|double|the) (?:letter )?['\"]?[a-z]['\"]?(?:'?s)?(?: at the (?:end|start|beginning))?$", re.IGNORECASE
)
"""How a name is spelt, said after it: "Karina with an a"."""
_SHOULD = re.compile(r"^(?:(?:it|that) should be|make (?:it|that))\b", re.IGNORECASE)
"""What something is to be, rather than what it is: a correction only of what is known to have been said."""
_MAX_WORDS = 6
_ALIKE = 0.6


class Correction(msgspec.Struct, frozen=True):
    """A new value, the old one if the words name it, and whether the words alone make it plain that this is a correction."""

    value: str
    old: str = ""
    plain: bool = True


def denied(text: str) -> str:
    """What a sentence only takes back, for the next one to replace ("Not Leo. Leoncio."); "" if it does not."""
    match = _DENIAL.match(text.strip())
    return values.long(match["old"]) if match and values.concrete(match["old"]) else ""


def read(text: str, old: str = "") -> Correction | None:
    """The correction that a sentence makes, if its whole content is one. old: what the sentence before took back."""
    if old:
        value = values.long(text)
        return Correction(value, old, plain=False) if _may_be_value(value) and values.concrete(value) else None
    if text.isupper():
        return None  # shouted, so that no capital means a name
    for form in _SURE + _UNSURE:
        match = form.match(text.strip())
        if match is None:
            continue
        new, old = match["new"] or match["star"], match.groupdict().get("old") or ""
        if not old and (both := _WITH_OLD.match(new)):
            new, old = both["new"], both["old"]
        value = _SPELT_OUT.sub("", values.long(new))
        told = values.concrete(value)
        if _may_be_value(value) and (told or form in _SURE) and not filters.is_question(value):
            return Correction(value, values.long(old), plain=form in _SURE and (told or bool(old)) and not _SHOULD.match(text))
    return None


def resolve(correction: Correction, quote: str, said: Sequence[models.Fact], *, near: bool = True) -> models.Fact | None:
    """The corrected fact: of those `said` (newest first) whose value may be replaced, the one most like the new value, else the newest.

    near: nothing else was said since. Otherwise words that say little ("no, German") correct only what looks like them.
    """
    named = [fact for fact in said if correction.old and correction.old.casefold() in fact.value.casefold()]
    fitting = [] if correction.old else [fact for fact in said if _fits(fact.value, correction)]
    meant = [fact for fact in named or fitting if fact.value and fact.value in fact.text and fact.value.casefold() != correction.value.casefold()]
    if not meant:
        return None
    alike = [fact for fact in meant if resemble(fact.value, correction.value)]
    if not alike and not (near or named or correction.plain):
        return None
    nearest = max(alike, key=lambda fact: _likeness(fact.value, correction.value), default=meant[0])
    return _replaced(nearest, correction, quote)


def unresolved(correction: Correction, quote: str) -> models.Fact | None:
    """A fact without attribute, for the reader of the store to resolve, if the words alone make it plain that they correct something."""
    if not correction.plain:
        return None
    return models.Fact(
        text=quote,
        category=models.Category.PERSONAL_INFO if values.shape(correction.value) == "name" else models.Category.PROJECT_CONTEXT,
        confidence=0.6,
        quote=quote,
        value=correction.value,
        entities=values.entities(correction.value, correction.value),
        replaces=correction.old,
        correction=True,
    )


def _fits(old: str, correction: Correction) -> bool:
    old, new = _PREPOSITION.sub("", old), _PREPOSITION.sub("", correction.value)
    if not values.compatible(old, new) or len(old.split()) > _MAX_WORDS:
        return False
    return correction.plain or values.shape(old) == values.shape(new) or resemble(old, new)


def resemble(old: str, new: str) -> bool:
    """Leo and Leoncio, Katarina and Katarzyna: rather a correction of this than of something else."""
    return old.casefold()[:3] == new.casefold()[:3] or _likeness(old, new) >= _ALIKE


def _likeness(old: str, new: str) -> float:
    return SequenceMatcher(None, old.casefold(), new.casefold()).ratio()


def _replaced(fact: models.Fact, correction: Correction, quote: str) -> models.Fact:
    old = fact.value
    if correction.old and correction.old.casefold() != old.casefold():  # only a part of the value was wrong
        at = old.casefold().index(correction.old.casefold())
        value = old[:at] + correction.value + old[at + len(correction.old) :]
    else:
        value = _in_its_place(fact, _with_unit(old, correction.value))
    head, _, tail = fact.text.rpartition(old)
    text = f"{head}{value}{tail}"
    return msgspec.structs.replace(
        fact, text=text, value=value, quote=quote, replaces=old, correction=True, confidence=0.85, entities=values.entities(text, fact.subject)
    )


def _in_its_place(fact: models.Fact, new: str) -> str:
    """With the preposition of the old value and no other: "on Wednesdays" for "on Tuesdays"."""
    preposition = _PREPOSITION.match(fact.value)
    return (preposition[0] if preposition else "") + _PREPOSITION.sub("", new)


def _with_unit(old: str, new: str) -> str:
    """Such as "make that 8" of "16 GB" is "8 GB"."""
    if re.fullmatch(r"\d[\d.,]*", new) and (match := re.fullmatch(r"\d[\d.,]*(\s*[A-Za-z%]+)", old)):
        return new + match[1]
    return new


def _may_be_value(value: str) -> bool:
    words = value.split()
    if value.lower().startswith("the ") and not values.concrete(value[4:]):
        return False
    if (
        not words
        or len(words) > _MAX_WORDS
        or _NEVER.match(value)
        or re.search(r"\b(?:is|are|was|uses?|have|has|do|does|should|can|you|we|i)\b", value, re.IGNORECASE)
    ):
        return False
    return not re.fullmatch(r"[a-z]+(?:ing|ly|ed)", words[0])
