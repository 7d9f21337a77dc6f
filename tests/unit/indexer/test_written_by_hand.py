"""A statement that its person wrote down is a memory already when its turn is decided about; killed after every single write."""

from itertools import count

import pytest
from msgspec.structs import replace

from services.core import memory_add, memory_edit, messages, models, ports
from services.indexer.writing import Written
from tests.support.embedding import HashingEmbedder
from tests.unit.indexer.test_writing import ALL, LEO, Killed, MortalStore, current, deadline, everything, fact, home, run, turn, uses


def given(store: ports.MemoryStore, stated: models.Fact, at: float, *, category: models.Category | None = None) -> messages.StoreFacts:
    """Write it down, as the route does; the job that decides about it, as the worker makes it."""
    memory, learn = memory_add.added(LEO, stated.quote, category=category, project="shop", now=at)
    store.put([ports.Embedded(memory, HashingEmbedder().embed([memory.text], "document")[0])])
    stated = memory_add.stated(stated.quote, [stated], category)
    return messages.StoreFacts(turn=learn.turn, principal=LEO, said_at=at, facts=(stated,), project="shop", by_hand=True)


def test_what_is_new_stays_the_memory_it_is_and_gets_what_was_read_out_of_it() -> None:
    store = MortalStore()
    payload = given(store, uses("Postgres"), 5.0)
    (before,) = store.find(ALL)

    assert run(store, [payload]) == [Written(inserted=1)]

    (after,) = store.find(ALL, ports.ANY)
    assert (after.id, after.lineage, after.created_at, after.text) == (before.id, before.lineage, 5.0, "We use Postgres")
    assert (after.category, after.attribute, after.value, after.confidence) == (models.Category.TECHNICAL_CHOICE, "uses", "Postgres", 1.0)
    assert [(one.quote, one.turn) for one in after.evidence] == [("We use Postgres", payload.turn)]


def test_what_is_about_the_person_holds_everywhere_from_then_on() -> None:
    store = MortalStore()
    run(store, [given(store, home("Bonn"), 5.0)])
    assert [(one.project, one.category) for one in store.find(ALL)] == [("", models.Category.PERSONAL_INFO)]


def test_it_replaces_what_it_contradicts() -> None:
    store = MortalStore()
    run(store, [turn(1, deadline("May 3"))])
    payload = given(store, deadline("May 9"), 5.0)
    assert current(store) == ["The deadline is May 3", "The deadline is May 9"]

    assert run(store, [payload]) == [Written(superseded=1)]

    (memory,) = store.find(ALL)
    assert [(one.text, one.status) for one in memory_edit.history(store, ALL, memory.id)] == [
        ("The deadline is May 9", models.Status.CURRENT),
        ("The deadline is May 3", models.Status.SUPERSEDED),
    ]


def test_where_another_memory_says_it_that_one_is_reinforced_and_what_was_written_is_its_history() -> None:
    store = MortalStore()
    run(store, [turn(1, uses("Postgres"))])
    payload = given(store, replace(uses("postgresql"), text="we are using postgresql", quote="we are using postgresql"), 5.0)
    written = next(one for one in store.find(ALL) if one.text == "we are using postgresql")

    assert run(store, [payload]) == [Written(reinforced=1)]

    (memory,) = store.find(ALL)
    assert (memory.text, memory.mentions) == ("We use Postgres", 2)
    assert [one.quote for one in memory.evidence] == ["We use Postgres", "we are using postgresql"]
    kept = store.get(ALL, written.id)
    assert kept is not None
    assert (kept.status, kept.superseded_by, kept.lineage) == (models.Status.SUPERSEDED, memory.id, memory.lineage)


def test_what_ended_and_is_written_down_again_comes_back() -> None:
    store = MortalStore()
    run(store, [turn(1, home("Bonn")), turn(2, home("Koeln"))])

    run(store, [given(store, home("Bonn"), 5.0)])

    (memory,) = store.find(ALL)
    assert (memory.text, memory.mentions) == ("I live in Bonn", 2)
    assert len({one.lineage for one in store.find(ALL, ports.ANY)}) == 1


@pytest.mark.parametrize("first", [0, 1])
def test_two_that_were_written_down_one_after_the_other_end_in_the_later_one(first: int) -> None:
    store = MortalStore()
    payloads = [given(store, deadline("May 3"), 5.0), given(store, deadline("May 9"), 6.0)]
    run(store, [payloads[first], payloads[1 - first], *payloads])
    assert current(store) == ["The deadline is May 9"]
    assert len(store.find(ALL, ports.ANY)) == 2


@pytest.mark.parametrize("first", [0, 1])
def test_two_that_say_the_same_end_in_one(first: int) -> None:
    store = MortalStore()
    payloads = [given(store, uses("Postgres"), 5.0), given(store, replace(uses("Postgres"), quote="Our thing is: we use Postgres"), 6.0)]
    run(store, [payloads[first], payloads[1 - first], *payloads])
    assert [one.mentions for one in store.find(ALL)] == [2]


def test_what_was_erased_before_it_was_read_does_not_come_back() -> None:
    store = MortalStore()
    run(store, [turn(1, deadline("May 3"))])
    payload = given(store, deadline("May 9"), 5.0)
    store.delete(ALL, [one.id for one in store.find(ALL) if one.text.endswith("May 9")])

    assert run(store, [payload]) == [Written()]
    assert current(store) == ["The deadline is May 3"]


