"""What people do for long: live, work, speak, own, build."""

import re

from services.core.models import Category
from services.worker.extraction import places, tools, values, vocabulary
from services.worker.extraction.clauses import Frame, Who
from services.worker.extraction.statements import drafts
from services.worker.extraction.statements.drafts import Draft


def holds(frame: Frame) -> Draft | None:
    """Such as "I live in Berlin", "I work at Acme as a designer", "my wife speaks Greek", "I have two kids"."""
    if frame.who is Who.WE:
        return _of_family(frame)
    if not drafts.is_person(frame) or {"would", "could", "might", "should", "can", "will"} & set(frame.auxiliaries) - {"can"}:
        return None
    if frame.past and frame.verb not in {
        "graduate",
        "study",
        "bear",
        "grow",
        "marry",
        "join",
        "start",
        "move",
        "take",
        "inherit",
        "turn",
        "raise",
        "use",
        "win",
    }:
        return None
    subject, personal = drafts.subject_of(frame), Category.PERSONAL_INFO
    if frame.who is Who.THING and frame.verb not in {"live", "work", "own", "maintain", "lead", "manage", "handle", "speak", "report"}:
        return None
    if (event := _event(frame, subject)) is not None:
        return event
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
    if frame.verb == "grow" and (match := re.match(r"up (?:in|on|near|outside) (.*[A-Z].*|an? .+)", frame.rest)):
        return Draft(personal, 0.85, subject=subject, attribute="hometown", value=values.short(match[1]), functional=True)
    joined_data = frame.verb == "join" and re.match(r"the (?!.*\b(?:team|club|group|board|choir|band)\b)", frame.rest)
    if frame.verb in {"graduate", "join", "marry"} and values.concrete(frame.rest) and not joined_data:
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


_FORMER = re.compile(r"to (?:be an?|work (?:at|for|as|in)|live in|teach|play|own|run an?|study)\b", re.IGNORECASE)
_RATE = re.compile(r"[$€£]?\d[\d.,]* ?(?:[$€£]|euros?|dollars?|pounds?|usd|eur|gbp)?(?: (?:an?|per) (?:hour|day|month|project)|/h\w*)", re.IGNORECASE)
_LESSONS = re.compile(r"[\w ]*\b(?:lessons|classes|courses?)\b", re.IGNORECASE)


def _event(frame: Frame, subject: str) -> Draft | None:
    """Such as "I turned 40", "I was raised on a farm", "I used to work at Nokia", "I won a medal in 1992", "I charge 85 euros an hour"."""
    personal, rest = Category.PERSONAL_INFO, frame.rest
    if frame.verb == "know" and frame.who is Who.I and tools.known(values.short(rest)) and frame.auxiliaries in {(), ("do",)} and not frame.past:
        return Draft(personal, 0.75, subject, "knows", values.short(rest), polarity=drafts.polarity(frame))
    if frame.negated or frame.perfect:
        return None
    if frame.verb == "turn" and frame.past and (match := re.match(r"(\d{1,2})\b(?!\.)", rest)):
        return Draft(personal, 0.85, subject, "age", match[1], functional=True)
    if frame.verb == "raise" and frame.passive and re.match(r"(?:in|by|on|as)\b", rest):
        return Draft(personal, 0.85, subject, "", values.long(rest))
    if frame.verb == "use" and frame.past and _FORMER.match(rest) and not re.search(r"\b(?:it|them|this|that)\b", rest):
        return Draft(personal, 0.8, subject, "", values.long(rest))
    if frame.who is not Who.I:
        return None
    took_over = frame.past and (frame.verb == "inherit" or (frame.verb == "take" and rest.startswith("over ")))
    if took_over and re.match(r"(?:over )?an? \S", rest):
        return Draft(Category.PROJECT_CONTEXT, 0.75, subject, "works on", values.long(rest.removeprefix("over ")))
    if frame.verb in {"publish", "write", "post", "commit"} and (match := re.match(r"under the (?:name|handle|alias) (?:of )?([\w.-]+)", rest)):
        return Draft(personal, 0.8, subject, "handle", match[1], functional=True)
    if frame.verb == "move" and frame.past and (match := re.match(r"here from ([A-ZÀ-Þ][^,]*?)(?: in \d{4})?$", values.long(rest))):
        return Draft(personal, 0.85, subject, "origin", match[1], functional=True)
    if (
        frame.verb == "win"
        and frame.past
        and not frame.passive
        and re.match(r"(?:an?|the|two|three)\b.*\b(?:medal|prize|award|contest|championship|title|cup)", rest)
    ):
        return Draft(personal, 0.8, subject, "", values.long(rest))
    if frame.verb == "charge" and not frame.past and (match := _RATE.match(rest)):
        return Draft(personal, 0.85, subject, "rate", match[0], functional=True)
    if rest.endswith("for a living") and not frame.past and not frame.auxiliaries:
        return Draft(personal, 0.85, subject, "occupation", values.long(f"{frame.verb} {rest}"), functional=True)
    if frame.verb == "volunteer" and not frame.past and re.match(r"(?:my time )?(?:at|in|with|for)\b", rest):
        return Draft(personal, 0.8, subject, "volunteers", values.long(rest))
    if frame.verb == "take" and not frame.past and not frame.auxiliaries and _LESSONS.match(rest):
        return Draft(personal, 0.75, subject, "takes", values.long(rest))
    if frame.verb == "do" and not frame.auxiliaries and not frame.past and (match := _AREA.match(rest)):
        return Draft(personal, 0.8, subject, "role", match[0], functional=True)
    if frame.verb == "join" and frame.past and re.match(r"an? (?:\w+ )?(?:startup|start-up|company|agency|bank|studio|non-?profit|firm)\b", rest):
        return Draft(personal, 0.8, subject, "employer", values.long(rest), functional=True)
    return None


