"""One suite over all stores. The real server joins in when BRB_TEST_QDRANT_URL is set."""

import contextlib
import http.server
import subprocess
import sys
import textwrap
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.core import errors, models, ports
from services.core.adapters import edge_points, memory_payload
from services.core.adapters.in_memory_store import InMemoryStore
from services.core.adapters.qdrant_edge import EdgeStore
from tests.support import qdrant, qdrant_rest
from tests.support.embedding import HashingEmbedder

EMBEDDER = HashingEmbedder(32)
ME = models.Scope("acme", "leo", frozenset({"shop"}))
EVERYWHERE = models.Scope("acme", "leo", None)
CURATOR = models.Scope("acme", "leo", None, curates=True)
NOWHERE = models.Scope("acme", "leo", frozenset())


def in_memory(folder: Path) -> ports.MemoryStore:
    return InMemoryStore(EMBEDDER.dimension)


def edge(folder: Path) -> ports.MemoryStore:
    return EdgeStore.open(folder, model=EMBEDDER.model, dimension=EMBEDDER.dimension)


def answers_like_qdrant(folder: Path) -> ports.MemoryStore:
    return qdrant.Memories.at(qdrant.standing_in(), model=EMBEDDER.model, dimension=EMBEDDER.dimension)


def qdrant_server(folder: Path) -> ports.MemoryStore:
    return qdrant.Memories.at(qdrant.real(), model=EMBEDDER.model, dimension=EMBEDDER.dimension)


STORES = [in_memory, edge, answers_like_qdrant, qdrant_server]


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ports.MemoryStore]:
    made = request.param(tmp_path)
    yield made
    made.close()


def memory(text: str = "We use Postgres", *, number: int | None = None, at: float = 100.0, **fields: object) -> models.Memory:
    identity = models.MemoryId(str(uuid.UUID(int=number) if number is not None else uuid.uuid5(uuid.NAMESPACE_URL, text)))
    defaults: dict[str, object] = {
        "id": identity,
        "team": "acme",
        "owner": "leo",
        "text": text,
        "category": models.Category.TECHNICAL_CHOICE,
        "confidence": 0.9,
        "evidence": (models.Evidence(text, "turn-1", at),),
        "lineage": identity,
        "created_at": at,
        "said_at": at,
        "reinforced_at": at,
        "accessed_at": at,
    }
    return models.Memory(**{**defaults, **fields})  # type: ignore[arg-type]


def vector(text: str) -> list[float]:
    return EMBEDDER.embed([text], "document")[0]


def put(store: ports.MemoryStore, *memories: models.Memory) -> None:
    store.put([ports.Embedded(each, vector(each.text)) for each in memories])


def test_before_bounds_the_time_of_creation(store: ports.MemoryStore) -> None:
    """Whoever reads all of them goes on from there: what is written meanwhile moves nothing."""
    put(store, *(memory(f"Fact {n}", at=float(n)) for n in range(5)))

    assert texts(store.find(EVERYWHERE, ports.Where(before=3.0))) == ["Fact 2", "Fact 1", "Fact 0"]
    assert texts(store.find(EVERYWHERE, ports.Where(before=3.0), limit=1, offset=1)) == ["Fact 1"]
    assert store.count(EVERYWHERE, ports.Where(before=3.0)) == 3
    assert store.count(EVERYWHERE, ports.Where(before=0.0)) == 0


def test_an_id_is_taken_in_whatever_scope(store: ports.MemoryStore) -> None:
    foreign = memory("Another team's", team="else")
    put(store, foreign)

    assert store.taken(foreign.id)
    assert not store.taken(memory("Nobody's").id)
    assert not store.taken("no id")


def texts(found: list[models.Memory] | list[models.Hit]) -> list[str]:
    return [each.memory.text if isinstance(each, models.Hit) else each.text for each in found]