def test_what_was_reworded_before_it_was_read_is_left_as_its_person_wants_it() -> None:
    store = MortalStore()
    payload = given(store, deadline("May 9"), 5.0)
    (memory,) = store.find(ALL)
    new, archived = memory_edit.edited(memory, text="The deadline is June 1", now=6.0)
    store.put([ports.Embedded(one, HashingEmbedder().embed([one.text], "document")[0]) for one in (new, archived)])
    before = everything(store)

    run(store, [payload])
    assert everything(store) == before


def test_a_category_that_was_changed_before_it_was_read_stays_and_its_history_goes_along() -> None:
    store = MortalStore()
    run(store, [turn(1, deadline("May 3"))])
    payload = given(store, deadline("May 9"), 5.0)
    memory = next(one for one in store.find(ALL) if one.text.endswith("May 9"))
    new, archived = memory_edit.edited(memory, category=models.Category.DECISION, now=6.0)
    store.put([ports.Embedded(one, HashingEmbedder().embed([one.text], "document")[0]) for one in (new, archived)])

    run(store, [payload, payload])

    (after,) = store.find(ALL)
    assert (after.category, after.attribute, after.said_at) == (models.Category.DECISION, "deadline", 6.0)
    assert len(memory_edit.history(store, ALL, after.id)) == 3


def test_that_it_was_told_before_it_was_read_stays_known() -> None:
    store = MortalStore()
    payload = given(store, uses("Postgres"), 5.0)
    store.touch(ALL, [store.find(ALL)[0].id], 9.0)

    run(store, [payload])

    assert [one.accessed_at for one in store.find(ALL)] == [9.0]


def test_what_is_said_before_it_was_read_ends_in_one_memory_all_the_same() -> None:
    store = MortalStore()
    same, other = given(store, uses("Postgres"), 5.0), given(store, deadline("May 9"), 5.0)
    run(store, [turn(7, uses("Postgres")), turn(8, deadline("June 1"))])

    run(store, [same, other, other, same])

    assert {one.text: one.mentions for one in store.find(ALL)} == {"We use Postgres": 2, "The deadline is June 1": 1}


def test_what_may_not_be_kept_is_erased() -> None:
    store = MortalStore()
    payload = given(store, uses("Postgres"), 5.0)
    assert run(store, [replace(payload, facts=())]) == [Written()]
    assert store.find(ALL, ports.ANY) == []


def written_down(store: MortalStore) -> list[messages.StoreFacts]:
    """Each after the one before: something new, a contradiction, the same again, what had ended, a correction of all that."""
    facts = [uses("Postgres"), deadline("May 9"), replace(uses("postgresql"), quote="we use postgresql"), home("Bonn"), deadline("May 12")]
    return [given(store, stated, 10.0 + number) for number, stated in enumerate(facts)]


def test_a_process_killed_after_any_write_ends_the_same_when_the_turn_is_done_again() -> None:
    known = [turn(1, deadline("May 3"), home("Bonn")), turn(2, home("Koeln")), turn(3, fact("We review on Fridays"))]
    crashes = 0
    for last in range(5):
        expected = MortalStore()
        run(expected, known)
        run(expected, written_down(expected)[: last + 1])
        for writes in count():
            store = MortalStore()
            run(store, known)
            payloads = written_down(store)[: last + 1]
            run(store, payloads[:-1])
            texts = set(current(store))
            store.left = writes
            try:
                run(store, payloads[-1:])
                break
            except Killed:
                crashes += 1
            store.left = None
            assert texts <= {one.text for one in store.find(ALL, ports.ANY)}
            run(store, payloads[-1:])
            assert everything(store) == everything(expected)
            run(store, payloads)
            assert everything(store) == everything(expected)
    assert crashes >= 8
    assert current(expected) == ["I live in Bonn", "The deadline is May 12", "We review on Fridays", "We use Postgres"]


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("We release on Mondays", "We release on Tuesdays", {"We release on Tuesdays"}),
        ("We release on Mondays", "We release on Mondays and Thursdays", {"We release on Mondays", "We release on Mondays and Thursdays"}),
        ("We release on Mondays", "We meet on Tuesdays", {"We release on Mondays", "We meet on Tuesdays"}),
        ("We don't release on Mondays", "We release on Tuesdays", {"We don't release on Mondays", "We release on Tuesdays"}),
        ("PR 260 waits for Mondays", "PR 480 waits for Mondays", {"PR 260 waits for Mondays", "PR 480 waits for Mondays"}),
    ],
)
def test_the_day_of_a_habit_is_another_one_when_it_is_written_down_so_whoever_is_read_first(old: str, new: str, left: set[str]) -> None:
    for order in (1, -1):
        store = MortalStore()
        payloads = [given(store, fact(old), 5.0), given(store, fact(new), 6.0)]
        run(store, payloads[::order])
        assert set(current(store)) == left


def test_what_is_said_by_the_way_of_another_day_of_a_habit_holds_beside_it() -> None:
    store = MortalStore()
    run(store, [turn(1, fact("We release on Mondays")), turn(2, fact("We release on Tuesdays"))])
    assert len(current(store)) == 2
