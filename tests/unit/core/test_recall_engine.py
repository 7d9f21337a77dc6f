from collections.abc import Sequence
from typing import Literal

import msgspec
import pytest

from services.core import errors, models, ports
from services.core.adapters.in_memory_store import InMemoryStore
from services.core.recall import engine, fusion, query
from tests.support import in_memory
from tests.support.embedding import HashingEmbedder

SCOPE = models.Scope(models.LOCAL.team, models.LOCAL.user)
KNOBS = engine.Knobs()
EMBEDDER = HashingEmbedder()


class LateEmbedder(HashingEmbedder):
    """Raises what an embedder raises that is away or late."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def embed(self, texts: Sequence[str], kind: Literal["query", "document"], *, timeout_seconds: float | None = None) -> list[list[float]]:
        raise self._error


class ListeningEmbedder(HashingEmbedder):
    """Notes what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[tuple[str, ...], str, float | None]] = []

    def embed(self, texts: Sequence[str], kind: Literal["query", "document"], *, timeout_seconds: float | None = None) -> list[list[float]]:
        self.asked.append((tuple(texts), kind, timeout_seconds))
        return super().embed(texts, kind)


class TwoNumbersEmbedder(HashingEmbedder):
    """Every query has a cosine of 0.38 with (1, 0)."""

    def embed(self, texts: Sequence[str], kind: Literal["query", "document"], *, timeout_seconds: float | None = None) -> list[list[float]]:
        return [[0.38, (1 - 0.38**2) ** 0.5] for _ in texts]


def _store(*memories: models.Memory) -> InMemoryStore:
    store = InMemoryStore(EMBEDDER.dimension)
    store.put([ports.Embedded(memory, EMBEDDER.embed([memory.text], "document")[0]) for memory in memories])
    return store


def _recall(words: str, *memories: models.Memory, **options: object) -> engine.Recall:
    asked: dict[str, object] = {"store": _store(*memories), "embedder": EMBEDDER, "knobs": KNOBS, "now": in_memory.NOW}
    return engine.recall(words, SCOPE, **(asked | options))  # type: ignore[arg-type]


def _texts(result: engine.Recall) -> list[str]:
    return [one.memory.text for one in result.ranked]


LEO = in_memory.memory("My name is Leo")
POSTGRES = in_memory.memory("We use Postgres 15 as our database")
JIRA = in_memory.memory("JIRA-123 tracks the memory leak in the exporter")
TABS = in_memory.memory("I indent Go files with tabs")


def test_the_memory_that_is_asked_for_comes_up_with_all_its_signals() -> None:
    result = _recall("What is my name?", LEO, POSTGRES, TABS)

    (best,) = result.ranked
    assert best.memory == LEO
    assert (best.dense_rank, best.lexical_rank, result.mode, result.notices) == (1, 1, "hybrid", ())
    assert best.cosine is not None
    assert best.similarity >= best.cosine > 0.3
    assert best.score == pytest.approx(best.similarity * (0.68 + 0.32 * best.temporal) + 0.05 * LEO.confidence)
    assert "word name" in best.matched


@pytest.mark.parametrize("words", ["hi", "thanks!", "ok, continue", "   ", "👍"])
def test_words_that_ask_nothing_reach_neither_embedder_nor_store(words: str) -> None:
    embedder = ListeningEmbedder()

    result = _recall(words, LEO, embedder=embedder)

    assert (result.ranked, embedder.asked) == ((), [])
    assert result.notices == (engine.NOTHING_TO_RECALL_FOR,)


def test_unrelated_words_recall_nothing_and_say_why() -> None:
    result = _recall("Explain photosynthesis in leaves", LEO, POSTGRES, TABS)

    assert result.ranked == ()
    assert {dropped.ranked.memory.id for dropped in result.considered} == {LEO.id, POSTGRES.id, TABS.id}
    assert all("under 0.42" in dropped.reason for dropped in result.considered)


