"""What was decided, chosen or planned."""

import re

import msgspec

from services.core.models import Category
from services.worker.extraction import tools, values, vocabulary
from services.worker.extraction.clauses import Frame, Who
from services.worker.extraction.statements import changes, drafts, things
from services.worker.extraction.statements.drafts import Draft

_PLAN = re.compile(r"^to (?P<verb>\w+)(?: (?P<what>.*))?$", re.IGNORECASE)


_NAMING = re.compile(
    r"^(?P<what>(?:the|our|my) (?:\w+ )?(?:package|project|library|repo|repository|app|service|module|tool|company"
    r"|product|bot|team|crate|gem|plugin|cli"
    r"|website|site|blog|band|dog|cat|baby|son|daughter|server|cluster|release)) (?P<name>\S+)$",
    re.IGNORECASE,
)
_LET_GO = re.compile(r"^(?:let'?s|lets) (?:also |just )?(?:drop|ditch|abandon|retire|get rid of) (?:support for )?(?P<what>.+)$", re.IGNORECASE)
_KEPT_OUT = frozenset({"support", "ship", "offer", "build", "allow", "accept", "target", "maintain"})


def decided(frame: Frame) -> Draft | None:
    """Such as "We decided to go with Kafka", "Decided against GraphQL", "we'll use pnpm", "going with Hetzner"."""
    if not (drafts.is_person(frame) or frame.who in {Who.WE, Who.NONE, Who.THING, Who.OUR}):
        return None
    settled = frame.past or frame.perfect or frame.passive or frame.form == "VBN" or (frame.progressive and frame.verb in {"adopt", "standardize"})
    if frame.verb in vocabulary.DECIDES and settled and not re.match(r"(?:up|out|apart)\b", frame.rest):
        return _decision(frame) if not frame.negated else None
    ahead = frame.verb == "go" and frame.progressive and frame.rest.startswith("to ")
    if (ahead or (frame.verb == "plan" and frame.rest.startswith("to "))) and frame.tags[1:2] == ("VB",):
        return _planned(frame, frame.rest)
    if "will" in frame.auxiliaries and frame.who is Who.NONE and (drafts.STANDING.search(frame.text) or vocabulary.WHEN_DUE.search(frame.rest)):
        return Draft(Category.DECISION if drafts.STANDING.search(frame.text) else Category.TODO, 0.75, subject="user")
    if "will" in frame.auxiliaries and frame.who in {Who.WE, Who.OUR, Who.THING, Who.I}:
        return _planned(frame, f"to {frame.verb} {frame.rest}")
    if frame.verb == "end" and (match := re.match(r"up (?:choosing|using|with|going with|picking|adopting|on) (.+)", frame.rest)):
        value, other = values.contrast(match[1])
        return _chosen(frame, value, replaces=other)
    if (
        frame.who is Who.NONE
        and frame.verb in {"let", "use", "go", "stick", "switch", "adopt", "keep"}
        and (
            match := re.match(r"(?:let'?s|lets) (?:also |just )?(?:use|go with|stick (?:with|to)|switch to|adopt|keep using) (.+)", frame.text, re.I)
        )
    ):
        return _let_us(frame, match[1])
    if frame.who is Who.NONE and (match := _LET_GO.match(frame.text)) and tools.known(values.short(match["what"])):
        return _chosen(frame, match["what"], polarity=False)
    if (
        frame.verb == "go"
        and (frame.who is Who.WE or frame.progressive or frame.form == "VBG" or frame.past or frame.perfect)
        and (match := re.match(r"(?:ahead )?with (.+)", frame.rest))
    ):
        return _chosen(frame, match[1]) if not frame.negated else None
    if frame.who is Who.NONE and frame.form == "VBG" and frame.verb in vocabulary.CHANGES | {"adopt"}:
        return changes.moved(msgspec.structs.replace(frame, auxiliaries=("be",)))
    return None


def _let_us(frame: Frame, rest: str) -> Draft | None:
    if option := re.match(r"(option \w+(?:, (?:the|using|with|i\.e\.)|: (?:an?|the|we|use|using|with)\b| \()[^()]{4,60})", rest, re.IGNORECASE):
        return Draft(Category.DECISION, 0.7, subject="team", value=option[1])  # what the option is must be said with it
    made = _chosen(frame, rest) if values.concrete(values.short(rest)) else None
    return msgspec.structs.replace(made, confidence=0.7) if made else None


