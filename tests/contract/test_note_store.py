"""One suite over all stores of notes. The real server joins in when BRB_TEST_QDRANT_URL is set."""

import hashlib
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from services.core import errors, models, ports
from services.core.adapters.in_memory_notes import InMemoryNoteStore
from services.core.adapters.qdrant_edge import EdgeNoteStore, EdgeStore
from tests.support import qdrant, qdrant_rest
from tests.support.embedding import HashingEmbedder

EMBEDDER = HashingEmbedder(32)
ME = models.Scope("acme", "leo", frozenset({"shop"}))
EVERYWHERE = models.Scope("acme", "leo", None)
CURATOR = models.Scope("acme", "leo", None, curates=True)
NOWHERE = models.Scope("acme", "leo", frozenset())


def in_memory(folder: Path) -> ports.NoteStore:
    return InMemoryNoteStore(EMBEDDER.dimension)


def edge(folder: Path) -> ports.NoteStore:
    return EdgeNoteStore.open(folder, model=EMBEDDER.model, dimension=EMBEDDER.dimension)


def answers_like_qdrant(folder: Path) -> ports.NoteStore:
    return qdrant.Notes.at(qdrant.standing_in(), model=EMBEDDER.model, dimension=EMBEDDER.dimension)


def qdrant_server(folder: Path) -> ports.NoteStore:
    return qdrant.Notes.at(qdrant.real(), model=EMBEDDER.model, dimension=EMBEDDER.dimension)


@pytest.fixture(params=[in_memory, edge, answers_like_qdrant, qdrant_server])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ports.NoteStore]:
    made = request.param(tmp_path)
    yield made
    made.close()


def note(title: str = "Deploying", *, number: int | None = None, at: float = 100.0, **fields: object) -> models.Note:
    identity = models.NoteId(str(uuid.UUID(int=number) if number is not None else uuid.uuid5(uuid.NAMESPACE_URL, title)))
    defaults: dict[str, object] = {
        "id": identity,
        "team": "acme",
        "owner": "leo",
        "title": title,
        "text": f"# {title}",
        "digest": "d1",
        "created_at": at,
        "updated_at": at,
        "modified_at": at,
        "dated_at": at,
    }
    return models.Note(**{**defaults, **fields})  # type: ignore[arg-type]


def piece(of: models.Note, text: str, position: int = 0, **fields: object) -> models.Passage:
    headings = (of.title,)
    digest = hashlib.sha256(f"{headings}{text}".encode()).hexdigest()
    shared = {field: getattr(of, field) for field in ("team", "owner", "project", "visibility", "title", "tags", "source", "path", "dated_at")}
    own = {"id": str(uuid.uuid5(uuid.UUID(of.id), f"{position} {text}")), "note": of.id, "headings": headings, "digest": digest}
    return models.Passage(**{**shared, **own, "position": position, "text": text, **fields})  # type: ignore[arg-type]


def put(store: ports.NoteStore, one: models.Note, *passages: models.Passage) -> None:
    vectors = EMBEDDER.embed([passage.embedded for passage in passages], "document")
    store.put([one], [ports.EmbeddedPassage(passage, vector) for passage, vector in zip(passages, vectors, strict=True)])


def light(one: models.Note) -> models.Note:
    return msgspec.structs.replace(one, text="")


def titles(found: Sequence[models.Note]) -> list[str]:
    return [each.title for each in found]


def texts(found: Sequence[models.PassageHit]) -> list[str]:
    return [hit.passage.text for hit in found]


def test_a_note_comes_back_as_it_was_put(store: ports.NoteStore) -> None:
    whole = note(
        "Naïve 日本語",
        project="shop",
        visibility=models.Visibility.TEAM,
        tags=("infra", "ci"),
        metadata={"type": "meeting", "n": 3, "nested": {"a": [1, None, True, "x"]}},
        source="/home/leo/notes",
        path="a/b.md",
        entities=(models.Entity(models.EntityKind.WIKILINK, "Project X", "[[Project X]]"),),
        updated_at=1_726_000_000.123456,
    )
    put(store, whole, piece(whole, "one", 0), piece(whole, "two", 1, entities=whole.entities))
    assert store.get(ME, whole.id) == whole
    assert store.find(ME) == [light(whole)]
    assert store.passages(ME, whole.id) == [piece(whole, "one", 0), piece(whole, "two", 1, entities=whole.entities)]


