"""An archive of our own (`brb memories export`), record by record."""

from collections.abc import Iterator

from services.cli.imports import records
from services.cli.imports.items import Archived, Document, Item, Skipped, Wanted
from services.core import errors

_LISTS = ("memories", "notes")


def read(document: Document, wanted: Wanted) -> Iterator[Item]:
    """Its memories, then its notes. `BadInput` if it is of another version."""
    del wanted  # what is in an archive has its own project
    _check(document)
    for kind in _LISTS:
        with document.open() as opened:
            for number, record in enumerate(records.under(document, opened, f"{kind}.item")):
                if isinstance(record, Skipped):
                    if kind == _LISTS[-1]:  # once
                        yield record
                else:
                    yield Archived(kind, record, f"{document.name}: {kind}[{number}]")  # type: ignore[arg-type]


def _check(document: Document) -> None:
    with document.open() as opened:
        found = {prefix: value for prefix, event, value in records.head(opened, 10_000) if prefix in ("format", "version") and event != "map_key"}
    if found.get("format") != "brb-archive":
        raise errors.BadInput(f"{document.name} is not what an export wrote: its format is not brb-archive")
    if found.get("version") != 1:
        raise errors.BadInput(f"{document.name} is an archive of version {found.get('version')}: this BRB reads version 1")
