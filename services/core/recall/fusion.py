"""Two ranked legs to one list of candidates: reciprocal rank fusion (Cormack, Clarke, Büttcher 2009)."""

from collections.abc import Sequence

import msgspec

from services.core import models

RRF_K = 60


class Candidate(msgspec.Struct, frozen=True):
    """A memory that a leg found. Ranks count from 1; cosine is None if neither leg gave one.

    agreement: its BM25 score as a share of the best one's, 0 if the lexical leg did not find it.
    """

    memory: models.Memory
    cosine: float | None
    dense_rank: int | None
    lexical_rank: int | None
    rrf: float
    agreement: float = 0.0


def fuse(dense: Sequence[models.Hit], lexical: Sequence[models.Hit], vector: Sequence[float] | None = None) -> list[Candidate]:
    """Best first, ties by id. `vector` is the query's: it gives the cosine of what only the lexical leg found."""
    dense_hits = {hit.memory.id: hit for hit in dense}
    lexical_hits = {hit.memory.id: hit for hit in lexical}
    dense_ranks = {key: rank for rank, key in enumerate(dense_hits, 1)}
    lexical_ranks = {key: rank for rank, key in enumerate(lexical_hits, 1)}
    best = max((hit.score for hit in lexical), default=0.0)
    candidates = [
        Candidate(
            memory=hit.memory,
            cosine=dense_hits[key].score if key in dense_hits else _cosine(hit, vector),
            dense_rank=dense_ranks.get(key),
            lexical_rank=lexical_ranks.get(key),
            rrf=sum(1 / (RRF_K + ranks[key]) for ranks in (dense_ranks, lexical_ranks) if key in ranks),
            agreement=lexical_hits[key].score / best if best > 0 and key in lexical_hits else 0.0,
        )
        for key, hit in (lexical_hits | dense_hits).items()
    ]
    return sorted(candidates, key=lambda candidate: (-candidate.rrf, candidate.memory.id))


def _cosine(hit: models.Hit, vector: Sequence[float] | None) -> float | None:
    """Of unit vectors."""
    if vector is None or hit.vector is None:
        return None
    return sum(a * b for a, b in zip(vector, hit.vector, strict=True))
