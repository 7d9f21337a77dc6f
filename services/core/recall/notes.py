"""Query to ranked notes: passages by both legs, what speaks for each, and notes by their passages."""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from services.core import models, ports, telemetry
from services.core.notes import graph
from services.core.recall import engine, fusion, intent, lexical, query

WORDS_WEIGHT = 0.6
"""What the best BM25 hit gains over its cosine (docs/recall.md), if the passages hold the words of the query."""
TRUSTED = 0.6
"""... that is, if one holds this share of them; else less, as its share is less: BM25 has a best hit even where the words in common mean little."""
RANKS_WEIGHT = 0.3
"""What being first in both legs counts beside them: ranks agree on what is good where the scores of one leg are all alike."""
SUPPORTING = 0.5
"""Least share of the query's words that lets a passage in whose cosine is under the gate."""
NAMED_BOOST = 0.15
WINDOW_BOOST = 0.25
RECENT_BOOST = 0.2
LINKS_BOOST = 0.05
"""The most that each may add, as a share of what cosine and words say: they reorder what is close, and lift nothing over a far better hit."""
RECENT_HALF_LIFE_DAYS = 30.0
LATE_HALF_LIFE_DAYS = 7.0
"""What happened on a day is told of on that day or soon after."""

_FULL_LINKS = 20
_DAY_SECONDS = 86_400.0
_TRUSTED_OF = 10  # best BM25 hits
_SHOWN = 3  # passages of a note
_KINDS_OF_NAMES = (models.EntityKind.WIKILINK, models.EntityKind.HASHTAG, models.EntityKind.MENTION)
_MOST_NAMED = 5  # notes that are only named, no leg having found them


class Knobs(msgspec.Struct, frozen=True):
    """max_notes: the longest answer. min_similarity: the least cosine (no fused rank). candidates: passages of each leg.

    words, ranks, links, times, names: 0 switches a part of the ranking off, for measurements.
    """

    max_notes: int = 10
    min_similarity: float = 0.25
    candidates: int = 60
    words: float = WORDS_WEIGHT
    ranks: float = RANKS_WEIGHT
    links: float = LINKS_BOOST
    times: float = 1.0
    names: float = NAMED_BOOST


class RankedPassage(msgspec.Struct, frozen=True):
    """score: cosine, share of the best BM25 score (agreement) and fused ranks, and on top of them the boosts, by cause, as shares of these.

    words: the share of the query's words that it holds. Ranks count from 1; None where that leg did not find it.
    """

    passage: models.Passage
    score: float
    cosine: float | None
    dense_rank: int | None
    lexical_rank: int | None
    rrf: float
    words: float
    agreement: float
    boosts: Mapping[str, float]
    matched: tuple[str, ...] = ()


class RankedNote(msgspec.Struct, frozen=True):
    """passages: its best ones, best first; none if only a name led to it. links: how many notes link to it."""

    note: models.NoteId
    title: str
    score: float
    passages: tuple[RankedPassage, ...]
    links: int = 0


class Dropped(msgspec.Struct, frozen=True):
    """A passage that no answer was made of, and why."""

    ranked: RankedPassage
    reason: str


class Recall(msgspec.Struct, frozen=True):
    """As `engine.Recall`. passages: all that passed the gate, best first."""

    ranked: tuple[RankedNote, ...]
    passages: tuple[RankedPassage, ...]
    mode: engine.Mode
    kind: Literal["event", "temporal", "entity", "general"] = "general"
    notices: tuple[str, ...] = ()
    considered: tuple[Dropped, ...] = ()
    query: str = ""


