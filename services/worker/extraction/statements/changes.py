"""What is no longer as it was: switched, moved, replaced, given up."""

import re

from services.core.models import Category
from services.worker.extraction import values, vocabulary
from services.worker.extraction.clauses import Frame, Who
from services.worker.extraction.statements import drafts, things, uses
from services.worker.extraction.statements.drafts import Draft

_SELF_SWITCH = re.compile(
    r"^(?:(?:over|away|everything|all \w+|our \w+|my \w+|the \w+)\s+)*(?:from (?P<old>.+?) (?:to|onto|over to) (?P<new>.+)"
    r"|(?:over )?to (?P<to>.+?) from (?P<was>.+)|(?:over )?(?:to|onto) (?P<only>.+))$",
    re.IGNORECASE,
)


_GIVEN_UP = re.compile(r"^(?:away from|off(?: of)?) (?P<old>.+)$", re.IGNORECASE)


_CHANGED = re.compile(r"^(?P<what>(?:the|our|my) .+?) (?:from (?P<old>.+?) )?(?:to|for|until) (?P<new>.+)$", re.IGNORECASE)


_NEW_DATE = re.compile(r"^(?:back |forward |up |out )?(?:from .+? )?(?:to|until) (?P<new>.+)$", re.IGNORECASE)


_REPLACED = re.compile(r"^(?P<old>.+?) (?:with|by|for) (?P<new>.+)$", re.IGNORECASE)


def changed(frame: Frame) -> Draft | None:
    """Such as "We switched from X to Y", "moved to Berlin", "replaced X with Y", "we pushed the deadline to June 3"."""
    if not (drafts.is_person(frame) or frame.who in {Who.WE, Who.NONE, Who.OUR, Who.THING}) or frame.negated:
        return None
    done = frame.past or frame.perfect or frame.progressive or frame.form == "VBN"
    if not done and frame.verb not in {"stop"}:
        return None
    if frame.verb in {"replace", "swap"} and (match := _REPLACED.match(values.long(frame.rest))):
        return uses.use(frame, values.bare(values.short(match["new"])), replaces=values.bare(match["old"]), decided=True)
    if frame.verb in vocabulary.CHANGES | {"change", "push", "postpone", "rename", "delay", "bump", "raise", "lower", "extend", "increase", "reduce"}:
        return moved(frame)
    return None


def moved(frame: Frame) -> Draft | None:
    rest = values.long(frame.rest)
    if frame.who in {Who.OUR, Who.THING} and (match := _NEW_DATE.match(rest)) and vocabulary.DATE.search(match["new"]):
        return things.dated(frame, "date", match["new"])
    what = _CHANGED.match(rest)
    if what and not re.match(r"(?:the|our|my) (?:code|file|logic|button|function|class|whole)\b", what["what"], re.I):
        noun = values.noun_phrase(what["what"])
        if frame.verb != "rename" and not (drafts.head(noun) in vocabulary.THINGS and values.shape(what["new"]) in {"date", "number"}):
            return None
        if frame.verb == "rename" and (drafts.TASK_NOUN.match(what["what"]) or drafts.head(noun) in vocabulary.JUNK_NOUNS):
            return None
        if frame.verb == "rename":
            return Draft(
                Category.PROJECT_CONTEXT, 0.85, subject=noun, attribute="name", value=what["new"], functional=True, replaces=what["old"] or ""
            )
        return Draft(Category.DECISION, 0.85, subject="team", attribute=noun, value=what["new"], functional=True, replaces=what["old"] or "")
    if (
        frame.verb == "move"
        and frame.who is Who.I
        and (match := re.match(r"(?:back |over )?(?:from (.+?) )?to (.+)", rest))
        and values.concrete(values.short(match[2]))
    ):
        return Draft(Category.PERSONAL_INFO, 0.85, attribute="residence", value=values.short(match[2]), functional=True, replaces=match[1] or "")
    if frame.verb not in vocabulary.CHANGES or drafts.TRANSIENT_TARGETS.search(rest):
        return None
    if match := _GIVEN_UP.match(rest):
        if both := re.match(r"(.+?) (?:to|onto|in favou?r of) (.+)", match["old"]):
            return uses.use(frame, values.bare(values.short(both[2])), replaces=values.bare(both[1]), decided=True)
        return uses.use(frame, values.bare(values.short(match["old"])), polarity=False, decided=True)
    if match := _SELF_SWITCH.match(rest):
        new = match["new"] or match["to"] or match["only"]
        old = match["old"] or match["was"] or ""
        return uses.use(frame, values.bare(values.short(new)), replaces=values.bare(values.short(old)), decided=True)
    return None


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
