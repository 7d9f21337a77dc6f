"""What is no longer as it was: switched, moved, replaced, given up."""

import re

from services.core.models import Category
from services.worker.extraction import places, tools, values, vocabulary
from services.worker.extraction.clauses import Frame, Who
from services.worker.extraction.statements import drafts, duties, things, uses
from services.worker.extraction.statements.drafts import Draft

_SELF_SWITCH = re.compile(
    r"^(?:(?:back|over|away|everything|all \w+|our \w+|my \w+|the \w+)\s+)*(?:from (?P<old>.+?) (?:to|onto|over to) (?P<new>.+)"
    r"|(?:over )?to (?P<to>.+?) from (?P<was>.+)|(?:over )?(?:to|onto) (?P<only>.+))$",
    re.IGNORECASE,
)


_GIVEN_UP = re.compile(r"^(?:away from|off(?: of)?) (?P<old>.+)$", re.IGNORECASE)


_CHANGED = re.compile(r"^(?P<what>(?:the|our|my) .+?) (?:from (?P<old>.+?) )?(?:to|for|until) (?P<new>.+)$", re.IGNORECASE)


_NEW_DATE = re.compile(r"^(?:back |forward |up |out )?(?:from .+? )?(?:to|until) (?P<new>.+)$", re.IGNORECASE)


_REPLACED = re.compile(r"^(?P<old>.+?) (?:with|by|for) (?P<new>.+)$", re.IGNORECASE)


_ANY_CHANGED = re.compile(
    r"^(?P<what>[A-Za-z][\w.+#-]*(?: [\w.+#-]+){0,2}?) (?:from (?P<old>\S+(?: \S+)?) )?(?:to|up to|down to) (?P<new>v?\d\S*(?: ?[ap]m)?)$",
    re.IGNORECASE,
)
_SHIFTED = re.compile(r"^(?:(?:up|down|back|over|out|forward) )?(?:by \S+ )?(?:from (?P<old>.+?) )?(?:to|until) (?P<new>.+)$", re.IGNORECASE)
_SHIFTS = frozenset({"go", "rise", "drop", "increase", "decrease", "grow", "shrink", "slip", "change", "move", "fall", "raise", "cut", "extend"})
_REWRITTEN = re.compile(
    r"^(?P<what>(?:the|our|my) [\w -]+?|everything|it all) (?:from (?P<old>\S+) )?(?:in|with|to|using) (?P<new>.+)$", re.IGNORECASE
)
_GONE = re.compile(r"^(?:gone|history|out|no more|dead|retired|decommissioned|dropped|switched off|turned off)(?: now| for good)?$", re.IGNORECASE)


def changed(frame: Frame) -> Draft | None:
    """Such as "We switched from X to Y", "moved to Berlin", "replaced X with Y", "we pushed the deadline to June 3"."""
    if not (drafts.is_person(frame) or frame.who in {Who.WE, Who.NONE, Who.MY, Who.OUR, Who.THING}) or frame.negated:
        return None
    done = frame.past or frame.perfect or frame.progressive or frame.form == "VBN"
    if not done and frame.verb not in {"stop", "rewrote"}:
        return None
    if shifted := _shifted(frame):
        return shifted
    if (
        frame.verb in {"rewrite", "rewrote", "reimplement", "port"}
        and frame.who in {Who.I, Who.WE}
        and (match := _REWRITTEN.match(values.long(frame.rest)))
    ):
        return _rewritten(frame, match)
    if frame.verb in {"replace", "swap"} and (match := _REPLACED.match(values.long(frame.rest))):
        return uses.use(frame, values.bare(values.short(match["new"])), replaces=values.bare(match["old"]), decided=True, changed=True)
    if frame.verb in vocabulary.CHANGES | {
        "change",
        "relocate",
        "shift",
        "reschedule",
        "push",
        "postpone",
        "rename",
        "delay",
        "bump",
        "raise",
        "lower",
        "extend",
        "increase",
        "reduce",
    }:
        return moved(frame)
    return None


def gone(frame: Frame) -> Draft | None:
    """Such as "Mongo is gone": a tool that is no longer in use."""
    if (
        frame.who is Who.THING
        and (frame.copula or frame.passive)
        and not frame.negated
        and _GONE.match(frame.predicate)
        and tools.known(frame.subject)
    ):
        return Draft(Category.TECHNICAL_CHOICE, 0.7, subject="team", attribute="uses", value=frame.subject, polarity=False)
    return None


def _shifted(frame: Frame) -> Draft | None:
    """Such as "my budget went up to 800 euros", "our deadline slipped to June 4"."""
    match = _SHIFTED.match(values.long(frame.rest)) if frame.verb in _SHIFTS else None
    if match is None or frame.who not in {Who.MY, Who.OUR, Who.THING}:
        return None
    noun = values.noun_phrase(frame.subject)
    if (
        drafts.TASK_NOUN.match(frame.subject)
        or drafts.head(noun) not in vocabulary.THINGS | vocabulary.PERSONAL_NOUNS
        or drafts.is_named(frame.subject)
    ):
        return None
    if values.shape(match["new"]) not in {"date", "number"}:
        return None
    if vocabulary.DATE.search(match["new"]):
        return things.dated(frame, "date", match["new"])
    if frame.who is Who.THING and not duties.LIMITS.search(noun):
        return None
    category = Category.CONSTRAINT if frame.who is not Who.MY and drafts.head(noun) in {"budget", "limit", "quota"} else Category.PROJECT_CONTEXT
    subject = "user" if frame.who is Who.MY else "team"
    return Draft(category, 0.8, subject, noun, match["new"], functional=True, replaces=match["old"] or "")


