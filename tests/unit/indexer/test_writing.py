"""The writer over the in-memory store, killed after every single write."""

from collections.abc import Callable, Iterable, Sequence
from itertools import count

import pytest
from msgspec.structs import replace

from services.core import errors, memory_edit, messages, models, ports
from services.core.adapters.in_memory_store import InMemoryStore
from services.indexer.writing import Writer, Written
from tests.support.embedding import HashingEmbedder

LEO = models.Principal("acme", "leo")
ALL = models.Scope("acme", "leo", None)


class Killed(Exception):
    """The process is gone."""


class MortalStore(InMemoryStore):
    """Carries out a number of single writes, then the process is gone. An update of several memories is several writes."""

    def __init__(self, writes: int | None = None) -> None:
        super().__init__(HashingEmbedder().dimension)
        self.left = writes
        self.writes = 0

    def put(self, items: Sequence[ports.Embedded]) -> None:
        self._spend()
        super().put(items)

    def update(self, memories: Sequence[models.Memory]) -> None:
        for memory in memories:
            self._spend()
            super().update([memory])

    def _spend(self) -> None:
        if self.left == 0:
            raise Killed
        self.left = None if self.left is None else self.left - 1
        self.writes += 1


def clock() -> Callable[[], float]:
    ticks = count(1000)
    return lambda: float(next(ticks))


def fact(text: str, **fields: object) -> models.Fact:
    return models.Fact(**{"text": text, "category": models.Category.PROJECT_CONTEXT, "confidence": 0.7, "quote": text, **fields})  # type: ignore[arg-type]


def name(value: str) -> models.Fact:
    info = models.Category.PERSONAL_INFO
    return fact(f"My name is {value}", category=info, attribute="name", value=value, functional=True)


def deadline(value: str) -> models.Fact:
    return fact(f"The deadline is {value}", attribute="deadline", value=value, functional=True)


def uses(value: str, **fields: object) -> models.Fact:
    return fact(f"We use {value}", category=models.Category.TECHNICAL_CHOICE, attribute="uses", value=value, subject="team", **fields)


def turn(number: int, *facts: models.Fact, project: str = "shop", who: models.Principal = LEO, said_at: float | None = None) -> messages.StoreFacts:
    return messages.StoreFacts(turn=f"t{number}", principal=who, said_at=float(number) if said_at is None else said_at, facts=facts, project=project)


def run(store: ports.MemoryStore, payloads: Iterable[messages.StoreFacts]) -> list[Written]:
    writer = Writer(store, HashingEmbedder(), clock=clock())
    return [writer.store_facts(payload) for payload in payloads]


def current(store: ports.MemoryStore, scope: models.Scope = ALL) -> list[str]:
    return sorted(memory.text for memory in store.find(scope))


def everything(store: ports.MemoryStore) -> list[models.Memory]:
    """All memories, but for the wall clock of when they were written."""
    return sorted((replace(memory, created_at=0.0) for memory in store.find(ALL, ports.ANY)), key=lambda memory: memory.id)


def test_what_is_said_is_remembered_and_what_is_said_again_is_counted() -> None:
    store = MortalStore()
    assert run(store, [turn(1, uses("Postgres"), name("Leo")), turn(2, uses("Postgres"))]) == [Written(inserted=2), Written(reinforced=1)]
    assert current(store) == ["My name is Leo", "We use Postgres"]
    assert {memory.text: memory.mentions for memory in store.find(ALL)} == {"My name is Leo": 1, "We use Postgres": 2}


def test_a_name_that_was_corrected_is_one_current_memory_with_the_old_one_in_its_history() -> None:
    store = MortalStore()
    correction = fact("actually it's Leoncio", value="Leoncio", correction=True)
    assert run(store, [turn(1, name("Leo")), turn(2, correction)]) == [Written(inserted=1), Written(superseded=1)]
    (memory,) = store.find(ALL)
    assert (memory.text, memory.value) == ("My name is Leoncio", "Leoncio")
    assert [evidence.quote for evidence in memory.evidence] == ["My name is Leo", "actually it's Leoncio"]
    assert [each.text for each in memory_edit.history(store, ALL, memory.id)] == ["My name is Leoncio", "My name is Leo"]
    assert store.nearest(ALL, HashingEmbedder().embed(["My name is Leoncio"], "document")[0], limit=1)[0].score == pytest.approx(1.0)


def test_what_is_replaced_is_found_by_its_words_however_it_was_put() -> None:
    store = MortalStore()
    crowd(store, "moved the shop onto")
    switch = fact("We moved the shop off Postgres onto MySQL", attribute="uses", value="MySQL", subject="team", replaces="Postgres")
    database = fact("Our database is Postgres", attribute="database", value="Postgres", functional=True, subject="team")
    assert run(store, [turn(1, database), turn(2, switch)])[1] == Written(superseded=1)
    assert database.text not in current(store)
    assert switch.text in current(store)


