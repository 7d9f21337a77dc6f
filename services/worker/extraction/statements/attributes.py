"""What something is: "our staging database is MySQL", "my favourite editor is vim"."""

import re

from services.core.models import Category
from services.worker.extraction import tools, values, vocabulary
from services.worker.extraction.clauses import Frame, Who
from services.worker.extraction.statements import drafts, duties, things, uses
from services.worker.extraction.statements.drafts import Draft

_FULL_NAME = re.compile(r"^(?:full|real|actual|proper|legal|first|given) name$")
_OF_NOW = re.compile(r"^(?:new|current|present)\s+(?=\w)")
_ON_A_DATE = re.compile(
    rf"^(?:now )?(?:due |scheduled |planned )?(?:on|by|for|in) (?P<day>(?:the )?(?:\d{{1,2}}\S* (?:of )?)?{vocabulary.MONTHS}\b.*)$", re.I
)
_ACRONYM = re.compile(r"^(?:the |our )?(?!CPU|RAM|GPU|RSS|TTFB|LCP|PR|ID)[A-Z]{3,6}$")
_DISTANCE = re.compile(
    rf"^(?:\w+ )?{vocabulary.SMALL_NUMBERS} (?:more )?(?:commits?|lines?|versions?|steps?|releases?) (?:ahead|behind|long|off)\b", re.IGNORECASE
)


def attribute(frame: Frame) -> Draft | None:
    """Such as "My favourite editor is vim", "our staging database is MySQL", "the release deadline is May 15", "Postgres is our main database"."""
    if frame.progressive and frame.who is Who.MY and vocabulary.FAVORITE.search(frame.subject):
        value = values.long(frame.predicate)  # "my favorite hobbies are listening to music and knitting"
        return Draft(
            Category.PREFERENCE, 0.85, attribute=values.noun_phrase(frame.subject), value=value, functional=True, polarity=drafts.polarity(frame)
        )
    if (
        not frame.copula
        or frame.who not in {Who.MY, Who.OUR, Who.THING}
        or frame.past
        or {"would", "could", "might", "should", "may", "can"} & set(frame.auxiliaries)
    ):
        return None
    if re.match(r"(?:a|an|no|every|all|some|each)\b", frame.subject, re.I) and frame.who is Who.THING:
        every = re.match(r"(?:all|every|each)\b", frame.subject, re.I) and values.concrete(frame.rest) and not drafts.TASK_NOUN.match(frame.subject)
        return (
            Draft(
                Category.CONSTRAINT,
                0.75,
                subject=drafts.subject_of(frame),
                attribute="is",
                value=values.long(frame.rest),
                polarity=drafts.polarity(frame),
            )
            if every
            else None
        )
    if "only" in frame.adverbs and frame.negated:
        return None
    if frame.subject.lower() in {"everything", "everything here", "all our code", "the whole stack", "our whole stack"}:
        return _everything(frame)
    if frame.who in {Who.THING, Who.OUR} and (match := _ON_A_DATE.match(values.long(frame.rest))) and not drafts.TASK_NOUN.match(frame.subject):
        return things.dated(frame, "date", match["day"]) if drafts.head(frame.subject) not in vocabulary.JUNK_NOUNS else None
    turned = re.match(
        r"(?:our|my|the (?=(?:oldest|newest|minimum|maximum|only|main|default|primary|official|latest|lowest|highest|preferred)\b)) ?(.+)", frame.rest
    )
    if turned and frame.who is Who.THING:
        return _turned(frame, turned)
    noun = values.noun_phrase(frame.subject)
    value = re.sub(r"^(?:still|now|currently|actually|always|officially|already|only|set to|called|named)\s+", "", values.long(frame.rest))
    if drafts.head(noun) in vocabulary.JUNK_NOUNS or not value or drafts.empty(value) or len(noun.split()) > 7:
        return None
    return _mine(frame, noun, value) if frame.who is Who.MY else _ours(frame, noun, value)


def _everything(frame: Frame) -> Draft | None:
    """Such as "everything is Elixir and Phoenix LiveView"."""
    value = values.bare(values.long(frame.rest))
    if frame.negated or not (tools.known(value) or tools.known(values.bare(re.sub(r"^(?:written )?in ", "", value)))):
        return None
    return Draft(Category.TECHNICAL_CHOICE, 0.75, subject="team", attribute="uses", value=re.sub(r"^(?:written )?in ", "", value), several=True)


def _turned(frame: Frame, match: re.Match[str]) -> Draft | None:
    noun = values.noun_phrase(values.short(match[1]))
    if drafts.TASK_NOUN.match(frame.subject) or drafts.head(noun) in vocabulary.JUNK_NOUNS or not frame.subject:
        return None
    if match[0].startswith("my "):
        category = Category.PREFERENCE if vocabulary.FAVORITE.search(noun) else Category.PERSONAL_INFO
        return Draft(category, 0.85, attribute=noun, value=values.bare(frame.subject), functional=True)
    if not values.concrete(frame.subject) and not vocabulary.ENVIRONMENTS.get(frame.subject.lower()) and drafts.head(noun) not in vocabulary.THINGS:
        return None
    return Draft(Category.PROJECT_CONTEXT, 0.85, subject="team", attribute=noun, value=values.bare(frame.subject), functional=True)