def recall(
    words: str,
    scope: models.Scope,
    *,
    store: ports.NoteStore,
    embedder: ports.Embedder | None,
    knobs: Knobs,
    now: float,
    mode: engine.Mode = "hybrid",
    where: ports.NoteWhere = ports.ANY_NOTE,
    embed_timeout_seconds: float | None = None,
) -> Recall:
    """The notes in the scope that a person's words call for. now: epoch seconds.

    Without an embedding (no embedder, or it fails or is late) BM25 alone recalls and a notice says so; a store that fails raises.
    """
    asked = query.parse(words)
    if asked is None or knobs.max_notes == 0:
        return Recall((), (), mode, notices=(engine.NOTHING_TO_RECALL_FOR,) if asked is None else ())
    vectors, notices = engine.embedded([part.text for part in asked.parts], embedder, embed_timeout_seconds) if mode != "bm25" else ((), ())
    used: engine.Mode = mode if vectors else "bm25"
    meant = intent.of(asked.text, now)
    started = time.monotonic()
    text = " ".join(part.text for part in asked.parts) if used != "semantic" else ""
    found = store.search(scope, vectors, text, limit=knobs.candidates, where=where)
    dense, by_words = [hit for leg in found.dense for hit in leg], found.lexical
    telemetry.RECALL_STAGE.labels("search").observe(time.monotonic() - started)
    ranked, considered = gate(rank(asked, meant, dense, by_words, vectors, knobs, now), knobs)
    notes = linked(grouped(ranked), _links(store, scope, ranked, knobs), knobs.links)
    known = {note.note for note in notes}
    named = [note for note in _named(store, scope, where, meant) if note.id not in known] if knobs.names else []
    answer = [*notes, *behind(notes, named)][: knobs.max_notes]
    return Recall(tuple(answer), tuple(ranked), used, meant.kind.value, notices, tuple(considered), asked.text)


def rank(
    asked: query.Query,
    meant: intent.Intent,
    dense: Sequence[models.PassageHit],
    by_words: Sequence[models.PassageHit],
    vectors: Sequence[Sequence[float]],
    knobs: Knobs,
    now: float,
) -> list[RankedPassage]:
    """Every passage with its signals, best first. dense: of several searches, one after the other."""
    passages = {hit.passage.id: hit.passage for hit in (*dense, *by_words)}
    nearest: dict[str, fusion.Scored] = {}
    for hit in sorted(dense, key=lambda hit: (-hit.score, hit.passage.id)):
        nearest.setdefault(hit.passage.id, fusion.Scored(hit.score, hit.vector))
    words = {key: _words(asked, passage) for key, passage in passages.items()}
    trust = min(1.0, max((words[hit.passage.id][0] for hit in by_words[:_TRUSTED_OF]), default=0.0) / TRUSTED)
    lexical_leg = {hit.passage.id: fusion.Scored(hit.score, hit.vector) for hit in by_words}
    joined = fusion.join(nearest, lexical_leg, vectors, lexical_weight=trust)
    weights = (knobs.words * trust, knobs.ranks)
    found = (_ranked(passages[key], one, *words[key], boosts(passages[key], meant, knobs, now), weights) for key, one in joined.items())
    return sorted(found, key=lambda one: (-one.score, -one.rrf, one.passage.id))


def gate(ranked: Iterable[RankedPassage], knobs: Knobs) -> tuple[list[RankedPassage], list[Dropped]]:
    """What passes, and what does not: a passage must be near enough, or hold enough of the words."""
    passed: list[RankedPassage] = []
    dropped: list[Dropped] = []
    for one in ranked:
        alike = max(one.cosine or 0.0, one.words if one.words >= SUPPORTING else 0.0) if one.cosine is not None else one.words
        if alike >= knobs.min_similarity:
            passed.append(one)
        else:
            dropped.append(Dropped(one, f"similarity {alike:.2f} is under {knobs.min_similarity:.2f}"))
    return passed, dropped


def grouped(ranked: Iterable[RankedPassage]) -> list[RankedNote]:
    """Notes, each as good as its best passage; best first."""
    of_note: dict[models.NoteId, list[RankedPassage]] = {}
    for one in ranked:
        of_note.setdefault(one.passage.note, []).append(one)
    notes = [RankedNote(note, found[0].passage.title, found[0].score, tuple(found[:_SHOWN])) for note, found in of_note.items()]
    return sorted(notes, key=_order)


def linked(notes: Iterable[RankedNote], links: Mapping[str, int], most: float = LINKS_BOOST) -> list[RankedNote]:
    """Best first, those that others link to a little higher: a note that no leg found is none of them."""
    return sorted((_linked(note, links.get(note.note, 0), most) for note in notes), key=_order)


