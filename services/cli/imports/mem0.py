"""Memories of mem0 (`get_all`, the platform's export) and of OpenMemory, as statements."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from services.cli.imports import records
from services.cli.imports.items import Document, Item, Skipped, Wanted, seconds
from services.core import api, import_api, models

_GONE = frozenset({"deleted", "archived"})


class _Memory(msgspec.Struct):
    id: str | int | None = None
    memory: str | None = None
    content: str | None = None
    text: str | None = None
    metadata: dict[str, Any] | None = None
    metadata_: dict[str, Any] | None = None
    created_at: Any = None
    updated_at: Any = None
    run_id: str | None = None
    state: str | None = None
    category: str | None = None
    categories: list[Any] | None = None


def read(document: Document, wanted: Wanted) -> Iterator[Item]:
    for found in records.shaped(document, ("results", "memories"), _Memory, "memory", "mem0"):
        if isinstance(found, Skipped):
            yield found
            continue
        place, one = found
        text = (one.memory or one.content or one.text or "").strip()
        if not text:
            yield Skipped(place, "it says nothing")
        elif len(text) > api.LONGEST_TEXT:
            yield Skipped(place, f"it has {len(text)} characters: a statement has at most {api.LONGEST_TEXT}")
        elif one.state in _GONE:
            yield Skipped(place, f"it is {one.state}")
        else:
            yield _statement(one, text, document.modified_at, wanted)


def _statement(one: _Memory, text: str, modified_at: float, wanted: Wanted) -> import_api.Turn:
    """A memory that was reworded since is another statement: what it said before may have been released."""
    metadata = one.metadata or one.metadata_ or {}
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]
    return import_api.Turn(
        id=f"{one.id or ''} {digest}"[-import_api.LONGEST_ID :],
        said_at=seconds(one.updated_at) or seconds(one.created_at) or modified_at,
        words=(text,),
        project=_named(metadata, "project") if wanted.project is None else wanted.project,
        session=(one.run_id or "")[: api.LONGEST_NAME],
        statement=True,
        category=_category([one.category, metadata.get("category"), *(one.categories or ())]),
    )


def _named(metadata: Mapping[str, Any], field: str) -> str:
    value = metadata.get(field)
    return value[: api.LONGEST_NAME] if isinstance(value, str) else ""


def _category(named: list[Any]) -> models.Category | None:
    """Only if it is one of ours: mem0's own are words of any kind."""
    return next((models.Category(each) for each in named if isinstance(each, str) and each in set(models.Category)), None)