def test_before_bounds_the_time_of_the_last_change(store: ports.NoteStore) -> None:
    for n in range(4):
        put(store, note(f"Note {n}", at=float(n)))

    assert titles(store.find(ME, ports.NoteWhere(before=2.0))) == ["Note 1", "Note 0"]
    assert store.count(ME, ports.NoteWhere(before=2.0)) == 2


def test_putting_an_id_again_replaces_the_note_and_its_passage(store: ports.NoteStore) -> None:
    one = note()
    put(store, one, piece(one, "tea"))
    changed = msgspec.structs.replace(one, title="Other", text="other")
    put(store, changed, msgspec.structs.replace(piece(one, "coffee"), id=piece(one, "tea").id))
    assert store.get(ME, one.id) == changed
    assert texts(store.lexical(ME, "coffee", limit=5)) == ["coffee"]
    assert store.lexical(ME, "tea", limit=5) == []


SCOPES = [
    ("mine", {}, ME, True),
    ("mine of another project", {"project": "blog"}, ME, False),
    ("mine of another project, every project", {"project": "blog"}, EVERYWHERE, True),
    ("mine of a project, none known", {"project": "shop"}, NOWHERE, False),
    ("a colleague's", {"owner": "ana"}, EVERYWHERE, False),
    ("a colleague's for the team", {"owner": "ana", "visibility": models.Visibility.TEAM}, ME, True),
    ("a colleague's proposal", {"owner": "ana", "visibility": models.Visibility.PROPOSED}, EVERYWHERE, False),
    ("a colleague's proposal, for a curator", {"owner": "ana", "visibility": models.Visibility.PROPOSED}, CURATOR, True),
    ("another team's for its team", {"team": "evil", "visibility": models.Visibility.TEAM}, EVERYWHERE, False),
]


@pytest.mark.parametrize(("fields", "scope", "seen"), [case[1:] for case in SCOPES], ids=[case[0] for case in SCOPES])
def test_every_method_keeps_to_the_scope(store: ports.NoteStore, fields: dict[str, object], scope: models.Scope, seen: bool) -> None:
    one = note(entities=(models.Entity(models.EntityKind.HASHTAG, "infra", "#infra"),), **fields)
    passage = piece(one, "Kafka streams")
    put(store, one, passage)
    owner = models.Scope(one.team, one.owner, None)
    assert scope.sees(one) is scope.sees(passage) is seen
    expected = [passage.text] if seen else []
    assert store.get(scope, one.id) == (one if seen else None)
    assert store.find(scope) == ([light(one)] if seen else [])
    assert store.count(scope) == len(expected)
    assert store.passages(scope, one.id) == ([passage] if seen else [])
    assert list(store.embeddings(scope, [passage.digest])) == ([passage.digest] if seen else [])
    assert texts(store.nearest(scope, EMBEDDER.embed(["kafka"], "query")[0], limit=5)) == expected
    assert texts(store.lexical(scope, "kafka", limit=5)) == expected
    assert store.entities(scope, models.EntityKind.HASHTAG) == ([("infra", 1)] if seen else [])
    assert store.taken(one.id)
    store.prune(scope, one.id, [])
    assert store.passages(owner, one.id) == ([] if seen else [passage])
    assert store.delete(scope, [one.id]) == len(expected)
    assert store.count(owner) == 1 - len(expected)


