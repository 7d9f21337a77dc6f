"""What people say of themselves and of others: names, likes, habits, what they are."""

import re

import msgspec

from services.core.models import Category
from services.worker.extraction import places, values, vocabulary
from services.worker.extraction.clauses import Frame, Who
from services.worker.extraction.statements import drafts
from services.worker.extraction.statements.drafts import Draft

HABIT_JUNK = re.compile(
    r"^(?:get|see|forget|have (?:this|that|the|a|an) (?:problem|issue|error)|fail|confuse|wonder|think|want|end up|run into"
    r"|mess|struggle|know|hear|seem|feel|mind|understand)\b",
    re.IGNORECASE,
)


def name(frame: Frame) -> Draft | None:
    """Such as "I'm Leo", "I go by Leo", "call me Leo", "my dog is called Rex"."""
    rest = frame.rest
    if frame.who is Who.NONE and frame.verb == "call" and rest.lower().startswith("me "):
        value = values.long(rest[3:])
        return (
            _named("user", value)
            if value and len(value.split()) <= 3 and not drafts.empty(value) and not re.match(r"(?:when|if|back|later|crazy|old)", value)
            else None
        )
    if frame.verb in {"address", "refer"} and (match := re.match(r"(?:to )?me as (.+)", rest)):
        return _named("user", values.long(match[1]))
    if frame.who is Who.I and frame.verb == "go" and rest.lower().startswith("by "):
        return _named("user", values.long(rest[3:]))
    if frame.verb == "call" and rest.lower().startswith("me ") and not frame.past:
        return _named("user", values.short(rest[3:])) if drafts.NAMES.match(values.short(rest[3:])) else None
    if frame.verb in {"spell", "write", "pronounce"} and frame.passive and frame.subject.lower() == "my name":
        return _named("user", values.long(rest)) if drafts.NAMES.match(values.long(rest)) else None
    if re.match(r"my (?:function|class|method|table|variable|column|field|file|script|test|component|button|branch)\b", frame.subject, re.I):
        return None
    if re.match(r"(?:an? |people\b|someone\b|those\b)", frame.subject, re.I):
        return None  # a definition
    if frame.verb in {"call", "name"} and frame.passive and frame.who not in {Who.OTHER, Who.NONE} and not drafts.TASK_NOUN.match(frame.subject):
        return _named(_called(frame), values.long(rest), Category.PERSONAL_INFO if drafts.is_person(frame) else Category.PROJECT_CONTEXT)
    if frame.who is Who.I and frame.copula and not frame.past:
        value = values.short(rest)
        if (
            drafts.NAMES.match(value)
            and value.split()[0].lower() not in vocabulary.NATIONALITIES_AND_STATES | vocabulary.TRANSIENT_STATES
            and frame.tags[:1] != ("JJ",)
            and not value.isupper()
        ):
            return _named("user", value, polarity=drafts.polarity(frame))
    return None


def _called(frame: Frame) -> str:
    subject = drafts.subject_of(frame)
    return subject.removesuffix("'s name")


def _named(subject: str, value: str, category: Category = Category.PERSONAL_INFO, *, polarity: bool = True) -> Draft | None:
    if not value or drafts.empty(value) or len(value.split()) > 6:
        return None
    return Draft(category, 0.9, subject=subject, attribute="name", value=value, functional=True, polarity=polarity)


