"""What must be, must not be, or is still to be done."""

import re

from services.core.models import Category
from services.worker.extraction import values, vocabulary
from services.worker.extraction.clauses import Frame, Who
from services.worker.extraction.statements import drafts
from services.worker.extraction.statements.drafts import Draft

_ORDER_JUNK = re.compile(r"^(?:mind|say never|forget what|ask me again what)\b", re.IGNORECASE)


LIMITS = re.compile(
    r"\b(?:limit|maximum|minimum|max|min|cap|budget|rule|policy|requirement|deadline|restriction|ban|quota|no \w+ (?:allowed|policy)|freeze)\b",
    re.IGNORECASE,
)


def promised(frame: Frame) -> Draft | None:
    """Such as "I promised Ana I'd send it by Friday", "committing to one chapter this week", "I owe Bob a review", "I need to renew it by June"."""
    if frame.who not in {Who.I, Who.WE, Who.NONE} or frame.negated:
        return None
    done = frame.past or frame.perfect or frame.progressive or frame.form in {"VBN", "VBG"}
    if (frame.verb == "promise" and done and len(frame.rest.split()) > 2) or (
        frame.verb == "commit" and done and re.match(r"to (?:\w+ing|.*\bby)\b", frame.rest)
    ):
        return Draft(Category.TODO, 0.8, subject=drafts.subject_of(frame))
    if frame.verb == "owe" and len(frame.rest.split()) > 1 and not frame.past:
        return Draft(Category.TODO, 0.7, subject=drafts.subject_of(frame))
    if frame.perfect or ("must" in frame.auxiliaries and frame.copula and not values.concrete(frame.rest)):
        return None  # "we must have missed it", "we must be early" guess
    if frame.verb == "have" and re.match(r"(?:yet|still) to \w", frame.rest):
        return Draft(Category.TODO, 0.8, subject=drafts.subject_of(frame))
    due = vocabulary.WHEN_DUE.search(f"{frame.before} {frame.rest}")
    if "should" in frame.auxiliaries and frame.who is not Who.NONE and not frame.copula:
        return _proposed(frame)
    obliged = (frame.verb in {"need", "have", "get", "got"} and frame.rest.startswith("to ")) or "must" in frame.auxiliaries
    if obliged and frame.who is not Who.NONE and not frame.past:
        what = frame.rest if "must" not in frame.auxiliaries else f"to {frame.verb} {frame.rest}"
        verb = what.split()[1].lower() if len(what.split()) > 1 else ""
        if (
            not due
            and verb in vocabulary.CONSTRAINT_VERBS
            and frame.who is Who.WE
            and not _TALKED_ABOUT.search(what)
            and not re.match(r"to (?:use|run|be|work|go|have) (?:this|that|it|the (?:test|script|code))", what)
        ):
            return Draft(Category.CONSTRAINT, 0.85, subject="team", attribute="must", value=values.long(what.removeprefix("to ")))
        if (due or "still" in frame.adverbs) and verb not in {"know", "understand", "ask", "leave", "run"}:
            return Draft(Category.TODO, 0.8, subject=drafts.subject_of(frame))
        if frame.who is Who.WE and "must" in frame.auxiliaries and not re.search(r"\b(?:this|that|these|those)\b", what):
            return Draft(Category.CONSTRAINT, 0.85, subject="team", attribute="must", value=values.long(what.removeprefix("to ")))
    return None


_TALKED_ABOUT = re.compile(
    r"\b(?:on|about|into|with|through|over|at) (?:this|that|it|these|those)$|^to go (?:deeper|further|back|over|through|ahead|into|on)\b",
    re.IGNORECASE,
)
"""What is to be done in the conversation itself."""
_SOON = re.compile(r"\b(?:next|this) (?:sprint|week|month|quarter|release|iteration|cycle)$|\bby (?:the )?(?:end of|next) \w+", re.IGNORECASE)
_WORK = frozenset(
    {"refactor", "rewrite", "migrate", "upgrade", "replace", "remove", "clean", "rotate", "document", "test", "update", "renew", "archive", "split"}
    | {"extract", "automate", "fix", "review", "audit", "schedule", "hire", "order", "book", "pay", "send", "add", "write", "deprecate", "port"}
)


