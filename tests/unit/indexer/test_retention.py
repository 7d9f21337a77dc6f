"""What is kept no longer: the decision as a table, and the run over both embedded stores."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from services.core import messages, models, ports
from services.core.adapters.in_memory_audit import InMemoryAuditLog
from services.core.adapters.in_memory_figures import InMemoryFigures
from services.core.adapters.in_memory_jobs import InMemoryJobBook
from services.core.adapters.in_memory_ledger import InMemoryLedger
from services.core.adapters.in_memory_owner_locks import InMemoryOwnerLocks
from services.core.adapters.in_memory_store import InMemoryStore
from services.core.adapters.in_memory_turn_log import InMemoryTurnLog
from services.core.adapters.qdrant_edge import EdgeStore
from services.indexer import retention
from services.indexer.canary import Stopped
from tests.support.embedding import HashingEmbedder
from tests.support.in_memory import NOW, memory

DAY = 86_400.0
OLD = NOW - 100 * DAY
EMBEDDER = HashingEmbedder()
CURRENT, SUPERSEDED = models.Status.CURRENT, models.Status.SUPERSEDED


@pytest.mark.parametrize(
    ("fields", "days", "expected"),
    [
        ({"status": SUPERSEDED, "valid_to": NOW - 31 * DAY}, 30, True),
        ({"status": SUPERSEDED, "valid_to": NOW - 29 * DAY}, 30, False),
        ({"status": SUPERSEDED, "valid_to": NOW - 31 * DAY}, 0, False),
        ({"status": SUPERSEDED, "valid_to": None}, 30, True),
        ({"status": SUPERSEDED, "valid_to": OLD, "created_at": NOW - DAY}, 30, False),  # said long ago, brought in yesterday
        ({"status": CURRENT, "valid_to": OLD}, 30, False),
        ({"status": models.Status.PENDING}, 30, False),
        ({"status": models.Status.QUARANTINED}, 30, False),
    ],
)
def test_only_history_goes_and_only_after_its_time(fields: dict[str, object], days: int, expected: bool) -> None:
    assert retention.expired(memory("a", said_at=OLD, **fields), NOW, days) is expected


@pytest.mark.parametrize(("days", "expected"), [(30, ["old"]), (0, []), (365, [])])
def test_jobs_that_failed_long_ago_are_overdue(days: int, expected: list[str]) -> None:
    dead = [ports.Dead(name, messages.Task.TOUCH, 5, "", NOW - age * DAY) for name, age in (("old", 31), ("new", 29))]

    assert retention.overdue(dead, NOW, days) == expected


class House:
    def __init__(self, store: ports.WholeStore) -> None:
        self.store = store
        self.book = InMemoryJobBook(clock=lambda: self.now)
        self.ledger, self.turns, self.figures, self.audit = InMemoryLedger(), InMemoryTurnLog(), InMemoryFigures(), InMemoryAuditLog()
        self.purged = 0
        self.now = NOW

    def put(self, *memories: models.Memory) -> None:
        self.store.put([ports.Embedded(one, EMBEDDER.embed([one.text], "document")[0]) for one in memories])

    def run(self, *, superseded: int = 0, dead: int = 0, stopping: threading.Event | None = None) -> int:
        return self.keeper(superseded=superseded, dead=dead).run(stopping or threading.Event())

    def keeper(self, *, superseded: int = 0, dead: int = 0) -> retention.Retention:
        return retention.Retention(
            self.store,
            self.book,
            ledger=self.ledger,
            turns=self.turns,
            figures=self.figures,
            audit=self.audit,
            owner_lock=InMemoryOwnerLocks().lock,
            clock=lambda: self.now,
            keep_superseded_days=superseded,
            keep_dead_days=dead,
            purge=[self._purge],
        )

    def texts(self) -> list[str]:
        found = [self.store.find(models.Scope(team, user, None), ports.ANY) for team, user in (("local", "me"), ("acme", "ana"))]
        return sorted(one.text for some in found for one in some)

    def _purge(self) -> None:
        self.purged += 1


@pytest.fixture(params=["memory", "edge"])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    if request.param == "memory":
        yield House(InMemoryStore(EMBEDDER.dimension))
    else:
        store = EdgeStore.open(tmp_path, model=EMBEDDER.model, dimension=EMBEDDER.dimension)
        yield House(store)
        store.close()


PAST = memory("past", said_at=OLD, status=SUPERSEDED, valid_to=OLD)
THEIRS = memory("theirs", said_at=OLD, status=SUPERSEDED, valid_to=OLD, team="acme", owner="ana", visibility=models.Visibility.TEAM)
RECENT = memory("recent", said_at=OLD, status=SUPERSEDED, valid_to=NOW - DAY)
KEPT = memory("kept", said_at=OLD)


def erased(place: str) -> float:
    return REGISTRY.get_sample_value("brb_erased_total", {"place": place}) or 0.0


def test_by_default_everything_is_kept(house: House) -> None:
    house.put(PAST, KEPT)

    assert house.run() == 0
    assert house.texts() == ["kept", "past"]
    assert house.purged == 0


def test_what_one_that_was_killed_has_erased_is_cleaned_by_the_next_once(house: House) -> None:
    keeper = house.keeper(superseded=30)
    keeper.run(threading.Event())
    keeper.run(threading.Event())
    assert house.purged == 1


def test_old_history_of_all_goes_with_its_traces_and_is_in_the_audit_log(house: House) -> None:
    house.put(PAST, THEIRS, RECENT, KEPT)
    house.ledger.write({"key": ports.Entry("block", (PAST.id,)), "other": ports.Entry("block", (KEPT.id,))})
    house.turns.add(models.LOCAL, ports.Told(turn="t", at=OLD, outcome="injected", considered=(ports.Considered(PAST.id, 1.0, 1.0),)))
    house.figures.told([PAST.id, KEPT.id], NOW)
    before = erased("deleted")

    assert house.run(superseded=30) == 2
    assert house.texts() == ["kept", "recent"]
    assert list(house.ledger.read(["key", "other"])) == ["other"]
    assert house.turns.find(models.LOCAL, "t") is None
    assert house.figures.most_told(NOW, 10)[0] == [1]
    [event] = house.audit.read("local")
    assert (event.user, event.act, event.ids, event.count, event.detail) == ("brb", ports.Act.FORGOT, (PAST.id,), 1, "retention")
    assert [each.ids for each in house.audit.read("acme")] == [(THEIRS.id,)]
    assert house.purged == 1
    assert erased("deleted") == before + 2


def test_a_second_run_finds_nothing_more(house: House) -> None:
    house.put(PAST)
    keeper = house.keeper(superseded=30)
    keeper.run(threading.Event())

    assert keeper.run(threading.Event()) == 0
    assert len(house.audit.read("local")) == 1
    assert house.purged == 1


def test_many_of_one_age_go_in_batches(house: House) -> None:
    house.put(*(memory(f"past {n}", said_at=OLD, status=SUPERSEDED, valid_to=OLD) for n in range(450)))

    assert house.run(superseded=30) == 450
    assert sum(event.count for event in house.audit.read("local")) == 450


def test_it_ends_between_two_batches_when_the_process_does(house: House) -> None:
    house.put(PAST)
    stopping = threading.Event()
    stopping.set()
    with pytest.raises(Stopped):
        house.run(superseded=30, stopping=stopping)

    assert house.texts() == ["past"]


def test_the_canaries_history_is_no_business_of_it(house: House) -> None:
    house.put(memory("past", said_at=OLD, status=SUPERSEDED, valid_to=OLD, team=models.CANARY_TEAMS[0]))

    assert house.run(superseded=30) == 0


def test_jobs_that_failed_for_good_go_after_their_time(house: House) -> None:
    house.book.add([messages.Job.of(messages.Task.TOUCH, messages.Touch(turn, models.LOCAL, (), NOW)) for turn in ("dead", "waits")])
    claim = house.book.claim("touch-dead")
    assert claim is not None
    house.book.bury(claim, "broken")
    house.now += 29 * DAY
    assert house.run(dead=30) == 0
    house.now += 2 * DAY

    assert house.run(dead=30) == 1
    assert house.book.dead() == []
    assert house.book.known(["touch-waits"]) == {"touch-waits"}, "however long it waits"