def boosts(passage: models.Passage, meant: intent.Intent, knobs: Knobs, now: float) -> dict[str, float]:
    """What beside cosine and words speaks for a passage."""
    shares = {
        "named": knobs.names * any(_names(passage, name) for name in meant.names),
        "window": knobs.times * WINDOW_BOOST * (timeliness(meant.window, passage.dated_at) if meant.window else 0.0),
        "recent": knobs.times * RECENT_BOOST * (recency((now - passage.dated_at) / _DAY_SECONDS) if meant.recent else 0.0),
    }
    return {cause: share for cause, share in shares.items() if share}


def behind(notes: Sequence[RankedNote], named: Sequence[models.Note]) -> list[RankedNote]:
    """Notes that only a name led to, under every note that was found."""
    least = min((note.score for note in notes), default=1.0)
    return [RankedNote(note.id, note.title, least / (place + 1), ()) for place, note in enumerate(named, 1)]


def recency(days: float) -> float:
    """1 for what is new, and half of it every `RECENT_HALF_LIFE_DAYS`."""
    return math.exp2(-max(0.0, days) / RECENT_HALF_LIFE_DAYS)


def timeliness(window: intent.Window, dated_at: float) -> float:
    """1 for what is dated in the window, 0 for what was written more than a day before, less the later it was written."""
    if dated_at < window.start - _DAY_SECONDS:
        return 0.0
    return math.exp2(-max(0.0, dated_at - window.end) / _DAY_SECONDS / LATE_HALF_LIFE_DAYS)


def _words(asked: query.Query, passage: models.Passage) -> tuple[float, tuple[str, ...]]:
    """The share of the query's words that it holds, and which."""
    stems = lexical.stems("\n".join((passage.title, *passage.tags, passage.embedded)))
    shared = sorted(asked.stems & stems)
    return max(lexical.similarity(part.stems, stems) for part in asked.parts), tuple(f"word {stem}" for stem in shared)


def _ranked(
    passage: models.Passage,
    found: fusion.Joined,
    words: float,
    matched: tuple[str, ...],
    more: Mapping[str, float],
    weights: tuple[float, float],
) -> RankedPassage:
    """weights: of the BM25 score, and of the fused ranks, which are 1 at the top of both legs."""
    by_scores = found.agreement if found.cosine is None else max(0.0, found.cosine) + weights[0] * found.agreement
    score = by_scores + weights[1] * found.rrf * (fusion.RRF_K + 1) / 2
    return RankedPassage(
        passage=passage,
        score=score * (1 + sum(more.values())),
        cosine=found.cosine,
        dense_rank=found.dense_rank,
        lexical_rank=found.lexical_rank,
        rrf=found.rrf,
        words=words,
        agreement=found.agreement,
        boosts=more,
        matched=matched,
    )


def _linked(note: RankedNote, links: int, most: float) -> RankedNote:
    share = most * min(1.0, math.log1p(links) / math.log1p(_FULL_LINKS))
    return msgspec.structs.replace(note, score=note.score * (1 + share), links=links)


def _names(passage: models.Passage, name: str) -> bool:
    """Whether the note is called so, or has it as a tag or link."""
    wanted = models.page_name(name)
    return wanted in models.names(passage.title, passage.path) or any(models.page_name(one.value) == wanted for one in passage.entities)


def _order(note: RankedNote) -> tuple[float, str]:
    return -note.score, note.note


def _links(store: ports.NoteStore, scope: models.Scope, ranked: Sequence[RankedPassage], knobs: Knobs) -> Mapping[str, int]:
    """Of the notes that can be in the answer: each takes a look-up."""
    if not knobs.links:
        return {}
    ids = tuple(dict.fromkeys(one.passage.note for one in ranked))[: 2 * knobs.max_notes]
    return graph.backlink_counts(store, scope, store.find(scope, ports.NoteWhere(ids=ids), limit=len(ids))) if ids else {}


def _named(store: ports.NoteStore, scope: models.Scope, where: ports.NoteWhere, meant: intent.Intent) -> list[models.Note]:
    """Notes that are called by a name in the words, or name it themselves."""
    found: dict[str, models.Note] = {}
    for name in meant.names[:_MOST_NAMED]:
        wanted = [msgspec.structs.replace(where, name=name)]
        wanted += [msgspec.structs.replace(where, entity=models.Entity(kind, name)) for kind in _KINDS_OF_NAMES]
        for each in wanted:
            found |= {note.id: note for note in store.find(scope, each, limit=_MOST_NAMED)}
    return list(found.values())[:_MOST_NAMED]
