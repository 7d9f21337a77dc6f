import pytest

from services.core import models
from services.core.recall import fusion
from tests.support import in_memory

A, B, C = (in_memory.memory(text) for text in ("a", "b", "c"))


def _hit(memory: models.Memory, score: float, vector: tuple[float, ...] | None = None) -> models.Hit:
    return models.Hit(memory=memory, score=score, vector=vector)


def test_what_both_legs_find_comes_first() -> None:
    fused = fusion.fuse([_hit(A, 0.9), _hit(B, 0.5)], [_hit(C, 4.0), _hit(B, 3.0)], [(1.0, 0.0)])

    assert fused[0].memory == B
    assert (fused[0].dense_rank, fused[0].lexical_rank) == (2, 2)
    assert fused[0].rrf == pytest.approx(2 / 62)


def test_what_only_words_find_gets_the_cosine_of_the_nearest_vector() -> None:
    (found,) = fusion.fuse([], [_hit(A, 7.0, (0.6, 0.8))], [(1.0, 0.0), (0.0, 1.0)])

    assert found.cosine == pytest.approx(0.8)
    assert found.dense_rank is None


@pytest.mark.parametrize(("vectors", "stored"), [((), (0.6, 0.8)), (((0.0, 1.0),), None)])
def test_without_a_vector_on_either_side_there_is_no_cosine(vectors: tuple[tuple[float, ...], ...], stored: tuple[float, ...] | None) -> None:
    assert fusion.fuse([], [_hit(A, 7.0, stored)], vectors)[0].cosine is None


def test_agreement_is_the_share_of_the_best_lexical_score() -> None:
    fused = {found.memory.text: found.agreement for found in fusion.fuse([_hit(C, 0.9)], [_hit(A, 8.0), _hit(B, 2.0)], [(1.0,)])}

    assert fused == {"a": 1.0, "b": 0.25, "c": 0.0}


def test_equal_ranks_are_ordered_by_id() -> None:
    one, other = fusion.fuse([_hit(A, 0.5)], [_hit(B, 1.0)]), fusion.fuse([_hit(B, 0.5)], [_hit(A, 1.0)])

    assert [found.memory.id for found in one] == [found.memory.id for found in other] == sorted([A.id, B.id])


def test_nothing_found_is_nothing_fused() -> None:
    assert fusion.fuse([], []) == []


def test_of_several_searches_each_memory_keeps_its_best_score() -> None:
    merged = fusion.merge([[_hit(A, 0.9), _hit(B, 0.2)], [_hit(B, 0.95), _hit(A, 0.1), _hit(C, 0.05)]])

    assert [(hit.memory, hit.score) for hit in merged] == [(B, 0.95), (A, 0.9), (C, 0.05)]


def test_what_is_asked_for_by_kind_is_a_candidate_though_no_leg_found_it() -> None:
    found = {one.memory.text: one for one in fusion.fuse([_hit(A, 0.9)], [], [(1.0,)], [A, B])}

    assert (found["a"].listed, found["a"].cosine, found["a"].dense_rank) == (True, 0.9, 1)
    assert (found["b"].listed, found["b"].cosine, found["b"].dense_rank, found["b"].rrf) == (True, None, None, 0)
