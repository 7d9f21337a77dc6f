"""Which pairs of sentences are merged into one memory, by the indexer's decision, beside a plain cosine.

A line is a pair: `a` is remembered first, then `b` is said; `duplicate` is the label. Sets are told by the beginning of the file's name. SICK counts
a pair as a duplicate if `a` entails `b` and people find them nearly the same (4.5 of 5): most wrong merges there are entailed, but less alike.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import mul
from pathlib import Path
from typing import Any

import msgspec

from services.core import config, errors, messages, models
from services.embedded.bench import data, embedding, report, said
from services.indexer import dedup, likeness, planning

NOTES = (
    "precision: of the merged pairs, the share labelled as duplicates. recall: of these, the share merged. contradictions: of the pairs labelled so, "
    "the share merged.",
    "neutral ended: of the pairs labelled as neutral, the share in which saying the second ends the first, though both can hold.",
    "BRB: `a` is remembered, then `b` is said. reversed: `b` first. cosine: merged from that cosine on, whatever the words.",
    "kinds of error: wrong merges by their label, then what kept duplicates apart.",
)
COLUMNS = ("set", "what", "#precision", "#recall", "#contradictions", "#neutral ended", "#pairs")
_FIGURES = ("precision", "recall", "contradictions", "neutral_ended")
_PATTERNS = ("sick*.jsonl*", "mrpc*.jsonl*", "stsb*.jsonl*")
_COSINES = (0.82, 0.90)
_KINDS_SHOWN = 6
_EXAMPLE_CHARS = 70


class Pair(msgspec.Struct, frozen=True):
    """label: what the set says of the pair, in words, for the kinds of error; contradiction, neutral: that it says so."""

    set: str
    a: str
    b: str
    duplicate: bool
    contradiction: bool
    neutral: bool
    label: str


class Tally(msgspec.Struct):
    """Of one way to decide on one set."""

    pairs: int = 0
    duplicates: int = 0
    contradictions: int = 0
    right: int = 0
    wrong: int = 0
    contradicting: int = 0
    neutrals: int = 0
    ended: int = 0

    def count(self, pair: Pair, merged: bool, ended: bool | None = None) -> None:
        self.pairs += 1
        self.duplicates += pair.duplicate
        self.contradictions += pair.contradiction
        self.right += merged and pair.duplicate
        self.wrong += merged and not pair.duplicate
        self.contradicting += merged and pair.contradiction
        self.neutrals += pair.neutral and ended is not None
        self.ended += pair.neutral and bool(ended)

    def figures(self) -> dict[str, float]:
        """Shares that have nothing to be a share of are left out."""
        shares = {
            "precision": (self.right, self.right + self.wrong),
            "recall": (self.right, self.duplicates),
            "contradictions": (self.contradicting, self.contradictions),
            "neutral_ended": (self.ended, self.neutrals),
        }
        return {name: part / whole for name, (part, whole) in shares.items() if whole}


class Outcome(msgspec.Struct):
    """ways: tallies by how it was decided. kinds: of error, with an example of each."""

    ways: dict[str, Tally] = msgspec.field(default_factory=dict)
    kinds: Counter[str] = msgspec.field(default_factory=Counter)
    examples: dict[str, str] = msgspec.field(default_factory=dict)


def measure(path: Path, progress: Callable[[str, float], None]) -> report.Report:
    """`BadInput`: the data can't be read or is of another kind."""
    pairs = [pair for file in data.files(path, "dedup", _PATTERNS) for pair in _pairs(file)]
    if not pairs:
        raise errors.BadInput(f"no pairs in {path}")
    texts = [text for pair in pairs for text in (pair.a, pair.b)]
    with embedding.started(progress) as (embedder, settings):
        embedder.learn(texts, lambda share: progress(f"embedding {len(texts):,} sentences", share))
        vectors = dict(zip(texts, embedder.embed(texts, "document"), strict=True))
    found = outcomes(pairs, vectors, _facts(texts, settings, progress), settings.dedup_threshold)
    return report.Report(
        name="dedup",
        figures=report.rounded({f"{name}.{way}{figure}": value for name, outcome in found.items() for way, figure, value in _figures(outcome)}),
        n=len(pairs),
        notes=(*NOTES, *_errors(found)),
        columns=COLUMNS,
        rows=tuple(_row(name, way, tally) for name, outcome in found.items() for way, tally in outcome.ways.items()),
    )