LINK = models.Entity(models.EntityKind.WIKILINK, "Project X", "[[Project X]]")
WHERES = [
    ({"source": "/notes"}, ports.NoteWhere(source="/notes")),
    ({"path": "a/b.md"}, ports.NoteWhere(path="a/b.md")),
    ({"visibility": models.Visibility.TEAM}, ports.NoteWhere(visibility=models.Visibility.TEAM)),
    ({"owner": "ana", "visibility": models.Visibility.TEAM}, ports.NoteWhere(owner="ana")),
    ({"number": 7}, ports.NoteWhere(ids=(str(uuid.UUID(int=7)), "no id"))),
    ({"entities": (LINK,)}, ports.NoteWhere(entity=models.Entity(models.EntityKind.WIKILINK, "notes/project  x.md"))),
    ({"path": "deep/Weekly Plan.md"}, ports.NoteWhere(name="weekly plan")),
    ({}, ports.NoteWhere(name="WANTED")),
]


@pytest.mark.parametrize(("fields", "where"), WHERES)
def test_every_filter_holds_in_every_search(store: ports.NoteStore, fields: dict[str, object], where: ports.NoteWhere) -> None:
    other, wanted = note("other"), note("wanted", **fields)  # type: ignore[arg-type]
    put(store, other, piece(other, "Kafka other"))
    put(store, wanted, piece(wanted, "Kafka wanted", entities=wanted.entities))
    assert titles(store.find(ME, where)) == ["wanted"]
    assert store.count(ME, where) == 1
    assert texts(store.nearest(ME, EMBEDDER.embed(["kafka other"], "query")[0], limit=5, where=where)) == ["Kafka wanted"]
    assert texts(store.lexical(ME, "kafka", limit=5, where=where)) == ["Kafka wanted"]


def test_no_ids_means_no_notes(store: ports.NoteStore) -> None:
    put(store, note(), piece(note(), "x"))
    assert store.find(ME, ports.NoteWhere(ids=())) == []
    assert store.find(ME, ports.NoteWhere(ids=("no id",))) == []
    assert store.delete(ME, []) == store.delete(ME, ["no id"]) == 0
    assert store.get(ME, "no id") is None
    assert not store.taken("no id")
    assert not store.taken(str(uuid.uuid4()))
    assert store.passages(ME, "no id") == []
    store.put([])
    assert store.count(ME) == 1


def test_passages_of_a_tagged_note_are_found_by_the_tag(store: ports.NoteStore) -> None:
    tagged = note("tagged", tags=("Infra",))
    put(store, tagged, piece(tagged, "Kafka streams"))
    put(store, note("plain"), piece(note("plain"), "Kafka plain"))
    where = ports.NoteWhere(entity=models.Entity(models.EntityKind.HASHTAG, "infra"))
    assert texts(store.lexical(ME, "kafka", limit=5, where=where)) == ["Kafka streams"]


def test_a_title_counts_more_than_a_tag_and_a_tag_more_than_the_text(store: ports.NoteStore) -> None:
    filler = " ".join(f"word{number}" for number in range(20))
    for name, title, tags, text in [
        ("title", "kafka", (), filler),
        ("tag", "thing", ("kafka",), filler),
        ("text", "thing", (), f"kafka {filler}"),
        ("none", "thing", (), filler),
    ]:
        one = note(f"{name}", tags=tags)
        put(store, one, piece(one, text, title=title, headings=()))
    assert [hit.passage.note for hit in store.lexical(ME, "kafka", limit=9)] == [note(name).id for name in ("title", "tag", "text")]


def test_a_long_title_does_not_make_the_words_of_the_text_worth_less_than_its_length(store: ports.NoteStore) -> None:
    """Repeated in the text ten times it would."""
    text = "kafka streams data between services"
    put(store, note("short"), piece(note("short"), text, title="Kestrel", headings=()))
    long = note("long")
    put(store, long, piece(long, text, title="Everything about streaming that is worth knowing", headings=()))
    scores = {hit.passage.note: hit.score for hit in store.lexical(ME, "kafka", limit=9)}
    assert scores[long.id] > 0.9 * scores[note("short").id]


def test_rare_words_are_rare_within_the_scope(store: ports.NoteStore) -> None:
    for number in range(20):
        theirs = note(f"stranger {number}", owner="ana")
        put(store, theirs, piece(theirs, "Kafka stranger"))
    for text in ("Kafka streams", "Redis one", "Redis two"):
        put(store, note(text), piece(note(text), text, headings=()))
    assert texts(store.lexical(ME, "kafka redis", limit=9))[0] == "Kafka streams"