def likes(frame: Frame) -> Draft | None:
    """Such as "I love Rust", "Ana can't stand meetings", "I'm not a fan of ORMs", "I'd rather use tabs"."""
    if not (drafts.is_person(frame) or frame.who is Who.WE):
        return None
    subject = drafts.subject_of(frame)
    if frame.copula and (
        match := re.match(
            r"(?:a )?(?:big |huge |great |real )?(?:fan of|into|keen on|fond of|partial to|crazy about|obsessed with|passionate about)\s+(.+)",
            frame.rest,
        )
    ):
        return _liked(subject, match[1], drafts.polarity(frame))
    if frame.copula and (match := re.match(r"not (?:a )?(?:big |huge )?(?:fan of|into|keen on|fond of)\s+(.+)", frame.rest)):
        return _liked(subject, match[1], False)
    if frame.copula and (
        match := re.match(
            r"(?:(?:more of|definitely|really|not) )?an? ([\w /-]+?) (?:person|guy|girl|fan|lover|enthusiast|nerd|user|addict)\b", frame.rest
        )
    ):
        return (
            _liked(subject, match[1], drafts.polarity(frame))
            if match[1] not in {"big", "huge", "great", "normal", "new", "regular", "nice", "different", "bad"}
            else None
        )
    if frame.verb in {"stand", "bear"} and "can" in frame.auxiliaries and frame.negated:
        return _liked(subject, frame.rest, False)
    if frame.past or frame.progressive:
        return None
    if frame.verb == "prefer" or (frame.verb == "go" and "rather" in frame.adverbs):
        return _preferred(subject, frame)
    if "would" in frame.auxiliaries:
        return (
            _preferred(subject, frame) if "rather" in frame.adverbs and frame.verb in {"use", "have", "see", "get", "work", "write", "keep"} else None
        )
    if frame.verb not in vocabulary.LIKES or {"will", "could", "might", "may", "can"} & set(frame.auxiliaries):
        return None
    if match := re.match(r"(?:using|working (?:with|in|on))\s+(.+)", frame.rest):
        return _liked(subject, match[1], drafts.polarity(frame) and frame.verb not in vocabulary.DISLIKES)
    if frame.verb in {"appreciate", "like", "love"} and re.match(
        r"(?:to (?:know|see|ask|thank|hear|add|get)\b|your|the (?:way you|idea|new|result))", frame.rest, re.I
    ):
        return None
    return _liked(subject, frame.rest, drafts.polarity(frame) and frame.verb not in vocabulary.DISLIKES)


_AT_HAND = re.compile(r"\b(?:sound|idea|ideas|options?|ones?|suggestions?|plan|draft|version|tips?|recipes?|look|result|answer|way)\b", re.IGNORECASE)


_DANGLES = re.compile(
    r"\b(?:it|them|him|her|hers|theirs|yours|those|these|that|this|their \w+)(?: (?:too|so|all|more|either|anyway|though))?$"
    r"|\b(?:those|these|such|all those) (?:things?|ones?)\b"
    r"|\b(?:with|of|at|about|for|on) (?:it|them|him|her)\b(?! \w)|^to think so\b|^being their\b",
    re.IGNORECASE,
)
"""What is liked is named elsewhere."""


def _liked(subject: str, rest: str, polarity: bool) -> Draft | None:
    if rest.lower().startswith("the ") and (not values.concrete(values.long(rest)) or _AT_HAND.search(rest)):
        return None  # something that both are looking at
    value = values.listing(rest) or values.bare(values.long(rest))
    if (drafts.empty(value) or _DANGLES.search(values.long(rest))) and not re.match(r"it when\b", rest, re.I):
        return None
    return Draft(
        Category.PREFERENCE,
        0.85,
        subject=subject,
        attribute="likes",
        value=value or rest,
        polarity=polarity,
        several=not re.match(r"(?:my|our) ", rest),
    )


_NEW_MIND = re.compile(r"\b(?:now|nowadays|these days|lately|no longer|switched|changed my mind|anymore)\b|\binstead\b(?! of)", re.IGNORECASE)


_OPPOSITES = {
    "dark": "light",
    "tabs": "spaces",
    "single": "double",
    "short": "long",
    "brief": "detailed",
    "remote": "office",
    "vertical": "horizontal",
}
_OPPOSITES |= {other: one for one, other in _OPPOSITES.items()}


def with_opposite(draft: Draft, said: str) -> Draft:
    """Who says to have changed to "dark mode" is done with the light one."""
    if draft.attribute != "prefers" or draft.replaces or not draft.polarity or not _NEW_MIND.search(said):
        return draft
    return msgspec.structs.replace(draft, replaces=_opposite(draft.value))


_AT_WORK = re.compile(
    r"^(?:I'm|I am|im|I work as) (?:an? |the )?[\w\s/-]+? (?:at|for|with) (?P<org>(?:the )?[A-Z][\w&.'-]*(?: [A-Z][\w&.'-]*){0,3})$", re.I
)


