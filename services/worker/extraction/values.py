"""Where a value ends, what shape it has, and which words of a statement qualify it. Pure functions on text."""

import re

from services.worker.extraction import vocabulary

_CLAUSE_END = (
    r"\s*(?:[;(–—]|,(?!\d)|\s-\s|:\s)|\s+(?:because|since|so that|as long as|which|who|whom|where|whenever|when|while|but"
    r"|although|though|if|unless|until|as it|as they|as we"
    r"|and (?:it|that|this|they|we|i|so|then)|so (?:we|i|it|they))\b|\s+(?:these days|nowadays|anymore|any more|any longer"
    r"|now|currently|by the way|btw|too|as well|already|at all|instead"
    r"|mostly|mainly|usually|generally|almost exclusively|exclusively|everywhere|a lot|very much|so much|the most|again"
    r"|please|actually|in general|(?:since )?(?:last|this|next) (?:week|month|year|sprint|quarter|night)|yesterday|today"
    r"|recently|lately|a (?:while|week|month|year|few \w+) ago|ever since|since then|for now|from now on|going forward|thanks"
    r"|though)(?=\s|$|[,.])"
)
_LONG = re.compile(_CLAUSE_END, re.IGNORECASE)
_SHORT = re.compile(
    _CLAUSE_END + r"|\s+(?:for|in|on|at|as|with|during|every|inside|across|under|from|to|via|per|through|rather than|instead of|over|not"
    r"|by|without|behind|before|after|between|within|everyday|about|of choice|daily)(?=\s)",
    re.IGNORECASE,
)
_CONTRAST = re.compile(
    r",?\s+(?:over|to|rather than|instead of|more than|and not|not|than|as opposed to|vs\.?|versus)\s+(?!be\b|the point\b)", re.IGNORECASE
)
_ARTICLE = re.compile(r"^(?:a|an|the|my|our|some|both|only|just|either|mostly|mainly|exclusively|primarily|plain|still|now)\s+(?=\S)", re.IGNORECASE)
_ITEMS = re.compile(r"\s*,\s*(?:and |or |& )?\s*|\s+(?:and|&|as well as|plus|or)\s+", re.IGNORECASE)
_MEMBER = r"[\w.+#/<>'-]+(?: [\w.+#/<>'-]+){0,2}?"
_LIST = re.compile(
    rf"(?:{_MEMBER}, )+?(?:and |or |& ){_MEMBER}(?=$| (?:for|in|on|at|with|as|because|mostly|mainly|every)\b)|{_MEMBER}, {_MEMBER}$", re.IGNORECASE
)
_UNIT = re.compile(r"\d[\d.,:]*\s*([A-Za-z%€$£]+)")
_PLACE_QUALIFIER = re.compile(
    r"\b(?:in|for|on|at|inside|within) (?:the |our |my )?([A-Za-z][\w-]*(?: [\w-]+)?) (?:service|services|module|app"
    r"|application|repo|repository|project|team|client|package|microservice|site|website|dashboard|pipeline|side|cluster"
    r"|environment|env)\b",
    re.IGNORECASE,
)
_PRIVATE_QUALIFIER = re.compile(
    r"\b(for work|at work|at home|for personal projects|for side projects|for fun|on weekends|at the office|for school|for university)\b",
    re.IGNORECASE,
)
_ENV_TOKEN = re.compile(r"[A-Za-z]+")
_TEST_ENV = re.compile(
    r"\btest (?:env|environment|server|database|db|cluster|stage|system)s?\b|\bin (?:the )?tests?\b|\bfor (?:the )?tests?\b", re.IGNORECASE
)
_ENTITY = re.compile(
    r"(?<![\w°])(?:<[A-Z][A-Z_]*(?:_\d+)?>|(?:[A-Z][\w.+#-]*|[a-z]+[A-Z][\w.+#-]*|[a-z][\w-]*(?:[.\d/_][\w-]+)+)(?:\s+(?:[A-Z][\w.+#-]*|\d[\w.]*))*)"
)
_NOT_ENTITIES = frozenset(
    {
        "i",
        "my",
        "we",
        "our",
        "the",
        "i'm",
        "i've",
        "this",
        "a",
        "always",
        "never",
        "in",
        "for",
        "remember",
        "no",
        "all",
        "use",
        "on",
        "at",
        "to",
        "please",
        "todo",
        "gb",
        "mb",
        "kb",
        "tb",
        "ms",
        "pr",
        "prs",
        "decided",
        "promised",
    }
)


def long(rest: str) -> str:
    """Up to the next clause."""
    return _trim(_cut(rest, _LONG))


