"""`brb reindex` on a server: the new collections are built beside the old ones while others read and write, and take their place at once."""

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence

import pytest
import redis
from qdrant_client import QdrantClient

from services.core import errors, models, note_api, ports
from services.core.adapters import qdrant_server, redis_client, server_collections, server_reindex, store_gate
from services.core.adapters.qdrant_server import QdrantServerNoteStore, QdrantServerStore
from services.core.notes.writing import NoteWriter
from tests.support import in_memory, qdrant_rest
from tests.support.embedding import HashingEmbedder

EVERYTHING = models.Scope(models.LOCAL.team, models.LOCAL.user, None)
OLD, NEW = HashingEmbedder(16, "old"), HashingEmbedder(24, "new")


@pytest.fixture
def server() -> Iterator[qdrant_rest.Qdrant]:
    with qdrant_rest.running() as started:
        yield started


@pytest.fixture
def client(server: qdrant_rest.Qdrant) -> Iterator[QdrantClient]:
    with contextlib.closing(QdrantClient(url=server.url, check_compatibility=False)) as made:
        yield made


@pytest.fixture
def broker(redis_address: str) -> redis.Redis:
    return redis_client.connect(redis_address, timeout_seconds=2)


def memories(url: str, embedder: HashingEmbedder) -> QdrantServerStore:
    return QdrantServerStore.connect(url, api_key=None, model=embedder.model, dimension=embedder.dimension)


def notes(url: str, embedder: HashingEmbedder) -> QdrantServerNoteStore:
    return QdrantServerNoteStore.connect(url, api_key=None, model=embedder.model, dimension=embedder.dimension)


def put(store: ports.MemoryStore, embedder: HashingEmbedder, *texts: str, **fields: object) -> list[models.Memory]:
    made = [in_memory.memory(text, **fields) for text in texts]
    store.put([ports.Embedded(one, vector) for one, vector in zip(made, embedder.embed([one.text for one in made], "document"), strict=True)])
    return made


def write(store: ports.NoteStore, embedder: HashingEmbedder, text: str, path: str = "me.md") -> models.NoteId:
    writer = NoteWriter(store, embedder, owner_lock=lambda _: contextlib.nullcontext(), clock=lambda: 5.0)
    [put] = writer.put(models.LOCAL, [note_api.PutNote(text=text, path=path)])
    return put.id


def carry(
    client: QdrantClient,
    broker: redis.Redis,
    old: HashingEmbedder = OLD,
    new: HashingEmbedder = NEW,
    embed: Callable[[Sequence[str]], list[list[float]]] | None = None,
    progress: Callable[[str, float], None] = lambda stage, share: None,
) -> server_reindex.Carried:
    pairs = [(kind(old.model, old.dimension), kind(new.model, new.dimension)) for kind in (qdrant_server.memories, qdrant_server.notes)]
    ticks = iter(range(99))
    return server_reindex.run(
        client,
        pairs,
        embed=embed or (lambda texts: new.embed(texts, "document")),
        progress=progress,
        alone=lambda: store_gate.reindexing(broker),
        hold=lambda: store_gate.held(broker),
        give=lambda: store_gate.give_to(broker, new.model),
        clock=lambda: float(next(ticks)),
    )


def test_memories_and_notes_are_carried_over_and_the_former_ones_go_on_being_read(
    server: qdrant_rest.Qdrant, client: QdrantClient, broker: redis.Redis
) -> None:
    former, pages = memories(server.url, OLD), notes(server.url, OLD)
    kept = put(former, OLD, "I like green tea", "We use Postgres 15") + put(former, OLD, "We use MySQL", status=models.Status.SUPERSEDED)
    page = write(pages, OLD, "# Allergies\n\nNo peanuts.\n\n## Travel\n\nTake the [[night train]] to Vienna. #trips")
    before = pages.get(EVERYTHING, page), pages.passages(EVERYTHING, page), pages.lexical(EVERYTHING, "night train", limit=5)
    with pytest.raises(errors.WrongModel, match="brb reindex"):
        memories(server.url, NEW)

    assert carry(client, broker) == (3, 1, 2, 1.0)

    store, again = memories(server.url, NEW), notes(server.url, NEW)
    assert sorted(one.text for one in store.find(EVERYTHING, ports.ANY)) == ["I like green tea", "We use MySQL", "We use Postgres 15"]
    [hit] = store.nearest(EVERYTHING, NEW.embed(["I like green tea"], "query")[0], limit=1)
    assert (hit.memory, round(hit.score, 3)) == (kept[0], 1.0)
    assert (again.get(EVERYTHING, page), again.passages(EVERYTHING, page)) == before[:2]
    found = again.lexical(EVERYTHING, "night train", limit=5)
    assert [(each.passage.id, each.score) for each in found] == [(each.passage.id, each.score) for each in before[2]]
    assert former.nearest(EVERYTHING, OLD.embed(["I like green tea"], "query")[0], limit=1)[0].memory == kept[0]
    assert store_gate.writers(broker) == "new"
    for each in (former, pages, store, again):
        each.close()