def employer_beside(draft: Draft, text: str) -> Draft | None:
    """The employer in "I'm a data scientist at Vattenfall", which says two things of which each changes by itself."""
    match = _AT_WORK.match(text) if draft.attribute == "role" and draft.subject == "user" and draft.polarity else None
    if match is None or not match["org"][:1].isupper():
        return None
    return Draft(Category.PERSONAL_INFO, 0.8, attribute="employer", value=match["org"], functional=True)


_FROM = re.compile(
    r"^(?:I'm|I am|im|i'm) (?:an? |the )?[\w\s/-]+? (?:originally )?from (?P<place>[A-ZÀ-Þ][\w'’-]*(?:,? [A-ZÀ-Þ][\w'’-]*){0,3})$", re.IGNORECASE
)


def origin_beside(draft: Draft, text: str) -> Draft | None:
    """The origin in "I'm a data engineer from Gdansk"."""
    match = _FROM.match(text) if draft.attribute in {"role", "is"} and draft.subject == "user" and draft.polarity else None
    if match is None or not match["place"][:1].isupper() or not places.known(match["place"]):
        return None
    return Draft(Category.PERSONAL_INFO, 0.8, attribute="origin", value=match["place"], functional=True)


def _opposite(value: str) -> str:
    """What who changed to "dark mode" liked until then; "" if that can't be told."""
    first, _, rest = value.partition(" ")
    opposite = _OPPOSITES.get(first.lower(), "")
    return f"{opposite} {rest}".strip() if opposite else ""


def _preferred(subject: str, frame: Frame) -> Draft | None:
    if re.match(r"not(?: to)?$", values.long(frame.rest)):
        return None
    if match := re.match(r"not (?:to )?(?:(?:have to )?(?:use|have|work with|write|see|using)\s+)?(.+)", frame.rest):
        unwanted = values.bare(values.long(match[1]))
        return (
            None if drafts.empty(unwanted) else Draft(Category.PREFERENCE, 0.85, subject=subject, attribute="prefers", value=unwanted, polarity=False)
        )
    if _AT_HAND.search(values.long(frame.rest)) and re.match(r"(?:the|your) ", frame.rest):
        return None  # something that both are looking at
    rest = (
        re.sub(r"^(?:to (?:use|have|write|work with|work in)|using|if you|it (?:when|if)|that you|you to)\s+", "", frame.rest)
        if frame.verb == "prefer"
        else frame.rest
    )
    value, other = values.contrast(rest)
    value = values.bare(value)
    if drafts.empty(value) or len(value.split()) > 25:
        return None
    if frame.negated:
        return Draft(Category.PREFERENCE, 0.85, subject=subject, attribute="prefers", value=value, polarity=False)
    over = len(other.split()) <= 4 and _NEW_MIND.search(
        " ".join((*frame.adverbs, frame.text))
    )  # to like one thing better is not to give up the other
    if not over and (choice := _choice(value, other)):
        return Draft(Category.PREFERENCE, 0.9, subject=subject, attribute=choice, value=value, functional=True)
    return Draft(Category.PREFERENCE, 0.9, subject=subject, attribute="prefers", value=value, replaces=other if over else "")


def _choice(value: str, other: str) -> str:
    """ "coffee or tea" of either preferred to the other, so that only the reverse takes its place; "" of what excludes each other anyway."""
    pair = sorted((value.lower(), other.lower()))
    plain = other and all(len(each.split()) <= 2 and each.split()[0] not in _OPPOSITES for each in pair)
    return " or ".join(pair) if plain else ""


_ALL_LIKE_THIS = re.compile(
    r"(?:all|every|any) (?!the\b|of\b|(?:rows|items|elements|values|files|records|lines|columns)\b)\w+(?: \w+)?"
    r" (?:in|as|with|to be|written|formatted|named)\b",
    re.IGNORECASE,
)


_MANNER = re.compile(
    r"you to (?:(?:keep|make) (?:your |all |all your |the )?(?:answers|replies|responses|explanations|summaries|commit messages|code comments)\b"
    r"|(?:answer|reply|respond) (?:in [A-Z]|briefly|concisely|shortly))"
)