def _proposed(frame: Frame) -> Draft | None:
    """Such as "We should refactor the billing module next sprint"; without a time and a work of its own it is an opinion."""
    due = _SOON.search(frame.rest)
    what = frame.rest[: due.start()] if due else ""
    if frame.negated or frame.verb not in _WORK or not what or drafts.empty(values.short(what)) or re.search(r"\b(?:this|that|it)\b", what):
        return None
    return Draft(Category.TODO, 0.7, subject=drafts.subject_of(frame))


_HANDLED = (
    "hashed|encrypted|signed|validated|stored|logged|approved|reviewed|authenticated|tested|versioned|documented|localized|escaped|sanitized|rotated"
    "|deleted|kept|tagged|formatted|typed|prefixed|reproducible|accessible|idempotent"
)
_FORBIDDEN_TO_ALL = frozenset({"leave", "exceed", "deploy", "merge", "ship", "push", "share", "store", "log", "commit", "release", "access"})
_NOT_TO_BE_DONE = frozenset({"exceed", "contain", "use", "depend", "include", "store", "leave", "import"})
_FORBIDDEN_TO_YOU = re.compile(
    r"(?:modify|edit|touch|change|delete|remove|commit|push|merge|deploy|rename|log|expose|share) (?:(?:the|our|any|my|anything) |to )\w",
    re.IGNORECASE,
)
_IT_NEEDS = re.compile(r"to (?:run on|work (?:on|offline|without)|fit (?:in|into|on|within))\b", re.IGNORECASE)


_MEASURED_THING = re.compile(r"(?:the|our|each|every|all|any) (?:[\w-]+ )?(?:pages?|quer(?:y|ies))$", re.IGNORECASE)
_MEASURE = re.compile(
    rf"\b(?:under|within|below|(?:less|faster|fewer|no more) than|at most) (?:an? )?{vocabulary.SMALL_NUMBERS}[\d.,]* ?"
    r"(?:ms|milliseconds?|s|sec|seconds?|min|minutes?|hours?|[kmgt]i?b)\b",
    re.IGNORECASE,
)


def _laid_down(frame: Frame) -> Draft | None:
    """What "you must not" do, where "it needs to" run, how fast "the page" must be: said to the assistant, but of the project."""
    if frame.past or frame.perfect:
        return None
    if _MEASURED_THING.match(frame.subject) and "must" in frame.auxiliaries and _MEASURE.search(frame.rest):
        must = values.long(f"{frame.said} {frame.rest}")
        return Draft(Category.CONSTRAINT, 0.8, drafts.subject_of(frame), "must", must, polarity=not frame.negated)
    who = frame.subject.lower()
    if who in {"nobody", "no one"} and {"may", "must"} & set(frame.auxiliaries) and frame.verb in _FORBIDDEN_TO_ALL and not drafts.empty(frame.rest):
        return Draft(Category.CONSTRAINT, 0.8, "anybody", "must", values.long(f"{frame.said} {frame.rest}"), polarity=False)
    if (
        who == "you"
        and "must" in frame.auxiliaries
        and (frame.negated or "never" in frame.adverbs)
        and _FORBIDDEN_TO_YOU.match(f"{frame.verb} {frame.rest}")
    ):
        must = values.long(f"{frame.said} {frame.rest}")
        return Draft(Category.CONSTRAINT, 0.8, "team", "must", must, polarity=False)
    if who == "it" and frame.verb in {"need", "have"} and not frame.negated and _IT_NEEDS.match(frame.rest) and values.concrete(frame.rest):
        return Draft(Category.CONSTRAINT, 0.65, "project", "must", values.long(frame.rest.removeprefix("to ")))
    return None


_UNACCEPTABLE = re.compile(
    r"(?:acceptable|tolerable|an option) (?:during|between|outside|in (?:prod|production)|on (?:week(?:end|day)s|\w+days))\b", re.IGNORECASE
)


