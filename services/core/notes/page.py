"""What a markdown page says: title, tags, metadata, pieces, and what they point at."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from services.core import models
from services.core.notes import entities, front_matter, markdown, passages

_LONGEST_TITLE = 200
_MOST_TAGS = 100
UNTITLED = "untitled"


class Piece(NamedTuple):
    """As a passage has it. headings: led by the title if the page states one that is no heading."""

    headings: tuple[str, ...]
    text: str
    entities: tuple[models.Entity, ...]


class Page(NamedTuple):
    """tags: stated ones, then those in the text; without "#". dated_at: as stated (epoch seconds), or None. notices: what was not understood."""

    title: str
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    pieces: tuple[Piece, ...]
    entities: tuple[models.Entity, ...]
    dated_at: float | None
    notices: tuple[str, ...]


def parse(text: str, *, title: str = "", tags: Iterable[str] = (), metadata: Mapping[str, Any] | None = None, path: str = "") -> Page:
    """Title and metadata given here go before those of the front matter; tags add to them.

    The title is the one given, the front matter's, the first heading of the highest level that there is, the name of the file, or the first words.
    There is always a piece, be it without text: a page can be found by its title.
    """
    matter = front_matter.split(_normal(text))
    document = markdown.read(matter.body)
    stated = " ".join(title.split()) or front_matter.title(matter.fields)
    named = (stated or _heading(document) or PurePosixPath(path).stem or _first_words(matter.body) or UNTITLED)[:_LONGEST_TITLE]
    said = entities.of_document(document)
    given = filter(None, map(entities.tag, [*tags, *front_matter.tags(matter.fields)]))
    all_named = entities.distinct([*list(entities.of_tags(given))[:_MOST_TAGS], *said])
    return Page(
        title=named,
        tags=entities.hashtags(all_named)[:_MOST_TAGS],
        metadata=front_matter.described(matter.fields) | dict(metadata or {}),
        pieces=tuple(_pieces(document, stated[:_LONGEST_TITLE], said)),
        entities=all_named,
        dated_at=front_matter.dated_at(matter.fields | dict(metadata or {})),
        notices=(matter.notice,) if matter.notice else (),
    )


def _normal(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


def _pieces(document: markdown.Document, stated: str, said: Sequence[models.Entity]) -> list[Piece]:
    cut = passages.cut(document) or [passages.Piece(tuple(heading.text for heading in document.headings if heading.text), "")]
    return [Piece(_led(one.headings, stated), one.text, tuple(_said_in(one.text, said))) for one in cut]


def _said_in(text: str, said: Sequence[models.Entity]) -> Iterator[models.Entity]:
    """Which of those that the whole page points at; in half a code block one can't see what is code, nor behind its end."""
    keys = {entity.key for entity in entities.extract(text)}
    return (entity for entity in said if entity.key in keys or _stands_in(entity.raw, text))


def _stands_in(raw: str, text: str) -> bool:
    """Not as the beginning of something longer."""
    return raw in text and re.search(re.escape(raw) + r"(?![\w/-])", text) is not None  # looking for it first saves nearly all patterns


def _led(headings: tuple[str, ...], stated: str) -> tuple[str, ...]:
    return headings if not stated or (headings and headings[0].casefold() == stated.casefold()) else (stated, *headings)


def _heading(document: markdown.Document) -> str:
    titled = [heading for heading in document.headings if heading.text]
    return min(titled, key=lambda heading: heading.level).text if titled else ""


def _first_words(body: str) -> str:
    return " ".join(body[:400].split())[:80]
