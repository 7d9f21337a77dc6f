"""What is in use, by whom and where."""

import re

import msgspec

from services.core.models import Category
from services.worker.extraction import tools, values, vocabulary
from services.worker.extraction.clauses import Frame, Who
from services.worker.extraction.statements import drafts
from services.worker.extraction.statements.drafts import Draft


def _category(frame: Frame, value: str) -> Category:
    """Of a tool in use: one's own editor or system goes wherever one goes; the rest belongs to the project."""
    personal = frame.who is Who.I and vocabulary.PERSONAL_TOOLS.match(values.bare(value))
    everyday = frame.who is Who.I and not values.concrete(value)
    return Category.PREFERENCE if personal or everyday else Category.TECHNICAL_CHOICE


def use(
    frame: Frame, value: str, *, replaces: str = "", polarity: bool = True, decided: bool = False, changed: bool = False, confidence: float = 0.85
) -> Draft | None:
    if drafts.empty(value) or len(value.split()) > 12 or drafts.junk_head(value) or _FILE_OR_VERSION.match(value):
        return None
    category = Category.DECISION if decided and frame.who in {Who.WE, Who.NONE} else _category(frame, value)
    subject = "team" if frame.who is Who.NONE and decided else drafts.subject_of(frame)
    return Draft(category, confidence, subject, "uses", value, replaces=replaces, polarity=polarity, several=not replaces, changed=changed)


def slotted(draft: Draft, members: tuple[str, ...]) -> list[Draft]:
    """A use with what is used for what, so that a new tool can take the place of the old one of its kind.

    A product with a version has one version at a time. A tool of a known kind takes the place of others of that kind only when it is
    said to be new; several of one kind side by side are just used.
    """
    kinds = [tools.kind(member) for member in members]
    return [_slot(draft, member, kind if kinds.count(kind) == 1 else "") for member, kind in zip(members, kinds, strict=True)]


def _slot(draft: Draft, value: str, kind: str) -> Draft:
    made = msgspec.structs.replace(draft, value=value, several=False)
    if draft.attribute != "uses" or draft.special:
        return made
    if kind and draft.changed:
        return msgspec.structs.replace(made, attribute=kind, functional=True)
    if (product := tools.versioned(value)) and draft.polarity:
        return msgspec.structs.replace(made, attribute=f"{product} version", functional=True)
    return msgspec.structs.replace(made, attribute=kind) if kind else made


_ACQUAINTANCES = frozenset({"friend", "friends", "neighbor", "neighbour", "roommate", "flatmate"})
"""Whose tools are neither one's own nor the project's."""
_ALL = re.compile(r"^everything(?: here)?$", re.IGNORECASE)
_TESTED = re.compile(r"^(?:our |all |the )?(?:\w+ )?tests$", re.IGNORECASE)
_FILE_OR_VERSION = re.compile(
    r"\S+\.(?:py|jsx?|tsx?|go|rs|rb|java|kt|c|h|cpp|cs|php|html?|css|json|ya?ml|toml|md|txt|sh|sql)$|(?:the"
    r" )?(?:latest|newest|new|older|old|previous|next)"
    r" (?:\w+ )?(?:version|release|one)$",
    re.IGNORECASE,
)