_AREA = re.compile(
    r"(?:the |all the |mostly |mainly |most of the )?(?:back[- ]?end|front[- ]?end|(?:mobile|web|ios|android) app|devops|infra\w*|ui|ux|design)\b",
    re.I,
)


def deploys(frame: Frame) -> Draft | None:
    """Such as "I deploy my side projects to Fly.io"."""
    if frame.who is not Who.I or frame.verb not in {"deploy", "host", "publish", "run"} or frame.past or frame.auxiliaries:
        return None
    match = re.match(r"(?:all )?my (?P<what>[\w -]+?) (?:to|on|with) (?P<where>.+)", frame.rest)
    if match is None or drafts.junk_head(match["what"]):
        return None
    where = values.bare(values.short(match["where"]))
    if not (values.concrete(where) or tools.known(where)):
        return None
    return Draft(Category.TECHNICAL_CHOICE, 0.8, values.noun_phrase(match["what"]), "deployment", where, functional=True)


_FAMILY = re.compile(
    rf"^(?:an? |no |{vocabulary.SMALL_NUMBERS} )?(?:\w+ )?(?:{'|'.join(sorted(vocabulary.FAMILY))})s?(?=$|,| (?:and"
    rf"|named|called|who|aged|in|at|now|together)\b)",
    re.IGNORECASE,
)


def _of_family(frame: Frame) -> Draft | None:
    """What "we" have and where "we" live as a family, not as a team."""
    if frame.past or frame.auxiliaries not in {(), ("do",)}:
        return None
    if frame.verb == "have" and _FAMILY.match(frame.rest):
        return _has(frame, "user")
    if frame.verb in {"eat", "drink"} and frame.negated and not drafts.empty(values.short(frame.rest)):
        return Draft(
            Category.PERSONAL_INFO, 0.8, attribute="eats" if frame.verb == "eat" else "drinks", value=values.short(frame.rest), polarity=False
        )
    if frame.verb == "live" and (match := re.match(r"(?:in|near) (.+)", frame.rest)) and values.concrete(match[1]):
        value = values.short(match[1])
        return Draft(Category.PERSONAL_INFO, 0.85, attribute="residence", value=value, functional=True, polarity=drafts.polarity(frame))
    return None


_EMPLOYED = re.compile(r"^(?:an? |my )?(?:new |first |great |full[- ]time |part[- ]time )*(?:job|position|role|gig) (?:at|with) (.+)", re.IGNORECASE)


_ROLE_GOT = re.compile(r"^(?:an? |my )?(?:new |first |great |full[- ]time |part[- ]time )*(?:job|position|role|gig) as (?:an? )?(.+)", re.IGNORECASE)


def employed(frame: Frame) -> Draft | None:
    """Such as "I've joined Ericsson", "I got a new job at Ericsson"."""
    if frame.who is not Who.I or frame.negated or not (frame.past or frame.perfect or frame.verb == "have"):
        return None
    if frame.verb in {"get", "land", "have", "start", "accept", "take"}:
        if role := _ROLE_GOT.match(frame.rest):
            return Draft(Category.PERSONAL_INFO, 0.85, attribute="role", value=values.short(role[1]), functional=True)
        match = _EMPLOYED.match(frame.rest)
        value = values.bare(values.short(match[1])) if match else ""
    elif frame.verb == "join":
        value = values.short(frame.rest)
        if re.search(r"\b(?:team|group|guild|club|gym|call|meeting|channel|community|chapter)\b", value, re.IGNORECASE):
            return None
    else:
        return None
    if not re.match(r"[A-Z<]", value) or drafts.empty(value):
        return None
    return Draft(Category.PERSONAL_INFO, 0.85, attribute="employer", value=value, functional=True)


