"""What was found, sent in batches and counted."""

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec
import pytest

from services.cli import exits
from services.cli.imports.items import Archived, Conversation, Item, Skipped
from services.cli.imports.sending import Batch, Counts, Sending
from services.core import api, archive, engine_api, errors, import_api, models, note_api
from tests.support.in_memory import memory

AT = 1_700_000_000.0


def turn(number: int, *, statement: bool = False) -> import_api.Turn:
    return import_api.Turn(id=str(number), said_at=AT + number, words=("words",), statement=statement)


def note(name: str) -> note_api.PutNote:
    return note_api.PutNote(text=name, path=name)


def archived(text: str) -> Archived:
    return Archived("memories", msgspec.to_builtins(api.memory_of(memory(text), models.LOCAL)), f"mine.json: {text}")


class Taker:
    """Takes what it is sent; notes called "bad" and memories that say "bad" it refuses. busy: how often, and with how many waiting each time."""

    def __init__(self, busy: Iterable[int] = ()) -> None:
        self.turns: list[import_api.Turns] = []
        self.parts: list[int] = []
        self._busy = iter(busy)

    def import_turns(self, turns: import_api.Turns) -> import_api.Taken:
        if any(one.said_at == 0 for one in turns.turns):
            raise errors.BadInput("turns[0]: said_at is 0")
        if waiting := next(self._busy, 0):
            return import_api.Taken(busy=True, waiting=waiting)
        self.turns.append(turns)
        return import_api.Taken(new=len(turns.turns) - 1, known=1)

    def import_(self, part: msgspec.Struct, *, existing: str) -> engine_api.Imported:
        assert isinstance(part, archive.Archive)
        self.parts.append(len(part.memories))
        if any(one.text == "bad" for one in part.memories):
            raise errors.BadInput("memories[0]: its text is bad; nothing was imported")
        return engine_api.Imported(engine_api.Landed(created=len(part.memories)), engine_api.Landed())

    def put(self, batch: note_api.PutNotes) -> note_api.PutResult:
        if any(one.path == "bad" for one in batch.notes):
            raise errors.BadInput("title is bad")
        return note_api.PutResult(tuple(note_api.Put(one.path, one.path, "", one.path != "old", 1, 1) for one in batch.notes), 0)


def sent(brb: Taker | None, items: Iterable[Item], source: str = "claude") -> Sending:
    sending = Sending(brb, sleep=lambda seconds: None)
    sending.begin(source)
    for item in items:
        sending.add(item)
    sending.flush()
    return sending


def test_turns_go_in_batches_under_the_name_of_their_source_in_order() -> None:
    brb = Taker()
    receipt = sent(brb, [Conversation(), *map(turn, range(150))]).receipt

    assert [(batch.source, len(batch.turns)) for batch in brb.turns] == [("claude", 64), ("claude", 64), ("claude", 22)]
    assert [one.id for batch in brb.turns for one in batch.turns] == [str(number) for number in range(150)]
    assert (receipt.turns, receipt.conversations, receipt.statements) == (Counts(147, 3), 1, Counts())
    assert (receipt.first, receipt.last) == (datetime.fromtimestamp(AT, UTC), datetime.fromtimestamp(AT + 149, UTC))


def test_documents_of_one_format_share_batches_and_those_of_another_do_not() -> None:
    brb = Taker()
    sending = Sending(brb)
    for source, number in [("claude", 1), ("claude", 2), ("mem0", 3), ("claude", 4)]:
        sending.begin(source)
        sending.add(turn(number, statement=source == "mem0"))
    sending.flush()
    assert [(batch.source, [one.id for one in batch.turns]) for batch in brb.turns] == [("claude", ["1", "2"]), ("mem0", ["3"]), ("claude", ["4"])]
    assert (sending.receipt.files, sending.receipt.formats) == (4, ("mem0", "claude"))


def test_a_dry_run_counts_and_sends_nothing() -> None:
    receipt = sent(None, [turn(1), turn(2, statement=True), note("a"), archived("I like tea"), Skipped("x", "y")], "brb").receipt
    assert (receipt.turns.new, receipt.statements.new, receipt.notes.created, receipt.memories.created) == (1, 1, 1, 1)
    assert (receipt.dry_run, receipt.skipped, receipt.skips) == (True, 1, (Skipped("x", "y"),))


def test_what_is_refused_is_left_out_alone() -> None:
    brb = Taker()
    receipt = sent(brb, [archived("I like tea"), archived("bad"), archived("I like milk"), note("new"), note("bad"), note("old")], "brb").receipt
    assert receipt.memories == engine_api.Landed(created=2)
    assert receipt.notes == engine_api.Landed(created=1, replaced=1)
    assert set(receipt.skips) == {Skipped("mine.json: bad", "its text is bad"), Skipped("note bad", "title is bad")}


def test_a_turn_that_is_refused_is_left_out_alone() -> None:
    wrong = msgspec.structs.replace(turn(9), said_at=0)
    receipt = sent(Taker(), [turn(1), wrong, turn(2)]).receipt
    assert (receipt.turns, receipt.skips) == (Counts(0, 2), (Skipped("turn 9", "said_at is 0"),))


def test_a_record_of_another_shape_is_left_out_by_its_place() -> None:
    receipt = sent(Taker(), [Archived("memories", {"id": 1}, "mine.json: memories[7]"), archived("I like tea")], "brb").receipt
    assert (receipt.memories.created, receipt.skipped, receipt.skips[0].place) == (1, 1, "mine.json: memories[7]")


def test_the_receipt_names_some_of_what_was_skipped_and_counts_all() -> None:
    receipt = sent(Taker(), [Skipped(str(number), "why") for number in range(250)]).receipt
    assert (receipt.skipped, len(receipt.skips)) == (250, 100)


def test_it_pauses_while_there_is_too_much_to_learn() -> None:
    told: list[int] = []
    sending = Sending(brb := Taker([3000, 2500, 2000]), waits=told.append, sleep=lambda seconds: None)
    sending.begin("claude")
    sending.add(turn(1))
    sending.flush()
    assert (told, len(brb.turns)) == ([3000, 2500, 2000], 1)


def test_it_goes_on_when_a_token_has_made_too_many_calls() -> None:
    class Limited(Taker):
        left = 3

        def import_turns(self, turns: import_api.Turns) -> import_api.Taken:
            self.left -= 1
            if self.left > 0:
                raise exits.TooMany("too many calls")
            return super().import_turns(turns)

    assert sent(Limited(), [turn(1)]).receipt.turns == Counts(0, 1)
    with pytest.raises(exits.TooMany):
        sent(type("Shut", (Limited,), {"left": 1000})(), [turn(1)])


def test_it_gives_up_when_nothing_is_learnt() -> None:
    slept: list[float] = []
    sending = Sending(Taker([3000] * 1000), sleep=slept.append)
    sending.begin("claude")
    sending.add(turn(1))
    with pytest.raises(errors.Transient, match="brb doctor"):
        sending.flush()
    assert sum(slept) == 120


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [([], []), ([1, 1], [[1, 1]]), ([1, 1, 1, 1], [[1, 1, 1], [1]]), ([60, 60], [[60], [60]]), ([200, 1, 200], [[200], [1], [200]])],
)
def test_batches_hold_so_many_or_so_much(sizes: list[int], expected: list[list[int]]) -> None:
    batch = Batch[msgspec.Raw](3, 100)
    gone = [taken for size in sizes if (taken := batch.add(msgspec.Raw(b"1" * size)))]
    left = batch.taken()
    assert [[len(memoryview(one)) for one in taken] for taken in [*gone, *filter(None, [left])]] == expected
