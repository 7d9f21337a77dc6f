"""Query to ranked memories."""

import re
import time
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import UTC, datetime
from typing import Literal

import msgspec
from msgspec.structs import replace

from services.core import config, errors, models, ports, telemetry, tracing
from services.core.recall import asking, fusion, query, scoring, similarity

Mode = Literal["hybrid", "bm25", "semantic"]

NOTHING_TO_RECALL_FOR = "these words give nothing to recall for"
_MOST_EXCLUDED = 300  # a conversation that was shown more may get fewer than there are

_NOT_A_WORD = re.compile(r"[\W_]+")


class Knobs(msgspec.Struct, frozen=True):
    """max_memories: the longest answer. min_similarity: the gate. min_score: under it a memory is dropped. candidates: of each leg.

    impersonal: how much higher the gate is for a message that speaks of nothing of the person's or the team's own: among 2,000 memories one is as
    like to almost any question about the world or about programming as the wanted one is to a question about the person (docs/recall.md).
    """

    max_memories: int = 10
    min_score: float = 0.3
    min_similarity: float = 0.30
    candidates: int = 30
    impersonal: float = 0.12
    decay: scoring.Decay = scoring.DECAY

    @classmethod
    def of(cls, settings: config.Settings) -> "Knobs":
        return cls(
            max_memories=settings.max_memories,
            min_score=settings.min_score,
            min_similarity=settings.min_similarity,
            decay=scoring.Decay(settings.recency_half_life_days, settings.strength_half_life_days),
        )


class Dropped(msgspec.Struct, frozen=True):
    """A candidate that is not in the answer, and why."""

    ranked: models.Ranked
    reason: str


class Recall(msgspec.Struct, frozen=True):
    """ranked: best first. mode: the one that was used. notices: why it is not the one asked for, or why nothing was searched.
    considered: the candidates that were dropped, best first. query: what was embedded and looked up. gate: the similarity that it took, None if
    nothing was looked up. vector: the embedding of the query; vectors: the stored ones of what is ranked, by id; both only if they were asked for."""

    ranked: tuple[models.Ranked, ...]
    mode: Mode
    notices: tuple[str, ...] = ()
    considered: tuple[Dropped, ...] = ()
    query: str = ""
    gate: float | None = None
    vector: Sequence[float] | None = None
    vectors: Mapping[str, Sequence[float]] = {}


def recall(
    words: str,
    scope: models.Scope,
    *,
    store: ports.MemoryStore,
    embedder: ports.Embedder | None,
    knobs: Knobs,
    now: float,
    mode: Mode = "hybrid",
    where: ports.Where = ports.CURRENT,
    vector: Sequence[float] | None = None,
    exclude: Set[str] = frozenset(),
    embed_timeout_seconds: float | None = None,
    keep_vectors: bool = False,
) -> Recall:
    """The current memories in the scope that a person's words call for.

    where: which of them. vector: the embedding of the whole query, if the caller has it; its parts are then not embedded. exclude: ids not to
    answer with. now: epoch seconds.
    Without an embedding (no embedder, or it fails or is late) BM25 alone recalls and a notice says so; a store that fails raises.
    """
    asked = query.parse(words)
    if asked is None or knobs.max_memories == 0:
        return Recall(ranked=(), mode=mode, notices=(NOTHING_TO_RECALL_FOR,) if asked is None else ())
    notices: tuple[str, ...] = ()
    vectors: Sequence[Sequence[float]] = [vector] if vector is not None and mode != "bm25" else ()
    if mode != "bm25" and vector is None:
        vectors, notices = embedded([part.text for part in asked.parts], embedder, embed_timeout_seconds)
    used: Mode = mode if vectors else "bm25"
    found = _searched(asked, scope, where, store, used, vectors, knobs.candidates + min(len(exclude), _MOST_EXCLUDED))
    if asked.impersonal and vectors:
        knobs = replace(knobs, min_similarity=knobs.min_similarity + knobs.impersonal)
    started = time.monotonic()
    ranked, dropped = choose(rank(asked, found, knobs, now), knobs, exclude, now=now)
    _took("rank", started)
    answer = Recall(ranked=ranked, mode=used, notices=notices, considered=dropped, query=asked.text, gate=knobs.min_similarity)
    return _with_vectors(answer, vectors, found) if keep_vectors else answer


def _with_vectors(answer: Recall, vectors: Sequence[Sequence[float]], found: Iterable[fusion.Candidate]) -> Recall:
    stored = {one.memory.id: one.vector for one in found if one.vector is not None}
    ranked = {one.memory.id: stored[one.memory.id] for one in answer.ranked if one.memory.id in stored}
    return replace(answer, vector=vectors[0] if vectors else None, vectors=ranked)


def observe(result: Recall) -> None:
    """Record the similarities and scores of a recall on the wire (not those of people and probes who try things out)."""
    candidates = (*result.ranked, *(dropped.ranked for dropped in result.considered))
    cosines = [one.cosine for one in candidates if one.cosine is not None]
    if cosines:
        telemetry.RECALL_SIMILARITY.observe(max(cosines))
    if result.ranked:
        telemetry.RECALL_SCORE.observe(result.ranked[0].score)
    if len(result.ranked) > 1:
        telemetry.RECALL_MARGIN.observe(result.ranked[0].score - result.ranked[1].score)