@pytest.mark.parametrize("query", ["", "the of and", "???", "\ud800"])
def test_a_query_without_words_finds_nothing(store: ports.NoteStore, query: str) -> None:
    put(store, note(), piece(note(), "We use Postgres"))
    assert store.lexical(ME, query, limit=5) == []


def test_known_embeddings_are_given_by_digest(store: ports.NoteStore) -> None:
    one = note()
    known = piece(one, "alpha beta")
    put(store, one, known)
    found = store.embeddings(ME, [known.digest, "unknown"])
    assert list(found) == [known.digest]
    assert found[known.digest] == pytest.approx(EMBEDDER.embed([known.embedded], "document")[0], abs=1e-4)
    assert store.embeddings(ME, []) == {}


def test_pruning_leaves_what_is_to_be_kept_and_other_notes(store: ports.NoteStore) -> None:
    one, other = note("one"), note("other")
    put(store, one, piece(one, "keep", 0), piece(one, "drop", 1))
    put(store, other, piece(other, "theirs"))
    store.prune(ME, one.id, [piece(one, "keep", 0).id])
    assert [passage.text for passage in store.passages(ME, one.id)] == ["keep"]
    assert [passage.text for passage in store.passages(ME, other.id)] == ["theirs"]
    assert store.get(ME, one.id) == one


def test_deleting_a_note_takes_its_passages_along(store: ports.NoteStore) -> None:
    one, two, theirs = note("one"), note("two"), note("theirs", owner="ana")
    for each in (one, two, theirs):
        put(store, each, piece(each, f"text of {each.title}"))
    assert store.delete(EVERYWHERE, [one.id, one.id, theirs.id, str(uuid.uuid4()), "no id"]) == 1
    assert store.delete(EVERYWHERE, [one.id]) == 0
    assert texts(store.lexical(EVERYWHERE, "text", limit=9)) == ["text of two"]
    assert store.count(models.Scope("acme", "ana", None)) == 1


@pytest.mark.parametrize(
    ("limit", "offset", "expected"),
    [(2, 0, [8, 0]), (3, 2, [1, 2, 3]), (5, 7, [6, 9]), (100, 0, [8, 0, 1, 2, 3, 4, 5, 6, 9]), (5, 9, []), (0, 0, []), (1, -3, [8])],
)
def test_pages_neither_repeat_nor_skip(store: ports.NoteStore, limit: int, offset: int, expected: list[int]) -> None:
    times = {9: 1.0, 8: 20.0} | dict.fromkeys(range(7), 10.0)
    store.put([note(str(number), number=number, at=at) for number, at in times.items()])
    assert titles(store.find(ME, limit=limit, offset=offset)) == [str(number) for number in expected]


def test_entities_of_a_kind_are_counted_over_notes(store: ports.NoteStore) -> None:
    tag = [models.Entity(models.EntityKind.HASHTAG, value, f"#{value}") for value in ("Infra", "infra", "ci")]
    put(store, note("one", entities=(tag[0], tag[1])), piece(note("one"), "x", entities=(tag[0],)))
    put(store, note("two", entities=(tag[1], tag[2], LINK)))
    assert store.entities(ME, models.EntityKind.HASHTAG) == [("infra", 2), ("ci", 1)]
    assert store.entities(ME, models.EntityKind.HASHTAG, limit=1) == [("infra", 2)]
    assert store.entities(ME, models.EntityKind.WIKILINK) == [("project x", 1)]
    assert store.entities(ME, models.EntityKind.URL) == []


def test_a_vector_of_another_dimension_is_refused_with_the_cure(store: ports.NoteStore) -> None:
    with pytest.raises(errors.WrongModel, match="BRB_EMBED_MODEL"):
        store.put([], [ports.EmbeddedPassage(piece(note(), "x"), [1.0, 0.0])])
    with pytest.raises(errors.WrongModel, match="BRB_EMBED_MODEL"):
        store.nearest(ME, [1.0], limit=1)


def test_a_store_answers_a_ping_and_is_a_note_store(store: ports.NoteStore) -> None:
    store.ping()
    assert isinstance(store, ports.NoteStore)


