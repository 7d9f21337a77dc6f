"""What a Qdrant server is asked, to the last field. Each request was one that its API knows (`tests.support.qdrant_rest`)."""

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from services.core import errors, models, ports
from services.core.adapters import memory_payload, note_payload, qdrant_server
from services.core.adapters.qdrant_server import QdrantServerNoteStore, QdrantServerStore
from tests.support import in_memory, qdrant_rest
from tests.support.embedding import HashingEmbedder

EMBEDDER = HashingEmbedder(8)
ME = models.Scope("local", "me", frozenset({"shop"}))


@pytest.fixture
def server() -> Iterator[qdrant_rest.Qdrant]:
    with qdrant_rest.running() as started:
        yield started


@pytest.fixture
def store(server: qdrant_rest.Qdrant) -> Iterator[QdrantServerStore]:
    with closing(opened(server)) as made:
        yield made


def opened(server: qdrant_rest.Qdrant, key: str | None = None) -> QdrantServerStore:
    return QdrantServerStore.connect(server.url, api_key=key, model="m", dimension=8)


def put(store: ports.MemoryStore, *texts: str) -> list[models.Memory]:
    made = [in_memory.memory(text) for text in texts]
    store.put([ports.Embedded(one, vector) for one, vector in zip(made, EMBEDDER.embed(texts, "document"), strict=True)])
    return made


def test_a_collection_is_made_with_graphs_of_teams_and_scopes_only_and_with_limits(server: qdrant_rest.Qdrant, store: QdrantServerStore) -> None:
    [made] = server.sent("PUT", "/collections/brb_m~1")
    assert made.body["vectors"] == {"dense": {"size": 8, "distance": "Cosine"}}
    assert made.body["sparse_vectors"] == {"bm25": {"modifier": "idf"}}
    assert made.body["hnsw_config"] == {"m": 0, "payload_m": 16}
    assert made.body["metadata"] == {"model": "m", "schema_version": 2}
    strict = made.body["strict_mode_config"]
    assert strict["enabled"]
    assert (strict["unindexed_filtering_retrieve"], strict["unindexed_filtering_update"]) == (False, False)
    assert strict["search_allow_exact"], "what decides whether a fact is known asks exactly"


@pytest.mark.parametrize(("kind", "layout"), [(QdrantServerStore, memory_payload.LAYOUT), (QdrantServerNoteStore, note_payload.LAYOUT)])
def test_every_field_is_indexed_before_the_first_point_and_the_team_is_the_tenant(server: qdrant_rest.Qdrant, kind: type, layout: object) -> None:
    kind.connect(server.url, api_key=None, model="m", dimension=8).close()

    indexes = {each.body["field_name"]: each.body["field_schema"] for each in server.sent("PUT", "/index")}
    assert set(indexes) == {*layout.keywords, *layout.numbers}  # type: ignore[attr-defined]
    assert {field for field, schema in indexes.items() if schema.get("is_tenant")} == {"team"}
    assert {field for field, schema in indexes.items() if schema["enable_hnsw"]} == {"team", "reach"}
    assert server.requests[-1].path == "/collections/aliases", "nobody sees it before it is whole"


def test_another_opener_finds_all_as_it_is_to_be_and_changes_nothing(server: qdrant_rest.Qdrant, store: QdrantServerStore) -> None:
    before = len(server.requests)
    opened(server).close()
    assert [each.method for each in server.requests[before:]] == ["GET", "GET"]


def test_a_collection_of_an_earlier_version_gets_what_it_lacks(server: qdrant_rest.Qdrant, store: QdrantServerStore) -> None:
    server._indexes["brb_m~1"].pop("reach")
    server._indexes["brb_m~1"]["team"]["params"] = {"type": "keyword"}
    server._made["brb_m~1"]["strict_mode_config"]["enabled"] = False
    before = len(server.requests)

    opened(server).close()

    changed = [each for each in server.requests[before:] if each.method != "GET"]
    assert [(each.method, (each.body or {}).get("field_name")) for each in changed] == [("PUT", "team"), ("PUT", "reach"), ("PATCH", None)]


