"""What an export holds, and what a memory or note of one becomes in the hands of whoever imports it (pure).

A memory stands in it as `GET /memories/{id}` shows it, a note as `GET /notes/{id}` does, with its digest. Vectors are left out: they belong to a
model.
"""

import math
import uuid
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from services.core import api, errors, json_texts, models, note_api, rights

Kind = Literal["memories", "notes", "all"]
Text = Callable[[str], str]

MOST_AT_ONCE = 500
"""Memories and notes in one import: each is embedded before the answer comes."""
LONGEST_BODY_BYTES = 32_000_000
LONGEST_TEXT = 20_000
"""Characters of a memory's text and of each of its other fields: what was learnt may be longer than what may be typed."""
MOST_VALUES = 1_000
MOST_METADATA = 64_000
"""Bytes of a note's metadata as JSON."""

_NAMESPACE = uuid.UUID("5f0b8f0c-3f5c-5a55-8a43-6c1b8a3f3f2e")


class Note(note_api.Note, frozen=True, kw_only=True):
    """titled: the title was given beside the text. digest: SHA-256 (hex) of the text as it was given, before redaction."""

    titled: bool
    digest: str


class Archive(msgspec.Struct, frozen=True):
    """The whole document. Owners and teams in it are those of the export: an import makes all its own."""

    format: Literal["brb-archive"]
    version: Literal[1]
    exported_at: datetime | None = None
    memories: tuple[api.Memory, ...] = ()
    notes: tuple[Note, ...] = ()


def document(exported_at: datetime, viewer: api.Viewer, memories: Iterable[models.Memory], notes: Iterable[models.Note]) -> Iterator[bytes]:
    """An `Archive` as JSON, piece by piece: one memory or note a line."""
    yield b'{"format":"brb-archive","version":1,"exported_at":' + msgspec.json.encode(exported_at)
    yield b',\n"memories":['
    yield from _listed(api.memory_of(memory, viewer) for memory in memories)
    yield b'],\n"notes":['
    yield from _listed(map(shown, notes))
    yield b"]}\n"


def shown(note: models.Note) -> Note:
    return Note(**{field: getattr(note, field) for field in Note.__struct_fields__})


def memory_of(given: api.Memory, principal: models.Principal) -> models.Memory:
    """As one of the principal's own. `BadInput` says what of it can't be stored."""
    _check_ids(given.id, given.lineage, *filter(None, (given.supersedes, given.superseded_by)))
    if not given.text.strip():
        raise errors.BadInput("its text is empty")
    if not 0 <= given.confidence <= 1:
        raise errors.BadInput(f"its confidence is {given.confidence}: 0 to 1 are possible")
    if given.mentions < 1:
        raise errors.BadInput(f"its mentions are {given.mentions}: at least 1 is possible")
    fields: dict[str, Any] = msgspec.structs.asdict(given)
    for name in ("created_at", "said_at", "reinforced_at", "accessed_at", "valid_from", "valid_to", "reviewed_at"):
        fields[name] = None if fields[name] is None else _seconds(fields[name])
    fields["evidence"] = tuple(models.Evidence(one.quote, one.turn, _seconds(one.said_at), one.session) for one in given.evidence)
    fields |= {"team": principal.team, "owner": principal.user, "visibility": _visible(given.visibility, principal)}
    memory = _own_review(models.Memory(**fields), principal)
    values = max(map(len, (memory.entities, memory.qualifiers, memory.evidence)))
    _check_sizes(values, (*texts_of(memory), *(one.turn for one in memory.evidence)), LONGEST_TEXT)
    return memory


def note_of(given: Note, principal: models.Principal) -> models.Note:
    """As one of the principal's own. `BadInput` says what of it can't be stored."""
    _check_ids(given.id)
    _check_sizes(len(given.tags), (given.title, given.source, given.path, given.project, *given.tags), note_api.LONGEST_NAME)
    _check_sizes(len(given.entities), (given.text, *(entity.raw for entity in given.entities)), note_api.LONGEST_NOTE)
    check_metadata(given.metadata)
    times = (given.created_at, given.updated_at, given.modified_at, given.dated_at)
    if not all(map(math.isfinite, times)):
        raise errors.BadInput("one of its times is no number")
    fields = {field: getattr(given, field) for field in Note.__struct_fields__}
    return models.Note(**fields | {"team": principal.team, "owner": principal.user, "visibility": _visible(given.visibility, principal)})