def test_passages_without_their_note_are_erased_too(store: ports.NoteStore) -> None:
    put(store, note(), piece(note(), "kafka"))
    store.put([note(owner="ana")])
    assert store.delete(ME, [note().id]) == 0
    assert store.passages(ME, note().id) == []


random_note = st.builds(
    lambda number, tag, team, owner, project, visibility, at: note(
        f"note {number}",
        number=number,
        team=team,
        owner=owner,
        project=project,
        visibility=visibility,
        at=at,
        entities=(models.Entity(models.EntityKind.HASHTAG, tag, f"#{tag}"),),
    ),
    st.integers(0, 4),
    st.sampled_from(["infra", "CI"]),
    st.sampled_from(["acme", "evil"]),
    st.sampled_from(["leo", "ana"]),
    st.sampled_from(["", "shop", "blog"]),
    st.sampled_from(list(models.Visibility)),
    st.sampled_from([1.0, 2.0]),
)
operation = st.tuples(
    st.sampled_from(["put", "prune", "delete"]), random_note, st.lists(st.sampled_from(["kafka", "redis", "the queue"]), max_size=3)
)


@settings(max_examples=12, deadline=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=st.lists(operation, max_size=10))
def test_all_stores_give_the_same_answers_after_the_same_writes(tmp_path: Path, operations: list[tuple[str, models.Note, list[str]]]) -> None:
    stores = [in_memory(tmp_path), edge(tmp_path / uuid.uuid4().hex), answers_like_qdrant(tmp_path)]
    answers = [list(replay(store, operations)) for store in stores]
    for store in stores:
        store.close()
    for same in zip(*answers, strict=True):
        first = pytest.approx(same[0], abs=0.001) if _are_scores(same[0]) else same[0]
        assert all(answer == first for answer in same)


def _are_scores(answer: object) -> bool:
    """By id. Stores compute in different widths: rounding would tell them apart where it goes up here and down there."""
    return isinstance(answer, dict)


def replay(store: ports.NoteStore, operations: list[tuple[str, models.Note, list[str]]]) -> Iterator[object]:
    for action, one, pieces in operations:
        if action == "put":
            put(store, one, *(piece(one, text, position) for position, text in enumerate(pieces)))
        elif action == "prune":
            store.prune(ME, one.id, [piece(one, text, position).id for position, text in enumerate(pieces)])
        else:
            yield store.delete(ME, [one.id])
    for scope in (ME, EVERYWHERE, models.Scope("evil", "ana", None)):
        yield store.find(scope)
        yield store.entities(scope, models.EntityKind.HASHTAG)
        yield [store.passages(scope, str(uuid.UUID(int=number))) for number in range(5)]
        yield {hit.passage.id: hit.score for hit in store.nearest(scope, EMBEDDER.embed(["kafka"], "query")[0], limit=99)}
        yield {hit.passage.id: hit.score for hit in store.lexical(scope, "redis note 1", limit=99)}


def test_notes_and_memories_stand_beside_each_other(tmp_path: Path) -> None:
    first = edge(tmp_path / "notes")
    put(first, note(), piece(note(), "Kafka"))
    first.close()
    EdgeStore.open(tmp_path / "store", model=EMBEDDER.model, dimension=EMBEDDER.dimension).close()
    again = edge(tmp_path / "notes")
    assert again.find(ME) == [light(note())]
    assert texts(again.lexical(ME, "kafka", limit=1)) == ["Kafka"]
    again.close()
    with pytest.raises(errors.WrongModel, match=r"the notes are stored .*brb reindex"):
        EdgeNoteStore.open(tmp_path / "notes", model="other", dimension=8)


def test_notes_and_memories_of_one_server_do_not_see_each_other() -> None:
    from services.core.adapters.qdrant_server import QdrantServerNoteStore, QdrantServerStore

    with qdrant_rest.running() as server:
        QdrantServerNoteStore.connect(server.url, api_key=None, model="one", dimension=8).close()
        QdrantServerStore.connect(server.url, api_key=None, model="another", dimension=4).close()
