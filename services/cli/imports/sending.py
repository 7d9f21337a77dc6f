"""What was found, on its way to BRB: in batches, in order, and counted. Everything may be sent again: what is there already changes nothing."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Generic, Protocol, TypeVar, cast, get_args

import msgspec

from services.cli import exits
from services.cli.imports.items import Archived, Conversation, Item, Skipped
from services.core import api, archive, engine_api, errors, import_api, note_api

_TOGETHER = 100  # memories and notes of an archive
_TOGETHER_BYTES = 4_000_000
_MOST_NAMED = 100
_PAUSE_SECONDS = 2.0
_PATIENCE_SECONDS = 120.0
T = TypeVar("T")
Counted = TypeVar("Counted", bound=msgspec.Struct)


class Counts(msgspec.Struct, frozen=True):
    """Turns or statements. new: they wait to be learnt. known: taken before. empty: nothing in them is the person's own."""

    new: int = 0
    known: int = 0
    empty: int = 0


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did; after a dry run, what there is to import (as new). first, last: when the oldest and newest of it were said."""

    formats: tuple[str, ...] = ()
    files: int = 0
    conversations: int = 0
    turns: Counts = Counts()
    statements: Counts = Counts()
    memories: engine_api.Landed = engine_api.Landed()
    notes: engine_api.Landed = engine_api.Landed()
    first: datetime | None = None
    last: datetime | None = None
    skipped: int = 0
    skips: tuple[Skipped, ...] = ()
    dry_run: bool = False

    @property
    def found(self) -> int:
        """How much there was that could be read, whether it was known before or not."""
        said = sum(counts.new + counts.known + counts.empty for counts in (self.turns, self.statements))
        return self.conversations + said + sum(landed.created + landed.replaced + landed.kept for landed in (self.memories, self.notes))


class Brb(Protocol):
    def import_turns(self, turns: import_api.Turns) -> import_api.Taken: ...

    def import_(self, part: msgspec.Struct, *, existing: str) -> engine_api.Imported: ...

    def put(self, batch: note_api.PutNotes) -> note_api.PutResult: ...


class Sending:
    """Takes items one by one and sends them batch by batch. brb: None for a dry run. replace: what an archive holds replaces what is there.
    waits: told how many turns are in the way when BRB asks for a pause. `flush` at the end."""

    def __init__(
        self, brb: Brb | None, *, replace: bool = False, waits: Callable[[int], None] | None = None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._brb = brb
        self._existing = "replace" if replace else "keep"
        self._waits = waits or (lambda waiting: None)
        self._sleep = sleep
        self._turns = Batch[import_api.Turn](import_api.MOST_TURNS)
        self._notes = Batch[note_api.PutNote](note_api.MOST_PUT)
        self._archived = Batch[Archived](_TOGETHER)
        self._source: import_api.Source = "chatgpt"
        self.receipt = Receipt(dry_run=brb is None)

    def begin(self, format_name: str) -> None:
        """Of a document. What is of another format goes first."""
        if self.receipt.formats and format_name != self.receipt.formats[-1]:
            self.flush()
        formats = tuple(dict.fromkeys((*(each for each in self.receipt.formats if each != format_name), format_name)))
        self._told(formats=formats, files=self.receipt.files + 1)
        if format_name in get_args(import_api.Source):
            self._source = cast(import_api.Source, format_name)

    def add(self, item: Item) -> None:
        match item:
            case Skipped():
                self._skip(item)
            case Conversation():
                self._told(conversations=self.receipt.conversations + 1)
            case import_api.Turn():
                self._seen(item.said_at)
                self._sent(self._turns.add(item), self._send_turns)
            case note_api.PutNote():
                self._sent(self._notes.add(item), self._send_notes)
            case Archived():
                self._add_archived(item)

    def flush(self) -> None:
        self._sent(self._turns.taken(), self._send_turns)
        self._sent(self._notes.taken(), self._send_notes)
        self._sent(self._archived.taken(), self._send_archived)

    def _add_archived(self, item: Archived) -> None:
        try:
            record = msgspec.convert(item.record, api.Memory if item.kind == "memories" else archive.Note)
        except msgspec.ValidationError as error:
            return self._skip(Skipped(item.place, str(error)))
        self._sent(self._archived.add(item._replace(record=record)), self._send_archived)

    def _sent(self, batch: Sequence[T], send: Callable[[Sequence[T]], None]) -> None:
        if batch:
            send(batch)

    def _send_turns(self, batch: Sequence[import_api.Turn]) -> None:
        for statement in (False, True):
            if some := [one for one in batch if one.statement is statement]:
                self._send_alike("statements" if statement else "turns", some)

    def _send_alike(self, field: str, batch: Sequence[import_api.Turn]) -> None:
        try:
            taken = self._taken(import_api.Turns(self._source, tuple(batch)))
        except errors.BadInput as error:
            if len(batch) == 1:
                return self._skip(Skipped(f"{field[:-1]} {batch[0].id}", _why(error)))
            for one in batch:
                self._send_alike(field, [one])
            return
        self._told(**{field: _sum(getattr(self.receipt, field), Counts(taken.new, taken.known, taken.empty))})

    def _taken(self, turns: import_api.Turns) -> import_api.Taken:
        """`Transient` if BRB has too many to learn, and they get no fewer."""
        if self._brb is None:
            return import_api.Taken(new=len(turns.turns))
        fewest, waited = None, 0.0
        while (taken := self._patiently(lambda brb: brb.import_turns(turns))).busy:
            self._waits(taken.waiting)
            if fewest is None or taken.waiting < fewest:
                fewest, waited = taken.waiting, 0.0
            if waited >= _PATIENCE_SECONDS:
                raise errors.Transient(f"{taken.waiting} turns wait to be learnt and get no fewer: see `brb doctor`")
            self._sleep(_PAUSE_SECONDS)
            waited += _PAUSE_SECONDS
        return taken

    def _patiently(self, call: Callable[[Brb], T]) -> T:
        """An import makes more calls than a token may: those that are too many come later."""
        assert self._brb is not None  # noqa: S101 - a dry run calls nobody
        waited = 0.0
        while True:
            try:
                return call(self._brb)
            except exits.TooMany:
                if waited >= _PATIENCE_SECONDS:
                    raise
                self._sleep(_PAUSE_SECONDS)
                waited += _PAUSE_SECONDS

    def _send_notes(self, batch: Sequence[note_api.PutNote]) -> None:
        try:
            put = self._patiently(lambda brb: brb.put(note_api.PutNotes(notes=tuple(batch)))).notes if self._brb else ()
        except errors.BadInput as error:
            if len(batch) == 1:
                return self._skip(Skipped(f"note {batch[0].path}", str(error)))
            for one in batch:
                self._send_notes([one])
            return
        new = sum(one.created for one in put) if self._brb else len(batch)
        again = sum(not one.created and one.embedded > 0 for one in put)
        self._told(notes=_sum(self.receipt.notes, engine_api.Landed(new, again, len(batch) - new - again)))

    def _send_archived(self, batch: Sequence[Archived]) -> None:
        """A batch that is refused goes one by one: the rest of it lands."""
        memories, notes = ([one.record for one in batch if one.kind == kind] for kind in ("memories", "notes"))
        part = archive.Archive("brb-archive", 1, None, tuple(memories), tuple(notes))
        try:
            done = (
                self._patiently(lambda brb: brb.import_(part, existing=self._existing))
                if self._brb
                else engine_api.Imported(engine_api.Landed(len(memories)), engine_api.Landed(len(notes)))
            )
        except errors.BadInput as error:
            if len(batch) == 1:
                return self._skip(Skipped(batch[0].place, _why(error)))
            for one in batch:
                self._send_archived([one])
            return
        self._told(memories=_sum(self.receipt.memories, done.memories), notes=_sum(self.receipt.notes, done.notes))

    def _skip(self, one: Skipped) -> None:
        skips = self.receipt.skips if self.receipt.skipped >= _MOST_NAMED else (*self.receipt.skips, one)
        self._told(skipped=self.receipt.skipped + 1, skips=skips)

    def _seen(self, said_at: float) -> None:
        moment = datetime.fromtimestamp(said_at, UTC)
        self._told(first=min(self.receipt.first or moment, moment), last=max(self.receipt.last or moment, moment))

    def _told(self, **fields: Any) -> None:
        self.receipt = msgspec.structs.replace(self.receipt, **fields)


def _why(error: errors.BadInput) -> str:
    """Without the place in the batch, which means nothing to whoever wrote the file."""
    return (str(error).partition(": ")[2] or str(error)).removesuffix("; nothing was imported")


class Batch(Generic[T]):
    """So many at most, and so many bytes of JSON unless a single one has more."""

    def __init__(self, most: int, most_bytes: int = _TOGETHER_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._items: list[T] = []
        self._bytes = 0

    def add(self, item: T) -> list[T]:
        """Those that go before it, if it is one too many."""
        size = len(msgspec.json.encode(item))
        full = self._items and (len(self._items) == self._most or self._bytes + size > self._most_bytes)
        gone = self.taken() if full else []
        self._items.append(item)
        self._bytes += size
        return gone

    def taken(self) -> list[T]:
        gone, self._items, self._bytes = self._items, [], 0
        return gone


def _sum(one: Counted, other: Counted) -> Counted:
    return type(one)(*(getattr(one, field) + getattr(other, field) for field in one.__struct_fields__))
