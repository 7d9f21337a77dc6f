"""Whatever is written, by whom and when: an answer that is held is the one that asking anew gives, over each store and each kind of owners' lock."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from msgspec.structs import replace

from services.core import api, errors, models, note_api, ports
from services.core.adapters import in_memory_notes, in_memory_owner_locks, in_memory_store, qdrant_edge, redis_client
from services.core.recall import answers, cache, engine
from services.proxy.parts import Parts
from services.proxy.routes import notes as note_routes
from services.proxy.routes import recall as recall_route
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

    @invariant()
    def what_was_asked_last_still_holds(self) -> None:
        """After each write, so that it was held before it."""
        for asked in self.asked[-2:]:
            self.check(*asked)

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


TITLES = ["Tea", "Staging", "Deploying"]
BODIES = [
    "Black leaves and hot water.",
    "The release goes to staging first. See [[Staging]]. #infra",
    "The release goes to staging first. See [[Tea]]. #drinks",
    "## Cups\n\nTwo of them.\n\n## Leaves\n\nBlack leaves and hot water, with [[Staging]] and [[Deploying]]. #infra\n",
]
NOTE_QUESTIONS = [
    "where does the release go first",
    "Where does the release go first?",
    "which notes link to Staging",
    "#infra",
    "hot water and leaves",
]
KINDS: list[api.Kind] = ["notes", "all"]


@pytest.fixture
def notes(store: ports.MemoryStore, tmp_path: Path) -> Iterator[ports.NoteStore]:
    """Of the same kind as the store of memories."""
    made: ports.NoteStore = (
        in_memory_notes.InMemoryNoteStore(EMBEDDER.dimension)
        if isinstance(store, in_memory_store.InMemoryStore)
        else qdrant_edge.EdgeNoteStore.open(tmp_path / "notes", model=EMBEDDER.model, dimension=EMBEDDER.dimension)
    )
    with closing(made):
        yield made


class NoteMachine(RuleBasedStateMachine):
    """Notes are written and asked for as the routes do it; what one process holds is what another asks anew."""

    def __init__(self, parts: Parts, owners: Owners) -> None:
        super().__init__()
        self.now = in_memory.NOW
        self.asked: list[tuple[models.Scope, api.Ask]] = []
        clock = lambda: self.now  # noqa: E731
        held = cache.Cache[answers.Answer](owners.writes, clock, most=4)
        self.parts = dataclasses.replace(parts, clock=clock, answers=held)
        self.writers = [note_routes.writer(dataclasses.replace(self.parts, owner_lock=lock)) for lock in owners.locks]
        for who in PEOPLE:
            self.writers[0].delete(who, [one.id for one in self.own(who)])
        for who in PEOPLE:
            with owners.locks[0](who):  # what an earlier run wrote is another's
                pass

    def own(self, who: models.Principal) -> list[models.Note]:
        return sorted(self.parts.notes.find(models.Scope(who.team, who.user, None), ports.NoteWhere(owner=who.user)), key=lambda note: note.path)

    def given(self, title: str, body: str, *, shared: bool = False, tag: str = "") -> note_api.PutNote:
        visibility = models.Visibility.TEAM if shared else models.Visibility.PRIVATE
        tags = (tag,) if tag else ()
        return note_api.PutNote(text=f"# {title}\n\n{body}", tags=tags, source="book", path=f"{title}.md", visibility=visibility)

    @rule(
        who=st.sampled_from(PEOPLE),
        process=st.sampled_from([0, 1]),
        title=st.sampled_from(TITLES),
        body=st.sampled_from(BODIES),
        shared=st.booleans(),
        tag=st.sampled_from(["", "infra"]),
    )
    def put(self, who: models.Principal, process: int, title: str, body: str, shared: bool, tag: str) -> None:
        """A new one, or another text, other links and tags, fewer passages, another reader of one that is there."""
        self.writers[process].put(who, [self.given(title, body, shared=shared, tag=tag)])

    @rule(who=st.sampled_from(PEOPLE), process=st.sampled_from([0, 1]), bodies=st.permutations(BODIES), gone=st.integers(0, 2))
    def bulk(self, who: models.Principal, process: int, bodies: list[str], gone: int) -> None:
        self.writers[process].put(who, [self.given(title, body) for title, body in zip(TITLES, bodies, strict=False)])
        self.writers[process].delete(who, [one.id for one in self.own(who)][:gone])

    @rule(
        who=st.sampled_from(PEOPLE), process=st.sampled_from([0, 1]), which=st.integers(0, 2), what=st.sampled_from(["annotate", "delete", "restore"])
    )
    def change(self, who: models.Principal, process: int, which: int, what: str) -> None:
        own = self.own(who)
        if which >= len(own):
            return
        if what == "annotate":
            self.writers[process].annotate(who, own[which].id, {"read": self.now})
        elif what == "delete":
            self.writers[process].delete(who, [own[which].id])
        else:
            whole = self.parts.notes.get(models.Scope(who.team, who.user, None), own[which].id)
            assert whole is not None
            self.writers[process].restore(who, [replace(whole, text=f"# {whole.title}\n\n{BODIES[0]}", dated_at=self.now)])

    @rule(who=st.sampled_from(PEOPLE), process=st.sampled_from([0, 1]))
    def break_off(self, who: models.Principal, process: int) -> None:
        """A write that is left half done."""
        real = self.parts.notes.prune

        def broken(*_: object) -> None:
            raise errors.Unavailable("notes")

        self.parts.notes.prune = broken  # type: ignore[method-assign]
        with suppress(errors.Unavailable):
            self.writers[process].put(who, [self.given(TITLES[0], BODIES[2]), self.given(TITLES[1], BODIES[3])])
        self.parts.notes.prune = real  # type: ignore[method-assign]

    @rule()
    def wait(self) -> None:
        self.now += cache.LIFETIME_SECONDS

    @rule(
        scope=st.sampled_from(SCOPES),
        words=st.sampled_from(NOTE_QUESTIONS),
        kind=st.sampled_from(KINDS),
        mode=st.sampled_from(MODES),
        explain=st.booleans(),
    )
    def ask(self, scope: models.Scope, words: str, kind: api.Kind, mode: Mode, explain: bool) -> None:
        self.asked.append((scope, api.Ask(query=words, kind=kind, mode=mode, explain=explain)))

    @invariant()
    def what_was_asked_last_still_holds(self) -> None:
        """After each write, so that it was held before it."""
        for scope, ask in self.asked[-2:]:
            self.check(scope, ask)

    def check(self, scope: models.Scope, ask: api.Ask) -> None:
        found = recall_route.recalled(self.parts, scope, ask)
        other = next((notice for notice in found.notices if notice.startswith("answered as ")), "")
        words = other.split('"')[1] if other else ask.query
        empty = cache.Cache[answers.Answer](lambda _: 0, lambda: self.now)
        anew = recall_route.recalled(dataclasses.replace(self.parts, answers=empty), scope, replace(ask, query=words))
        assert replace(found, query=words, notices=()) == replace(anew, notices=())
        assert cache.same_question(words, ask.query)


def test_what_is_held_of_notes_is_what_asking_anew_gives(store: ports.MemoryStore, notes: ports.NoteStore, owners: Owners, tmp_path: Path) -> None:
    parts = dataclasses.replace(in_memory.parts(tmp_path / "data"), store=store, notes=notes, embedder=EMBEDDER)
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        lambda: NoteMachine(parts, owners),
        settings=settings(max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)),
    )