def test_a_memory_comes_back_as_it_was_put(store: ports.MemoryStore) -> None:
    whole = memory(
        "Staging uses MySQL 8 — naïve 日本語",
        project="shop",
        visibility=models.Visibility.TEAM,
        status=models.Status.SUPERSEDED,
        subject="staging",
        attribute="uses",
        value="MySQL 8",
        functional=True,
        polarity=False,
        entities=("MySQL",),
        qualifiers=("staging",),
        mentions=3,
        supersedes=str(uuid.uuid4()),
        superseded_by=str(uuid.uuid4()),
        valid_to=1_726_000_000.123456,
    )
    put(store, whole)
    assert store.get(ME, whole.id) == whole


def test_putting_an_id_again_replaces_the_memory_and_its_vectors(store: ports.MemoryStore) -> None:
    put(store, memory("Leo likes tea", number=1))
    put(store, memory("Deploys run on Fridays", number=1))
    assert texts(store.find(ME)) == ["Deploys run on Fridays"]
    assert texts(store.lexical(ME, "tea", limit=5)) == []
    assert store.nearest(ME, vector("Deploys run on Fridays"), limit=1)[0].score == pytest.approx(1, abs=1e-4)


def test_an_update_replaces_fields_and_keeps_vectors(store: ports.MemoryStore) -> None:
    before = memory()
    put(store, before)
    after = msgspec.structs.replace(before, mentions=7, status=models.Status.SUPERSEDED, valid_to=5.0)
    store.update([after])
    assert store.get(ME, before.id) == after
    where = ports.Where(status=models.Status.SUPERSEDED)
    assert store.nearest(ME, vector(before.text), limit=1, where=where)[0].score == pytest.approx(1, abs=1e-4)
    assert texts(store.lexical(ME, "postgres", limit=1, where=where)) == [before.text]


def test_an_update_of_an_unknown_id_is_ignored(store: ports.MemoryStore) -> None:
    store.update([memory()])
    store.update([])
    store.put([])
    assert store.count(EVERYWHERE, ports.ANY) == 0


SCOPES = [
    ("mine", {}, ME, True),
    ("mine in an unknown project's scope", {}, NOWHERE, True),
    ("mine of this project", {"project": "shop"}, ME, True),
    ("mine of another project", {"project": "blog"}, ME, False),
    ("mine of another project, every project", {"project": "blog"}, EVERYWHERE, True),
    ("mine of a project, none known", {"project": "shop"}, NOWHERE, False),
    ("a colleague's", {"owner": "ana"}, EVERYWHERE, False),
    ("a colleague's for the team", {"owner": "ana", "visibility": models.Visibility.TEAM}, ME, True),
    ("a colleague's for the team, another project", {"owner": "ana", "visibility": models.Visibility.TEAM, "project": "blog"}, ME, False),
    ("a colleague's proposal", {"owner": "ana", "visibility": models.Visibility.PROPOSED}, EVERYWHERE, False),
    ("a colleague's proposal, for a curator", {"owner": "ana", "visibility": models.Visibility.PROPOSED}, CURATOR, True),
    ("a colleague's own, for a curator", {"owner": "ana"}, CURATOR, False),
    ("another team's proposal, for a curator", {"team": "evil", "visibility": models.Visibility.PROPOSED}, CURATOR, False),
    ("another team's user of my name", {"team": "evil"}, EVERYWHERE, False),
    ("another team's for its team", {"team": "evil", "visibility": models.Visibility.TEAM}, EVERYWHERE, False),
]