def constrained(frame: Frame) -> Draft | None:
    """Such as "We can't use GPL code", "all endpoints must be authenticated", "deploys are not allowed on Fridays"."""
    if frame.who in {Who.OTHER, Who.NONE} or (frame.who is Who.THING and drafts.TASK_NOUN.match(frame.subject)) or frame.past or frame.perfect:
        return _laid_down(frame)
    if frame.subject.lower() == "everything":
        must = values.long(frame.rest.removeprefix("to "))
        obliged = frame.verb in {"have", "need"} and frame.rest.startswith("to ") and len(must.split()) > 2 and not drafts.empty(must)
        return Draft(Category.CONSTRAINT, 0.75, "everything", "must", must, polarity=drafts.polarity(frame)) if obliged else None
    if "must" in frame.auxiliaries and frame.copula and frame.who is Who.WE and not values.concrete(frame.rest):
        return None
    if "must" in frame.auxiliaries and frame.copula and frame.rest.split(" ")[0].lower() in vocabulary.TRANSIENT_STATES - {"in", "on", "at"}:
        return None  # "the server must be down" guesses
    subject = drafts.subject_of(frame)
    strict = bool(set(frame.adverbs) & {"always", "never", "only"})
    forbidden = "can" in frame.auxiliaries and (frame.negated or "only" in frame.adverbs)
    verb_phrase = f"{frame.said} {frame.rest}".strip()
    if frame.who is Who.I:
        if (
            forbidden
            and frame.verb in {"use", "install", "have", "eat", "drink", "work", "deploy", "upgrade", "access", "commit", "share", "touch"}
            and values.concrete(frame.rest)
        ):
            return Draft(Category.CONSTRAINT, 0.75, attribute="can", value=values.long(verb_phrase), polarity=not frame.negated)
        return None
    modal = (
        "must" in frame.auxiliaries
        or ("should" in frame.auxiliaries and (strict or (frame.negated and frame.who is Who.WE)))
        or ("may" in frame.auxiliaries and frame.negated and (frame.passive or frame.verb in _NOT_TO_BE_DONE))
        or (frame.subject.lower() == "nothing" and {"may", "must"} & set(frame.auxiliaries) and frame.verb in _FORBIDDEN_TO_ALL)
        or (frame.subject.lower().startswith("no ") and ("may" in frame.auxiliaries or frame.verb in _FORBIDDEN_TO_ALL))
    )
    obliged = frame.verb in {"have", "need"} and frame.rest.startswith("to ") and frame.who in {Who.OUR, Who.THING, Who.MY} and not frame.negated
    obliged = obliged and bool(
        re.match(
            r"to (?:(?:"
            + "|".join(sorted(vocabulary.CONSTRAINT_VERBS - {"be", "have"}))
            + r")\b|(?:fit|cope|handle|boot|start|respond|finish|load|survive|tolerate)\b.*\d ?(?:[kmgt]i?b|bytes|ms|s|sec\w*"
            r"|min\w*|hours?|%|rps|qps|users|requests)\b|be (?:under|below|above|at least|at most|within|no more|backwards?|compatible"
            r"|[\w-]+[ -]compliant))",
            frame.rest,
            re.IGNORECASE,
        )
        or (re.match(rf"to be (?:{_HANDLED})\b", frame.rest) and (frame.who is Who.OUR or drafts.head(frame.subject).endswith("s")))
    )
    if (
        frame.who is Who.WE
        and forbidden
        and frame.verb in {"get", "figure", "find", "see", "make", "seem", "connect", "go", "reproduce", "understand", "tell"}
    ):
        return None
    if (
        frame.who is Who.THING
        and forbidden
        and not (frame.passive or frame.verb in {"be", "exceed", "depend", "use", "have", "leave", "go", "store", "access", "contain"})
    ):
        return None
    if (
        frame.verb in {"need", "require", "get", "have"}
        and re.match(r"(?:all|every|each)\b", frame.subject, re.I)
        and not frame.progressive
        and not drafts.empty(values.long(frame.rest))
    ):
        must = values.long(frame.rest if frame.verb in {"have", "get"} else verb_phrase)
        return Draft(Category.CONSTRAINT, 0.8, subject=subject, attribute="must", value=must)
    if modal or obliged or forbidden:
        none = subject.lower().startswith("no ") or subject.lower() == "nothing"
        return Draft(
            Category.CONSTRAINT,
            0.85,
            subject="anything" if subject.lower() == "nothing" else subject[3:] if none else subject,
            attribute="must" if not forbidden else "can",
            value=values.long(frame.rest.removeprefix("to ") if obliged else verb_phrase),
            polarity=not frame.negated and not none,
        )
    if frame.passive and frame.verb in vocabulary.RULED and (frame.rest or frame.negated or frame.verb not in {"require", "support", "limit", "cap"}):
        return Draft(Category.CONSTRAINT, 0.85, subject=subject, attribute=frame.verb, value=values.long(frame.rest), polarity=not frame.negated)
    if frame.copula and frame.negated and _UNACCEPTABLE.match(frame.rest) and not re.match(r"(?:the|this|that|these|those)\b", frame.subject, re.I):
        return Draft(Category.CONSTRAINT, 0.75, subject=subject, attribute="must", value=values.long(frame.rest), polarity=False)
    if frame.copula and re.match(
        r"(?:not )?(?:allowed|permitted|forbidden|required|mandatory|off[- ]limits|limited|capped|banned|prohibited|read-only)\b", frame.rest
    ):
        return Draft(Category.CONSTRAINT, 0.85, subject=subject, attribute="must", value=values.long(frame.rest), polarity=not frame.negated)
    return None