def rank(asked: query.Query, found: Iterable[fusion.Candidate], knobs: Knobs, now: float) -> list[models.Ranked]:
    """Every candidate with its signals, best first: by composite score, then fused rank, then id."""
    ranked = [_scored(asked, candidate, knobs, now) for candidate in found]
    return sorted(ranked, key=order)


def order(one: models.Ranked) -> tuple[float, float, str]:
    return -one.score, -one.rrf, one.memory.id


def choose(
    ranked: Sequence[models.Ranked], knobs: Knobs, exclude: Set[str] = frozenset(), *, now: float = 0.0
) -> tuple[tuple[models.Ranked, ...], tuple[Dropped, ...]]:
    """The answer and what was left out of it, such as what held until a day that is past (now: epoch seconds)."""
    chosen: list[models.Ranked] = []
    dropped: list[Dropped] = []
    told: set[str] = set()
    for one in ranked:
        reason = _objection(one, knobs, exclude, now)
        if not reason:
            text = _NOT_A_WORD.sub(" ", one.memory.text.casefold()).strip() or one.memory.text
            if text in told:
                reason = "says the same as a better one"
            elif len(chosen) >= knobs.max_memories:
                reason = f"not among the best {knobs.max_memories}"
            else:
                chosen.append(one)
                told.add(text)
        if reason:
            dropped.append(Dropped(ranked=one, reason=reason))
    return tuple(chosen), tuple(dropped)


def _objection(one: models.Ranked, knobs: Knobs, exclude: Set[str], now: float) -> str:
    if one.memory.id in exclude:
        return "already shown in this conversation"
    if one.memory.valid_to is not None and one.memory.valid_to <= now:
        return f"held until {datetime.fromtimestamp(one.memory.valid_to, UTC):%Y-%m-%d}"
    if one.similarity < knobs.min_similarity:
        return f"similarity {one.similarity:.2f} is under {knobs.min_similarity:.2f}"
    if one.score < knobs.min_score:
        return f"score {one.score:.2f} is under {knobs.min_score:.2f}"
    return ""


def embedded(
    texts: Sequence[str], embedder: ports.Embedder | None, timeout_seconds: float | None
) -> tuple[Sequence[Sequence[float]], tuple[str, ...]]:
    """The vectors of queries, in order; none, and a notice, if there is no embedding to be had."""
    if embedder is None:
        return (), ("no embedder: recalled by words alone",)
    started = time.monotonic()
    try:
        return embedder.embed(texts, "query", timeout_seconds=timeout_seconds), ()
    except (errors.BrbError, TimeoutError) as error:
        return (), (f"recalled by words alone: {str(error) or 'the embedding took too long'}",)
    finally:
        _took("embed", started)


def _took(stage: str, started: float) -> None:
    seconds = time.monotonic() - started
    telemetry.RECALL_STAGE.labels(stage).observe(seconds)
    tracing.done(f"recall.{stage}", seconds)


def _searched(
    asked: query.Query,
    scope: models.Scope,
    where: ports.Where,
    store: ports.MemoryStore,
    mode: Mode,
    vectors: Sequence[Sequence[float]],
    limit: int,
) -> list[fusion.Candidate]:
    started = time.monotonic()
    text = " ".join(part.text for part in asked.parts) if mode != "semantic" else ""
    found = store.search(scope, vectors, text, limit=limit, where=where)
    dense, lexical = fusion.merge(found.dense), found.lexical
    listed = _listed(asked.listing, scope, where, store, limit) if asked.listing else []
    _took("search", started)
    return fusion.fuse(dense, lexical, vectors, listed)


def _listed(listing: asking.Listing, scope: models.Scope, where: ports.Where, store: ports.MemoryStore, limit: int) -> list[models.Memory]:
    owner = scope.user if listing.own else None
    return [
        memory for category in sorted(listing.categories) for memory in store.find(scope, replace(where, category=category, owner=owner), limit=limit)
    ]


def _scored(asked: query.Query, candidate: fusion.Candidate, knobs: Knobs, now: float) -> models.Ranked:
    like = similarity.likeness(asked, candidate)
    standing = scoring.Standing.of(candidate.memory, now, knobs.decay)
    alike, matched = like.similarity, like.matched
    if like.lift and not _admitted(standing, alike, knobs) and _admitted(standing, alike + like.lift, knobs):
        alike += like.lift
        matched += (f"lifted by {like.lift:.2f}",)
    if _admitted(standing, alike, knobs):
        alike = min(1.0, alike + like.agreement)
    return models.Ranked(
        memory=candidate.memory,
        score=standing.score(alike, knobs.min_similarity),
        similarity=alike,
        dense_rank=candidate.dense_rank,
        lexical_rank=candidate.lexical_rank,
        rrf=candidate.rrf,
        strength=standing.strength,
        recency=standing.recency,
        temporal=standing.temporal,
        matched=matched,
        cosine=candidate.cosine,
    )


def _admitted(standing: scoring.Standing, alike: float, knobs: Knobs) -> bool:
    return alike >= knobs.min_similarity and standing.score(alike, knobs.min_similarity) >= knobs.min_score