_OF_OTHERS = re.compile(
    r"(?:me|us) (?:not )?to \w+ \S+|the (?:\w+ ){1,3}(?:in|as|by|to be|before|on)\b|(?:all|every|each|no|weekly|monthly|daily)\b", re.IGNORECASE
)


def wanted(frame: Frame) -> Draft | None:
    """Such as "I want short answers", "I'd like you to always add types": wishes that outlast the task; what somebody named wants."""
    if (
        frame.who is Who.THING
        and frame.named
        and frame.verb in {"want", "expect"}
        and not (frame.past or frame.auxiliaries)
        and drafts.is_named(frame.subject)
    ):
        told = _OF_OTHERS.match(frame.rest) and values.concrete(frame.rest)
        return Draft(Category.PREFERENCE, 0.7, frame.subject, "wants", values.long(frame.rest)) if told else None
    if frame.who is not Who.I or frame.verb not in {"want", "like", "need", "expect"} or frame.past:
        return None
    if (
        drafts.ANSWERS.search(values.short(frame.rest))
        and re.match(r"(?:all |my |your |only |short |concise |brief |detailed |the )*\w*", frame.rest)
        and re.match(r"(?:all|short|concise|brief|detailed|your|no|my|only|plain|code|commit)\b", frame.rest, re.I)
    ):
        return Draft(Category.PREFERENCE, 0.7, attribute="wants", value=values.long(frame.rest), polarity=not frame.negated)
    if _ALL_LIKE_THIS.match(frame.rest):
        return Draft(Category.PREFERENCE, 0.75, attribute="wants", value=values.long(frame.rest), polarity=not frame.negated)
    if re.search(r"\balways$", frame.rest) and len(frame.rest.split()) > 2 and not drafts.empty(values.short(frame.rest)):
        return Draft(Category.PREFERENCE, 0.75, attribute="wants", value=values.long(frame.rest), polarity=not frame.negated)
    if _MANNER.match(frame.rest):
        return Draft(Category.PREFERENCE, 0.8, attribute="wants", value=values.long(frame.rest), polarity=not frame.negated)
    if re.match(r"you to (?:always|never)\b|.*\bto always\b", frame.rest, re.I):
        return Draft(Category.PREFERENCE, 0.8, attribute="wants", value=values.long(frame.rest))
    return None


def person_is(frame: Frame) -> Draft | None:
    """Such as "I'm a backend engineer", "I'm 34", "I'm from Lisbon", "I'm vegetarian", "Ana is our tech lead"."""
    if frame.passive and drafts.is_person(frame) and vocabulary.TRAITS.match(frame.predicate):
        return Draft(
            Category.PERSONAL_INFO,
            0.85,
            subject=drafts.subject_of(frame),
            attribute="is",
            value=values.long(frame.predicate),
            polarity=drafts.polarity(frame),
        )
    if not frame.copula or not drafts.is_person(frame) or frame.past or (frame.auxiliaries and frame.auxiliaries != ("have",)):
        return None
    subject, rest, personal = drafts.subject_of(frame), frame.rest, Category.PERSONAL_INFO
    rest = re.sub(r"^(?:an? )?(?=\d+[- ]year)", "", rest)
    if match := re.match(rf"(\d{{1,3}}{'' if frame.who is Who.I else '|' + vocabulary.SMALL_NUMBERS})(?:[- ]years?[- ]old| now|\s*$|,| and)", rest):
        return Draft(personal, 0.9, subject=subject, attribute="age", value=match[1], functional=True, polarity=drafts.polarity(frame))
    if match := re.match(r"(?:originally )?from (.+)", rest):
        return (
            Draft(personal, 0.85, subject=subject, attribute="origin", value=values.short(match[1]), functional=True)
            if values.concrete(match[1]) or _SMALL_PLACE.match(match[1])
            else None
        )
    if match := re.match(r"(?:based |located |living )?in ([A-Z].*)", rest):
        return Draft(
            personal, 0.75, subject=subject, attribute="residence", value=values.short(match[1]), functional=True, polarity=drafts.polarity(frame)
        )
    if frame.who is Who.I and (match := re.match(r"at ([A-Z][\w&.]*)$", values.short(rest))):
        return Draft(personal, 0.75, subject=subject, attribute="employer", value=match[1], functional=True)
    if match := re.match(r"on (?:the )?(.*\bteam)\b", rest):
        return Draft(personal, 0.85, subject=subject, attribute="team", value=match[1], functional=True)
    if match := re.match(r"(?:in |on )?(?:the )?([A-Z]{2,4}|UTC[+-]?\d*|GMT[+-]?\d*|\w+ time) ?(?:timezone|time zone|time)\b", rest):
        return Draft(personal, 0.85, subject=subject, attribute="timezone", value=match[1], functional=True)
    if vocabulary.DIETS.match(values.short(rest)):
        diet = values.bare(values.short(rest))
        return Draft(personal, 0.85, subject=subject, attribute="diet", value=diet, functional=True, polarity=drafts.polarity(frame))
    if vocabulary.TRAITS.match(rest) and not re.search(r"\b(?:this|that|it|these)$", values.long(rest)):
        return Draft(personal, 0.85, subject=subject, attribute="is", value=values.long(rest), polarity=drafts.polarity(frame))
    if frame.who is Who.I and (match := _AWAY.match(rest)):
        return Draft(personal, 0.75, subject, "availability", match[0].strip(" ,"), functional=True)
    value = values.short(rest)
    if match := re.match(r"(?:an?|the|our|my|one of (?:the|our)|head|lead)\s+(?:\w+ )*", rest):
        if frame.who is Who.THING and not re.match(r"(?:our|my|the)\b", rest):
            return None  # "Harper Lee is an amazing author" praises
        return _part_played(subject, value, drafts.polarity(frame))
    if value.lower() in vocabulary.NATIONALITIES_AND_STATES and value.lower() not in vocabulary.TRANSIENT_STATES and value[:1].isupper():
        return Draft(personal, 0.8, subject=subject, attribute="nationality", value=value, functional=True, polarity=drafts.polarity(frame))
    return None