@pytest.mark.parametrize(("words", "told"), [("How is the database of our app called?", True), ("How is the database of an app called?", False)])
def test_a_message_about_nothing_of_ones_own_needs_a_nearer_memory(words: str, told: bool) -> None:
    store = InMemoryStore(2)
    store.put([ports.Embedded(LEO, [1.0, 0.0])])

    assert bool(_recall(words, store=store, embedder=TwoNumbersEmbedder()).ranked) is told


def test_an_exact_identifier_surfaces_from_among_many_words() -> None:
    words = "before tomorrow morning somebody from another group ought to look at ticket JIRA-123 since customers complain loudly"

    result = _recall(words, LEO, POSTGRES, JIRA, TABS)

    assert _texts(result) == [JIRA.text]
    assert result.ranked[0].matched[0] == "identifier jira-123"


@pytest.mark.parametrize(
    ("embedder", "reason"),
    [
        (None, "no embedder"),
        (LateEmbedder(errors.Unavailable("llama.cpp", "connection refused")), "llama.cpp is not available: connection refused"),
        (LateEmbedder(errors.WrongModel("the vectors are another model's")), "another model"),
        (LateEmbedder(TimeoutError()), "took too long"),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
def test_without_an_embedding_words_alone_recall_and_a_notice_says_so(mode: str, embedder: ports.Embedder | None, reason: str) -> None:
    result = _recall("what database do we use?", LEO, POSTGRES, TABS, embedder=embedder, mode=mode)

    assert _texts(result) == [POSTGRES.text]
    assert result.mode == "bm25"
    assert reason in result.notices[0]
    assert result.ranked[0].cosine is None


def test_words_alone_stay_silent_on_one_common_word_of_many() -> None:
    words = "write a function that reads the name and the size of each of the files that a user uploads"

    assert _recall(words, LEO, POSTGRES, TABS, embedder=None).ranked == ()


def test_the_query_is_embedded_once_as_a_query_within_the_given_time() -> None:
    embedder = ListeningEmbedder()

    _recall("What is\nmy name?", LEO, embedder=embedder, embed_timeout_seconds=0.2)

    assert embedder.asked == [(("What is my name?",), "query", 0.2)]


def test_a_given_vector_is_not_embedded_again() -> None:
    vector = EMBEDDER.embed(["What is my name?"], "query")[0]

    result = _recall("What is my name?", LEO, embedder=None, vector=vector)

    assert (_texts(result), result.mode, result.notices) == ([LEO.text], "hybrid", ())


@pytest.mark.parametrize(("mode", "ranks"), [("bm25", (None, 1)), ("semantic", (1, None)), ("hybrid", (1, 1))])
def test_a_mode_searches_its_legs_only(mode: str, ranks: tuple[int | None, int | None]) -> None:
    (best,) = _recall("What is my name?", LEO, mode=mode).ranked

    assert (best.dense_rank, best.lexical_rank) == ranks


def test_only_current_memories_of_the_scope_come_up() -> None:
    old = in_memory.memory("My name is Leo", id="11111111-1111-5111-8111-111111111111", status=models.Status.SUPERSEDED)
    anothers = in_memory.memory("My name is Ann", owner="ann")
    elsewhere = in_memory.memory("My name is a secret", project="other")
    here = in_memory.memory("My name tag lies in the drawer", project="here")
    scope = models.Scope(models.LOCAL.team, models.LOCAL.user, frozenset({"here"}))

    result = engine.recall("What is my name?", scope, store=_store(old, anothers, elsewhere, here), embedder=EMBEDDER, knobs=KNOBS, now=in_memory.NOW)

    seen = [*result.ranked, *(dropped.ranked for dropped in result.considered)]
    assert [one.memory for one in seen] == [here]


@pytest.mark.parametrize(("ends", "recalled"), [(None, True), (in_memory.NOW + 1, True), (in_memory.NOW, False), (0.0, False)])
def test_what_held_until_a_day_that_is_past_is_not_recalled(ends: float | None, recalled: bool) -> None:
    leave = msgspec.structs.replace(in_memory.memory("I'm on parental leave until Friday"), valid_to=ends)

    result = _recall("Am I on parental leave?", leave)

    assert bool(result.ranked) is recalled
    assert [dropped.reason[:10] for dropped in result.considered] == ([] if recalled else ["held until"])


def test_an_excluded_memory_leaves_its_place_to_the_next() -> None:
    other = in_memory.memory("My nick name is Lion")

    result = _recall("What is my name?", LEO, other, exclude={LEO.id})

    assert _texts(result) == [other.text]
    assert [(dropped.ranked.memory.id, dropped.reason) for dropped in result.considered] == [(LEO.id, "already shown in this conversation")]


def test_many_excluded_memories_do_not_use_up_the_candidates() -> None:
    shown = [in_memory.memory(f"My name is Leo {letter}") for letter in "abcdefghij"]
    other = in_memory.memory("My name at the club was Lion")

    result = _recall("What is my name?", *shown, other, exclude={one.id for one in shown}, knobs=msgspec.structs.replace(KNOBS, candidates=2))

    assert _texts(result) == [other.text]


def test_the_same_statement_is_told_once() -> None:
    again = in_memory.memory("my name is  LEO.")

    result = _recall("What is my name?", LEO, again)

    assert len(result.ranked) == 1
    assert [dropped.reason for dropped in result.considered] == ["says the same as a better one"]


def test_no_more_than_the_asked_number_is_recalled() -> None:
    names = [in_memory.memory(f"My name is Leo {letter}") for letter in "abcdef"]

    result = _recall("What is my name?", *names, knobs=msgspec.structs.replace(KNOBS, max_memories=4))

    assert len(result.ranked) == 4
    assert {dropped.reason for dropped in result.considered} == {"not among the best 4"}
    assert _recall("What is my name?", *names, knobs=msgspec.structs.replace(KNOBS, max_memories=0)).ranked == ()


def test_thresholds_are_those_of_the_knobs() -> None:
    strict = _recall("What is my name?", LEO, knobs=msgspec.structs.replace(KNOBS, min_similarity=0.99))
    demanding = _recall("What is my name?", LEO, knobs=msgspec.structs.replace(KNOBS, min_score=2.0))

    assert strict.considered[0].reason.endswith("is under 0.99")
    assert demanding.considered[0].reason.endswith("is under 2.00")


@pytest.mark.parametrize(("cosine", "admitted"), [(0.29, False), (0.305, False), (0.33, True)])
def test_agreement_orders_what_is_over_the_thresholds_and_admits_nothing(cosine: float, admitted: bool) -> None:
    asked = query.parse("which theme for the editor")
    assert asked is not None
    candidate = fusion.Candidate(memory=in_memory.memory("The theme is dark"), cosine=cosine, dense_rank=1, lexical_rank=1, rrf=0.03, agreement=1.0)

    (ranked,) = engine.rank(asked, [candidate], KNOBS, in_memory.NOW)

    assert ranked.similarity == pytest.approx(cosine + 0.2 if admitted else cosine)
    assert bool(engine.choose([ranked], KNOBS)[0]) is admitted


@pytest.mark.parametrize(("cosine", "admitted"), [(0.15, False), (0.27, True), (0.31, True)])
def test_words_in_common_may_carry_a_memory_a_little_way_over_the_thresholds(cosine: float, admitted: bool) -> None:
    asked = query.parse("Which message broker did we pick and why?")
    assert asked is not None
    memory = in_memory.memory("We picked NATS as message broker")

    (ranked,) = engine.rank(asked, [fusion.Candidate(memory=memory, cosine=cosine, dense_rank=1, lexical_rank=1, rrf=0.03)], KNOBS, in_memory.NOW)

    assert bool(engine.choose([ranked], KNOBS)[0]) is admitted
    assert ranked.matched[-1].startswith("lifted by 0.") is admitted


def test_what_is_over_the_thresholds_is_not_lifted() -> None:
    (best,) = _recall("what database do we use?", POSTGRES).ranked

    assert best.matched == ("word databas", "word use")


def test_each_part_of_a_message_is_embedded_in_the_same_request_and_finds_its_own() -> None:
    embedder = ListeningEmbedder()
    words = "What is my name, and which tabs indent Go files, and then again what about snow, rain, fog and mist?"

    result = _recall(words, LEO, TABS, POSTGRES, embedder=embedder, mode="semantic")

    assert len(embedder.asked) == 1
    assert embedder.asked[0][0][:3] == (words, "What is my name", "which tabs indent Go files")
    assert set(_texts(result)) == {LEO.text, TABS.text}


@pytest.mark.parametrize("mode", ["hybrid", "bm25", "semantic"])
def test_who_asks_for_a_kind_gets_what_is_current_and_in_scope_of_it(mode: str) -> None:
    kind = models.Category.CONSTRAINT
    wanted = in_memory.memory("Migrations reversible", category=kind)
    teams = in_memory.memory("Images stay small", category=kind, owner="ann", visibility=models.Visibility.TEAM)
    anns = in_memory.memory("Ann stays quiet", category=kind, owner="ann")
    elsewhere = in_memory.memory("Pages load fast", category=kind, project="other")
    old = in_memory.memory("Migrations rare", category=kind, status=models.Status.SUPERSEDED)
    every = (wanted, teams, anns, elsewhere, old, TABS)

    assert set(_texts(_recall("what are our constraints?", *every, mode=mode))) == {wanted.text, teams.text}
    assert _texts(_recall("what are my constraints?", *every, mode=mode)) == [wanted.text]


def test_who_asks_for_themselves_is_told_their_name_first_and_no_more_than_fits() -> None:
    others = [in_memory.memory(f"I play the {thing}", category=models.Category.PERSONAL_INFO) for thing in "abcdefghijkl"]
    name = in_memory.memory("My name is Leo", category=models.Category.PERSONAL_INFO, said_at=in_memory.NOW - 400 * 86_400)

    for embedder in (EMBEDDER, None):
        shown = _texts(_recall("Who am I? Answer in one line.", *others, name, embedder=embedder))
        assert (shown[0], len(shown)) == (name.text, KNOBS.max_memories)


def test_what_is_listed_still_obeys_the_thresholds_and_is_not_shown_twice() -> None:
    name = in_memory.memory("I play the cello", category=models.Category.PERSONAL_INFO)

    assert _recall("who am I?", name, knobs=msgspec.structs.replace(KNOBS, min_similarity=0.9)).ranked == ()
    assert _recall("who am I?", name, exclude={name.id}).ranked == ()


def test_order_is_by_score_then_fused_rank_then_id() -> None:
    ranked = [
        models.Ranked(
            memory=in_memory.memory("x", id=name),
            score=score,
            similarity=0.5,
            dense_rank=1,
            lexical_rank=None,
            rrf=rrf,
            strength=0,
            recency=0,
            temporal=0,
        )
        for name, score, rrf in (("b", 0.5, 0.01), ("a", 0.5, 0.01), ("c", 0.5, 0.02), ("d", 0.9, 0.0))
    ]
    assert [one.memory.id for one in sorted(ranked, key=engine.order)] == ["d", "c", "a", "b"]


def test_the_same_question_gives_the_same_answer() -> None:
    names = [in_memory.memory(f"My name is Leo {letter}") for letter in "abcdef"]

    assert _recall("What is my name?", *names) == _recall("What is my name?", *reversed(names))


def test_a_store_that_is_away_is_an_error_of_its_own() -> None:
    class AwayStore(InMemoryStore):
        def nearest(self, *_: object, **__: object) -> list[models.Hit]:
            raise errors.Unavailable("Qdrant")

    with pytest.raises(errors.Unavailable, match="Qdrant"):
        _recall("What is my name?", store=AwayStore(EMBEDDER.dimension))
