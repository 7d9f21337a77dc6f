"""The canary over real parts: an Edge store, llama.cpp, Redis. What breaks shows in the figure that it should show in."""

import dataclasses
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from prometheus_client import REGISTRY

from services.core import config, errors, jobs, messages, models, ports, tokens
from services.core.adapters import llama_cpp, qdrant_edge, redis_client, redis_figures, redis_jobs
from services.core.seal import Seal
from services.indexer import canary, canary_facts, upkeep
from services.indexer.writing import Writer
from tests.support.in_memory import NOW

ALL = [(place.owner, models.Scope(place.owner.team, place.owner.user, None)) for place in canary_facts.FACTS]


FEW = {place: facts[:3] for place, facts in canary_facts.FACTS.items()}
"""Enough where only the course of a round is of interest."""


class Leaky:
    """A store whose searches forget the scope: they find what is everybody's."""

    def __init__(self, store: ports.MemoryStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def search(self, scope: models.Scope, vectors: Sequence[Sequence[float]], text: str, **rest: object) -> ports.Legs[models.Hit]:
        found = [self._store.search(each, vectors, text, **rest) for each in dict.fromkeys(scope for _, scope in ALL)]  # type: ignore[arg-type]
        dense = [sorted((hit for one in found for hit in one.dense[n]), key=lambda hit: -hit.score) for n in range(len(vectors))]
        return ports.Legs(dense, sorted((hit for one in found for hit in one.lexical), key=lambda hit: -hit.score))


@dataclasses.dataclass
class Cage:
    """Everything that a canary needs. Jobs are done as soon as they are published, unless the writer drops them."""

    settings: config.Settings
    store: ports.MemoryStore
    embedder: ports.Embedder
    book: ports.JobBook
    owner_lock: canary.OwnerLock
    figures: ports.Figures
    now: float = NOW
    writes: bool = True
    facts: Mapping[canary_facts.Place, Sequence[canary_facts.Known]] = dataclasses.field(default_factory=lambda: canary_facts.FACTS)

    def canary(self, store: ports.MemoryStore | None = None, **changed: object) -> canary.Canary:
        """changed: settings."""
        settings = self.settings.model_copy(update=changed)
        ask = canary.asking(store or self.store, self.embedder, settings, self.clock)
        return canary.Canary(
            self.store,
            self.book,
            self._publish,
            ask,
            owner_lock=self.owner_lock,
            clock=self.clock,
            facts=self.facts,
            written_seconds=2,
            pause_seconds=0,
        )

    def round(self, **changed: object) -> ports.Canary:
        return self.canary(**changed).run(threading.Event())  # type: ignore[arg-type]

    def clock(self) -> float:
        return self.now

    def held(self) -> list[models.Memory]:
        return [memory for scope in dict.fromkeys(scope for _, scope in ALL) for memory in self.store.find(scope, ports.ANY, limit=1000)]

    def _publish(self, job_id: str, task: messages.Task) -> None:
        writer = Writer(self.store, self.embedder, clock=self.clock)

        def write(payload: messages.Payload) -> tuple[messages.Job, ...]:
            assert isinstance(payload, messages.StoreFacts)
            if self.writes:
                writer.store_facts(payload)
            return ()

        jobs.run(job_id, write, book=self.book, publish=lambda *_: None, lease_seconds=5, within=lambda payload: self.owner_lock(payload.principal))  # type: ignore[union-attr]


@pytest.fixture
def cage(llama_socket: Path, redis_address: str, tmp_path: Path) -> Iterator[Cage]:
    client = redis_client.connect(redis_address, timeout_seconds=2)
    embedder = llama_cpp.LlamaCppEmbedder(llama_socket, model="all-MiniLM-L6-v2", dimension=384)
    store = qdrant_edge.EdgeStore.open(tmp_path / "store", model=embedder.model, dimension=384)
    book = redis_jobs.RedisJobBook(client, Seal("secret"), lease_seconds=5, done_seconds=60)
    yield Cage(config.Settings(data_dir=tmp_path), store, embedder, book, redis_client.owner_lock(client), redis_figures.RedisFigures(client))
    store.close()
    embedder.close()
    client.close()


def test_a_round_finds_most_of_what_it_wrote_and_nothing_else(cage: Cage) -> None:
    found = cage.round()

    assert found.recall[10] >= 0.8
    assert found.recall[1] <= found.recall[3] <= found.recall[5] <= found.recall[10]
    assert found.mrr >= 0.75
    assert found.silent >= 0.9
    assert found.crossings == 0
    assert 0 < found.write_to_read_seconds < 10
    assert found.at == NOW


def test_it_is_in_no_total_and_leaves_no_job(cage: Cage) -> None:
    cage.facts = FEW
    cage.round()

    assert sum(cage.store.total().values()) == 0
    assert cage.store.census() == ports.Census({}, None)
    assert cage.store.anybody(ports.ANY, limit=10) == cage.store.sample(ports.ANY, limit=10) == []
    assert sum(cage.book.pending().values()) == 0
    assert not [memory for memory in cage.held() if "beacon" in memory.text], "it is written and erased in each round"


def test_nobody_can_have_a_token_of_its_teams() -> None:
    for team in models.CANARY_TEAMS:
        with pytest.raises(errors.BadInput):
            tokens.checked_name(team, "the team")


def test_facts_that_are_there_and_fresh_stay(cage: Cage) -> None:
    cage.facts = FEW
    cage.round()
    before = {memory.id for memory in cage.held()}
    cage.now += 3600
    cage.round()

    assert {memory.id for memory in cage.held()} == before
    assert len(before) == sum(map(len, FEW.values()))


@pytest.mark.parametrize("fault", ["missing", "changed", "old", "left over"])
def test_facts_are_written_anew_when_they_are_not_as_they_should_be(cage: Cage, fault: str) -> None:
    cage.facts = FEW
    cage.round()
    [one, *_], scope = [memory for memory in cage.held() if memory.owner == "ada"], ALL[0][1]
    before = {memory.id for memory in cage.held() if memory.owner == "ada"}
    if fault == "missing":
        cage.store.delete(scope, [one.id])
    elif fault == "changed":
        cage.store.update([replace(one, status=models.Status.SUPERSEDED)])
    elif fault == "old":
        cage.now += canary.STALE_SECONDS + 1
    else:
        extra = replace(one, id=models.MemoryId("00000000-0000-5000-8000-000000000001"), text="I once had a parrot")
        cage.store.put([ports.Embedded(extra, cage.embedder.embed([extra.text], "document")[0])])
    found = cage.round()

    held = [memory for memory in cage.held() if memory.owner == "ada"]
    wanted = [fact.text for place, facts in FEW.items() if place.owner == canary_facts.ASKER for fact in facts]
    assert sorted(memory.text for memory in held) == sorted(wanted)
    assert before.isdisjoint(memory.id for memory in held)
    assert found.recall[10] > 0


def test_a_gate_too_high_shows_in_what_is_found(cage: Cage) -> None:
    found = cage.round(min_similarity=0.85)

    assert found.recall[10] <= 0.2
    assert (found.silent, found.crossings) == (1.0, 0)


def test_a_gate_too_low_shows_in_what_is_told_without_reason(cage: Cage) -> None:
    found = cage.round(min_similarity=0.0, min_score=0.0)

    assert found.silent <= 0.7
    assert found.crossings == 0


def test_a_store_that_ignores_scopes_shows_in_crossings(cage: Cage) -> None:
    found = cage.canary(Leaky(cage.store)).run(threading.Event())  # type: ignore[arg-type]

    assert found.crossings >= len(canary_facts.FOREIGN) - 2


def test_every_foreign_fact_would_be_told_to_its_owner(cage: Cage) -> None:
    """A probe for what nobody finds anyway would prove nothing."""
    cage.round()
    leaky = canary.asking(Leaky(cage.store), cage.embedder, cage.settings, cage.clock)  # type: ignore[arg-type]
    text_of = {memory.id: memory.text for memory in cage.held()}
    found = [fact for fact in canary_facts.FOREIGN if fact.text in {text_of.get(each) for each in leaky(fact.question)}]

    assert len(found) >= len(canary_facts.FOREIGN) - 1


def runs(outcome: str) -> float:
    return REGISTRY.get_sample_value("brb_canary_runs_total", {"outcome": outcome}) or 0.0


def away(*_: object, **__: object) -> list[list[float]]:
    raise errors.Unavailable("llama.cpp")


@pytest.mark.parametrize("fault", ["writer drops", "embedder away"])
def test_a_round_that_can_t_be_carried_out_counts_as_failed_and_leaves_the_figures(cage: Cage, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cage.facts = FEW
    work = upkeep.canary_work(cage.canary(), cage.figures)
    work.do(threading.Event())
    before, failed, ok = cage.figures.canary(), runs("failed"), runs("ok")
    if fault == "writer drops":
        cage.writes = False
    else:
        monkeypatch.setattr(type(cage.embedder), "embed", away)
    with pytest.raises(errors.Unavailable):
        work.do(threading.Event())

    assert before is not None
    assert cage.figures.canary() == before
    assert (runs("failed"), runs("ok")) == (failed + 1, ok)


def test_it_stops_between_two_probes(cage: Cage) -> None:
    cage.facts = FEW
    stopping = threading.Event()
    stopping.set()
    with pytest.raises(canary.Stopped):
        cage.canary().run(stopping)

    assert not [memory for memory in cage.held() if "beacon" in memory.text]


def test_its_facts_count_in_no_metric_of_what_people_are_learnt_from(cage: Cage) -> None:
    cage.facts = FEW

    def inserted() -> float:
        return REGISTRY.get_sample_value("brb_dedup_total", {"decision": "insert"}) or 0.0

    before = inserted()
    cage.round()

    assert inserted() == before