_SMALL_PLACE = re.compile(r"an? (?:\w+ )?(?:town|city|village|farm|suburb|island)\b")
_AWAY = re.compile(
    r"(?:on (?:call|holidays?|vacation|leave|\w+ leave|pto|a sabbatical)|away|out of (?:the )?office|off(?: work)?|travell?ing|in [A-Z]\w+)"
    r"(?: in [A-Z]\w+)? (?:until|till|through|from|for the next) (?:[^,;]+)",
)
"""A state with an end of its own."""


def _part_played(subject: str, value: str, polarity: bool) -> Draft | None:
    """What somebody is: one job at a time, but any number of other things."""
    role = values.bare(value)
    last = drafts.head(role)
    works = bool(vocabulary.JOBS.fullmatch(last))
    plays = last in vocabulary.FAMILY or (vocabulary.ROLES.search(value) and role.split()[-1].lower() not in vocabulary.NOT_ROLES)
    if ROLE_BLOCK.search(value) or not (works or plays or (last == "member" and values.concrete(role))):
        return None
    if works:
        return Draft(Category.PERSONAL_INFO, 0.85, subject=subject, attribute="role", value=role, functional=True, polarity=polarity)
    return Draft(Category.PERSONAL_INFO, 0.85, subject=subject, attribute="is", value=role, polarity=polarity)


ROLE_BLOCK = re.compile(
    r"\b(?:little|bit|big|huge|fan|kind|sort|lot|few|loss|beginner|idea|way|mess|hurry|position|situation|problem|fool|idiot)\b", re.IGNORECASE
)


def habit(frame: Frame) -> Draft | None:
    """Such as "I always write the tests first", "I never work on Fridays", "I usually deploy from CI"."""
    habits = set(frame.adverbs) & vocabulary.HABIT_ADVERBS
    if frame.who is not Who.I or not habits or frame.past or frame.copula or frame.perfect or (frame.auxiliaries and frame.auxiliaries != ("do",)):
        return None
    if HABIT_JUNK.match(f"{frame.verb} {frame.rest}") or len(frame.rest.split()) < 1 or drafts.empty(values.short(frame.rest)):
        return None
    return Draft(Category.PREFERENCE, 0.8, attribute="habit", value=values.long(f"{frame.verb} {frame.rest}"), polarity=drafts.polarity(frame))
