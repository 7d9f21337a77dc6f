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
    if (found := _assigned(frame) or _all_do(frame) or _stays(frame)) is not None:
        return found
    if (ruled := _rules(frame)) is not None:
        return ruled
    if (
        frame.who is Who.THING
        and frame.verb in vocabulary.THING_DATES
        and _IN_A_MONTH.match(frame.rest)
        and not drafts.TASK_NOUN.match(frame.subject)
    ):
        return dated(frame, frame.verb, frame.rest)
    if (
        frame.who is Who.MY
        and frame.verb == "have"
        and not frame.negated
        and _COUNTED.match(frame.rest)
        and not drafts.TASK_NOUN.match(frame.subject[3:])
    ):
        return _counted(frame)
    if (
        frame.passive
        and frame.who is Who.OUR
        and frame.verb in _MADE_BY
        and not frame.negated
        and (match := re.match(r"(?:by|with|in|via|per|after) (.+)", frame.rest))
    ):
        value = values.long(frame.rest)
        return Draft(Category.PROJECT_CONTEXT, 0.75, drafts.subject_of(frame), frame.verb, value) if not drafts.empty(match[1]) else None
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


_IN_A_MONTH = re.compile(rf"^(?:on|in|at the end of) (?:\d{{1,2}}\S* (?:of )?)?{vocabulary.MONTHS}\b", re.IGNORECASE)
_COUNTED = re.compile(rf"^(?:only |about |over |more than )?{vocabulary.SMALL_NUMBERS} ?[a-z]", re.IGNORECASE)
_MADE_BY = frozenset(
    {
        "version",
        "name",
        "tag",
        "sort",
        "partition",
        "shard",
        "index",
        "key",
        "group",
        "split",
        "structure",
        "organise",
        "organize",
        "license",
        "bill",
        "price",
    }
)
_FROM_WHERE = re.compile(r"(?:from|on|in|under|behind|with|at) (?!line\b|step\b|the (?:line|top|bottom|left|right)\b)", re.IGNORECASE)
_STAYS = frozenset({"come", "stay", "remain", "live", "run", "reside"})
_KINDS = (
    r"(?:app|application|service|system|site|shop|store|website|tool|library|package|cli|project|startup|company|game|plugin|extension|bot|dashboard|api"
    r"|platform|monorepo|framework|compiler|blog|portal|engine|prototype|mvp|thesis|side project|crate|gem|module)"
)
_IS_A = re.compile(
    rf"^an? (?!new\b|different\b|separate\b|bit\b)(?:[\w.+#&/-]+ ){{0,4}}?{_KINDS}\b(?! (?:error|bug|issue|problem|crash|question))", re.IGNORECASE
)
_PURPOSE = re.compile(r" (?:for|that|which|where) \w+| to (?!be\b)\w+ \w+|,? (?:built|written|hosted|deployed|made|running)\b")
_DOES = frozenset({"do", "handle", "take", "own", "lead", "review", "join", "present", "prepare", "organise", "organize"})
_RULES = frozenset({"block", "allow", "forbid", "prohibit", "reject", "insist", "require", "permit", "ban"})
_LEAD_TIME = re.compile(
    rf"^(?:at least )?(?:{vocabulary.SMALL_NUMBERS} (?:days?|weeks?|months?)'? (?:of )?notice"
    r"|(?:an? |the |two |three |their )?(?:\w+[ -]){0,2}(?:approvals?|reviews?|sign-?offs?|permission|consent))\b",
    re.IGNORECASE,
)


def _stays(frame: Frame) -> Draft | None:
    """Such as "images come from Cloudinary", "Sidekiq stays on Heroku until June"."""
    if frame.who is not Who.THING or frame.verb not in _STAYS or frame.progressive or frame.auxiliaries not in {(), ("do",)}:
        return None
    where = _FROM_WHERE.match(frame.rest)
    if where is None or not values.concrete(values.short(frame.rest[where.end() :])) or drafts.TASK_NOUN.match(frame.subject):
        return None
    if re.match(r"(?:this|that|these|those|it|an?)\b", frame.subject, re.IGNORECASE) or drafts.head(frame.subject) in vocabulary.JUNK_NOUNS:
        return None
    return Draft(Category.PROJECT_CONTEXT, 0.7, drafts.subject_of(frame), frame.verb, values.long(frame.rest), polarity=drafts.polarity(frame))


def described(frame: Frame) -> Draft | None:
    """Such as "It's a booking system for climbing gyms": what is talked about, and told apart from nothing else, is the project."""
    if frame.subject.lower() not in {"it", "this"} or not frame.copula or frame.negated or frame.past or frame.auxiliaries:
        return None
    kind = _IS_A.match(frame.rest)
    told = kind is not None and _PURPOSE.search(frame.rest, kind.end()) is not None
    return Draft(Category.PROJECT_CONTEXT, 0.65, "project", "is", values.bare(values.long(frame.rest))) if told else None


