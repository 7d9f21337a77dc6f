"""A decision can be undone whatever came of it."""

import dataclasses
from itertools import count
from pathlib import Path

import pytest
from msgspec.structs import replace

from services.core import models, ports, reviewing
from services.proxy import reviews
from services.proxy.parts import Parts
from tests.support import in_memory
from tests.support.dying import Killed, Life, dying
from tests.support.in_memory import keep, memory

BOB = models.Principal("acme", "bob", models.Role.CURATOR)
EVE = models.Principal("acme", "eve")
ANAS = models.Scope("acme", "ana", None)
PROPOSED, TEAM = models.Visibility.PROPOSED, models.Visibility.TEAM
TEXTS = ("We use Postgres", "Deploys are on Fridays", "The office is in Bonn")


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    return given(tmp_path)


def given(folder: Path) -> Parts:
    made = in_memory.parts(folder)
    keep(made, *(memory(text, team="acme", owner="ana", visibility=PROPOSED) for text in TEXTS))
    return made


def ids(parts: Parts) -> list[str]:
    return [one.id for one in parts.store.find(ANAS)]


def visible(parts: Parts) -> list[models.Visibility]:
    return sorted(one.visibility for one in parts.store.find(ANAS))


def test_a_decision_that_is_killed_after_any_write_is_undone_as_far_as_it_came(tmp_path: Path) -> None:
    reached = set()
    for writes in count():
        parts = given(tmp_path)
        try:
            reviews.decide(dying(parts, Life(writes)), BOB, reviewing.Decision.APPROVE, ids(parts))
        except Killed:
            shared = visible(parts).count(TEAM)
            reached.add(shared)
            events = [event for event in parts.audit.read("acme") if event.act is ports.Act.DECIDED]
            assert events or shared == 0
            for event in events:
                undone = reviews.undo(parts, BOB, event.id)
                assert [one.outcome for one in undone.results] == ["done"] * len(TEXTS)
            assert visible(parts) == [PROPOSED] * len(TEXTS)
        else:
            break
    assert reached == {0, 1, 2}


def test_what_changes_between_the_note_and_the_deed_is_not_decided_about(parts: Parts) -> None:
    first, second, third = ids(parts)
    lock = parts.owner_lock
    one = parts.store.get(ANAS, second)
    assert one is not None

    def late(owner: models.Principal) -> object:
        """Somebody else is in the lock just before."""
        with lock(owner):
            parts.store.update([reviewing.decided(one, reviewing.Decision.KEEP, models.Principal("acme", "ana"), now=1.0)])
        return lock(owner)

    done = reviews.decide(dataclasses.replace(parts, owner_lock=late), BOB, reviewing.Decision.APPROVE, [first, second, third])  # type: ignore[arg-type]
    assert [one.outcome for one in done.results] == ["done", "not_found", "done"]
    undone = reviews.undo(parts, BOB, done.event)
    assert [one.outcome for one in undone.results] == ["done", "refused", "done"]


def reworded(parts: Parts, memory_id: str, at: float) -> None:
    """Its author says it in other words."""
    one = parts.store.get(ANAS, memory_id)
    assert one is not None
    parts.store.update([replace(one, text="Deploys are whenever Eve likes", said_at=at, reinforced_at=at)])


def test_what_its_author_words_anew_between_the_note_and_the_deed_is_not_decided_about(parts: Parts) -> None:
    first, second, third = ids(parts)
    lock = parts.owner_lock

    def late(owner: models.Principal) -> object:
        with lock(owner):
            reworded(parts, second, parts.clock())
        return lock(owner)

    done = reviews.decide(dataclasses.replace(parts, owner_lock=late), BOB, reviewing.Decision.APPROVE, [first, second, third])  # type: ignore[arg-type]
    assert [one.outcome for one in done.results] == ["done", "refused", "done"]
    assert visible(parts) == [PROPOSED, TEAM, TEAM]


def test_what_was_worded_anew_since_it_was_looked_at_is_not_decided_about(parts: Parts) -> None:
    looked = reviews.waiting(parts, BOB, why=None, limit=9, offset=0).as_of.timestamp()
    first, second, third = ids(parts)
    reworded(parts, second, looked + 1)
    late = dataclasses.replace(parts, clock=lambda: looked + 2)

    done = reviews.decide(late, BOB, reviewing.Decision.APPROVE, [first, second, third], as_of=looked)
    assert [one.outcome for one in done.results] == ["done", "refused", "done"]
    assert "worded anew" in done.results[1].message
    assert [one.outcome for one in reviews.decide(late, BOB, reviewing.Decision.APPROVE, [second], as_of=looked + 2).results] == ["done"]


def test_what_a_wrong_clock_dates_into_the_future_can_be_decided_about(parts: Parts) -> None:
    (first, *_) = ids(parts)
    reworded(parts, first, parts.clock() + 1e6)
    assert [one.outcome for one in reviews.decide(parts, BOB, reviewing.Decision.APPROVE, [first], as_of=parts.clock()).results] == ["done"]


def test_of_two_in_the_same_words_one_is_approved(parts: Parts) -> None:
    again = memory("we use postgres.", team="acme", owner="ana", visibility=PROPOSED)
    keep(parts, again)
    (first,) = [one.id for one in parts.store.find(ANAS) if one.text == TEXTS[0]]
    done = reviews.decide(parts, BOB, reviewing.Decision.APPROVE, [first, again.id])
    assert [one.outcome for one in done.results] == ["done", "refused"]
    assert [one.outcome for one in reviews.undo(parts, BOB, done.event).results] == ["done", "done"]
    assert set(visible(parts)) == {PROPOSED}


def test_nothing_that_can_be_done_leaves_no_event(parts: Parts) -> None:
    assert reviews.decide(parts, EVE, reviewing.Decision.APPROVE, ids(parts)).event == ""
    assert [event for event in parts.audit.read("acme") if event.act is ports.Act.DECIDED] == []