def test_another_value_of_an_attribute_is_found_however_it_was_put() -> None:
    store = MortalStore()
    crowd(store, "call me")
    assert run(store, [turn(1, name("Leo")), turn(2, replace(name("Leoncio"), text="call me Leoncio"))])[1] == Written(superseded=1)


def crowd(store: ports.MemoryStore, words: str) -> None:
    """More memories than are looked at, all of them nearer to those words than anything that is told apart from them."""
    run(store, [turn(100 + number, fact(f"{words} {words} {number}"), said_at=0.0) for number in range(60)])


def test_a_turn_that_is_told_twice_changes_nothing_more() -> None:
    payloads = [turn(1, name("Leo"), uses("Postgres")), turn(2, name("Leoncio"), uses("Postgres"))]
    once, twice = MortalStore(), MortalStore()
    run(once, payloads)
    run(twice, [payloads[0], *payloads, payloads[1], payloads[0]])
    assert everything(twice) == everything(once)


def test_a_turn_told_again_after_a_later_one_does_not_bring_the_past_back() -> None:
    first, second, third = turn(1, deadline("May 3")), turn(2, deadline("May 9")), turn(3, deadline("June 1"))
    once, again = MortalStore(), MortalStore()
    run(once, [first, second, third])
    run(again, [first, second, third, second, first])
    assert current(again) == ["The deadline is June 1"]
    assert everything(again) == everything(once)


def test_a_turn_told_again_does_not_revive_what_it_said_in_passing() -> None:
    payloads = [turn(1, queue("NATS")), turn(2, queue("Kafka"), queue("NATS")), turn(3, queue("SQS"))]
    once, again = MortalStore(), MortalStore()
    run(once, payloads)
    run(again, [*payloads, payloads[1]])
    assert current(again) == ["The queue is SQS"]
    assert everything(again) == everything(once)


def test_turns_that_arrive_in_another_order_end_in_the_same_present() -> None:
    store = MortalStore()
    assert run(store, [turn(2, deadline("May 9")), turn(1, deadline("May 3"))])[1] == Written(stale=1)
    (memory,) = store.find(ALL)
    assert [each.text for each in memory_edit.history(store, ALL, memory.id)] == ["The deadline is May 9", "The deadline is May 3"]


def test_said_to_and_fro_there_is_one_current_memory_and_each_other_one_once_in_its_history() -> None:
    store = MortalStore()
    sequence = ["Bonn", "Koeln", "Bonn", "Koeln", "Berlin", "Bonn"]
    run(store, [turn(number, home(town)) for number, town in enumerate(sequence, 1)])
    (memory,) = store.find(ALL)
    history = memory_edit.history(store, ALL, memory.id)
    assert [each.text for each in history] == ["I live in Bonn", "I live in Berlin", "I live in Koeln"]
    assert [(each.mentions, [evidence.turn for evidence in each.evidence]) for each in history] == [
        (3, ["t1", "t3", "t6"]),
        (1, ["t5"]),
        (2, ["t2", "t4"]),
    ]
    assert [each.valid_to for each in history] == [None, 6.0, 5.0]


def home(town: str) -> models.Fact:
    return fact(f"I live in {town}", category=models.Category.PERSONAL_INFO, attribute="residence", value=town, functional=True)


def test_turns_told_again_after_going_to_and_fro_change_nothing_more() -> None:
    payloads = [turn(number, home(town)) for number, town in enumerate(["Bonn", "Koeln", "Bonn", "Koeln"], 1)]
    once = MortalStore()
    run(once, payloads)
    for again in payloads:
        store = MortalStore()
        run(store, [*payloads, again])
        assert everything(store) == everything(once)


def test_a_rival_is_found_by_its_kind_however_it_was_put() -> None:
    store = MortalStore()
    crowd(store, "I switched to Neovim")
    editor = fact("My editor is Sublime", category=models.Category.PREFERENCE, attribute="editor", value="Sublime", functional=True)
    switch = fact("I switched to Neovim", category=models.Category.PREFERENCE, attribute="uses", value="Neovim")
    assert run(store, [turn(1, editor), turn(2, switch)])[1] == Written(superseded=1)
    assert editor.text not in current(store)


def test_an_edited_memory_is_reinforced_by_its_new_words_and_ended_by_another_value() -> None:
    store = MortalStore()
    run(store, [turn(1, dog("Biscuit"))])
    new, archived = memory_edit.edited(store.find(ALL)[0], text="My dog is called Waffle", now=2.0)
    vectors = HashingEmbedder().embed([new.text, archived.text], "document")
    store.put([ports.Embedded(new, vectors[0]), ports.Embedded(archived, vectors[1])])
    assert run(store, [turn(3, dog("Waffle")), turn(4, dog("Rex"))]) == [Written(reinforced=1), Written(superseded=1)]
    assert current(store) == ["My dog is called Rex"]