def _mine(frame: Frame, noun: str, value: str) -> Draft | None:
    noun = _OF_NOW.sub("", _FULL_NAME.sub("name", noun))
    words = noun.replace("'s", "").split()
    if vocabulary.DATE.search(value):
        value = re.sub(r"^(?:on|in) (?=\S)", "", value)
    first = value.split()[0].lower()
    if drafts.relative(frame.subject):
        told = values.concrete(value) and not re.search(r"\b(?:at|in|on)\b", value)
        return (
            Draft(Category.PERSONAL_INFO, 0.8, drafts.subject_of(frame), "is", values.bare(value), polarity=drafts.polarity(frame)) if told else None
        )
    if _DISTANCE.match(value):
        return None
    if vocabulary.FAVORITE.search(noun):
        kind = tools.kind(value)
        noun = kind if kind and drafts.head(noun) == kind else noun  # the one that a switch to another takes the place of
        return Draft(Category.PREFERENCE, 0.9, attribute=noun, value=values.bare(value), functional=True, polarity=drafts.polarity(frame))
    if words[0] in vocabulary.PEOPLE and len(words) > 1:
        return Draft(
            Category.PERSONAL_INFO,
            0.9,
            subject=words[0],
            attribute=" ".join(words[1:]),
            value=values.bare(value),
            functional=True,
            polarity=drafts.polarity(frame),
        )
    if tools.known(value) and drafts.head(noun) not in vocabulary.JUNK_NOUNS:
        category = Category.PREFERENCE if vocabulary.PERSONAL_TOOLS.match(value) else Category.TECHNICAL_CHOICE
        return Draft(category, 0.85, attribute=noun, value=values.bare(value), functional=True, polarity=drafts.polarity(frame))
    if first in vocabulary.TRANSIENT_STATES or (frame.progressive or (frame.tags[:1] in {("VBG",), ("VBN",)} and not value[:1].isupper())):
        return None
    personal = set(words) & (vocabulary.PERSONAL_NOUNS | vocabulary.PEOPLE)
    if not personal and not values.concrete(value) and drafts.head(noun) not in vocabulary.THINGS and not re.match(r"(?:an?|the)\b", value):
        return None
    category = Category.PERSONAL_INFO if personal else Category.PROJECT_CONTEXT
    descriptive = not personal and bool(re.match(r"an? ", value))
    if descriptive and drafts.head(noun) not in vocabulary.THINGS:
        return None
    if descriptive:
        return Draft(category, 0.75, subject=noun, attribute="is", value=values.bare(value), polarity=drafts.polarity(frame))
    return Draft(category, 0.9 if personal else 0.8, attribute=noun, value=values.bare(value), functional=True, polarity=drafts.polarity(frame))


def _ours(frame: Frame, noun: str, value: str) -> Draft | None:
    if frame.who is Who.THING and (
        drafts.TASK_NOUN.match(frame.subject)
        or not (
            "'s " in frame.subject
            or (
                (
                    uses.durable_thing(frame)
                    or (_ACRONYM.match(frame.subject) and re.match(r"v?\d[\d.]*$", values.short(value)))
                    or (noun.endswith((" date", " deadline")) and bool(vocabulary.DATE.search(value)))
                    or (_is_relational(noun) and frame.subject.lower().startswith("the ") and bool(drafts.NAMES.match(value)))
                )
                and not (frame.named and len(frame.subject.split()) == 1 and drafts.head(frame.subject) not in vocabulary.THINGS)
            )
        )
    ):
        return None
    first = value.split()[0].lower()
    telling = values.concrete(value) or bool(vocabulary.DATE.search(value)) or bool(re.match(rf"{vocabulary.SMALL_NUMBERS} \w+$", value))
    if first in vocabulary.TRANSIENT_STATES and not (telling and first in {"in", "at", "on", "still", "not", "about", "up"}):
        return None
    if frame.who is Who.THING and not telling and not _is_relational(noun) and not re.match(r"(?:an?|written|hosted|deployed|built) ", value):
        return None
    if frame.tags[:1] in {("VBG",), ("JJR",)} or (frame.tags[:1] == ("JJ",) and not telling and not _is_relational(noun)):
        return None
    category = (
        Category.CONSTRAINT
        if (duties.LIMITS.search(noun) and not re.search(r"deadline", noun)) or drafts.head(noun) in {"deadline", "budget", "limit", "freeze"}
        else Category.PROJECT_CONTEXT
    )
    if re.match(r"(?:an?|the) ", value) and not _is_relational(noun):
        if frame.named and not values.concrete(value) and drafts.head(noun) not in vocabulary.THINGS:
            return None  # praise
        return Draft(
            category,
            0.75,
            subject=noun if not drafts.is_named(frame.subject) else frame.subject,
            attribute="is",
            value=values.bare(value),
            polarity=drafts.polarity(frame),
        )
    if vocabulary.DATE.search(value) and not re.search(r"date|deadline|day|birthday|due", noun):
        noun = f"{noun} date"
    return Draft(
        category,
        0.85,
        subject="team",
        attribute=noun,
        value=re.sub(r"^(?:on|at|in) (?=\S)", "", values.bare(value)),
        functional=True,
        polarity=drafts.polarity(frame),
    )


def _is_relational(noun: str) -> bool:
    return bool(
        re.search(
            r"\b(?:language|database|framework|deadline|budget|name|linter|formatter|orm|broker|license|licence|region|cloud"
            r"|provider|host|lead|head|contact|client|customer|sponsor|approver|reviewer|manager|owner|editor|version|format|strategy|convention|stack|tool)$",
            noun,
        )
    )
