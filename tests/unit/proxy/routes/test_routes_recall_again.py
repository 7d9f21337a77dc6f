"""Questions that are asked again, and answers within a number of tokens."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.core import errors, models
from services.core.recall import budget, cache
from services.proxy.app import create_app
from services.proxy.parts import Parts
from tests.support.in_memory import NOW, keep, memory

Client = TestClient[Litestar]

QUESTION = "which database do we use"
POSTGRES = memory("We use Postgres as our database")


@pytest.fixture(autouse=True)
def kept(parts: Parts) -> None:
    keep(parts, POSTGRES)


@pytest.fixture
def searches(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the store is asked for."""
    asked: list[str] = []
    lexical = parts.store.lexical

    def listening(scope: models.Scope, text: str, **options: object) -> Sequence[models.Hit]:
        asked.append(text)
        return lexical(scope, text, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(parts.store, "lexical", listening)
    return asked


def recalled(client: Client, query: str = QUESTION, **body: object) -> list[str]:
    answer = client.post("/recall", json={"query": query, **body})
    assert answer.status_code == 200, answer.text
    return [shown["text"] for shown in answer.json()["memories"]]


def test_the_same_question_is_searched_for_once(client: Client, searches: list[str]) -> None:
    assert recalled(client) == recalled(client) == [POSTGRES.text]
    assert len(searches) == 1


def test_a_question_that_is_as_good_as_the_same_is_too_and_the_answer_says_so(client: Client, searches: list[str]) -> None:
    recalled(client)
    answer = client.post("/recall", json={"query": "Which database do we use?"}).json()

    assert [shown["text"] for shown in answer["memories"]] == [POSTGRES.text]
    assert answer["notices"] == [f'answered as "{QUESTION}", asked shortly before']
    assert len(searches) == 1


@pytest.mark.parametrize("other", [{"limit": 3}, {"mode": "bm25"}, {"project": "shop"}, {"explain": True}, {"scope": "private"}])
def test_another_request_with_the_same_words_is_searched_for(client: Client, searches: list[str], other: dict[str, object]) -> None:
    recalled(client)
    recalled(client, **other)

    assert len(searches) == 2


def test_what_is_written_is_found_by_the_next_question(client: Client, parts: Parts) -> None:
    recalled(client)
    keep(parts, memory("We use Redis as a database"))

    assert set(recalled(client)) == {POSTGRES.text, "We use Redis as a database"}


def test_what_is_corrected_or_forgotten_is_not_recalled_from_before(client: Client) -> None:
    recalled(client)
    assert client.patch(f"/memories/{POSTGRES.id}", json={"text": "We use Mongo as our database"}).status_code == 200
    assert recalled(client) == ["We use Mongo as our database"]
    assert client.delete(f"/memories/{POSTGRES.id}").status_code == 200
    assert recalled(client) == []


def test_an_answer_made_without_the_embedder_is_not_given_again(client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise errors.Unavailable("llama.cpp")

    with monkeypatch.context() as down:
        down.setattr(parts.embedder, "embed", away)
        assert client.post("/recall", json={"query": QUESTION}).json()["mode"] == "bm25"

    assert client.post("/recall", json={"query": QUESTION}).json()["mode"] == "hybrid"


def test_an_answer_holds_no_longer_than_what_it_tells(parts: Parts) -> None:
    now = [NOW]
    ticking = replace(parts, clock=lambda: now[0], answers=cache.Cache(lambda _: 0, lambda: now[0]))
    keep(ticking, memory("We use Redis as a database", valid_to=NOW + 10))
    with TestClient(create_app(ticking), base_url="http://127.0.0.1:3000") as client:
        assert len(recalled(client)) == 2
        now[0] += 10
        assert recalled(client) == [POSTGRES.text]


FACTS = [memory(f"We use database number {number} too") for number in range(8)]


@pytest.mark.parametrize("explain", [False, True])
@pytest.mark.parametrize("most", [600, 1200, 2500, 100_000])
def test_the_whole_body_stays_within_the_tokens(client: Client, parts: Parts, most: int, explain: bool) -> None:
    keep(parts, *FACTS)
    whole = client.post("/recall", json={"query": QUESTION, "explain": explain})
    answer = client.post("/recall", json={"query": QUESTION, "explain": explain, "token_budget": most})

    assert answer.status_code == 200, answer.text
    assert budget.tokens(answer.text) <= most
    assert len(answer.json()["memories"]) >= 1
    assert (answer.text == whole.text) == (budget.tokens(whole.text) <= most)


def test_what_was_left_out_is_said_and_the_best_stay(client: Client, parts: Parts) -> None:
    keep(parts, *FACTS)
    response = client.post("/recall", json={"query": QUESTION})
    whole = response.json()["memories"]
    answer = client.post("/recall", json={"query": QUESTION, "token_budget": budget.tokens(response.text) // 2}).json()

    assert answer["notices"] == ["cut to the token budget"]
    assert 1 < len(answer["memories"]) < len(whole)
    assert answer["memories"] == whole[: len(answer["memories"])]


def test_the_first_is_cut_rather_than_left_out(client: Client, parts: Parts) -> None:
    long = memory("We use Postgres as our database. " * 40)
    parts.store.delete(models.Scope("local", "me", None), [POSTGRES.id])
    keep(parts, long)
    [text] = recalled(client, token_budget=500)

    assert text.startswith("We use Postgres as our database")
    assert text.endswith("…")


@pytest.mark.parametrize(("most", "word"), [(0, "number of tokens"), (-3, "number of tokens"), (60, "the shortest answer")])
def test_a_budget_that_nothing_fits_is_refused(client: Client, most: int, word: str) -> None:
    answer = client.post("/recall", json={"query": QUESTION, "token_budget": most})

    assert answer.status_code == 400
    assert word in answer.json()["error"]["message"]
