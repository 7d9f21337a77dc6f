"""Pages of brain-kit (`brain_export`), as notes: what it calls by one id stays one note."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from services.cli.imports import records
from services.cli.imports.items import Document, Item, Skipped, Wanted, seconds
from services.core import note_api

SOURCE = "brain-kit"


class _Page(msgspec.Struct, rename="camel"):
    content: str
    id: str | int | None = None
    title: str = ""
    metadata: dict[str, Any] | None = None
    created_at: Any = None
    updated_at: Any = None


def read(document: Document, wanted: Wanted) -> Iterator[Item]:
    for found in records.shaped(document, ("pages",), _Page, "page", "brain-kit"):
        if isinstance(found, Skipped):
            yield found
            continue
        place, page = found
        named = str(page.id or page.title)
        if not named.strip() or not (page.title.strip() or page.content.strip()):
            yield Skipped(place, "it has neither an id nor a title, or says nothing")
        elif len(page.content) > note_api.LONGEST_NOTE:
            yield Skipped(place, f"it has {len(page.content)} characters: a note has at most {note_api.LONGEST_NOTE}")
        elif len(named) > note_api.LONGEST_NAME or len(page.title) > note_api.LONGEST_NAME:
            yield Skipped(place, f"its id or title is longer than {note_api.LONGEST_NAME} characters")
        else:
            yield _note(page, named, wanted.project or "")


def _note(page: _Page, named: str, project: str) -> note_api.PutNote:
    """When it was made goes into the metadata, unless these say so themselves."""
    metadata = dict(page.metadata or {})
    tags = _tags(metadata)
    if created := seconds(page.created_at):
        metadata.setdefault("created", datetime.fromtimestamp(created, UTC).isoformat())
    return note_api.PutNote(
        text=page.content,
        title=page.title,
        tags=tags,
        metadata=metadata,
        source=SOURCE,
        path=named,
        project=project,
        modified_at=seconds(page.updated_at) or created,
    )


def _tags(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    tags = metadata.get("tags")
    if isinstance(tags, str):
        tags = tags.split(",")
    return tuple(tag.strip() for tag in tags if isinstance(tag, str) and tag.strip())[: note_api.MOST_TAGS] if isinstance(tags, list) else ()