def _rewritten(frame: Frame, match: re.Match[str]) -> Draft | None:
    new = values.bare(values.short(match["new"]))
    if not tools.known(new) or drafts.TASK_NOUN.match(match["what"]):
        return None
    whole = match["what"].lower() in {"everything", "it all"}
    subject = drafts.subject_of(frame) if whole else values.noun_phrase(match["what"])
    category = Category.DECISION if frame.who is Who.WE else Category.TECHNICAL_CHOICE
    attribute = "language" if tools.language(new) and not whole else "uses"
    return Draft(category, 0.8, subject, attribute, new, attribute == "language", replaces=match["old"] or "", changed=True)


def _settled(frame: Frame, rest: str) -> Draft | None:
    """Where somebody lives now: "I relocated to Tallinn", "we just moved to Vienna"."""
    match = re.match(r"(?:back |over |here )?(?:from (?P<old>.+?) )?to (?P<new>.+)", rest)
    new = values.short(match["new"]) if match else ""
    if match is None or not values.concrete(new) or not places.possible(new):
        return None
    if not (frame.who is Who.I or frame.verb == "relocate" or places.known(new) or frame.who is Who.NONE):
        return None
    return Draft(Category.PERSONAL_INFO, 0.85, attribute="residence", value=new, functional=True, replaces=match["old"] or "")


_ROOMS = re.compile(
    r"^(?:over |back )?to (?:the|an?|our|my) (?:[\w-]+ )*?(?:offices?|team|house|apartment|flat|desk|building|floor"
    r"|room|place|studio)\b"
)


def moved(frame: Frame) -> Draft | None:
    rest = values.long(frame.rest)
    if drafts.TASK_NOUN.match(rest) or (frame.who is Who.THING and drafts.TASK_NOUN.match(frame.subject)):
        return None
    if frame.verb == "move" and (match := _ROOMS.search(rest)):
        if frame.who is Who.I and (team := re.match(r"(?:over |back )?to the (.*\bteam)$", match[0])):
            return Draft(Category.PERSONAL_INFO, 0.8, attribute="team", value=team[1], functional=True)
        return None
    if frame.verb in {"move", "relocate"} and frame.who in {Who.I, Who.WE, Who.NONE} and (settled := _settled(frame, rest)):
        return settled
    if frame.who in {Who.OUR, Who.THING} and (match := _NEW_DATE.match(rest)) and vocabulary.DATE.search(match["new"]):
        return things.dated(frame, "date", match["new"])
    what = _CHANGED.match(rest)
    if what and not re.match(r"(?:the|our|my) (?:code|file|logic|button|function|class|whole)\b", what["what"], re.I):
        noun = values.noun_phrase(what["what"])
        if frame.verb in vocabulary.CHANGES and what["old"] and (exchanged := _exchanged(frame, noun, what)):
            return exchanged
        if frame.verb != "rename" and not (drafts.head(noun) in vocabulary.THINGS and values.shape(what["new"]) in {"date", "number"}):
            return None
        if noun == "version" and frame.who is Who.I:
            return None
        if frame.verb == "rename" and (drafts.TASK_NOUN.match(what["what"]) or drafts.head(noun) in vocabulary.JUNK_NOUNS):
            return None
        if frame.verb == "rename":
            return Draft(
                Category.PROJECT_CONTEXT, 0.85, subject=noun, attribute="name", value=what["new"], functional=True, replaces=what["old"] or ""
            )
        return Draft(Category.DECISION, 0.85, subject="team", attribute=noun, value=what["new"], functional=True, replaces=what["old"] or "")
    if frame.who in {Who.I, Who.WE, Who.NONE} and (match := _ANY_CHANGED.match(rest)):
        return _revised(frame, match)
    if frame.verb not in vocabulary.CHANGES or drafts.TRANSIENT_TARGETS.search(rest):
        return None
    if match := _GIVEN_UP.match(rest):
        if both := re.match(r"(.+?) (?:to|onto|in favou?r of) (.+)", match["old"]):
            return uses.use(frame, values.bare(values.short(both[2])), replaces=values.bare(both[1]), decided=True)
        return uses.use(frame, values.bare(values.short(match["old"])), polarity=False, decided=True)
    if match := _SELF_SWITCH.match(rest):
        new = match["new"] or match["to"] or match["only"]
        old = match["old"] or match["was"] or ""
        return uses.use(frame, values.bare(values.short(new)), replaces=values.bare(values.short(old)), decided=True, changed=frame.verb != "upgrade")
    return None


_PATH = re.compile(r"/|\w\.\w{1,4}$")