@pytest.mark.parametrize(("fields", "scope", "seen"), [case[1:] for case in SCOPES], ids=[case[0] for case in SCOPES])
def test_every_method_keeps_to_the_scope(store: ports.MemoryStore, fields: dict[str, object], scope: models.Scope, seen: bool) -> None:
    one = memory(**fields)
    put(store, one)
    assert scope.sees(one) is seen
    expected = [one.text] if seen else []
    assert store.get(scope, one.id) == (one if seen else None)
    assert texts(store.find(scope, ports.ANY)) == expected
    assert store.count(scope, ports.ANY) == len(expected)
    assert texts(store.nearest(scope, vector(one.text), limit=5)) == expected
    assert texts(store.nearest(scope, vector(one.text), limit=5, exact=True)) == expected
    assert texts(store.lexical(scope, one.text, limit=5)) == expected
    store.touch(scope, [one.id], 900.0)
    owner = models.Scope(one.team, one.owner, None)
    kept = store.get(owner, one.id)
    assert kept is not None
    assert kept.accessed_at == (900.0 if seen else 100.0)
    assert store.delete(scope, [one.id]) == len(expected)
    assert store.count(owner, ports.ANY) == 1 - len(expected)


WHERES = [
    ({"status": models.Status.SUPERSEDED}, ports.Where(status=models.Status.SUPERSEDED)),
    ({"category": models.Category.TODO}, ports.Where(category=models.Category.TODO)),
    ({"visibility": models.Visibility.TEAM}, ports.Where(visibility=models.Visibility.TEAM)),
    ({"lineage": "00000000-0000-0000-0000-00000000000a"}, ports.Where(lineage="00000000-0000-0000-0000-00000000000a")),
    ({"subject": "daughter"}, ports.Where(subject="daughter")),
    ({"attribute": "release deadline"}, ports.Where(attribute="release deadline")),
    ({"owner": "ana", "visibility": models.Visibility.TEAM}, ports.Where(owner="ana")),
]


@pytest.mark.parametrize(("fields", "where"), WHERES)
def test_every_filter_holds_in_every_search(store: ports.MemoryStore, fields: dict[str, object], where: ports.Where) -> None:
    other, wanted = memory("Postgres is the other one"), memory("Postgres is the wanted one", **fields)
    put(store, other, wanted)
    assert texts(store.find(ME, where)) == [wanted.text]
    assert store.count(ME, where) == 1
    assert texts(store.nearest(ME, vector(other.text), limit=5, where=where)) == [wanted.text]
    assert texts(store.lexical(ME, "postgres", limit=5, where=where)) == [wanted.text]


def test_superseded_memories_are_not_found_unless_asked_for(store: ports.MemoryStore) -> None:
    put(store, memory("old", status=models.Status.SUPERSEDED), memory("new"))
    assert texts(store.find(ME)) == ["new"]
    assert sorted(texts(store.find(ME, ports.ANY))) == ["new", "old"]


def test_find_gives_the_newest_first_and_orders_those_of_one_time_by_id(store: ports.MemoryStore) -> None:
    put(store, memory("b", number=2, at=5.0), memory("c", number=3, at=9.5), memory("a", number=1, at=5.0))
    assert texts(store.find(ME)) == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("limit", "offset", "expected"),
    [
        (2, 0, [8, 0]),
        (3, 2, [1, 2, 3]),
        (1, 4, [3]),
        (5, 7, [6, 9]),
        (9, 0, [8, 0, 1, 2, 3, 4, 5, 6, 9]),
        (100, 0, [8, 0, 1, 2, 3, 4, 5, 6, 9]),
        (5, 8, [9]),
        (5, 9, []),
        (5, 900, []),
        (0, 0, []),
        (-1, 0, []),
        (1, -3, [8]),
    ],
)
def test_pages_neither_repeat_nor_skip(store: ports.MemoryStore, limit: int, offset: int, expected: list[int]) -> None:
    times = {9: 1.0, 8: 20.0} | dict.fromkeys(range(7), 10.0)
    put(store, *(memory(str(number), number=number, at=at) for number, at in times.items()))
    assert texts(store.find(ME, limit=limit, offset=offset)) == [str(number) for number in expected]


