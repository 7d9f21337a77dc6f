"""What a project's parts and its team do."""

import re

from services.core.models import Category
from services.worker.extraction import tools, values, vocabulary
from services.worker.extraction.clauses import Frame, Who
from services.worker.extraction.statements import drafts, lives, persons, uses
from services.worker.extraction.statements.drafts import Draft

_IS_A_DATE = re.compile(r"\b(?:deadline|date|day|cut-?off|eta)$", re.IGNORECASE)


def thing_does(frame: Frame) -> Draft | None:
    """Such as "The API listens on port 8080", "Ana owns billing", "the sprint ends on Friday", "releases go out on Tuesdays"."""
    if (
        frame.who not in {Who.OUR, Who.THING, Who.MY}
        or {"would", "could", "might", "should", "can"} & set(frame.auxiliaries)
        or (frame.past and not frame.passive)
        or frame.perfect
    ):
        return None
    if frame.passive and frame.verb in _BY and (match := re.match(r"(?:\w+ly )?by (.+)", frame.rest)) and not drafts.TASK_NOUN.match(frame.subject):
        return _by(frame, values.bare(values.long(match[1])))
    if frame.who is Who.OUR and frame.verb == "have" and (match := _SIZE.match(frame.rest)):
        return Draft(Category.PROJECT_CONTEXT, 0.8, "team", "size", match["size"], functional=True)
    if (
        frame.verb in {"serve", "process", "handle", "receive", "get", "have"}
        and frame.who is Who.OUR
        and re.match(r"(?:about |around |over |roughly |~)?\d", frame.rest)
    ):
        return Draft(Category.PROJECT_CONTEXT, 0.75, drafts.subject_of(frame), frame.verb, values.long(frame.rest))
    if (frame.who is not Who.OUR and (drafts.TASK_NOUN.match(frame.subject) or not uses.durable_thing(frame))) or drafts.head(
        frame.subject
    ) in vocabulary.JUNK_NOUNS:
        return None
    if (
        frame.passive
        and frame.verb in {"push", "move", "postpone", "delay", "shift", "reschedule"}
        and (match := re.match(r"(?:back )?(?:from .+ )?(?:to|until) (.+)", frame.rest))
        and vocabulary.DATE.search(match[1])
    ):
        return dated(frame, "date", match[1])
    verb = frame.verb if frame.verb != "be" else (re.match(r"(due|scheduled|planned)\b", frame.rest) or [""])[0]
    on_date = vocabulary.DATE.search(frame.rest)
    if on_date and (verb in vocabulary.THING_DATES or verb in {"due", "scheduled", "planned", "schedule", "plan", "go"}):
        return dated(frame, verb, re.sub(r"^(?:due|scheduled|planned)\s+", "", frame.rest))
    if frame.verb == "have" and (
        match := re.match(r"(?:only )?(\d[\d.,]* ?(?:[GMTK]i?B|cores?|v?cpus?|gpus?|nodes?|replicas?|workers?|shards?)\b.*)", frame.rest, re.I)
    ):
        return Draft(
            Category.PROJECT_CONTEXT,
            0.8,
            subject=drafts.subject_of(frame),
            attribute="has",
            value=values.short(match[1]),
            polarity=drafts.polarity(frame),
        )
    if (
        frame.verb not in vocabulary.THING_HOLDS
        or frame.progressive
        or (frame.passive and frame.verb not in {"own", "store", "manage", "maintain", "deploy", "rotate"})
    ):
        return None
    value = values.long(frame.rest)
    if (
        drafts.empty(value)
        or len(value.split()) < 1
        or (frame.who is Who.THING and frame.subject.lower().startswith(("the ", "this ")) and not values.concrete(value) and len(value.split()) < 2)
    ):
        return None
    if frame.who is not Who.OUR and not values.concrete(value) and frame.verb not in {"own", "maintain", "lead", "manage", "handle"}:
        return None
    return Draft(Category.PROJECT_CONTEXT, 0.75, subject=drafts.subject_of(frame), attribute=frame.verb, value=value, polarity=drafts.polarity(frame))


_SIZE = re.compile(
    rf"(?:about |around |only |just )?(?P<size>{vocabulary.SMALL_NUMBERS}) (?:\w+ )?(?:people|members|engineers|developers|devs|persons|designers)\b",
    re.IGNORECASE,
)
_BY = frozenset({"own", "maintain", "manage", "use", "lead", "review", "run", "handle", "fund", "sponsor", "host", "approve"})