def outcomes(
    pairs: Iterable[Pair], vectors: Mapping[str, Sequence[float]], facts: Mapping[str, models.Fact], threshold: float
) -> Mapping[str, Outcome]:
    """By set. facts: what is stored of each sentence."""
    found: dict[str, Outcome] = {}
    for pair in pairs:
        outcome = found.setdefault(pair.set, Outcome())
        cosine = sum(map(mul, vectors[pair.a], vectors[pair.b]))
        orders = {"BRB": (pair.a, pair.b), "reversed": (pair.b, pair.a)}
        decided = {way: _decision(facts[known], facts[new], cosine, threshold) for way, (known, new) in orders.items()}
        for way, decision in decided.items():
            outcome.ways.setdefault(way, Tally()).count(pair, isinstance(decision, dedup.Reinforce), isinstance(decision, dedup.Supersede))
        for least in _COSINES:
            outcome.ways.setdefault(f"cosine {least:.2f}", Tally()).count(pair, cosine >= least)
        merged = isinstance(decided["BRB"], dedup.Reinforce)
        if merged != pair.duplicate:
            kind = f"merged: {pair.label}" if merged else f"apart: {_difference(facts[pair.a], facts[pair.b], cosine, threshold)}"
            outcome.kinds[kind] += 1
            outcome.examples.setdefault(kind, f"{pair.a[:_EXAMPLE_CHARS]} | {pair.b[:_EXAMPLE_CHARS]}")
    return found


def _decision(known: models.Fact, fact: models.Fact, cosine: float, threshold: float) -> dedup.Decision:
    return dedup.decide(fact, [dedup.Candidate(_remembered(known), cosine)], project="", said_at=1.0, threshold=threshold)


def _remembered(fact: models.Fact) -> models.Memory:
    turn = messages.StoreFacts(turn="known", principal=models.LOCAL, said_at=0.0, facts=(fact,))
    return planning.remembered(fact, turn, 0, project="", now=0.0)


def _difference(known: models.Fact, fact: models.Fact, cosine: float, threshold: float) -> str:
    mine, theirs = (likeness.statement(each.text, each.entities) for each in (fact, known))
    return likeness.difference(mine, theirs, cosine, threshold) or "what was read out of them"


def _facts(texts: Sequence[str], settings: config.Settings, progress: Callable[[str, float], None]) -> dict[str, models.Fact]:
    """What is stored of each sentence, if a person asks to remember it."""
    learn = said.learner(settings)
    wanted = list(dict.fromkeys(texts))
    found = {}
    for number, text in enumerate(wanted):
        progress(f"reading {len(wanted):,} sentences", number / len(wanted))
        found[text] = said.whole(learn, text)
    return found


def _pairs(file: Path) -> Iterable[Pair]:
    name = file.name.partition(".")[0].partition("_")[0]
    for row in data.rows(file):
        try:
            label = row.get("label")
            yield Pair(
                name, row["a"], row["b"], bool(row["duplicate"]), _labelled(label, "CONTRADICTION"), _labelled(label, "NEUTRAL"), _named(label)
            )
        except (KeyError, TypeError) as error:
            raise errors.BadInput(f"{file}: a line lacks {error}") from None


def _labelled(label: Any, name: str) -> bool:
    return isinstance(label, list) and name in label


def _named(label: Any) -> str:
    return str(label[-1]).lower() if isinstance(label, list) else "other"


def _figures(outcome: Outcome) -> Iterable[tuple[str, str, float]]:
    for way, tally in outcome.ways.items():
        prefix = "" if way == "BRB" else f"{way.replace(' 0.', '_')}."
        yield from ((prefix, name, value) for name, value in tally.figures().items())


def _row(name: str, way: str, tally: Tally) -> tuple[str, ...]:
    figures = tally.figures()
    return (name, way, *(f"{figures[each]:.3f}" if each in figures else "" for each in _FIGURES), str(tally.pairs))


def _errors(found: Mapping[str, Outcome]) -> Iterable[str]:
    for name, outcome in found.items():
        yield from (f"{name}, {count} {kind}: {outcome.examples[kind]}" for kind, count in outcome.kinds.most_common(_KINDS_SHOWN))