def test_nearest_gives_cosines_best_first_with_the_vectors(store: ports.MemoryStore) -> None:
    put(store, memory("alpha beta"), memory("alpha gamma"), memory("delta epsilon"))
    hits = store.nearest(ME, vector("alpha beta"), limit=2)
    assert texts(hits) == ["alpha beta", "alpha gamma"]
    expected = sum(a * b for a, b in zip(vector("alpha beta"), vector("alpha gamma"), strict=True))
    assert [hit.score for hit in hits] == pytest.approx([1.0, expected], abs=1e-4)
    assert hits[1].vector == pytest.approx(vector("alpha gamma"), abs=1e-4)
    assert store.nearest(ME, vector("alpha"), limit=0) == []


def test_lexical_search_is_or_with_idf(store: ports.MemoryStore) -> None:
    common = [memory(f"Postgres {word}") for word in ("runs", "sleeps", "walks", "sings")]
    put(store, *common, memory("Redis caches sessions"), memory("nothing alike"))
    hits = store.lexical(ME, "postgres or redis?", limit=9)
    assert texts(hits)[0] == "Redis caches sessions"
    assert len(hits) == 5
    assert hits[0].score > hits[1].score > 0
    assert hits[0].vector == pytest.approx(vector("Redis caches sessions"), abs=1e-4)


def test_rare_words_are_rare_within_the_scope(store: ports.MemoryStore) -> None:
    """What others have stored neither shifts the ranking nor shows through it."""
    strangers = [memory(f"Kafka stranger {number}", owner="ana") for number in range(20)]
    put(store, *strangers, memory("Kafka streams"), memory("Redis one"), memory("Redis two"))
    assert texts(store.lexical(ME, "kafka redis", limit=9))[0] == "Kafka streams"


@pytest.mark.parametrize("query", ["", "   ", "the of and", "???", "\ud800"])
def test_a_query_without_words_finds_nothing(store: ports.MemoryStore, query: str) -> None:
    put(store, memory("the"), memory("We use Postgres"))
    assert store.lexical(ME, query, limit=5) == []


@pytest.mark.parametrize("identifier", ["fix_auth_v2", "JIRA-123", "v1.2.3", "foo.bar_baz", "PR#260", "getUserName", "services/core/models.py"])
def test_an_identifier_is_found_whole_before_its_parts(store: ports.MemoryStore, identifier: str) -> None:
    parts = "fix auth v2 jira 123 v1 2 3 foo bar baz PR 260 get user name services core models py"
    put(store, memory(f"The ticket is {identifier} here"), *(memory(f"noise {number} {parts}") for number in range(3)))
    assert texts(store.lexical(ME, f"what about {identifier.lower() if '_' in identifier else identifier}?", limit=1)) == [
        f"The ticket is {identifier} here"
    ]


@pytest.mark.parametrize(
    ("query", "text"), [("auth", "see fix_auth_v2"), ("123", "see JIRA-123"), ("baz", "see foo.bar_baz"), ("user name", "call getUserName")]
)
def test_an_identifier_is_found_by_its_parts(store: ports.MemoryStore, query: str, text: str) -> None:
    put(store, memory(text), memory("something else"))
    assert texts(store.lexical(ME, query, limit=5)) == [text]


def test_both_legs_at_once_find_what_each_of_them_finds(store: ports.MemoryStore) -> None:
    put(store, memory("We use Postgres 15"), memory("Leo likes green tea"), memory("Another team's tea", team="else"))
    vectors = [vector("green tea"), vector("postgres")]

    found = store.search(ME, vectors, "tea postgres", limit=2)

    assert found.dense == [store.nearest(ME, each, limit=2) for each in vectors]
    assert found.lexical == store.lexical(ME, "tea postgres", limit=2)
    assert len(found.lexical) == 2
    assert store.search(ME, vectors[:1], "", limit=2) == ([found.dense[0]], [])
    assert store.search(ME, [], "tea", limit=2) == ([], store.lexical(ME, "tea", limit=2))
    assert store.search(ME, vectors, "tea", limit=0) == ([[], []], [])