def _exchanged(frame: Frame, noun: str, match: re.Match[str]) -> Draft | None:
    """Another kind of something: "we moved the API from REST to gRPC"."""
    old, new = values.bare(values.short(match["old"])), values.bare(values.short(match["new"]))
    told = all(values.shape(each) == "name" and len(each.split()) <= 3 and not _PATH.search(each) for each in (old, new))
    if not told or frame.who is not Who.WE or drafts.head(noun) not in vocabulary.THINGS or drafts.TASK_NOUN.match(match["what"]):
        return None
    kind = tools.kind(new)
    if kind and drafts.head(noun) != kind:
        return Draft(Category.DECISION, 0.85, noun, "uses", new, replaces=old, changed=True)
    if tools.language(new):
        return Draft(Category.DECISION, 0.85, noun, "language", new, functional=True, replaces=old)
    return Draft(Category.DECISION, 0.85, "team", noun, new, functional=True, replaces=old)


def _revised(frame: Frame, match: re.Match[str]) -> Draft | None:
    """Another version of a tool ("bumped Kubernetes from 1.27 to 1.29") or another hour of something regular ("moved stand-ups to 10:30")."""
    what, old, new = match["what"], match["old"] or "", match["new"]
    category = Category.DECISION if frame.who is not Who.I else Category.TECHNICAL_CHOICE
    if tools.known(what) or (values.concrete(what) and re.match(r"v?\d+(?:\.\d+)*$", new)):
        value = f"{what} {new}"
        return Draft(category, 0.85, "team", f"{what.lower()} version", value, functional=True, replaces=f"{what} {old}" if old else "")
    noun = values.noun_phrase(what)
    if noun == "version" or drafts.head(noun) not in vocabulary.THINGS or drafts.TASK_NOUN.match(what):
        return None
    return Draft(Category.DECISION, 0.85, "team", noun, new, functional=True, replaces=old)


def gave_up(frame: Frame) -> Draft | None:
    """Such as "We stopped using Mongo", "I quit smoking", "we used to run Jenkins", "we dropped IE11"."""
    if not (drafts.is_person(frame) or frame.who in {Who.WE, Who.OUR}):
        return None
    if frame.verb == "use" and re.match(r"to (?:\w+)\b", frame.rest) and frame.form in {"VBD", "VBN", "VB", "VBP"}:
        return _formerly(frame)
    if (
        frame.verb in {"stop", "quit"}
        and (match := re.match(r"(?:using|working with|relying on)\s+(.+)", frame.rest))
        and (frame.past or frame.perfect)
    ):
        return uses.use(frame, values.bare(values.short(match[1])), polarity=False)
    if frame.verb == "stop" and frame.who is Who.WE and (match := re.match(r"(support|ship|offer|maintain)(?:p?)ing (.+)", frame.rest)):
        done = frame.past or frame.perfect
        return Draft(Category.PROJECT_CONTEXT, 0.8, "team", match[1], values.long(match[2]), polarity=False) if done else None
    if (
        frame.verb in {"stop", "quit"}
        and (match := re.match(r"(?:eating|drinking|liking|watching|playing|smoking)\b\s*(.*)", frame.rest))
        and frame.past | frame.perfect
    ):
        return Draft(Category.PERSONAL_INFO, 0.75, subject=drafts.subject_of(frame), attribute="", value=values.long(frame.rest), polarity=False)
    if (
        frame.verb in {"drop", "ditch", "abandon", "deprecate", "retire", "sunset"}
        and (frame.past or frame.perfect or frame.progressive)
        and frame.who is not Who.OUR
    ):
        value = values.bare(re.sub(r"^(?:support for|using)\s+", "", values.long(frame.rest)))
        if both := re.match(r"(.+?) (?:for|in favou?r of) (.+)", value):
            return uses.use(frame, values.bare(both[2]), replaces=both[1], decided=True)
        return uses.use(frame, values.short(value), polarity=False, decided=True) if values.concrete(value) else None
    if frame.verb == "get" and (match := re.match(r"rid of (.+)", frame.rest)) and values.concrete(match[1]):
        return uses.use(frame, values.bare(values.short(match[1])), polarity=False, decided=True)
    return None


def _formerly(frame: Frame) -> Draft | None:
    verb, _, rest = frame.rest.removeprefix("to ").partition(" ")
    if verb == "use" or verb == "run":
        return uses.use(frame, values.bare(values.short(rest)), polarity=False, confidence=0.7)
    if verb in {"live", "work"} and (match := re.match(r"(?:in|at|for|as) (.+)", rest)):
        attribute = "residence" if verb == "live" else "employer"
        return Draft(
            Category.PERSONAL_INFO,
            0.75,
            subject=drafts.subject_of(frame),
            attribute=attribute,
            value=values.bare(values.short(match[1])),
            functional=True,
            polarity=False,
        )
    if verb in vocabulary.LIKES:
        return Draft(
            Category.PREFERENCE,
            0.75,
            subject=drafts.subject_of(frame),
            attribute="likes",
            value=values.bare(values.long(rest)),
            polarity=verb in vocabulary.DISLIKES,
        )
    return None
