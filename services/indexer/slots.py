"""What was read out of a statement, made comparable: who, which attribute, what value, where. Pure.

Extractors differ in how they put the same thing ("database: Postgres" of the team, "uses: PostgreSQL" of production), so that equality of the
raw fields tells little.
"""

import re

from services.core import models
from services.indexer import kinds, likeness

Stated = models.Fact | models.Memory

_STANCES = frozenset({"likes", "loves", "enjoys", "prefers", "prefer", "like", "favourite", "favorite", "preference"})
_COUNTER_STANCES = frozenset({"dislikes", "hates", "avoids", "dislike", "hate", "avoid"})
_PREFERENCES = frozenset({"prefers", "prefer", "preference"})
_GENERAL = frozenset({"", "uses", "use", "using"})
_MANY = frozenset(
    {"uses", "likes", "prefers", "is", "has", "owns", "speaks", "plays", "knows", "handles", "maintains", "studies", "teaches", "supports"}
)
_VAGUE = frozenset({"is", "role", "has", "does", "status"})
_SPEAKER = {"": "user", "i": "user", "me": "user", "we": "team", "us": "team", "our team": "team"}
_SPEAKERS = frozenset({"user", "team", "project"})
_WORK = frozenset({models.Category.TECHNICAL_CHOICE, models.Category.PROJECT_CONTEXT, models.Category.DECISION, models.Category.CONSTRAINT})
_CHOICES = _WORK | {models.Category.PREFERENCE}
_LEADING = re.compile(r"^(?:(?:the|a|an|my|our|new|current|present)\s+)+(?=\S)")
_DATE_ATTRIBUTE = re.compile(r"(?<=\w)\s(?:date|day|time)$")
_SAYING = frozenset(
    map(
        likeness.stem,
        re.findall(
            r"\w+",
            "use using used run running rely go choose chose pick stick work prefer like love better best favourite favorite always call know name "
            "report switch move migrate upgrade convert change replace rewrite write build host deploy base now decide settle adopt new live own",
        ),
    )
)


def subject(stated: Stated) -> str:
    """Whose it is. An environment ("production uses …") is where it holds, not whose it is: see `places`."""
    named = _LEADING.sub("", stated.subject.strip().casefold())
    if named and likeness.environments(named) and len(likeness.words(named)) == 1:
        return "team"
    return _SPEAKER.get(named, named)


def attribute(stated: Stated) -> str:
    """What is stated; all stances are one: which of them says `stance`."""
    found = plain_attribute(stated.attribute)
    return "likes" if found in _STANCES | _COUNTER_STANCES else _DATE_ATTRIBUTE.sub("", found)


def plain_attribute(name: str) -> str:
    """Without what only says that it is the present one: "new manager" is the manager."""
    return _LEADING.sub("", likeness.normalised(name))


def stance(stated: Stated) -> int:
    """1 for, -1 against, 0 neither."""
    found = plain_attribute(stated.attribute)
    toward = (found in _STANCES) - (found in _COUNTER_STANCES)
    return toward if stated.polarity else -abs(toward)


def sign(stated: Stated) -> int:
    """1 or -1: whether it affirms or denies. By its words where nothing was read out of it."""
    if not stated.attribute and not stated.value:
        return -1 if likeness.statement(stated.text).marks.negative else 1
    return stance(stated) or (1 if stated.polarity else -1)


def value(text: str) -> str:
    """For equality: names by one name, singular and plural, "on October 15" and "Oct 15th" alike."""
    return " ".join(likeness.stem(word) if word.isalpha() else word for word in likeness.bare(text))


def places(stated: Stated) -> frozenset[str]:
    """Where and for whom it holds: what holds elsewhere is another statement. What is said of it (backend engineer) is no place."""
    said = likeness.environments(stated.text) | (likeness.people(stated.text) - likeness.people(plain_attribute(stated.attribute)))
    said -= likeness.environments(stated.value) | likeness.people(stated.value)
    return said | {place for qualifier in stated.qualifiers for place in likeness.environments(qualifier) or {likeness.normalised(qualifier)}}


def same_subject(one: Stated, other: Stated) -> bool:
    """The person and the team speak as one of their work, not of themselves. Different names before the value are different subjects."""
    mine, theirs = subject(one), subject(other)
    of_work = models.Category.PERSONAL_INFO not in (one.category, other.category)
    return (mine == theirs or (of_work and {mine, theirs} <= _SPEAKERS)) and not _named_apart(one, other)


def same_slot(one: Stated, other: Stated) -> bool:
    """Whether both state the same attribute of the same subject."""
    return bool(one.attribute) and attribute(one) == attribute(other) and same_subject(one, other)


def same_matter(one: Stated, other: Stated) -> bool:
    """Whether a change of value in the one concerns the other. "We use" is said of anything technical, however it was put before."""
    if not same_subject(one, other):
        return False
    if both_chosen(one, other):
        return True
    if bool(stance(one)) != bool(stance(other)):
        return False
    return attribute(one) == attribute(other) or ({one.category, other.category} <= _CHOICES and _one_choice(one, other))


def same_kind(one: Stated, other: Stated) -> bool | None:
    """Whether the value of the one could stand in the other; None if that can't be told."""
    if "role" in {attribute(one), attribute(other)} and not (kinds.of(one.value) and kinds.of(other.value)):
        return (kinds.of(one.value) | kinds.of(other.value)) <= {"occupation"}
    return kinds.same(one.value, other.value)