def test_touching_moves_the_access_time_forward_only(store: ports.MemoryStore) -> None:
    one = memory()
    put(store, one)
    store.touch(ME, [one.id, str(uuid.uuid4()), "no id"], 500.0)
    store.touch(ME, [one.id], 300.0)
    store.touch(ME, [], 900.0)
    assert store.get(ME, one.id) == msgspec.structs.replace(one, accessed_at=500.0)


def test_deleting_counts_what_was_there_and_leaves_the_rest(store: ports.MemoryStore) -> None:
    one, two, theirs = memory("one"), memory("two"), memory("theirs", owner="ana")
    put(store, one, two, theirs)
    assert store.delete(EVERYWHERE, [one.id, one.id, theirs.id, str(uuid.uuid4()), "no id", ""]) == 1
    assert store.delete(EVERYWHERE, [one.id]) == 0
    assert store.delete(EVERYWHERE, []) == 0
    assert texts(store.find(EVERYWHERE)) == ["two"]
    assert store.total() == dict.fromkeys(models.Status, 0) | {models.Status.CURRENT: 2}


@pytest.mark.parametrize("bad", ["", "x", "12345678", "../etc", "0" * 5000])
def test_what_is_no_id_is_not_found(store: ports.MemoryStore, bad: str) -> None:
    put(store, memory())
    assert store.get(ME, bad) is None


def test_the_total_counts_each_status_over_all_scopes(store: ports.MemoryStore) -> None:
    put(store, memory("a"), memory("b", owner="ana"), memory("c", team="evil", status=models.Status.SUPERSEDED))
    assert store.total() == dict.fromkeys(models.Status, 0) | {models.Status.CURRENT: 2, models.Status.SUPERSEDED: 1}


def test_a_vector_of_another_dimension_is_refused_with_the_cure(store: ports.MemoryStore) -> None:
    with pytest.raises(errors.WrongModel, match="BRB_EMBED_MODEL"):
        store.put([ports.Embedded(memory(), [1.0, 0.0])])
    with pytest.raises(errors.WrongModel, match="BRB_EMBED_MODEL"):
        store.nearest(ME, [1.0], limit=1)


def test_a_store_answers_a_ping_and_is_a_memory_store(store: ports.MemoryStore) -> None:
    store.ping()
    assert isinstance(store, ports.MemoryStore)


@pytest.mark.parametrize("make", STORES)
def test_readers_and_writers_do_not_disturb_each_other(make: Callable[[Path], ports.MemoryStore], tmp_path: Path) -> None:
    store = make(tmp_path)
    failures: list[BaseException] = []

    def write(worker: int) -> None:
        for step in range(40):
            one = memory(f"worker {worker} step {step}", owner=f"user{worker}")
            put(store, one)
            store.update([msgspec.structs.replace(one, mentions=2)])
            if step % 4 == 0:
                store.delete(models.Scope("acme", f"user{worker}"), [one.id])

    def read(worker: int) -> None:
        scope = models.Scope("acme", f"user{worker}")
        for _ in range(60):
            found = texts(store.find(scope)) + texts(store.nearest(scope, vector("worker"), limit=9)) + texts(store.lexical(scope, "step", limit=9))
            assert all(text.startswith(f"worker {worker} ") for text in found)

    def guarded(job: Callable[[int], None], worker: int) -> None:
        try:
            job(worker)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(job, worker)) for job in (write, read) for worker in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [store.count(models.Scope("acme", f"user{worker}")) for worker in range(3)] == [30, 30, 30]
    assert {each.mentions for each in store.find(models.Scope("acme", "user1"))} == {2}
    store.close()


