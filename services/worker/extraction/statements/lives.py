"""What people do for long: live, work, speak, own, build."""

import re

from services.core.models import Category
from services.worker.extraction import values, vocabulary
from services.worker.extraction.clauses import Frame, Who
from services.worker.extraction.statements import drafts
from services.worker.extraction.statements.drafts import Draft


def holds(frame: Frame) -> Draft | None:
    """Such as "I live in Berlin", "I work at Acme as a designer", "my wife speaks Greek", "I have two kids"."""
    if not drafts.is_person(frame) or {"would", "could", "might", "should", "can", "will"} & set(frame.auxiliaries) - {"can"}:
        return None
    if frame.past and frame.verb not in {"graduate", "study", "bear", "grow", "marry", "join", "start"}:
        return None
    subject, personal = drafts.subject_of(frame), Category.PERSONAL_INFO
    if frame.who is Who.THING and frame.verb not in {"live", "work", "own", "maintain", "lead", "manage", "handle", "speak", "report"}:
        return None
    if frame.verb == "work":
        return _works(frame, subject)
    if frame.verb == "get" and frame.perfect and frame.form in {"VBN", "VBD"}:
        return _has(frame, subject)  # "I've got"
    if frame.verb == "start" and frame.past and frame.who is Who.I and (match := re.match(r"(?:working )?(?:at|for) ([A-Z].*)", frame.rest)):
        return Draft(personal, 0.85, subject=subject, attribute="employer", value=values.short(match[1]), functional=True)
    if (
        frame.verb == "do"
        and not frame.auxiliaries
        and frame.who is Who.I
        and (
            match := re.match(
                r"(?:mostly |mainly |some )?([\w/ -]*?(?:engineering|development|dev|devops|research|consulting|design|science|work"
                r"|support|qa|testing|security|freelancing|ops|ml))\b",
                frame.rest,
                re.I,
            )
        )
    ):
        return Draft(personal, 0.8, subject=subject, attribute="role", value=match[1], functional=True)
    if frame.verb == "base" and frame.passive and (match := re.match(r"(?:in|out of) (.+)", frame.rest)):
        return Draft(
            personal, 0.9, subject=subject, attribute="residence", value=values.short(match[1]), functional=True, polarity=drafts.polarity(frame)
        )
    if frame.verb == "bear" and (match := re.match(r"(?:and raised )?(in|on) (.+)", frame.rest)):
        attribute = (
            "birthday" if vocabulary.DATE.search(match[2]) and match[1] == "on" else "birth year" if re.match(r"\d{4}", match[2]) else "birthplace"
        )
        return Draft(personal, 0.9, subject=subject, attribute=attribute, value=values.long(match[2]), functional=True)
    if frame.verb == "grow" and (match := re.match(r"up in (.*[A-Z].*)", frame.rest)):
        return Draft(personal, 0.85, subject=subject, attribute="hometown", value=values.short(match[1]), functional=True)
    if frame.verb in {"graduate", "join", "marry"} and values.concrete(frame.rest):
        return Draft(personal, 0.75, subject=subject, attribute="", value=values.long(frame.rest))
    if (frame.verb == "have" and not frame.auxiliaries) or (frame.verb == "have" and frame.auxiliaries == ("do",)):
        return _has(frame, subject)
    if frame.verb == "suffer" and frame.rest.startswith("from "):
        return Draft(personal, 0.8, subject=subject, attribute="condition", value=values.long(frame.rest[5:]))
    if frame.verb in {"build", "develop", "write", "learn", "create", "make", "study", "work"} and frame.progressive:
        return doing(frame, subject)
    holds = vocabulary.HOLDS.get(frame.verb)
    if holds is None or (frame.progressive and frame.verb not in {"live", "study", "lead", "manage", "report", "maintain"}):
        return None
    return _held(frame, subject, holds)


def _held(frame: Frame, subject: str, holds: tuple[str, str, bool]) -> Draft | None:
    attribute, prepositions, functional = holds
    if frame.perfect and frame.verb in {"eat", "drink", "play"}:
        return None
    rest = frame.rest
    if prepositions:
        match = re.match(rf"(?:mostly |mainly |primarily |exclusively )?(?:{'|'.join(prepositions.split())}) (.+)", rest)
        if not match or not (values.concrete(match[1]) or attribute in {"residence", "origin"}):
            return None
        rest = match[1]
    value = values.bare(values.short(rest))
    if (
        drafts.empty(value)
        or drafts.junk_head(value)
        or (frame.verb in {"run", "handle", "own", "manage", "play"} and frame.who is Who.I and not _is_role_object(value, rest))
    ):
        return None
    category = (
        Category.PERSONAL_INFO
        if attribute != "uses" and frame.who is not Who.THING
        else Category.PROJECT_CONTEXT
        if frame.who is Who.THING
        else Category.TECHNICAL_CHOICE
    )
    return Draft(
        category,
        0.85,
        subject=subject,
        attribute=attribute,
        value=value,
        functional=functional,
        polarity=drafts.polarity(frame),
        several=attribute in {"speaks", "plays", "uses"},
    )


