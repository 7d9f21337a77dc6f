"""Search by comparing with everything: what the stores in memory share."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence


def unit(vector: Sequence[float]) -> tuple[float, ...]:
    length = math.sqrt(cosine(vector, vector))
    return tuple(x / length for x in vector) if length else tuple(vector)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Of unit vectors."""
    return sum(x * y for x, y in zip(one, other, strict=True))


def bm25(terms: Iterable[int], documents: Sequence[Mapping[int, float]]) -> list[float]:
    """The score of each document (term weights): 0 for those that share no term. IDF is that of these documents."""
    frequency = Counter(term for document in documents for term in document)
    weight = {term: math.log(1 + (len(documents) - frequency[term] + 0.5) / (frequency[term] + 0.5)) for term in terms}
    return [sum(document[term] * weight[term] for term in document.keys() & weight.keys()) for document in documents]