def test_what_is_written_while_it_is_built_is_carried_over_too(server: qdrant_rest.Qdrant, client: QdrantClient, broker: redis.Redis) -> None:
    """Between two rounds, and in the last moment before writers have to wait: added, reworded, superseded, erased; a note edited and one deleted."""
    former, pages = memories(server.url, OLD), notes(server.url, OLD)
    kept = put(former, OLD, *(f"Fact number {n}" for n in range(70)))
    page = write(pages, OLD, "# Travel\n\nBy train.\n\n## Food\n\nNoodles.")
    gone = write(pages, OLD, "# Old\n\nTo be deleted.", "old.md")
    happened: list[str] = []

    def meanwhile(stage: str, share: float) -> None:
        if share == 1.0 and stage not in happened:
            happened.append(stage)
            if stage == "memories, round 1":
                put(former, OLD, "Said meanwhile")
                former.update([models.Memory(**{f: getattr(kept[0], f) for f in kept[0].__struct_fields__} | {"status": models.Status.SUPERSEDED})])
                former.delete(EVERYTHING, [kept[1].id])
            if stage == "notes, round 1":
                write(pages, OLD, "# Travel\n\nBy night train.\n\n## Food\n\nNoodles.")
                pages.delete(EVERYTHING, [gone])
                former.put(
                    [
                        ports.Embedded(
                            models.Memory(**{f: getattr(kept[2], f) for f in kept[2].__struct_fields__} | {"text": "Reworded"}),
                            OLD.embed(["Reworded"], "document")[0],
                        )
                    ]
                )

    done = carry(client, broker, progress=meanwhile)

    assert (done.memories, done.notes) == (70, 1)
    store, again = memories(server.url, NEW), notes(server.url, NEW)
    assert {one.id: one for one in store.find(EVERYTHING, ports.ANY)} == {one.id: one for one in former.find(EVERYTHING, ports.ANY)}
    assert store.nearest(EVERYTHING, NEW.embed(["Reworded"], "query")[0], limit=1)[0].score == pytest.approx(1.0, abs=0.001)
    assert again.find(EVERYTHING) == pages.find(EVERYTHING)
    assert again.passages(EVERYTHING, page) == pages.passages(EVERYTHING, page)
    assert again.passages(EVERYTHING, gone) == []
    for text in ("night train", "noodles", "deleted"):
        mine, theirs = again.lexical(EVERYTHING, text, limit=9), pages.lexical(EVERYTHING, text, limit=9)
        assert [(each.passage.id, each.score) for each in mine] == [(each.passage.id, each.score) for each in theirs], text
    for each in (former, pages, store, again):
        each.close()


def test_one_that_was_killed_goes_on_where_it_was(server: qdrant_rest.Qdrant, client: QdrantClient, broker: redis.Redis) -> None:
    former = memories(server.url, OLD)
    put(former, OLD, *(f"Fact number {n}" for n in range(100)))
    embedded: list[str] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        if len(embedded) >= 48 and "killed" not in embedded:
            embedded.append("killed")
            raise KeyboardInterrupt
        embedded.extend(texts)
        return NEW.embed(texts, "document")

    with pytest.raises(KeyboardInterrupt):
        carry(client, broker, embed=embed)
    assert server_collections.in_use(server_collections.aliases(client), qdrant_server.PREFIX) == ["old"]
    with pytest.raises(errors.WrongModel):
        memories(server.url, NEW)  # half a collection is nobody's

    assert carry(client, broker, embed=embed).memories == 100

    assert len(embedded) == 101, "no text is embedded twice"
    former.close()


def test_a_store_of_the_same_model_is_made_anew_under_the_same_name_and_its_readers_see_no_gap(
    server: qdrant_rest.Qdrant, client: QdrantClient, broker: redis.Redis
) -> None:
    store = memories(server.url, OLD)
    put(store, OLD, "I like green tea")
    stop, misses = threading.Event(), list[object]()

    def read() -> None:
        while not stop.is_set():
            try:
                if store.count(EVERYTHING) != 1:
                    misses.append("nothing there")
            except errors.BrbError as error:
                misses.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    carry(client, broker, OLD, OLD)
    stop.set()
    reader.join(10)

    assert misses == []
    assert server_collections.aliases(client) == {"brb_old": "brb_old~2", "brb_old~former": "brb_old~1"}
    assert len(server.sent("POST", "/collections/aliases")[-1].body["actions"]) == 4, "one step"
    put(store, OLD, "Said afterwards")
    assert client.count("brb_old~2").count == 2
    store.close()