def test_openers_at_once_make_one_collection(server: qdrant_rest.Qdrant) -> None:
    failed: list[Exception] = []

    def opening() -> None:
        try:
            opened(server).close()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=opening) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert [each.name for each in server.local.get_collections().collections] == ["brb_m~1"]


def test_a_recall_is_one_request_with_the_scope_in_each_leg(server: qdrant_rest.Qdrant, store: QdrantServerStore) -> None:
    put(store, "I like green tea", "We use Postgres 15")
    before = len(server.requests)

    store.search(ME, EMBEDDER.embed(["tea", "postgres"], "query"), "tea or postgres", limit=30)

    [asked] = server.requests[before:]
    assert asked.path.endswith("/points/query/batch")
    searches = asked.body["searches"]
    assert [each["using"] for each in searches] == ["dense", "dense", "bm25"]
    scope = {
        "must": [
            {
                "key": "reach",
                "match": {
                    "any": [
                        '["local", "own me", "", "current"]',
                        '["local", "own me", "shop", "current"]',
                        '["local", "team", "", "current"]',
                        '["local", "team", "shop", "current"]',
                    ]
                },
            }
        ]
    }
    assert [each["filter"] for each in searches] == [scope] * 3
    assert searches[2]["params"] == {"idf": {"corpus": scope}}, "a word is as rare as it is in this scope"
    assert {each["limit"] for each in searches} == {30}


def test_what_decides_about_a_fact_asks_exactly(server: qdrant_rest.Qdrant, store: QdrantServerStore) -> None:
    store.nearest(ME, EMBEDDER.embed(["tea"], "query")[0], limit=5, exact=True)
    assert server.requests[-1].body["params"] == {"exact": True}


def test_many_points_go_in_several_requests_and_many_changes_in_one(server: qdrant_rest.Qdrant, store: QdrantServerStore) -> None:
    made = put(store, *(f"Fact number {n}" for n in range(1100)))
    assert [len(each.body["points"]) for each in server.sent("PUT", "/points")] == [500, 500, 100]

    store.update(made[:20])
    [changed] = server.sent("POST", "/points/batch")
    assert len(changed.body["operations"]) == 20
    assert store.count(models.Scope("local", "me", None), ports.ANY) == 1100
    assert len(store.sample(ports.ANY, limit=1050)) == 1050, "page by page"
    assert {each.body["limit"] for each in server.sent("POST", "/points/scroll")} == {1000}


def test_what_is_not_indexed_is_refused_by_the_server(server: qdrant_rest.Qdrant, store: QdrantServerStore) -> None:
    """That the server minds: without an index a filter looks at every point."""
    server._indexes["brb_m~1"].pop("reach")
    with pytest.raises(errors.Permanent, match="400"):
        store.search(ME, EMBEDDER.embed(["tea"], "query"), "tea", limit=5)


def test_a_server_with_a_key_is_asked_with_it() -> None:
    with qdrant_rest.running(api_key="k") as server:
        opened(server, key="k").close()
        with pytest.raises(errors.SetupError, match="BRB_QDRANT_API_KEY"):
            opened(server)


def test_a_server_that_goes_away_is_away_and_comes_back(server: qdrant_rest.Qdrant, store: QdrantServerStore) -> None:
    [kept] = put(store, "I like green tea")
    server.away = 503
    for ask in (store.ping, lambda: store.search(ME, EMBEDDER.embed(["tea"], "query"), "tea", limit=5), lambda: store.get(ME, kept.id)):
        with pytest.raises(errors.Unavailable):
            ask()
    server.away = 0
    assert store.get(ME, kept.id) == kept


def test_one_written_by_a_later_version_is_refused(server: qdrant_rest.Qdrant, store: QdrantServerStore) -> None:
    server.local.update_collection("brb_m~1", metadata={"schema_version": 3})
    with pytest.raises(errors.WrongModel, match=r"another version of BRB \(schema 3, not 2\)"):
        opened(server)


def test_memories_and_notes_have_names_of_their_own() -> None:
    assert qdrant_server.memories("a/b", 8).alias == "brb_a_b"
    assert qdrant_server.notes("a/b", 8).alias == "brbnotes_a_b"
    assert not qdrant_server.NOTES_PREFIX.startswith(qdrant_server.PREFIX)