def _decision(frame: Frame) -> Draft | None:
    rest = re.sub(r"^(?:together|today|yesterday|last \w+|unanimously|as a team|internally|,)\s+", "", frame.rest)
    if moved := re.match(
        r"to (?:move|shift|push|bring|reschedule|change) (?:the |our )?([\w -]+?) (?:forward |back |up )?to (\d\S*(?: ?[ap]m)?)$", values.long(rest)
    ):
        noun = values.noun_phrase(moved[1])
        return Draft(Category.DECISION, 0.9, "team", noun, moved[2], functional=True) if drafts.head(noun) in vocabulary.THINGS else _general(frame)
    if match := re.match(
        r"(?:against|not to (?:use|adopt|go with)|to not use|to (?:drop|ditch|stop using|abandon|avoid|remove))\s+(?:using |adopting )?(.+)", rest
    ):
        return _chosen(frame, match[1], polarity=False)
    if match := re.match(
        r"(?:on|upon|to (?:use|go with|adopt|stick (?:with|to)|pick|choose|keep using|build (?:\w+ )?(?:with|on|in))|in favou?r "
        r"of|for|to go for)\s+(?:using |going with |adopting )?(.+)",
        rest,
    ):
        return _chosen(frame, match[1])
    if match := re.match(
        r"(?:that )?(?:(?:we|i)(?:'re| are|'ll| will|'m| am) )?(?:going )?to (?:switch|move|migrate)(?: .+?)? (?:from (?P<old>.+?) )?to (?P<new>.+)",
        rest,
    ):
        return _chosen(frame, match["new"], replaces=values.bare(match["old"] or "")) or _general(frame)
    if frame.verb in {"choose", "pick", "select", "adopt"} and not re.match(r"(?:to|that|up)\b", rest):
        value, other = values.contrast(rest)
        return _chosen(frame, value, replaces=other)
    return _general(frame)


def _general(frame: Frame) -> Draft | None:
    if len(frame.rest.split()) < 2 or drafts.empty(values.long(frame.rest.removeprefix("that "))) or frame.passive:
        return None
    if frame.who is Who.I and not (values.concrete(frame.rest) or frame.rest.startswith("that ")):
        return None
    return Draft(Category.DECISION, 0.8, subject="team" if frame.who in {Who.WE, Who.NONE} else drafts.subject_of(frame))


def _chosen(frame: Frame, rest: str, *, polarity: bool = True, replaces: str = "") -> Draft | None:
    value = values.bare(values.short(rest))
    if drafts.empty(value) or drafts.junk_head(value) or re.search(r"\b(?:option|first|second|approach)\b", value) or len(value.split()) > 9:
        return None
    if frame.who is Who.I and not values.concrete(value) and frame.verb in {"choose", "pick", "select", "end"}:
        return None
    subject = "team" if frame.who in {Who.WE, Who.NONE} else drafts.subject_of(frame)
    replaces = replaces or values.contrast(rest)[1]
    return Draft(
        Category.DECISION,
        0.9,
        subject=subject,
        attribute="uses",
        value=value,
        polarity=polarity,
        replaces=replaces if len(replaces.split()) <= 4 else "",
        several=not replaces,
    )


def _planned(frame: Frame, infinitive: str) -> Draft | None:
    match = _PLAN.match(infinitive)
    if not match or frame.who is Who.OTHER:
        return None
    verb, what = match["verb"].lower(), match["what"] or ""
    if verb in {"name", "call"} and frame.who in {Who.I, Who.WE} and (named := _NAMING.match(what)):
        return Draft(Category.DECISION, 0.8, values.noun_phrase(named["what"]), "name", named["name"], functional=True)
    if verb in _KEPT_OUT and frame.negated and frame.who in {Who.WE, Who.OUR} and values.concrete(values.short(what)) and not drafts.empty(what):
        return Draft(Category.DECISION, 0.85, "team", verb, values.bare(values.short(what)), polarity=False)
    if verb in {"use", "adopt", "go", "switch", "migrate", "move", "stick", "drop", "standardize"} and frame.who in {Who.WE, Who.I, Who.OUR} and what:
        target = re.sub(r"^(?:with|to|over to|on|for) ", "", what)
        if both := re.match(r"(?:away )?from (.+?) to (.+)", what):
            return _chosen(frame, both[2], replaces=values.bare(both[1]))
        if values.concrete(values.short(target)) and (verb != "go" or what.startswith("with ")) and not drafts.TRANSIENT_TARGETS.search(target):
            return _chosen(frame, target, polarity=(verb != "drop") is not frame.negated)
    if (
        vocabulary.WHEN_DUE.search(what)
        and frame.who in {Who.WE, Who.I}
        and not frame.negated
        and not re.match(r"(?:you|it|this|that|them)\b", what, re.IGNORECASE)
        and verb not in {"be", "see", "try", "get", "let", "ask"}
        and not drafts.empty(values.short(what))
    ):
        return Draft(Category.TODO, 0.75, subject=drafts.subject_of(frame))
    if (
        frame.who in {Who.THING, Who.OUR}
        and drafts.head(frame.subject) in vocabulary.THINGS
        and verb in {"be", "launch", "ship", "happen", "start", "end", "expire", "go", "take"}
        and vocabulary.DATE.search(what)
    ):
        return things.dated(frame, verb, what)
    return None