WORDS = ["postgres", "redis", "uses", "fix_auth_v2", "Friday", "the", "deploys"]
random_memory = st.builds(
    lambda number, words, team, owner, project, visibility, status, at: memory(
        " ".join(words), number=number, team=team, owner=owner, project=project, visibility=visibility, status=status, at=at
    ),
    st.integers(0, 5),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
    st.sampled_from(["acme", "evil"]),
    st.sampled_from(["leo", "ana"]),
    st.sampled_from(["", "shop", "blog"]),
    st.sampled_from(list(models.Visibility)),
    st.sampled_from(list(models.Status)),
    st.sampled_from([1.0, 2.0]),
)
operation = st.tuples(st.sampled_from(["put", "update", "delete"]), random_memory)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=st.lists(operation, max_size=12), where=st.sampled_from([ports.CURRENT, ports.ANY]))
def test_all_stores_give_the_same_answers_after_the_same_writes(
    tmp_path: Path, operations: list[tuple[str, models.Memory]], where: ports.Where
) -> None:
    stores = [in_memory(tmp_path), edge(tmp_path / uuid.uuid4().hex), answers_like_qdrant(tmp_path)]
    answers = [list(replay(store, operations, where)) for store in stores]
    for store in stores:
        store.close()
    assert answers[0] == answers[1] == answers[2]


def replay(store: ports.MemoryStore, operations: list[tuple[str, models.Memory]], where: ports.Where) -> Iterator[object]:
    for action, one in operations:
        if action == "put":
            put(store, one)
        elif action == "update":
            known = store.get(models.Scope(one.team, one.owner, None), one.id)
            store.update([msgspec.structs.replace(one, text=known.text)] if known else [one])
        else:
            yield store.delete(models.Scope(one.team, one.owner, frozenset({"shop"})), [one.id])
    for scope in (ME, EVERYWHERE, NOWHERE, models.Scope("evil", "ana", None)):
        yield store.find(scope, where)
        yield [(hit.memory, round(hit.score, 3)) for hit in by_id(store.nearest(scope, vector("postgres uses"), limit=9, where=where))]
        yield [(hit.memory, round(hit.score, 2)) for hit in by_id(store.lexical(scope, "postgres fix_auth_v2", limit=9, where=where))]


def by_id(hits: list[models.Hit]) -> list[models.Hit]:
    return sorted(hits, key=lambda hit: hit.memory.id)


def test_an_edge_store_finds_its_memories_again(tmp_path: Path) -> None:
    first = edge(tmp_path)
    put(first, memory())
    first.close()
    again = edge(tmp_path)
    assert again.find(ME) == [memory()]
    again.close()
    with pytest.raises(errors.Unavailable):
        again.find(ME)


def test_an_edge_store_is_refused_to_a_second_owner(tmp_path: Path) -> None:
    first = edge(tmp_path)
    with pytest.raises(errors.SetupError, match="another BRB owns"):
        edge(tmp_path)
    first.close()


@pytest.mark.parametrize(("model", "dimension"), [("other", 32), ("hashing", 48), ("other", 48)])
def test_an_edge_store_of_another_model_is_refused_with_the_cure(tmp_path: Path, model: str, dimension: int) -> None:
    edge(tmp_path).close()
    with pytest.raises(errors.WrongModel, match=r"hashing.*brb reindex.*BRB_EMBED_MODEL=hashing$"):
        EdgeStore.open(tmp_path, model=model, dimension=dimension)
    assert [each.name for each in tmp_path.iterdir()] == ["hashing"]


def test_two_models_whose_folder_names_agree_are_told_apart(tmp_path: Path) -> None:
    EdgeStore.open(tmp_path, model="a/b", dimension=4).close()
    with pytest.raises(errors.WrongModel, match="a/b"):
        EdgeStore.open(tmp_path, model="a:b", dimension=4)


def test_a_folder_that_is_no_store_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "hashing").mkdir()
    (tmp_path / "hashing" / "precious").write_text("x")
    with pytest.raises(errors.SetupError, match="not a store of BRB"):
        edge(tmp_path)
    assert (tmp_path / "hashing" / "precious").read_text() == "x"