_MANNER = re.compile(r"\byour (?:answers|replies|responses|explanations|messages|summaries|commit messages)\b", re.IGNORECASE)
"""How the assistant is to answer, each time."""


def standing_order(frame: Frame) -> Draft | None:
    """Such as "Always run the linter before committing", "never push to main", "from now on answer in German"."""
    text = " ".join((frame.before, *frame.adverbs, frame.text))
    if (
        frame.who is not Who.NONE
        or not (drafts.STANDING.search(text) or _MANNER.search(frame.rest))
        or _ORDER_JUNK.match(frame.rest)
        or frame.verb in {"mind"}
    ):
        return None
    if frame.form not in {"VB", "VBP"} or not frame.rest or (drafts.empty(values.short(frame.rest)) and not drafts.ANSWERS.search(frame.rest)):
        return None
    if frame.verb == "use" and not _MANNER.search(frame.rest):
        value, other = values.contrast(frame.rest)
        return Draft(Category.PREFERENCE, 0.85, attribute="uses", value=values.bare(values.short(value)), polarity=not frame.negated, replaces=other)
    answers = frame.verb in {"answer", "respond", "reply", "explain", "write", "keep", "speak", "talk", "address", "call"} or drafts.ANSWERS.search(
        frame.rest
    )
    return Draft(Category.PREFERENCE if answers else Category.CONSTRAINT, 0.85, subject="user" if answers else "team", polarity=not frame.negated)


_PARTS = re.compile(
    rf"{vocabulary.SMALL_NUMBERS} (?:\w+ )?(?P<what>services|microservices|environments|teams|apps|applications|repos|repositories|databases|regions"
    r"|packages|modules|clusters|clients|workers|squads)(?::(?P<list>.+)|$)",
    re.IGNORECASE,
)


def there_is(frame: Frame) -> Draft | None:
    """Such as "There's a hard limit of 500 MB"."""
    if frame.subject.lower() == "there" and frame.copula and (match := re.match(r"(?:only |just |about )?(\w+) of us\b", frame.rest)):
        return Draft(Category.PROJECT_CONTEXT, 0.8, subject="team", attribute="size", value=match[1], functional=True)
    if frame.subject.lower() == "there" and frame.copula and not frame.past and (match := _PARTS.match(frame.rest)):
        return Draft(
            Category.PROJECT_CONTEXT, 0.75, "project", match["what"].lower(), values.bare(match[0]) if not match["list"] else match["list"].strip()
        )
    if frame.subject.lower() != "there" or not frame.copula or frame.past or not LIMITS.search(values.short(frame.rest)):
        return None
    return (
        Draft(Category.CONSTRAINT, 0.75, subject="team", value=values.long(frame.rest), polarity=drafts.polarity(frame))
        if values.concrete(frame.rest) or "no " in frame.rest
        else None
    )