def test_the_way_back_carries_over_what_was_written_since_and_embeds_nothing_else(
    server: qdrant_rest.Qdrant, client: QdrantClient, broker: redis.Redis
) -> None:
    former = memories(server.url, OLD)
    put(former, OLD, "I like green tea", "We use Postgres 15")
    carry(client, broker)
    store = memories(server.url, NEW)
    put(store, NEW, "Said under the new model")
    embedded: list[str] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        embedded.extend(texts)
        return OLD.embed(texts, "document")

    assert carry(client, broker, NEW, OLD, embed=embed).memories == 3

    assert embedded == ["Said under the new model"]
    assert store_gate.writers(broker) == "old"
    assert former.count(EVERYTHING) == 3
    former.close()
    store.close()


def test_what_was_kept_is_dropped_when_it_is_asked_for(server: qdrant_rest.Qdrant, client: QdrantClient, broker: redis.Redis) -> None:
    former, pages = memories(server.url, OLD), notes(server.url, OLD)
    put(former, OLD, "I like green tea")
    carry(client, broker)
    carry(client, broker, NEW, NEW)
    spaces = [qdrant_server.memories("new", 24), qdrant_server.notes("new", 24)]

    assert server_collections.drop_others(client, spaces) == ["brb_new~1", "brb_old~1", "brbnotes_new~1", "brbnotes_old~1"]

    assert server_collections.aliases(client) == {"brb_new": "brb_new~2", "brbnotes_new": "brbnotes_new~2"}
    with pytest.raises(errors.WrongModel, match=r"stored with the embedding model new"):
        memories(server.url, OLD)
    former.close()
    pages.close()


def test_a_server_without_anything_has_nothing_to_carry_over(client: QdrantClient, broker: redis.Redis) -> None:
    with pytest.raises(errors.NotFound, match="no memories and no notes"):
        carry(client, broker)


def test_nothing_takes_its_place_once_writers_may_not_have_waited(server: qdrant_rest.Qdrant, client: QdrantClient, broker: redis.Redis) -> None:
    former = memories(server.url, OLD)
    put(former, OLD, "I like green tea")

    def lost(stage: str, share: float) -> None:
        if "wait" in stage:
            broker.delete("brb:held")

    with pytest.raises(errors.Unavailable, match="run it again"):
        carry(client, broker, progress=lost)
    assert "brb_new" not in server_collections.aliases(client)
    assert store_gate.writers(broker) == ""
    former.close()


ID = [str(uuid.UUID(int=n)) for n in range(9)]


@pytest.mark.parametrize(
    ("source", "target", "wanted"),
    [
        ([], [], []),
        ([1, 2], [1, 2], []),
        ([1, 2], [], ["+1", "+2"]),
        ([], [1, 2], ["-1", "-2"]),
        ([2, 3, 5], [1, 3, 4, 6], ["-1", "+2", "-4", "+5", "-6"]),
    ],
)
def test_differences_are_what_is_missing_and_what_is_too_much(source: list[int], target: list[int], wanted: list[str]) -> None:
    found = server_reindex.differences([(ID[n], {"text": n}) for n in source], [(ID[n], {"text": n}) for n in target], lambda load: load["text"])
    assert [f"{'-' if isinstance(one, server_reindex.Gone) else '+'}{ID.index(one.id)}" for one in found] == wanted


def test_a_difference_says_whether_there_is_anything_to_embed() -> None:
    source = [(ID[1], {"text": "a", "seen": 2}), (ID[2], {"text": "b2"})]
    target = [(ID[1], {"text": "a", "seen": 1}), (ID[2], {"text": "b"})]
    found = list(server_reindex.differences(source, target, lambda load: load["text"]))
    assert found == [server_reindex.Changed(*source[0], anew=False), server_reindex.Changed(*source[1], anew=True)]


def test_of_two_at_once_one_is_refused_and_nothing_is_lost(server: qdrant_rest.Qdrant, client: QdrantClient, broker: redis.Redis) -> None:
    """The one that is late would take what the new processes have learnt since the switch for what is gone."""
    former = memories(server.url, OLD)
    put(former, OLD, *(f"Fact number {n}" for n in range(70)))
    refused: list[str] = []

    def other(stage: str, share: float) -> None:
        if stage == "memories, round 1" and share == 1.0 and not refused:
            try:
                carry(client, broker)
                with contextlib.closing(memories(server.url, NEW)) as store:
                    put(store, NEW, "Said after the switch")
                refused.append("")
            except errors.Unavailable as error:
                refused.append(str(error))

    carry(client, broker, progress=other)

    with contextlib.closing(memories(server.url, NEW)) as store:
        texts = [one.text for one in store.find(EVERYTHING, ports.ANY, limit=100)]
    former.close()
    assert len(texts) == 70 + (refused == [""])
    assert "another one goes on" in refused[0]