def texts_of(memory: models.Memory) -> tuple[str, ...]:
    """Whatever in it may quote a person, in the order that `with_texts` takes."""
    own = (memory.text, memory.subject, memory.attribute, memory.value, memory.when, memory.project, memory.replaces)
    return (*own, *memory.entities, *memory.qualifiers, *(one.quote for one in memory.evidence))


def with_texts(memory: models.Memory, texts: Iterable[str]) -> models.Memory:
    left = iter(texts)
    text, subject, attribute, value, when, project, replaces = (next(left) for _ in range(7))
    entities = tuple(next(left) for _ in memory.entities)
    qualifiers = tuple(next(left) for _ in memory.qualifiers)
    evidence = tuple(replace(one, quote=next(left)) for one in memory.evidence)
    own = {"text": text, "subject": subject, "attribute": attribute, "value": value, "when": when, "project": project, "replaces": replaces}
    return replace(memory, **own, entities=entities, qualifiers=qualifiers, evidence=evidence)


def texts_of_note(note: models.Note) -> tuple[str, ...]:
    """The same of a note, its metadata's last. Source and path stay: they say which file it is."""
    named = (text for entity in note.entities for text in (entity.value, entity.raw))
    return (note.text, note.title, note.project, *note.tags, *named, *json_texts.strings(note.metadata))


def with_note_texts(note: models.Note, texts: Iterable[str]) -> models.Note:
    left = iter(texts)
    text, title, project = (next(left) for _ in range(3))
    tags = tuple(next(left) for _ in note.tags)
    entities = tuple(replace(entity, value=next(left), raw=next(left)) for entity in note.entities)
    metadata = json_texts.replaced(note.metadata, left)
    return replace(note, text=text, title=title, project=project, tags=tags, entities=entities, metadata=metadata)


def renamed(memory: models.Memory, name: Text) -> models.Memory:
    """With other ids, wherever it names a memory."""
    links = {field: name(value) for field in ("id", "lineage", "supersedes", "superseded_by") if (value := getattr(memory, field))}
    return replace(memory, **links)


def own_id(principal: models.Principal, given: str) -> str:
    """The id that takes the place of one that somebody else's memory or note has already: the same each time."""
    return str(uuid.uuid5(_NAMESPACE, "\0".join((principal.team, principal.user, given))))


def check_metadata(metadata: dict[str, Any]) -> None:
    size = len(msgspec.json.encode(metadata))
    if size > MOST_METADATA:
        raise errors.BadInput(f"the metadata takes {size} bytes as JSON: at most {MOST_METADATA} are taken")


def _listed(items: Iterable[msgspec.Struct]) -> Iterator[bytes]:
    separator = b"\n"
    for item in items:
        yield separator + msgspec.json.encode(item)
        separator = b",\n"


def _seconds(moment: datetime) -> float:
    return models.within_calendar((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def _visible(wanted: models.Visibility, principal: models.Principal) -> models.Visibility:
    """Nobody shares with the team, by an import, what they could not share by themselves. Anybody may propose."""
    return models.Visibility.PRIVATE if wanted is models.Visibility.TEAM and not rights.curates(principal) else wanted


def _own_review(memory: models.Memory, principal: models.Principal) -> models.Memory:
    """Decisions are kept if they were the importer's own, and his to take; an archive proves none of anybody else. Nor who else has worded it."""
    mine = memory.reviewed_by == principal.user and (memory.review is not models.Review.APPROVED or rights.curates(principal))
    kept = memory if mine else replace(memory, review=models.Review.NONE, reviewed_by="", reviewed_at=None)
    return replace(kept, edited_by="") if memory.edited_by != principal.user else kept


def _check_ids(*ids: str) -> None:
    for each in ids:
        try:
            if str(uuid.UUID(each)) == each:
                continue
        except ValueError:
            pass
        raise errors.BadInput(f"{each[:80]!r} in it is no id: ids are UUIDs in lower case")


def _check_sizes(values: int, texts: Iterable[str], longest: int) -> None:
    if values > MOST_VALUES:
        raise errors.BadInput(f"it has a list of {values}: at most {MOST_VALUES} are taken")
    for text in texts:
        if len(text) > longest:
            raise errors.BadInput(f"a text of it has {len(text)} characters: at most {longest} are taken there")