def _assigned(frame: Frame) -> Draft | None:
    """Such as "Marta will do the data migration", "Aylin does the backend"."""
    person = frame.who is Who.THING and frame.named and drafts.is_named(frame.subject) and not tools.known(frame.subject)
    if not (person or (frame.who is Who.MY and drafts.relative(frame.subject))) or frame.negated:
        return None
    ahead = frame.auxiliaries == ("will",) and frame.verb in _DOES
    area = (
        frame.verb == "do"
        and not frame.auxiliaries
        and not frame.past
        and re.match(r"(?:the |our |all (?:the |our )?|most of the )?[a-z]", frame.rest)
    )
    value = values.long(frame.rest)
    if not (ahead or area) or drafts.empty(value) or drafts.head(values.short(value)) in vocabulary.JUNK_NOUNS:
        return None
    return Draft(Category.PROJECT_CONTEXT, 0.75, drafts.subject_of(frame), "does", value)


def _all_do(frame: Frame) -> Draft | None:
    """Such as "all long jobs go through Celery", "each module has its own schema"."""
    if not re.match(r"(?:all|every|each)\b", frame.subject, re.IGNORECASE) or drafts.TASK_NOUN.match(frame.subject.split(" ", 1)[-1]):
        return None
    value = values.long(frame.rest)
    own = frame.verb == "have" and re.match(r"(?:its|their|a|an) own \w", value)
    routed = frame.verb in {"go", "run", "use", "live"} and values.concrete(value)
    if frame.auxiliaries or frame.negated or not (own or routed) or (not own and drafts.empty(value)):
        return None
    return Draft(Category.CONSTRAINT if routed else Category.PROJECT_CONTEXT, 0.75, drafts.subject_of(frame), frame.verb, value)


def _rules(frame: Frame) -> Draft | None:
    """Such as "our cluster doesn't allow native extensions", "compliance forbids JIT compilers", "breaking changes need six months' notice"."""
    subject = frame.subject.lower()
    if frame.past or frame.perfect or frame.passive or frame.progressive or drafts.TASK_NOUN.match(frame.subject):
        return None
    value = values.long(re.sub(r"^(?:on|upon) ", "", frame.rest))
    whose = frame.who in {Who.OUR, Who.MY} or _AUTHORITY.search(subject) is not None
    if frame.verb in _RULES and whose and not drafts.empty(value):
        return Draft(Category.CONSTRAINT, 0.75, drafts.subject_of(frame), frame.verb, value, polarity=drafts.polarity(frame))
    if frame.verb in {"need", "require"} and _LEAD_TIME.match(frame.rest) and frame.who in {Who.THING, Who.OUR}:
        return Draft(
            Category.CONSTRAINT, 0.75, drafts.subject_of(frame), "must", values.long(f"{frame.said} {frame.rest}"), polarity=drafts.polarity(frame)
        )
    return None


_AUTHORITY = re.compile(
    r"^(?:(?:the|our|my) )?(?:\w+ )?(?:compliance|legal|security|management|client|customer|contract|law|licen[cs]e|gdpr|policy|auditors?|boss"
    r"|company|it department|regulators?|app ?store|hoster|provider|platform team|linter|ci|school|university|firewall|proxy|network|admins?)$"
)


def _counted(frame: Frame) -> Draft | None:
    """Such as "my laptop has only 16 GB of RAM", "my flat has six rooms"."""
    if drafts.head(frame.subject) in vocabulary.JUNK_NOUNS or re.search(
        r"\b(?:commits?|errors?|lines?|rows?|columns?|keys?|elements?)\b", frame.rest
    ):
        return None
    return Draft(Category.PERSONAL_INFO, 0.75, drafts.subject_of(frame), "has", values.long(frame.rest))


_GO_LIVE = re.compile(
    rf"^live (?:in (?P<where>[A-Z]\w+ ))?(?:on|in|at the end of) (?P<day>(?:\d{{1,2}}\S* (?:of )?)?(?:{vocabulary.MONTHS}|{vocabulary.DAYS})\b.*)$",
    re.I,
)
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
    if frame.verb == "go" and (live := _GO_LIVE.match(frame.rest)) and not frame.negated:
        return Draft(Category.PROJECT_CONTEXT, 0.8, "team", f"{live['where'] or ''}go-live date".lower(), live["day"], functional=True)
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
    if frame.verb == "have" and (_SPAN.match(value) or re.search(r"\bin common\b", value)):
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