def short(rest: str) -> str:
    """Up to the next clause or preposition: a bare object."""
    return _trim(_cut(rest, _SHORT))


def contrast(rest: str) -> tuple[str, str]:
    """("tabs", "spaces") of "tabs over spaces": what holds and what does not; the second "" if nothing is set against it."""
    match = _CONTRAST.search(rest)
    if not match:
        return long(rest), ""
    return long(rest[: match.start()]), bare(short(rest[match.end() :]))


def listing(rest: str) -> str:
    """A list of short members at the beginning ("Carrie Underwood, Luke Bryan and Keith Urban"), or ""."""
    match = _LIST.match(rest)
    return match[0] if match else ""


def bare(value: str) -> str:
    """Without leading articles and possessives."""
    while (shorter := _ARTICLE.sub("", value)) != value:
        value = shorter
    return value


_STRESSED = re.compile(r"(?:especially|particularly|mainly|mostly|specifically|including|like|such as|e\.g\.?|not|but)\b", re.IGNORECASE)


def items(value: str) -> tuple[str, ...]:
    """The members of a plain list ("React, TypeScript and Tailwind"), or the value alone."""
    if value.startswith("to "):
        return (value,)
    parts = tuple(p for part in _ITEMS.split(value) if (p := bare(part.strip(' "“”'))))
    plain = 1 < len(parts) <= 8 and all(len(p.split()) <= 3 and not _STRESSED.match(p) for p in parts)
    return parts if plain else (value,)


def shape(value: str) -> str:
    """Such as "date", "number", "name" or "word": values of one shape may replace each other."""
    if vocabulary.DATE.search(value):
        return "date"
    if re.match(r"[$€£~]?\d|v\d", value):
        return "number"
    return "name" if re.match(r"<[A-Z]|[A-Z]|\w+[A-Z._/\d]", value) else "word"


def compatible(old: str, new: str) -> bool:
    """Whether `new` can stand where `old` stood."""
    if shape(old) == shape(new) == "number":
        return _unit(old) == _unit(new) or not _unit(new) or not _unit(old)
    return shape(old) == shape(new) or {shape(old), shape(new)} == {"name", "word"}


def concrete(value: str) -> bool:
    """Names something: a proper name, a number, a date, an identifier, a placeholder."""
    return bool(re.search(r"\d|<[A-Z]|[A-Z]|[a-z][._/-][a-z]", value[1:] if value[:2].istitle() and value[1:2] == "" else value))


def qualifiers(text: str) -> tuple[str, ...]:
    """Environment, place and occasion words of a statement, lower case, sorted."""
    found = {vocabulary.ENVIRONMENTS[w] for w in _ENV_TOKEN.findall(text.lower()) if w in vocabulary.ENVIRONMENTS}
    if _TEST_ENV.search(text):
        found.add("test")
    found |= {
        m[1].lower()
        for m in _PLACE_QUALIFIER.finditer(text)
        if m[1].lower() not in {"the", "this", "our", "my", "whole", "a", "same"} | set(vocabulary.ENVIRONMENTS)
    }
    found |= {m[1].lower() for m in _PRIVATE_QUALIFIER.finditer(text)}
    return tuple(sorted(found))


def entities(text: str, *known: str) -> tuple[str, ...]:
    """Names and identifiers of a statement, in order, each once. The first word counts if it is one of the known values or subjects."""
    found = []
    for match in _ENTITY.finditer(text):
        name = re.sub(r"^(?:The|Our|My|In|At|For) ", "", match[0].rstrip(".'"))
        if match.start() == 0 and " " not in name and name.lower() not in {k.lower() for k in known} and not re.search(r"[A-Z].*[A-Z]|\d", name):
            continue
        name = re.sub(r" I$", "", re.sub(r"^(?:Promised|Decided|Agreed|Committed|Always|Never) ", "", name))
        if name.lower() not in _NOT_ENTITIES:
            found.append(name)
    return tuple(dict.fromkeys(found))


def noun_phrase(phrase: str) -> str:
    """Normalised: lower case, without determiners ("the release deadline" → "release deadline")."""
    words = re.sub(r"^(?:the|my|our|this|a|an|all|every|each|current)\s+", "", phrase.split(",")[0].strip().lower())
    return re.sub(r"\bfavourite\b", "favorite", re.sub(r"\s+", " ", words))


def _unit(value: str) -> str:
    match = _UNIT.match(value.lstrip("$€£~"))
    return match[1].lower() if match else ""


def _cut(text: str, end: re.Pattern[str]) -> str:
    match = end.search(text)
    return text[: match.start()] if match else text


def _trim(text: str) -> str:
    return text.strip(" ,.;:!?-–—\"'")
