"""What a text points at: `[[wikilinks]]`, `#hashtags`, `@mentions` and web addresses, but not in code."""

import re
from collections.abc import Iterable, Iterator

from services.core import models
from services.core.models import Entity, EntityKind
from services.core.notes import markdown

_LONGEST = 200  # characters of a name
_LONGEST_ADDRESS = 2000
_MOST = 1000  # of one text

_CODE = re.compile(r"(?<!`)(`+)(?!`).{1,2000}?(?<!`)\1(?!`)", re.DOTALL)  # no end is looked for further away than that
_TAG_OF_HTML = re.compile(r"<(?:(?!\w+:)/?[A-Za-z]|!--)[^<>]*>")
_ENTITY = re.compile(
    r"""
      !?\[\[ (?P<wikilink> [^\[\]\n|\#^]+ ) [^\[\]\n]* \]\]
    | (?P<url> https?://[^\s<>"`\[\]{}|\\^]+ )
    | (?<! [\w/\#&\\@] ) (?<! \[\[ ) \# (?P<hashtag> [\w][\w/-]* )
    | (?<! [\w/@.+\\-] ) @ (?P<mention> [^\W\d_][\w-]* (?: \.[\w-]+ )* (?: @[\w-]+(?:\.[\w-]+)+ )? ) (?! [/\w@] )
    """,
    re.VERBOSE,
)
_COLOUR = re.compile(r"(?=.*\d)(?:[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})")


def extract(text: str) -> tuple[Entity, ...]:
    """Each once (`Entity.key`), in the order of the text; at most a thousand.

    A heading's marks are no hashtag, and a number (#123) or a colour (#1a2b3c) is none: a hashtag has a letter. The user of an e-mail address,
    a version (@v2) and a scoped package (@org/name) are no mention. `[[page#part|alias]]` means the page.
    """
    return of_document(markdown.read(text))


def of_document(document: markdown.Document) -> tuple[Entity, ...]:
    """The same, of a text that was read already."""
    found = [entity for prose in document.prose for entity in _in_prose(prose)]
    found += [Entity(EntityKind.URL, target, target) for target in document.targets if target.startswith(("http://", "https://"))]
    return distinct(found)[:_MOST]


def distinct(entities: Iterable[Entity]) -> tuple[Entity, ...]:
    """The first of each key."""
    first: dict[str, Entity] = {}
    for entity in entities:
        first.setdefault(entity.key, entity)
    return tuple(first.values())


def tag(text: str) -> str:
    """A stated tag as a hashtag has it."""
    return re.sub(r"\s+", "-", text.strip().lstrip("#").strip())[:_LONGEST]


def hashtags(entities: Iterable[Entity]) -> tuple[str, ...]:
    return tuple(entity.value for entity in entities if entity.kind is EntityKind.HASHTAG)


def of_tags(tags: Iterable[str]) -> Iterator[Entity]:
    return (Entity(EntityKind.HASHTAG, each, f"#{each}") for each in tags)


def _in_prose(prose: str) -> Iterator[Entity]:
    for match in _ENTITY.finditer(_TAG_OF_HTML.sub(" ", _CODE.sub(" ", prose))):
        kind = EntityKind(match.lastgroup or "")
        value = _VALUE[kind](match[kind])
        if value and (kind is EntityKind.URL or len(value) <= _LONGEST):
            yield Entity(kind, value, match[0] if kind is not EntityKind.URL else value)


def _wikilink(found: str) -> str:
    return " ".join(found.split()) if models.page_name(found) else ""


def _hashtag(found: str) -> str:
    found = found.rstrip("-/_")
    return found if any(sign.isalpha() for sign in found) and not _COLOUR.fullmatch(found) else ""


def _mention(found: str) -> str:
    return found.rstrip("-_")


def _url(found: str) -> str:
    """Without what belongs to the sentence: marks at the end, and a bracket that was opened before the address. "" if it is too long to be one."""
    if len(found) > _LONGEST_ADDRESS:
        return ""
    while True:
        shorter = found.rstrip(".,;:!?'*~")
        if shorter.endswith(")") and shorter.count(")") > shorter.count("("):
            shorter = shorter[:-1]
        if shorter == found:
            return found if len(found) > len("https://") else ""
        found = shorter


_VALUE = {EntityKind.WIKILINK: _wikilink, EntityKind.HASHTAG: _hashtag, EntityKind.MENTION: _mention, EntityKind.URL: _url}