def _by(frame: Frame, value: str) -> Draft | None:
    """Such as "the billing module is maintained by Petra", "the auth library is used by three teams"."""
    if re.match(r"(?:this|that|each|every|an?)\b", frame.subject, re.IGNORECASE) or tools.known(value) or drafts.is_named(frame.subject):
        return None
    if drafts.empty(value) or drafts.head(frame.subject) in vocabulary.JUNK_NOUNS - {"page", "component"}:
        return None
    if not values.concrete(value) and not re.search(r"\b(?:teams?|company|department|customers?|clients?|group|agency)\b", value):
        return None
    return Draft(Category.PROJECT_CONTEXT, 0.75, drafts.subject_of(frame), f"{frame.verb} by", value, polarity=drafts.polarity(frame))


def dated(frame: Frame, verb: str, rest: str) -> Draft:
    noun = values.noun_phrase(frame.subject)
    attribute = noun if _IS_A_DATE.search(noun) else f"{noun} {vocabulary.THING_DATES.get(verb, 'date')}"
    value = re.sub(r"^(?:on|in|at|for|by|out on|live on|out)\s+", "", values.long(rest))
    return Draft(Category.PROJECT_CONTEXT, 0.8, subject="team", attribute=attribute, value=value, functional=True, polarity=drafts.polarity(frame))


_SPAN = re.compile(
    rf"(?:only |just |about )?(?:an?|a few|{vocabulary.SMALL_NUMBERS}) (?:more )?(?:hours?|minutes?|seconds?|days?|weeks?)\b(?! of)", re.IGNORECASE
)


def group_does(frame: Frame) -> Draft | None:
    """Such as "We deploy on Fly.io", "we ship every Tuesday", "we follow trunk-based development", "we have three environments"."""
    if (
        frame.who is not Who.WE
        or {"would", "could", "might", "should", "can", "will", "must"} & set(frame.auxiliaries)
        or frame.past
        or (frame.perfect and frame.form != "VBG")
    ):
        return None
    if (deployed := _deployed(frame)) is not None:
        return deployed
    value = values.long(frame.rest)
    if drafts.empty(value) or drafts.junk_head(values.short(value)):
        return None
    if frame.copula or frame.passive:
        return _we_are(frame, values.long(frame.predicate))
    if frame.progressive:
        return (
            lives.doing(frame, "team")
            if frame.verb in {"build", "develop", "write", "create", "make", "work", "target", "plan", "host", "migrate"}
            else None
        )
    if frame.verb == "have" and _SPAN.match(value):
        return None  # time left for the task at hand
    if frame.verb == "have" and (re.match(r"(?:to|yet to|a (?:problem|bug|question|look|chat)|an (?:issue|error))\b", value) or not frame.rest):
        return None
    if frame.tags[:1] in {("VBG",), ("TO",)} or (frame.verb == "have" and set(frame.adverbs) & {"always", "usually"}):
        return None
    occasion = values.qualifiers(frame.before) and not frame.progressive
    habitual = bool(occasion or set(frame.adverbs) & vocabulary.HABIT_ADVERBS) and not persons.HABIT_JUNK.match(f"{frame.verb} {frame.rest}")
    if frame.verb not in vocabulary.GROUP_HOLDS and not habitual:
        return None
    strict = bool(set(frame.adverbs) & {"always", "never", "only"}) or frame.verb in {"require", "forbid", "ban", "allow", "enforce"}
    where = re.search(r"\b(?:in|on|with|to|using|via|through) (\S.*)$", value)
    technical = where is not None and tools.known(where[1])
    category = Category.CONSTRAINT if strict else Category.TECHNICAL_CHOICE if technical else Category.PROJECT_CONTEXT
    return Draft(category, 0.75, subject="team", attribute=frame.verb, value=value, polarity=drafts.polarity(frame))


def _we_are(frame: Frame, value: str) -> Draft | None:
    if match := re.match(
        r"(?:only |just )?(?:an? )?(?:\w+ )?(?:team|group|company|startup|start-up|agency|shop|crew) ?(?:of \w+)?|(\d+|two"
        r"|three|four|five|six|seven|eight|nine|ten) (?:people|engineers|developers|devs)\b",
        value,
    ):
        return Draft(Category.PROJECT_CONTEXT, 0.8, subject="team", attribute="is", value=values.bare(match.string))
    if match := re.match(r"(?:based |located )?in ([A-Z].*)", value):
        return Draft(Category.PROJECT_CONTEXT, 0.75, subject="team", attribute="location", value=values.short(match[1]), functional=True)
    return None


_DEPLOYED = re.compile(r"(?:everything |all \w+ |our \w+ |it |the \w+ |staging |production |prod )?(?:on|to|onto|in|with|via|through) (.+)")


def _deployed(frame: Frame) -> Draft | None:
    match = _DEPLOYED.match(frame.rest) if frame.verb in {"deploy", "host"} else None
    if match is None or vocabulary.DATE.match(match[1]):
        return None
    return Draft(
        Category.TECHNICAL_CHOICE,
        0.85,
        subject="team",
        attribute="deployment",
        value=values.bare(values.short(match[1]).split(" and ")[0]),
        functional=True,
        polarity=drafts.polarity(frame),
    )
