"""The facts of one turn come in two jobs when a language model reads it after the rules."""

from services.core import messages, models
from services.core.adapters.in_memory_store import InMemoryStore
from services.indexer.writing import Writer
from tests.support.embedding import HashingEmbedder

ME = models.Scope("local", "me", projects=None)


def _facts(*texts: str) -> tuple[models.Fact, ...]:
    return tuple(models.Fact(text=text, category=models.Category.PREFERENCE, confidence=0.9, quote=text) for text in texts)


def test_the_second_part_neither_replaces_the_first_nor_brings_back_what_was_forgotten_of_it() -> None:
    store = InMemoryStore(dimension=64)
    writer = Writer(store, HashingEmbedder(64), clock=lambda: 9.0)
    first = messages.StoreFacts(turn="t1", principal=models.LOCAL, said_at=5.0, facts=_facts("I use vim", "tea is what I drink"))
    second = messages.StoreFacts(turn="t1", principal=models.LOCAL, said_at=5.0, facts=_facts("the mascot answers to Bodo"), first=2)

    writer.store_facts(first)
    vim = next(memory for memory in store.find(ME) if memory.text == "I use vim")
    store.delete(ME, [vim.id])
    for _ in range(2):
        writer.store_facts(second)

    assert sorted(memory.text for memory in store.find(ME)) == ["tea is what I drink", "the mascot answers to Bodo"]


def test_a_turn_that_says_something_twice_in_its_parts_counts_once() -> None:
    store = InMemoryStore(dimension=64)
    writer = Writer(store, HashingEmbedder(64), clock=lambda: 9.0)
    for first in (0, 1):
        writer.store_facts(messages.StoreFacts(turn="t1", principal=models.LOCAL, said_at=5.0, facts=_facts("I use vim"), first=first))

    assert [memory.mentions for memory in store.find(ME)] == [1]
