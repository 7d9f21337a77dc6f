"""The embedder against a real llama.cpp server with the default model."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from operator import mul
from pathlib import Path

import pytest

from services.core.adapters.llama_cpp import LlamaCppEmbedder


@pytest.fixture(scope="module")
def embedder(llama_socket: Path) -> Iterator[LlamaCppEmbedder]:
    made = LlamaCppEmbedder(llama_socket, model="all-MiniLM-L6-v2", dimension=384)
    yield made
    made.close()


def _cosine(embedder: LlamaCppEmbedder, one: str, other: str) -> float:
    return sum(map(mul, *embedder.embed([one, other], "document")))


def test_the_server_answers_and_passes_the_start_up_check(embedder: LlamaCppEmbedder) -> None:
    embedder.ping()
    embedder.verify()


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("What is my name?", "My name is Leo", 0.666),
        ("which theme should I use for the editor?", "I prefer dark mode", 0.332),
        ("help me write a SQL query", "We use Postgres 15 in production", 0.095),
        ("hello how are you", "My name is Leo", 0.255),
    ],
)
def test_cosines_are_those_of_the_model(embedder: LlamaCppEmbedder, one: str, other: str, expected: float) -> None:
    assert _cosine(embedder, one, other) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("text", ["word " * 5000, "中文字" * 2000, "x" * 20_000, "a_b(c[0]);" * 1000, "👍" * 3000, "", "\ud800 lone", "\x00"])
def test_any_text_has_a_vector_however_long_or_odd(embedder: LlamaCppEmbedder, text: str) -> None:
    assert len(embedder.embed([text], "document")[0]) == 384


def test_a_long_text_in_a_batch_leaves_the_others_their_vectors(embedder: LlamaCppEmbedder) -> None:
    alone = embedder.embed(["My name is Leo"], "document")[0]
    _, beside = embedder.embed(["word " * 5000, "My name is Leo"], "document")

    assert sum(map(mul, alone, beside)) > 0.999


def test_threads_get_their_own_answers(embedder: LlamaCppEmbedder) -> None:
    texts = [f"fact number {number} about the {noun}" for number, noun in enumerate(["cat", "sea", "war", "sun", "tax", "bee", "ice", "law"])]
    alone = [embedder.embed([text], "document")[0] for text in texts]

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda text: embedder.embed([text], "document")[0], texts))

    assert all(sum(map(mul, one, other)) > 0.999 for one, other in zip(alone, together, strict=True))
