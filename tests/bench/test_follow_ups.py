"""What a person's follow-ups bring up (`follow_ups.jsonl`), with the default model: those that lean on the turn before, whole questions in the
middle of something else, and follow-ups to what nothing is stored about.

A line: what was said before (`earlier`), the `words`, the memory they ask for (`wanted`), and the one that the turn before asked for (`before`).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from services.core import models, ports
from services.core.adapters import llama_cpp
from services.core.adapters.qdrant_edge import EdgeStore
from services.core.recall import engine, rewriting
from tests.support import in_memory

Compose = Callable[[str, Sequence[str]], str]


class Case(msgspec.Struct, frozen=True):
    kind: str
    earlier: tuple[str, ...]
    words: str
    wanted: str = ""
    before: str = ""


CASES = [msgspec.json.decode(line, type=Case) for line in Path(__file__).with_name("follow_ups.jsonl").read_bytes().splitlines()]
TEXTS = list(dict.fromkeys(text for case in CASES for text in (case.wanted, case.before) if text))


class Bench:
    def __init__(self, store: ports.MemoryStore, embedder: ports.Embedder) -> None:
        self._store, self._embedder = store, embedder

    def recalled(self, case: Case, compose: Compose) -> set[str]:
        """As on the wire: what was shown for the turns before is not shown again."""
        shown = {memory.id for turn in case.earlier for memory in self._ranked(turn, set()) if memory.text != case.wanted}
        return {memory.text for memory in self._ranked(compose(case.words, case.earlier), shown)}

    def share(self, kind: str, compose: Compose) -> float:
        """Of the cases of a kind: in how many the wanted memory is recalled, or any where none is wanted."""
        cases = [case for case in CASES if case.kind == kind]
        found = [self.recalled(case, compose) for case in cases]
        return sum(case.wanted in texts if case.wanted else bool(texts) for case, texts in zip(cases, found, strict=True)) / len(cases)

    def _ranked(self, words: str, exclude: set[str]) -> list[models.Memory]:
        scope = models.Scope(models.LOCAL.team, models.LOCAL.user)
        found = engine.recall(
            words, scope, store=self._store, embedder=self._embedder, knobs=engine.Knobs(), now=in_memory.NOW, exclude=frozenset(exclude)
        )
        return [one.memory for one in found.ranked]


@pytest.fixture(scope="module")
def bench(llama_socket: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with (
        closing(llama_cpp.LlamaCppEmbedder(llama_socket, model="all-MiniLM-L6-v2", dimension=384)) as embedder,
        closing(EdgeStore.open(tmp_path_factory.mktemp("store"), model="all-MiniLM-L6-v2", dimension=384)) as store,
    ):
        vectors = embedder.embed(TEXTS, "document")
        store.put([ports.Embedded(in_memory.memory(text), vector) for text, vector in zip(TEXTS, vectors, strict=True)])
        yield Bench(store, embedder)


def _alone(words: str, _: Sequence[str]) -> str:
    return words


def test_follow_ups_find_what_they_ask_for_with_their_context_and_not_without(bench: Bench) -> None:
    alone, together = (bench.share("follow_up", compose) for compose in (_alone, rewriting.in_context))

    assert together >= 0.85
    assert alone <= 0.5


def test_whole_questions_find_the_same_as_before(bench: Bench) -> None:
    for case in CASES:
        if case.kind == "whole":
            assert bench.recalled(case, rewriting.in_context) == bench.recalled(case, _alone)
    assert bench.share("whole", rewriting.in_context) >= 0.9


def test_follow_ups_to_what_nothing_is_stored_about_find_nothing(bench: Bench) -> None:
    assert bench.share("nothing", rewriting.in_context) <= 0.05
