"""Whatever is written, by whom and when: an answer that is held is the one that asking anew gives, over each store and each kind of owners' lock."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from msgspec.structs import replace

from services.core import models, ports
from services.core.adapters import in_memory_owner_locks, in_memory_store, qdrant_edge, redis_client
from services.core.recall import cache, engine
from tests.support import in_memory
from tests.support.embedding import HashingEmbedder

EMBEDDER = HashingEmbedder(32)
TEXTS = ["We use Postgres 15", "We use Postgres 16", "We use Redis", "I like tea", "my dog is called Rex", "The release is on Friday"]
QUESTIONS = [
    "Do we use Postgres 15?",
    "do we use postgres 15",
    "Do we use Postgres 16?",
    "do we use Redis",
    "What is my dog called?",
    "Do I like tea?",
]
PEOPLE = [models.Principal("acme", "leo"), models.Principal("acme", "ann"), models.Principal("other", "leo")]
SCOPES = [models.Scope(who.team, who.user, projects) for who in PEOPLE for projects in (frozenset(), frozenset({"shop"}))]
KNOBS = [engine.Knobs(), engine.Knobs(max_memories=1), engine.Knobs(min_score=0.5)]
Mode = Literal["hybrid", "bm25", "semantic"]
MODES: list[Mode] = ["hybrid", "bm25", "semantic"]

Lock = Callable[[models.Principal], AbstractContextManager[None]]


class Owners(NamedTuple):
    """lock: of two processes. writes: as a third reads the clock."""

    locks: tuple[Lock, Lock]
    writes: Callable[[str], int]


@pytest.fixture(params=["memory", "redis"])
def owners(request: pytest.FixtureRequest) -> Iterator[Owners]:
    if request.param == "memory":
        made = in_memory_owner_locks.InMemoryOwnerLocks()
        yield Owners((made.lock, made.lock), made.writes)
        return
    clients = [redis_client.connect(request.getfixturevalue("redis_address"), timeout_seconds=2) for _ in range(3)]
    yield Owners((redis_client.owner_lock(clients[0]), redis_client.owner_lock(clients[1])), redis_client.write_clock(clients[2]))
    for client in clients:
        client.close()


@pytest.fixture(params=["memory", "edge"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ports.MemoryStore]:
    made: ports.MemoryStore = (
        in_memory_store.InMemoryStore(EMBEDDER.dimension)
        if request.param == "memory"
        else qdrant_edge.EdgeStore.open(tmp_path, model=EMBEDDER.model, dimension=EMBEDDER.dimension)
    )
    with closing(made):
        yield made


class Machine(RuleBasedStateMachine):
    """Writes and questions in any order. What is asked is asked through the cache and anew."""

    def __init__(self, store: ports.MemoryStore, owners: Owners) -> None:
        super().__init__()
        self.store, self.owners = store, owners
        self.now = in_memory.NOW
        self.asked: list[tuple[models.Scope, str, engine.Knobs, Mode]] = []
        self.cache = cache.Cache[engine.Recall](owners.writes, lambda: self.now, most=4)
        for scope in SCOPES:
            self.store.delete(replace(scope, projects=None), [one.id for one in self.all_of(scope)])
        for who in PEOPLE:
            with owners.locks[0](who):  # what an earlier run wrote is another's
                pass

    def all_of(self, scope: models.Scope) -> list[models.Memory]:
        return self.store.find(replace(scope, projects=None), ports.ANY)

    @rule(who=st.sampled_from(PEOPLE), process=st.sampled_from([0, 1]), text=st.sampled_from(TEXTS), shared=st.booleans(), project=st.booleans())
    def put(self, who: models.Principal, process: int, text: str, shared: bool, project: bool) -> None:
        made = in_memory.memory(
            text,
            team=who.team,
            owner=who.user,
            project="shop" if project else "",
            visibility=models.Visibility.TEAM if shared else models.Visibility.PRIVATE,
        )
        one = replace(made, id=models.MemoryId(in_memory.memory(f"{who.team} {who.user} {text}").id))
        with self.owners.locks[process](who):
            self.store.put([ports.Embedded(one, EMBEDDER.embed([text], "document")[0])])

    @rule(who=st.sampled_from(PEOPLE), process=st.sampled_from([0, 1]), which=st.integers(0, 5), what=st.sampled_from(["forget", "retire", "touch"]))
    def change(self, who: models.Principal, process: int, which: int, what: str) -> None:
        scope = models.Scope(who.team, who.user, None)
        own = [one for one in self.all_of(scope) if one.owner == who.user]
        if which >= len(own):
            return
        with self.owners.locks[process](who):
            if what == "forget":
                self.store.delete(scope, [own[which].id])
            elif what == "retire":
                self.store.update([replace(own[which], status=models.Status.SUPERSEDED)])
            else:
                self.store.touch(scope, [own[which].id], self.now)

    @rule()
    def wait(self) -> None:
        self.now += cache.LIFETIME_SECONDS

    @rule(scope=st.sampled_from(SCOPES), words=st.sampled_from(QUESTIONS), knobs=st.sampled_from(KNOBS), mode=st.sampled_from(MODES))
    def ask(self, scope: models.Scope, words: str, knobs: engine.Knobs, mode: Mode) -> None:
        self.asked.append((scope, words, knobs, mode))
        self.check(*self.asked[-1])

    @rule(back=st.integers(1, 4))
    def ask_again(self, back: int) -> None:
        if back <= len(self.asked):
            self.check(*self.asked[-back])

    def check(self, scope: models.Scope, words: str, knobs: engine.Knobs, mode: Mode) -> None:
        def anew(asked: str) -> engine.Recall:
            return engine.recall(asked, scope, store=self.store, embedder=EMBEDDER, knobs=knobs, now=self.now, mode=mode)

        found = self.cache.answer(
            scope.team,
            (scope, knobs, mode),
            words,
            embed=lambda: EMBEDDER.embed([words], "query")[0] if mode != "bm25" else None,
            fresh=lambda: anew(words),
            until=lambda _: self.now + cache.LIFETIME_SECONDS,
        )
        assert found.answer == anew(found.words)
        assert found.words == words or cache.same_question(found.words, words)


def test_what_is_held_is_what_asking_anew_gives(store: ports.MemoryStore, owners: Owners) -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        lambda: Machine(store, owners),
        settings=settings(max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)),
    )
