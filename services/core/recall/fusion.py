"""Two ranked legs to one list of candidates: reciprocal rank fusion (Cormack, Clarke, Büttcher 2009)."""

from collections.abc import Sequence

import msgspec
import numpy as np

from services.core import models

RRF_K = 60


class Candidate(msgspec.Struct, frozen=True):
    """A memory that a leg found. Ranks count from 1; cosine is None if neither leg gave one.

    agreement: its BM25 score as a share of the best one's, 0 if the lexical leg did not find it. listed: it is of a kind that is asked for.
    """

    memory: models.Memory
    cosine: float | None
    dense_rank: int | None
    lexical_rank: int | None
    rrf: float
    agreement: float = 0.0
    listed: bool = False


def merge(legs: Sequence[Sequence[models.Hit]]) -> list[models.Hit]:
    """The hits of several searches, each memory with its best score; best first, ties by id."""
    best: dict[str, models.Hit] = {}
    for hit in (hit for leg in legs for hit in leg):
        if hit.memory.id not in best or hit.score > best[hit.memory.id].score:
            best[hit.memory.id] = hit
    return sorted(best.values(), key=lambda hit: (-hit.score, hit.memory.id))


def fuse(
    dense: Sequence[models.Hit], lexical: Sequence[models.Hit], vectors: Sequence[Sequence[float]] = (), listed: Sequence[models.Memory] = ()
) -> list[Candidate]:
    """Best first, ties by id. `vectors` are the query's: the nearest gives the cosine of what only the lexical leg found.

    listed: what is a candidate whether a leg found it or not.
    """
    dense_hits = {hit.memory.id: hit for hit in dense}
    lexical_hits = {hit.memory.id: hit for hit in lexical}
    asked_for = {memory.id: models.Hit(memory=memory, score=0.0) for memory in listed}
    dense_ranks = {key: rank for rank, key in enumerate(dense_hits, 1)}
    lexical_ranks = {key: rank for rank, key in enumerate(lexical_hits, 1)}
    cosines = _cosines([hit for hit in lexical if hit.memory.id not in dense_hits], vectors)
    best = max((hit.score for hit in lexical), default=0.0)
    candidates = [
        Candidate(
            memory=hit.memory,
            cosine=dense_hits[key].score if key in dense_hits else cosines.get(key),
            dense_rank=dense_ranks.get(key),
            lexical_rank=lexical_ranks.get(key),
            rrf=sum(1 / (RRF_K + ranks[key]) for ranks in (dense_ranks, lexical_ranks) if key in ranks),
            agreement=lexical_hits[key].score / best if best > 0 and key in lexical_hits else 0.0,
            listed=key in asked_for,
        )
        for key, hit in (asked_for | lexical_hits | dense_hits).items()
    ]
    return sorted(candidates, key=lambda candidate: (-candidate.rrf, candidate.memory.id))


def _cosines(hits: Sequence[models.Hit], vectors: Sequence[Sequence[float]]) -> dict[str, float]:
    """By id, with the nearest of the vectors. All are of unit length; hits without a vector have none."""
    stored = {hit.memory.id: hit.vector for hit in hits if hit.vector is not None}
    if not stored or not vectors:
        return {}
    products = np.asarray(list(stored.values())) @ np.asarray(vectors).T
    return dict(zip(stored, products.max(axis=1).tolist(), strict=True))