def dog(called: str) -> models.Fact:
    info = models.Category.PERSONAL_INFO
    return fact(f"My dog is called {called}", category=info, subject="dog", attribute="name", value=called, functional=True, entities=(called,))


def test_what_holds_in_one_project_is_not_changed_by_another() -> None:
    store = MortalStore()
    run(store, [turn(1, deadline("May 3"), project="shop"), turn(2, deadline("May 9"), project="blog")])
    assert current(store) == ["The deadline is May 3", "The deadline is May 9"]


def test_what_one_person_says_never_touches_the_memories_of_another() -> None:
    store = MortalStore()
    ana, stranger = models.Principal("acme", "ana"), models.Principal("evil", "leo")
    run(store, [turn(1, deadline("May 3"), who=ana), turn(1, deadline("May 4"), who=stranger)])
    public = store.find(models.Scope("acme", "ana", None))[0]
    store.update([replace(public, visibility=models.Visibility.TEAM)])
    run(store, [turn(1, deadline("May 9")), turn(2, deadline("May 9"))])
    assert current(store, models.Scope("acme", "ana", None)) == ["The deadline is May 3"]
    assert current(store, models.Scope("evil", "leo", None)) == ["The deadline is May 4"]
    assert current(store) == ["The deadline is May 3", "The deadline is May 9"]


def test_the_history_of_everything_that_was_replaced_is_in_one_lineage() -> None:
    store = MortalStore()
    run(store, scenario())
    (memory,) = [each for each in store.find(ALL) if "queue" in each.text]
    history = [each.text for each in memory_edit.history(store, ALL, memory.id)]
    assert history == ["The queue is Kafka", "The queue is NATS", "We use SQS", "We use RabbitMQ"]


def test_no_facts_are_no_work() -> None:
    assert run(MortalStore(writes=0), [turn(1)]) == [Written()]


def test_an_embedder_that_is_away_leaves_the_store_alone() -> None:
    class Away(HashingEmbedder):
        def embed(self, texts: Sequence[str], kind: str, *, timeout_seconds: float | None = None) -> list[list[float]]:  # type: ignore[override]
            raise errors.Unavailable("llama.cpp")

    store = MortalStore()
    with pytest.raises(errors.Unavailable):
        Writer(store, Away(), clock=clock()).store_facts(turn(1, name("Leo")))
    assert store.writes == 0


def test_what_was_shown_is_touched_and_nothing_else_of_it_changes() -> None:
    store = MortalStore()
    run(store, [turn(1, name("Leo"))])
    (memory,) = store.find(ALL)
    Writer(store, HashingEmbedder(), clock=clock()).touch(messages.Touch(turn="t9", principal=LEO, ids=(memory.id,), at=777.0))
    assert store.find(ALL) == [replace(memory, accessed_at=777.0)]


def queue(value: str, **fields: object) -> models.Fact:
    return fact(f"The queue is {value}", attribute="queue", value=value, functional=True, subject="team", **fields)


def scenario() -> list[messages.StoreFacts]:
    """Turns with all that can happen; in the last one two histories (of NATS, and of RabbitMQ and SQS) go on in one."""
    return [
        turn(1, deadline("May 3"), uses("Postgres"), name("Leo")),
        turn(2, deadline("May 9"), uses("RabbitMQ"), uses("Postgres"), fact("actually it's Leoncio", value="Leoncio", correction=True)),
        turn(3, uses("SQS", replaces="RabbitMQ"), name("Leoncio")),
        turn(4, queue("NATS"), uses("Postgres")),
        turn(
            5,
            deadline("July 1"),
            deadline("August 1"),
            queue("Kafka", replaces="SQS"),
            uses("MySQL", replaces="Postgres"),
            uses("Postgres", polarity=False),
            name("Leoncio"),
        ),
        turn(6, deadline("May 9"), name("Leo"), name("Leoncio"), home("Bonn")),
        turn(7, deadline("May 3"), home("Koeln"), home("Bonn"), name("Leo")),
    ]


def writes_of_the_last_turn() -> int:
    store = MortalStore()
    run(store, scenario()[:-1])
    before = store.writes
    run(store, scenario()[-1:])
    return store.writes - before


