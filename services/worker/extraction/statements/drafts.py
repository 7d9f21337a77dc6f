"""What a frame states, and the judgements that all kinds of statement share. Pure."""

import re

import msgspec

from services.core.models import Category
from services.worker.extraction import values, vocabulary
from services.worker.extraction.clauses import Frame, Who


class Draft(msgspec.Struct, frozen=True):
    """What a frame states; the fields are those of `models.Fact`. several: the value is a list whose members hold by themselves.

    changed: it is said to be new, so that it takes the place of what was used for the same until now. special: for one purpose only ("Redis for
    sessions").
    """

    category: Category
    confidence: float
    subject: str = "user"
    attribute: str = ""
    value: str = ""
    functional: bool = False
    polarity: bool = True
    replaces: str = ""
    several: bool = False
    changed: bool = False
    special: bool = False


_NAME = r"(?:<[A-Z]+_\d+>|[A-Z][\w'’-]+)"


NAMES = re.compile(rf"^{_NAME}(?: (?:van |von |de |da |del )?{_NAME}){{0,3}}$")


_NOT_SUBJECT_NAMES = frozenset(
    {
        "the",
        "a",
        "an",
        "this",
        "that",
        "our",
        "my",
        "all",
        "every",
        "each",
        "no",
        "here",
        "it",
        "what",
        "one",
        "some",
        "most",
        "currently",
        "everything",
        "nothing",
    }
)


TRANSIENT_TARGETS = re.compile(
    r"\b(?:branch|tab|file|window|directory|folder|page|topic|subject|next|line|step|section|gears|button|it|this|that"
    r"|something|another|different)\b",
    re.IGNORECASE,
)


ANSWERS = re.compile(
    r"\b(?:answers?|repl(?:y|ies)|responses?|explanations?|examples?|comments?|commit messages?|summaries|feedback|emojis?"
    r"|bullet points?|code reviews?|diffs?|jargon|concise|brief|verbose)\b",
    re.IGNORECASE,
)


STANDING = re.compile(
    r"\b(?:always|never|don't ever|do not ever|ever$|henceforth|by default|to me like|from now on|going forward|in (?:this|our"
    r"|my) (?:project|repo|repository|codebase"
    r"|team|company|app)|at all times|in (?:all|every) \w+|in everything|everywhere$|(?:before|after) every|every time|whenever|in future|in the "
    r"future"
    r"|under no circumstances|for all (?:new )?\w+|without exception|as a rule)\b",
    re.IGNORECASE,
)


TASK_NOUN = re.compile(
    r"^(?:the|this|that|each|every|a|an|it)?\s*(?:new |same |following |above )?(?:function|method|class|test|script"
    r"|component|output|result|code|button|page|query|regex|loop|string|input|list|table|value|variable|answer|file|program"
    r"|modal|form|field|parameter|argument|user|users|array|object)s?\b",
    re.IGNORECASE,
)


def lasts(draft: Draft) -> bool:
    """Whether it holds beyond the day on which it is said, "today" and "right now" notwithstanding."""
    return draft.category in {Category.DECISION, Category.TODO, Category.CONSTRAINT} or draft.attribute in {
        "uses",
        "works on",
        "learns",
        "deployment",
    }


def subject_of(frame: Frame) -> str:
    """Whose statement it is, normalised: "user", "team", or the noun phrase."""
    if frame.who is Who.I:
        return "user"
    if frame.who is Who.WE or frame.who is Who.NONE:
        return "team" if frame.who is Who.WE else "user"
    phrase = values.noun_phrase(frame.subject)
    words = phrase.split()
    if words and words[0] in vocabulary.PEOPLE and (frame.who is Who.MY or (frame.who is Who.OUR and is_family(frame.subject))):
        return relative(frame.subject) or words[0]
    return frame.subject if frame.who is Who.THING and is_named(frame.subject) else phrase


_RELATIVE = re.compile(rf"^(?:my|our) (?P<kin>\w+),? (?P<name>{_NAME})(?!'s)\b", re.IGNORECASE)


def relative(subject: str) -> str:
    """Such as "son Max" of "my son Max": of several sons each is somebody else. "" without a name."""
    match = _RELATIVE.match(subject)
    return f"{match['kin'].lower()} {match['name']}" if match and match["name"][:1].isupper() and match["kin"].lower() in vocabulary.PEOPLE else ""


def is_family(phrase: str) -> bool:
    """Whether the phrase names kin or a pet, who are nobody's colleagues whoever says "we" and "our"."""
    words = [word.removesuffix("'s") for word in re.findall(r"[\w']+", phrase.lower())]
    return any(word in vocabulary.FAMILY or word.removesuffix("s") in vocabulary.FAMILY for word in words[:3])


def is_named(subject: str) -> bool:
    first = subject.split(" ")[0].lower()
    return bool(NAMES.match(subject)) and subject.lower() not in vocabulary.THINGS and first not in _NOT_SUBJECT_NAMES


def is_person(frame: Frame) -> bool:
    if frame.who is Who.I:
        return True
    if frame.who is Who.OUR and is_family(frame.subject):
        return True
    if frame.who is Who.MY:
        return head(frame.subject) in vocabulary.PEOPLE or bool(
            re.match(r"my (?:\w+ )?(?:" + "|".join(sorted(vocabulary.PEOPLE)) + r")\b", frame.subject, re.I)
        )
    return frame.who is Who.THING and frame.named and is_named(frame.subject)


def head(subject: str) -> str:
    phrase = re.split(r"\s+(?:of|for|in|on|at|with|to|from|that|which|who)\s+", values.noun_phrase(subject))[0]
    last = phrase.split()[-1] if phrase.split() else ""
    return last if last in vocabulary.THINGS | vocabulary.JUNK_NOUNS else _singular(last)


def _singular(noun: str) -> str:
    """Of a thing in the plural ("rate limits"); other nouns stay as they are."""
    return next((noun.removesuffix(end) for end in ("s", "es") if noun.endswith(end) and noun.removesuffix(end) in vocabulary.THINGS), noun)


def empty(value: str) -> bool:
    """Points at something outside the statement, or at nothing."""
    if re.search(r"[\[\]{}]|<[a-z]|\b(?:foo|baz|xxx+)\b|\.\.\.", value):
        return True  # a template's gap
    words = re.findall(r"[\w'<>-]+", value.lower())
    if not words:
        return True
    if words[0] in {
        "this",
        "that",
        "these",
        "those",
        "it",
        "your",
        "his",
        "her",
        "their",
        "its",
        "what",
        "how",
        "them",
        "him",
        "here",
        "there",
        "something",
        "following",
        "such",
        "another",
    }:
        return True
    if words[:2] in (["the", "same"], ["a", "similar"], ["the", "one"]):
        return True
    return all(
        w in vocabulary.GENERIC_OBJECTS
        or w in {"the", "a", "an", "of", "first", "second", "third", "last", "previous", "new", "other", "above", "following"}
        for w in words
    )


def junk_head(value: str) -> bool:
    """Such as "the script"; but a name is a name: "VS Code", "REST"."""
    named = value.isupper() or (len(value.split()) > 1 and all(word[:1].isupper() for word in value.split()))
    return not named and head(value) in vocabulary.JUNK_NOUNS


def polarity(frame: Frame) -> bool:
    return not frame.negated