def test_a_store_of_another_schema_is_refused(tmp_path: Path) -> None:
    edge(tmp_path).close()
    sidecar = tmp_path / "hashing" / "collection.json"
    sidecar.write_text(sidecar.read_text().replace('"schema_version":2', '"schema_version":0'))
    with pytest.raises(errors.WrongModel, match="another version of BRB"):
        edge(tmp_path)


def test_a_data_folder_that_is_a_file_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.SetupError, match="BRB_DATA_DIR"):
        edge(tmp_path / "file")


def test_what_an_edge_store_acknowledged_survives_sigkill(tmp_path: Path) -> None:
    script = """
        import os, signal, sys
        from pathlib import Path
        sys.path[:0] = sys.argv[2:]
        import test_memory_store as suite
        from services.core import ports
        store = suite.edge(Path(sys.argv[1]))
        for number in range(50):
            suite.edge_points.FLUSH_SECONDS = 0.0 if number == 20 else 3600.0
            suite.put(store, suite.memory(f"memory {number}", number=number))
        store.delete(suite.EVERYWHERE, [suite.memory(number=0).id])
        store.touch(suite.ME, [suite.memory(number=1).id], 777.0)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    here = Path(__file__).parent
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path), str(here), str(here.parents[1])]
    assert subprocess.run(command, check=False).returncode == -9
    store = edge(tmp_path)
    assert store.count(ME) == 49
    found = store.get(ME, memory(number=1).id)
    assert found is not None
    assert found.accessed_at == 777.0
    assert texts(store.lexical(ME, "49", limit=1)) == ["memory 49"]
    store.close()


@pytest.mark.parametrize(("seconds", "expected"), [(0.0, True), (3600.0, False)])
def test_an_edge_store_flushes_after_a_while_of_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, expected: bool) -> None:
    """Which points there are is written down by a flush; until then the log alone knows."""
    monkeypatch.setattr(edge_points, "FLUSH_SECONDS", seconds)
    store = edge(tmp_path)
    put(store, memory())
    assert any(path.stat().st_size for path in tmp_path.rglob("mutable_id_tracker.mappings")) is expected
    store.close()
    assert any(path.stat().st_size for path in tmp_path.rglob("mutable_id_tracker.mappings"))


def test_the_embedded_store_does_not_load_the_client_of_the_server(tmp_path: Path) -> None:
    script = "import sys; import services.core.adapters.qdrant_edge; assert 'qdrant_client' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_server_that_is_away_is_unavailable() -> None:
    from services.core.adapters.qdrant_server import QdrantServerStore

    with pytest.raises(errors.Unavailable, match="Qdrant"):
        QdrantServerStore.connect("http://127.0.0.1:9", api_key=None, model="hashing", dimension=32, timeout_seconds=1)


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [
        (401, errors.SetupError, "BRB_QDRANT_API_KEY"),
        (403, errors.SetupError, "BRB_QDRANT_API_KEY"),
        (429, errors.Unavailable, "Qdrant"),
        (500, errors.Unavailable, "status 500"),
        (503, errors.Unavailable, "status 503"),
        (400, errors.Permanent, "400"),
    ],
)
def test_what_a_server_answers_says_whether_to_try_again(status: int, error: type[errors.BrbError], message: str) -> None:
    from services.core.adapters.qdrant_server import QdrantServerStore

    with answering(status) as url, pytest.raises(error, match=message):
        QdrantServerStore.connect(url, api_key=None, model="hashing", dimension=32, timeout_seconds=2)


@contextlib.contextmanager
def answering(status: int) -> Iterator[str]:
    """A server that has one answer to everything."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("content-length", "2")
            self.send_header("retry-after", "1")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *args: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(("model", "dimension"), [("other", 32), ("hashing", 48)])