def test_a_process_killed_after_any_write_of_any_turn_loses_nothing_and_the_rerun_ends_the_same() -> None:
    whole = MortalStore()
    run(whole, scenario())
    payloads, crashes = scenario(), 0
    for last in range(1, len(payloads) + 1):
        expected = MortalStore()
        run(expected, payloads[:last])
        for writes in count():
            store = MortalStore()
            run(store, payloads[: last - 1])
            known = set(current(store))
            store.left = writes
            try:
                run(store, payloads[last - 1 : last])
                break
            except Killed:
                crashes += 1
            store.left = None
            assert known <= {memory.text for memory in store.find(ALL, ports.ANY)}
            assert_something_current_of_each_lineage(store)
            run(store, payloads[last - 1 : last])
            assert everything(store) == everything(expected)
            run(store, payloads[last:])
            assert everything(store) == everything(whole)
    assert crashes > 10


def closing_scenario() -> list[messages.StoreFacts]:
    """Turns that ask to forget: what an earlier one said, what they say themselves, what is known twice over, and nothing known."""
    return [
        turn(1, home("Bonn"), uses("Redis"), uses("Postgres"), name("Leo")),
        turn(2, replace(home("Bonn"), closes=True), deadline("May 3")),
        turn(3, home("Bonn"), replace(home("Bonn"), closes=True), home("Koeln")),
        turn(4, uses("Postgres"), fact("Postgres", subject="", value="Postgres", closes=True), replace(uses("Kafka"), closes=True)),
        turn(5, home("Bonn"), replace(deadline(""), text="the deadline", closes=True), uses("Postgres")),
    ]


def test_a_process_killed_while_it_forgets_ends_the_same_when_the_turn_is_done_again() -> None:
    payloads, crashes = closing_scenario(), 0
    for last in range(1, len(payloads) + 1):
        expected = MortalStore()
        run(expected, payloads[:last])
        for writes in count():
            store = MortalStore()
            run(store, payloads[: last - 1])
            store.left = writes
            try:
                run(store, payloads[last - 1 : last])
                break
            except Killed:
                crashes += 1
            store.left = None
            run(store, payloads[last - 1 : last])
            assert everything(store) == everything(expected)
    assert crashes > len(payloads)
    assert current(expected) == ["I live in Bonn", "My name is Leo", "We use Postgres", "We use Redis"]


def test_what_was_forgotten_keeps_its_text_and_its_times() -> None:
    store = MortalStore()
    assert run(store, [turn(1, home("Bonn")), turn(2, replace(home("Bonn"), closes=True))]) == [Written(inserted=1), Written(closed=1)]
    (gone,) = store.find(ALL, ports.ANY)
    assert (gone.text, gone.status, gone.superseded_by, gone.said_at, gone.valid_to) == ("I live in Bonn", models.Status.SUPERSEDED, "", 1.0, 2.0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (uses("Redis"), replace(uses("Redis", polarity=False), text="We no longer use Redis")),
        (fact("We deploy on Fridays"), fact("We no longer deploy on Fridays")),
        (home("Bonn"), home("Koeln")),
    ],
)
def test_of_two_that_contradict_each_other_one_is_current_and_the_other_in_its_history(old: models.Fact, new: models.Fact) -> None:
    """mem0#4896: both stayed current. What no longer holds is ended by the words that say so."""
    store = MortalStore()
    run(store, [turn(1, old), turn(2, new)])
    (memory,) = store.find(ALL)
    assert [(each.text, each.valid_to) for each in memory_edit.history(store, ALL, memory.id)] == [(new.text, None), (old.text, 2.0)]


def test_of_several_copies_at_least_one_always_stays() -> None:
    """mcp-memory-service#1180: copies that were found of each other were all deleted."""
    store = MortalStore()
    run(store, [turn(1, fact("Ana reviews my code"))])
    (first,) = store.find(ALL)
    copy = replace(first, id=models.MemoryId("00000000-0000-4000-8000-000000000001"), lineage="00000000-0000-4000-8000-000000000001")
    store.put([ports.Embedded(copy, HashingEmbedder().embed([copy.text], "document")[0])])
    run(store, [turn(number, fact("Ana reviews my code")) for number in range(2, 6)])
    assert set(current(store)) == {"Ana reviews my code"}


def test_a_crash_that_is_made_good_only_after_a_later_turn_loses_nothing() -> None:
    payloads = scenario()
    for writes in range(1, writes_of_the_last_turn()):
        store = MortalStore()
        run(store, payloads[:-1])
        store.left = writes
        with pytest.raises(Killed):
            run(store, payloads[-1:])
        store.left = None
        run(store, [turn(8, deadline("September 1"), name("Lee"))])
        run(store, payloads[-1:])
        assert [text for text in current(store) if "deadline" in text] == ["The deadline is September 1"]
        assert [text for text in current(store) if "name" in text] == ["My name is Lee"]


def assert_something_current_of_each_lineage(store: ports.MemoryStore) -> None:
    memories = store.find(ALL, ports.ANY)
    alive = {memory.lineage for memory in memories if memory.status is models.Status.CURRENT}
    assert {memory.lineage for memory in memories} == alive