def _is_role_object(value: str, rest: str) -> bool:
    return (
        values.concrete(value)
        or (
            bool(re.match(r"(?:a|an|the|two|three|four|\d|our|my|all)\b", rest))
            and not re.match(r"(?:the )?(?:test|command|script|code|build)s?\b", rest)
        )
        or (
            bool(re.match(r"[a-z]+$", value))
            and value in {"guitar", "piano", "chess", "tennis", "football", "soccer", "violin", "basketball", "drums"}
        )
    )


def _works(frame: Frame, subject: str) -> Draft | None:
    personal = Category.PERSONAL_INFO
    if match := re.match(r"(?:remotely |mostly |part[- ]time |full[- ]time )*(?:at|for) (?:the )?(.+)", frame.rest):
        value = values.bare(values.short(match[1]))
        return (
            Draft(personal, 0.9, subject=subject, attribute="employer", value=value, functional=True, polarity=drafts.polarity(frame))
            if not drafts.empty(value) and not re.match(r"(?:me|us|everyone|some|now|both|\w+ (?:cases?|people))\b", value)
            else None
        )
    if match := re.match(r"as (?:an? |the )?(.+)", frame.rest):
        value = values.short(match[1])
        return (
            Draft(personal, 0.9, subject=subject, attribute="role", value=value, functional=True)
            if not re.match(r"(?:expected|intended|well)\b", value)
            else None
        )
    if match := re.match(r"(?:remotely|from home|nights|part[- ]time|full[- ]time|weekends|freelance|(?:mon|tues|four|4|\d+)\w* )", frame.rest):
        return Draft(
            personal, 0.8, subject=subject, attribute="work pattern", value=values.long(frame.rest), functional=True, polarity=drafts.polarity(frame)
        )
    if (match := re.match(r"(?:mainly |mostly )?(on|in|with) (?:the |a |an )?(.+)", frame.rest)) and not drafts.TRANSIENT_TARGETS.search(match[2]):
        value = values.long(match[2])
        head = drafts.head(values.short(match[2]))
        if drafts.empty(value) or head in vocabulary.JUNK_NOUNS:
            return None
        team = bool(re.search(r"\bteam\b", match[2]))
        return Draft(
            personal if team else Category.PROJECT_CONTEXT,
            0.8,
            subject=subject,
            attribute="team" if team else "works on",
            value=values.short(match[2]),
            functional=team,
            polarity=drafts.polarity(frame),
        )
    return None


def doing(frame: Frame, subject: str) -> Draft | None:
    value = values.bare(values.long(frame.rest))
    if value.lower() in {"project", "app", "website", "report", "thing", "feature", "new project", "side project", "new feature"}:
        return None
    if drafts.empty(value) or drafts.junk_head(values.short(value)) or (len(value.split()) < 2 and not values.concrete(value)):
        return None
    learning = frame.verb in {"learn", "study"}
    return Draft(
        Category.PERSONAL_INFO if learning else Category.PROJECT_CONTEXT,
        0.75,
        subject=subject,
        attribute="learns" if learning else "works on",
        value=value,
    )


def _has(frame: Frame, subject: str) -> Draft | None:
    rest = frame.rest
    kin = re.match(
        r"(?:an? |two |three |four |five |\d+ |no |any )?(?:\w+ )?(?:"
        + "|".join(sorted(vocabulary.PEOPLE | {"sons", "daughters", "brothers", "sisters", "dogs", "cats", "siblings", "allergy", "allergies"}))
        + r")\b",
        rest,
        re.I,
    )
    trait = re.match(
        r"(?:\d+|\w+) (?:years|yrs)\b|(?:an? )?(?:\w+ )?(?:degree|phd|msc|bsc|masters?|background|adhd|dyslexia|diabetes"
        r"|macbook|thinkpad|allergy|disability)\b|an? (?:M\d|RTX|mac)\b",
        rest,
        re.I,
    )
    if not (kin or trait) or re.match(r"(?:a|an|the) \w*\s?(?:problem|question|issue)", rest):
        return None
    return Draft(Category.PERSONAL_INFO, 0.8, subject=subject, attribute="has", value=values.bare(values.long(rest)), polarity=drafts.polarity(frame))