_SINCE = re.compile(r"\b(?:for (?:[\w.+]+ ){0,3}(?:years?|months?|decades?)|since (?:\d{4}|[A-Z]\w+|college|school|university))\b")


_AHEAD = re.compile(
    r"(?:exams?|finals|marathon|race|interviews?|certification|wedding|trip|triathlon|defen[sc]e|recital|conference|house|car|baby|move|degree)$"
)


def experienced(frame: Frame) -> Draft | None:
    """Such as "I've been coding in Haskell for about nine years", "I'm training for the Berlin marathon"."""
    if frame.who is not Who.I or frame.form != "VBG" or "be" not in frame.auxiliaries:
        return None
    if frame.perfect and _SINCE.search(frame.rest) and not drafts.empty(values.short(frame.rest)):
        match = re.match(r"(?:in |with |on |at |for )?(.+)", frame.rest)
        value = values.short(match[1]) if match else ""
        return None if drafts.empty(value) else Draft(Category.PERSONAL_INFO, 0.8, attribute="experience", value=values.bare(value))
    if not frame.perfect and frame.verb in {"train", "prepare", "study", "save", "practise", "practice"} and frame.rest.startswith("for "):
        value = values.bare(values.long(frame.rest[4:]))
        told = values.concrete(value) or frame.verb == "train" or _AHEAD.search(values.short(value))
        return Draft(Category.PERSONAL_INFO, 0.75, attribute="prepares for", value=value) if told and not drafts.empty(value) else None
    return None


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
        functional=functional or (attribute == "drives" and rest.endswith(" now")),
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
    if match := re.match(r"(?:out of|in) ([A-ZÀ-Þ].+)", frame.rest):
        place = values.short(match[1])
        field = place.lower() in vocabulary.FIELDS
        if field or places.possible(place):
            attribute = "field" if field else "workplace"
            return Draft(personal, 0.85, subject, attribute, place, functional=not field, polarity=drafts.polarity(frame))
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
    if learning and frame.rest.startswith("for "):
        return None
    return Draft(
        Category.PERSONAL_INFO if learning else Category.PROJECT_CONTEXT,
        0.75,
        subject=subject,
        attribute="learns" if learning else "works on",
        value=value,
    )


_CONDITION = (
    r"(?:diabetes|asthma|allerg(?:y|ies)|migraines?|epilepsy|dyslexia|dyscalculia|c(?:o)?eliac|arthritis|adhd|add|autism|tinnitus|eczema|psoriasis"
    r"|hypertension|insomnia|anxiety|depression|colou?r[- ]?blindness|low vision|hearing loss|rsi|carpal tunnel"
    r"|lactose intolerance|nut intolerance)\b(?! (?:about|over|when)\b)"
)


def _has(frame: Frame, subject: str) -> Draft | None:
    rest = frame.rest
    kin = re.match(
        r"(?:an? |two |three |four |five |\d+ |no |any )?(?:\w+ ){0,2}?(?:"
        + "|".join(
            sorted(vocabulary.PEOPLE | {"sons", "daughters", "brothers", "sisters", "dogs", "cats", "horses", "siblings", "allergy", "allergies"})
        )
        + r")\b",
        rest,
        re.I,
    )
    named = re.match(r"(?:an?|two|three|\d+) (?:[\w-]+ ){1,3}(?:named|called) [A-Z]", rest) and not drafts.TASK_NOUN.match(rest)
    trait = re.match(
        rf"(?:\d+|\w+) (?:years|yrs)\b|(?:an? )?(?:\w+ )*?{_CONDITION}|(?:an? )?(?:\w+ )?(?:degree|phd|msc|bsc|masters?"
        rf"|background|adhd|dyslexia|diabetes"
        r"|macbook|thinkpad|allergy|disability)\b|an? (?:M\d|RTX|mac)\b",
        rest,
        re.I,
    )
    if not (kin or trait or named) or re.match(r"(?:a|an|the) \w*\s?(?:problem|question|issue)", rest):
        return None
    return Draft(Category.PERSONAL_INFO, 0.8, subject=subject, attribute="has", value=values.bare(values.long(rest)), polarity=drafts.polarity(frame))