def test_a_server_that_holds_another_model_only_is_refused_with_the_cure(model: str, dimension: int) -> None:
    from services.core.adapters.qdrant_server import QdrantServerStore

    with qdrant_rest.running() as server:
        for _ in range(2):
            QdrantServerStore.connect(server.url, api_key=None, model="hashing", dimension=32).close()
        with pytest.raises(errors.WrongModel, match=r"hashing.*brb reindex.*BRB_EMBED_MODEL=hashing$"):
            QdrantServerStore.connect(server.url, api_key=None, model=model, dimension=dimension)


def test_the_filter_of_a_scope_says_what_the_scope_says() -> None:
    clauses = memory_payload.clauses(ME, ports.Where(category=models.Category.TODO))
    assert clauses == [
        (
            (
                "reach",
                (
                    '["acme", "own leo", "", "current"]',
                    '["acme", "own leo", "shop", "current"]',
                    '["acme", "team", "", "current"]',
                    '["acme", "team", "shop", "current"]',
                ),
            ),
        ),
        (("category", ("todo",)),),
    ]
    assert memory_payload.clauses(EVERYWHERE, ports.CURRENT) == [
        (("team", ("acme",)),),
        (("owner", ("leo",)), ("visibility", ("team",))),
        (("status", ("current",)),),
    ]


def canary(text: str, **fields: object) -> models.Memory:
    return memory(text, team=models.CANARY_TEAMS[0], owner="ada", **fields)


def test_no_total_counts_what_is_nobodys(store: ports.MemoryStore) -> None:
    put(store, memory("a"), canary("b"), canary("c", status=models.Status.SUPERSEDED))

    assert store.total() == dict.fromkeys(models.Status, 0) | {models.Status.CURRENT: 1}
    assert store.census().counts == {(models.Visibility.PRIVATE, models.Status.CURRENT): 1}


def test_the_census_counts_by_visibility_and_tells_since_when_something_waits(store: ports.MemoryStore) -> None:
    put(
        store,
        memory("a", team="evil", visibility=models.Visibility.TEAM, created_at=1.0),
        memory("b", visibility=models.Visibility.PROPOSED, created_at=300.0),
        memory("c", visibility=models.Visibility.PROPOSED, status=models.Status.SUPERSEDED, created_at=2.0),
        memory("d", owner="ana", status=models.Status.PENDING, created_at=200.0),
        canary("e", status=models.Status.PENDING, created_at=3.0),
    )
    found = store.census()

    assert found.counts == {
        (models.Visibility.TEAM, models.Status.CURRENT): 1,
        (models.Visibility.PROPOSED, models.Status.CURRENT): 1,
        (models.Visibility.PROPOSED, models.Status.SUPERSEDED): 1,
        (models.Visibility.PRIVATE, models.Status.PENDING): 1,
    }
    assert found.waiting == {"proposed": 1, "quarantined": 0, "pending": 1}
    assert found.waiting_since == 200.0


def test_nothing_waits_in_an_empty_store(store: ports.MemoryStore) -> None:
    assert store.census() == ports.Census({}, None)


def test_upkeep_sees_anybodys_memories_but_the_canaries(store: ports.WholeStore) -> None:
    put(
        store,
        memory("a", created_at=1.0),
        memory("b", team="evil", owner="eve", created_at=2.0),
        memory("c", created_at=3.0),
        canary("d", created_at=1.0),
    )

    assert texts(store.anybody(ports.CURRENT, limit=10)) == ["c", "b", "a"]
    assert texts(store.anybody(ports.Where(before=3.0), limit=1)) == ["b"]
    assert store.anybody(ports.Where(status=models.Status.SUPERSEDED), limit=10) == []
    assert sorted(texts(store.sample(ports.Where(before=3.0), limit=10))) == ["a", "b"]
    assert len(store.sample(ports.CURRENT, limit=2)) == 2
    assert store.sample(ports.CURRENT, limit=0) == store.anybody(ports.CURRENT, limit=0) == []
