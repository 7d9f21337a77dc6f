"""Two ranked legs to one list of candidates: reciprocal rank fusion (Cormack, Clarke, Büttcher 2009), and the scores themselves."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from services.core import models

RRF_K = 60


class Scored(NamedTuple):
    """What a leg says of one thing: its score, and the stored embedding, if any."""

    score: float
    vector: Sequence[float] | None = None


class Joined(NamedTuple):
    """What both legs say of one thing. Ranks count from 1; cosine is None if neither leg gave one.

    agreement: its BM25 score as a share of the best one's, 0 if the lexical leg did not find it.
    """

    cosine: float | None
    dense_rank: int | None
    lexical_rank: int | None
    rrf: float
    agreement: float


class Candidate(msgspec.Struct, frozen=True):
    """A memory that a leg found, as `Joined` says. listed: it is of a kind that is asked for. vector: the stored embedding, if a leg gave it."""

    memory: models.Memory
    cosine: float | None
    dense_rank: int | None
    lexical_rank: int | None
    rrf: float
    agreement: float = 0.0
    listed: bool = False
    vector: Sequence[float] | None = None


def join(
    dense: Mapping[str, Scored], lexical: Mapping[str, Scored], vectors: Sequence[Sequence[float]] = (), *, lexical_weight: float = 1.0
) -> dict[str, Joined]:
    """By id. Each leg has its best first. `vectors` are the query's: the nearest gives the cosine of what only the lexical leg found.

    lexical_weight: of the lexical leg's ranks; those of the other count 1."""
    dense_ranks = {key: rank for rank, key in enumerate(dense, 1)}
    lexical_ranks = {key: rank for rank, key in enumerate(lexical, 1)}
    cosines = _cosines({key: one for key, one in lexical.items() if key not in dense}, vectors)
    best = max((one.score for one in lexical.values()), default=0.0)
    return {
        key: Joined(
            cosine=dense[key].score if key in dense else cosines.get(key),
            dense_rank=dense_ranks.get(key),
            lexical_rank=lexical_ranks.get(key),
            rrf=sum(weight / (RRF_K + ranks[key]) for weight, ranks in ((1.0, dense_ranks), (lexical_weight, lexical_ranks)) if key in ranks),
            agreement=lexical[key].score / best if best > 0 and key in lexical else 0.0,
        )
        for key in {**lexical, **dense}
    }


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
    """Best first, ties by id. `vectors` are the query's. listed: what is a candidate whether a leg found it or not."""
    memories = {memory.id: memory for memory in (*listed, *(hit.memory for hit in (*lexical, *dense)))}
    asked_for = {memory.id for memory in listed}
    joined = join(_leg(dense), _leg(lexical), vectors)
    stored = {hit.memory.id: hit.vector for hit in (*lexical, *dense)}
    nothing = Joined(None, None, None, 0.0, 0.0)
    candidates = [
        Candidate(memory, *joined.get(key, nothing), listed=key in asked_for, vector=stored.get(key))  # the fields of both are in one order
        for key, memory in memories.items()
    ]
    return sorted(candidates, key=lambda candidate: (-candidate.rrf, candidate.memory.id))


def _leg(hits: Sequence[models.Hit]) -> dict[str, Scored]:
    return {hit.memory.id: Scored(hit.score, hit.vector) for hit in hits}


def _cosines(found: Mapping[str, Scored], vectors: Sequence[Sequence[float]]) -> dict[str, float]:
    """By id, with the nearest of the vectors. All are of unit length; what has no vector has none."""
    stored = {key: one.vector for key, one in found.items() if one.vector is not None}
    if not stored or not vectors:
        return {}
    products = np.asarray(list(stored.values())) @ np.asarray(vectors).T
    return dict(zip(stored, products.max(axis=1).tolist(), strict=True))