def uses(frame: Frame) -> Draft | None:
    """Such as "I use vim", "we're on Postgres 15", "our app runs on Django", "we don't use Docker", "staging uses MySQL"."""
    if frame.who is Who.OTHER or {"would", "could", "might", "should", "can", "will", "must", "may"} & set(frame.auxiliaries):
        return None
    if (
        frame.verb in vocabulary.KEEP_ON - {"love"}
        and (match := re.match(r"(?:to use|using|on)\s+(.+)", frame.rest))
        and not vocabulary.DATE.search(match[1])
    ):
        return _use_of(frame, match[1])
    if frame.verb == "use" and frame.passive:
        return None
    using = (
        frame.verb in {"use", "utilize", "utilise", "leverage", "employ"}
        or (frame.verb == "rely" and frame.rest.startswith("on "))
        or (
            frame.verb == "work"
            and re.match(r"(?:with|in) [A-Z]\w*\b", frame.rest)
            and frame.who in {Who.I, Who.WE}
            and not frame.progressive
            and tools.known(re.sub(r"^(?:with|in) ", "", frame.rest))
        )
        or (frame.verb == "stick" and re.match(r"(?:with|to) ", frame.rest))
    )
    if frame.verb == "run" and frame.who is not Who.NONE:
        using = bool(re.match(r"(?:(?:on|under) (?!port\b)|[A-Z]\w+|n?vim|k8s|everything on|on top of)", frame.rest)) or (
            frame.who in {Who.WE} and values.concrete(values.short(frame.rest))
        )
    if frame.passive and frame.verb in vocabulary.MADE_WITH:
        using = (
            bool(re.match(r"(?:in|with|on|on top of|using|by|to|at|around|upon|through)\s", frame.rest))
            and frame.who in {Who.OUR, Who.THING, Who.MY}
            and (not drafts.TASK_NOUN.match(frame.subject) or _TESTED.match(frame.subject))
        )
        made_with = values.short(re.sub(r"^\w+\s", "", frame.rest))
        using = using and (values.concrete(made_with) or tools.known(made_with))
    if (
        frame.copula
        and frame.who in {Who.WE, Who.I, Who.OUR}
        and (match := re.match(r"(?:still |stuck )?(?:on|with|running) (?:the )?([a-z]*[A-Z]\S*.*|\S*\d.*|a \w+ (?:stack|setup|plan))", frame.rest))
        and not vocabulary.DATE.match(match[1])
    ):
        return _use_of(frame, match[1])
    if not using or (frame.past and not frame.passive):
        return None
    if frame.perfect and "never" in frame.adverbs and frame.who is Who.I:
        return (
            Draft(Category.PERSONAL_INFO, 0.8, attribute="experience", value=values.bare(values.short(frame.rest)), polarity=False)
            if values.concrete(frame.rest)
            else None
        )
    if frame.perfect and not (
        frame.form == "VBG" or frame.passive or re.search(r"\bfor (?:\w+ ){0,3}(?:years?|months?|weeks?|decades?)\b|\bsince\b", frame.rest)
    ):
        return None
    return _use_of(frame, re.sub(r"^(?:on top of|on|in|with|to|at|under|using|by|around|everything on|upon|through)\s+", "", frame.rest))


def _use_of(frame: Frame, rest: str) -> Draft | None:
    if (
        frame.who is Who.NONE
        or (
            frame.who is Who.THING
            and not _TESTED.match(frame.subject)
            and not _ALL.match(frame.subject)
            and (drafts.TASK_NOUN.match(frame.subject) or not durable_thing(frame))
        )
        or (frame.who is Who.MY and drafts.head(frame.subject) in vocabulary.JUNK_NOUNS | _ACQUAINTANCES)
    ):
        return None
    value, other = values.contrast(rest)
    value = (not other and values.listing(rest)) or values.bare(values.short(value))
    if (
        drafts.empty(value)
        or re.match(r"\d+$", value)
        or re.match(r"(?:recursion|loop|for loop|while loop|following|same|correct|wrong|latest)\b", value, re.I)
    ):
        return None
    passing = frame.progressive and frame.who is Who.I and not values.concrete(value) and not vocabulary.PERSONAL_TOOLS.match(value)
    if passing or drafts.junk_head(value):
        return None
    attribute = "deployment" if frame.verb in {"deploy", "host"} else "language" if _written_in(frame, value) else "uses"
    special = bool({"also", "sometimes", "both"} & set(frame.adverbs)) or bool(
        re.search(r"\b(?:for|as|in|too|sometimes)\b(?! production\b| staging\b| prod\b| dev\b| \d)", rest.partition(value)[2])
    )
    newly = "now" in frame.adverbs or bool(re.search(r"\bnow$", rest))
    draft = use(frame, value, replaces=other if len(other.split()) <= 3 and not frame.negated else "", polarity=drafts.polarity(frame))
    return (
        msgspec.structs.replace(
            draft,
            attribute=attribute,
            functional=attribute != "uses",
            several=draft.several and attribute == "uses",
            special=special,
            changed=newly and not tools.versioned(value),
        )
        if draft
        else None
    )


def _written_in(frame: Frame, value: str) -> bool:
    return frame.passive and frame.verb in {"write", "code", "implement"} and frame.rest.startswith("in ") and tools.language(value)


def durable_thing(frame: Frame) -> bool:
    head = drafts.head(frame.subject)
    words = set(values.noun_phrase(frame.subject).split())
    if (
        frame.passive
        and frame.verb in vocabulary.MADE_WITH
        and not frame.subject.lower().startswith(("this ", "that "))
        and head not in vocabulary.JUNK_NOUNS
    ):
        return True
    return (
        head in vocabulary.THINGS
        or (bool(words & (vocabulary.THINGS - vocabulary.JUNK_NOUNS)) and head not in vocabulary.JUNK_NOUNS)
        or (frame.named and drafts.is_named(frame.subject))
        or bool(re.search(r"[a-z][A-Z]|\w-\w+$", frame.subject))
    )