def one_of_kind(fact: Stated, memory: Stated) -> bool:
    """Whether the fact, which speaks of a change, leaves no room for another value of its kind: an upgrade concerns one product, and a team
    has several languages."""
    if likeness.upgrading(fact.text) and not same_name(" ".join(likeness.unversioned(fact.value)), memory.value):
        return False
    several = kinds.of(fact.value) & kinds.of(memory.value) & kinds.SEVERAL
    return not several or narrow(fact) or bool(places(fact)) or not (many_valued(fact) and many_valued(memory))


def exclusive(one: Stated, other: Stated) -> bool:
    """Whether nobody has both values at once: single and married, dark mode and light mode. One may like both."""
    shared = kinds.of(one.value) & kinds.of(other.value) & kinds.EXCLUSIVE
    chosen = both_chosen(one, other) or not (stance(one) or stance(other))
    return bool(shared) and chosen and value(one.value) != value(other.value)


def both_chosen(one: Stated, other: Stated) -> bool:
    """Whether both are preferences of what to use, rather than of what one likes."""
    return _chosen(one) and _chosen(other)


def narrow(stated: Stated) -> bool:
    """Whether it speaks of one thing, not of all that a person or a team does."""
    return subject(stated) not in _SPEAKERS


def same_topic(one: Stated, other: Stated) -> bool:
    """Whether both speak of one thing, be it as the subject or as the attribute."""
    mine = topic(one)
    return mine == topic(other) != "" and mine not in _MANY | _GENERAL and not _named_apart(one, other)


def says(longer: str, shorter: str) -> bool:
    """Whether the one value says the other, perhaps with its version: Python 3.10 says Python."""
    whole, part = likeness.bare(longer), likeness.bare(shorter)
    versioned = bool(part) and whole[: len(part)] == part and all(word[0].isdigit() for word in whole[len(part) :])
    return versioned or value(longer) == value(shorter)


def same_name(one: str, other: str) -> bool:
    """Whether both name one thing, the one perhaps shorter or without a version: Sublime and Sublime Text, Python and Python 3.10."""
    if says(one, other) or says(other, one):
        return True
    short, long = sorted((likeness.bare(one), likeness.bare(other)), key=len)
    return bool(short) and long[: len(short)] == short and bool(kinds.of(one) & kinds.of(other))


def many_valued(stated: Stated) -> bool:
    """Whether one subject has usually several values of the attribute."""
    return attribute(stated) in _MANY


def vague(stated: Stated) -> bool:
    """Whether the attribute is one name for many: "is", "role"."""
    return attribute(stated) in _VAGUE


def remainder(stated: Stated) -> frozenset[str]:
    """The words that are neither of the value, the attribute or the subject, nor of saying or changing it: what it is restricted to."""
    replaced = stated.replaces if isinstance(stated, models.Fact) else ""
    told = {likeness.stem(word) for part in (stated.value, stated.attribute, stated.subject, replaced) for word in likeness.words(part)}
    return frozenset(word for word in likeness.statement(stated.text).content if word not in told | _SAYING and not _is_place(word))


def topic(stated: Stated) -> str:
    """The thing spoken of: "the auth service" is the subject of what it does and the attribute of what it is."""
    named = subject(stated)
    return attribute(stated) if named in _SPEAKERS else named


def mentions(stated: Stated, what: str) -> bool:
    """Whether it speaks of this, be it in other forms of the words."""
    told = " ".join((stated.text, stated.subject, stated.attribute, stated.value, *stated.entities))
    present, wanted = ({likeness.stem(word) for word in likeness.words(text)} for text in (told, " ".join(likeness.bare(what))))
    return bool(wanted) and wanted <= present


def _one_choice(one: Stated, other: Stated) -> bool:
    """Whether two names of an attribute can be of one choice: "uses" and "database", "deployment" and "cloud"; not "analytics database"."""
    mine, theirs = plain_attribute(one.attribute), plain_attribute(other.attribute)
    if _restricted(mine) or _restricted(theirs):
        return False
    alike = bool(kinds.of(one.value) & kinds.of(other.value)) and not set(mine.split()) & set(theirs.split())
    return bool(_GENERAL & {mine, theirs}) or (alike and not {mine, theirs} & _MANY)


def _restricted(name: str) -> bool:
    """ "analytics database" is one database among others, "database" the only one."""
    restriction, _, thing = name.rpartition(" ")
    return bool(restriction) and thing in kinds.NAMES and name not in kinds.NAMES and restriction not in {"main", "primary", "default"}


def _chosen(stated: Stated) -> bool:
    """A preference of what to use, in whichever words."""
    return stated.category is models.Category.PREFERENCE and stated.polarity and plain_attribute(stated.attribute) in _PREFERENCES | _GENERAL - {""}


def _named_apart(one: Stated, other: Stated) -> bool:
    mine, theirs = _names_before(one), _names_before(other)
    return bool(mine and theirs) and not mine & theirs


def _names_before(stated: Stated) -> frozenset[str]:
    """The names that come before the value, such as Max in "My son Max is 4". Months and the value's own names are none."""
    at = stated.text.casefold().find(stated.value.casefold()) if stated.value else 0
    names = likeness.statement(stated.text[: max(at, 0)]).names
    return names - frozenset(likeness.words(stated.value)) - frozenset(likeness.words(stated.attribute)) - likeness.DATE_WORDS - likeness.PLACES


def _is_place(word: str) -> bool:
    return bool(likeness.environments(word)) or word in {likeness.stem(place) for place in likeness.PLACES}
