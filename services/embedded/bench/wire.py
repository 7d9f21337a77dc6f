"""What a turn is told, and whether it is told nothing when nothing stored is of use: by the recall of the wire over 2,000 memories.

A line of the data is one of: `slot` and its `values`; `memory`, a sentence with {slots}, of which one is made for each value of its first slot;
`own`, a sentence that stands for itself; both with their `category` and `asks`, questions for it in other words; `unrelated`, words to which
nothing stored is an answer, and their `kind`; `asked`, one question, and the memory `wanted`. Unrelated means: whoever knew all memories would
answer no differently. The last two may be of a `part` of the set, which has figures of its own: turns that the gate was not chosen on, or hard ones.
"""

import contextlib
import random
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from services.core import errors, models, ports
from services.core.adapters import vectors
from services.core.recall import engine
from services.embedded.bench import data, embedding, report

MOST = 2000
_NOW = 1_790_000_000.0
_DAY_SECONDS = 86_400.0
_ASKED_OF_EACH = 2  # memories of one sentence
_BATCH = 16
_SLOT = re.compile(r"{(\w+)}")
_NAMESPACE = uuid.UUID("2f2f1f0e-6a1c-4b0a-8f55-41d1a5bb0c11")

COLUMNS = ("turns", "#n", "#told something", "#told the wanted", "#told nothing")
NOTES = (
    "told nothing: the share of unrelated turns that no memory is shown to (goal 0.95).",
    "told something, the wanted: of turns that ask for a memory in other words, the share that any, and that this one, is shown to (goal 0.90).",
)


class Asked(NamedTuple):
    """wanted: the text of the memory that is asked for, "" for an unrelated turn. part: of the set, "" for the first."""

    words: str
    wanted: str
    kind: str
    part: str = ""


class Made(NamedTuple):
    memories: tuple[models.Memory, ...]
    asked: tuple[Asked, ...]


def measure(path: Path, progress: Callable[[str, float], None]) -> report.Report:
    """`BadInput`: the data can't be read or is of another kind."""
    made = make([row for file in data.files(path, "wire", ("wire*.jsonl*",)) for row in data.rows(file)])
    scope = models.Scope(models.LOCAL.team, models.LOCAL.user)
    told: list[tuple[Asked, list[str]]] = []
    with embedding.started(progress) as (embedder, settings), contextlib.closing(vectors.open_store(settings)) as store:
        for start in range(0, len(made.memories), _BATCH):
            progress(f"storing {len(made.memories):,} memories", start / len(made.memories))
            batch = made.memories[start : start + _BATCH]
            embedded = embedder.embed([memory.text for memory in batch], "document")
            store.put([ports.Embedded(memory, vector) for memory, vector in zip(batch, embedded, strict=True)])
        for number, asked in enumerate(made.asked):
            progress("turns", number / len(made.asked))
            found = engine.recall(asked.words, scope, store=store, embedder=embedder, knobs=engine.Knobs.of(settings), now=_NOW)
            told.append((asked, [one.memory.text for one in found.ranked]))
    rows = tuple(_row(part, kind, told) for part, kind in _kinds(told))
    return report.Report("recall, wire", report.rounded(figures(told)), len(told), NOTES, COLUMNS, rows)


def make(rows: Iterable[Mapping[str, Any]]) -> Made:
    """The same each time. `BadInput`: a row is of no known form, or a slot has no values."""
    draw = random.Random(report.SEED)  # noqa: S311 - repeatable, not secret
    rows = list(rows)
    slots = {row["slot"]: row["values"] for row in rows if "slot" in row}
    own: list[tuple[str, str, Sequence[str]]] = []
    filled: list[tuple[str, str, Sequence[str], int]] = []
    single: list[Asked] = []
    try:
        for number, row in enumerate(rows):
            if "own" in row:
                own.append((row["own"], row["category"], row["asks"]))
            elif "memory" in row:
                filled += [(text, row["category"], asks, number) for text, asks in _filled(row, slots, draw)]
            elif "unrelated" in row:
                single.append(Asked(row["unrelated"], "", row["kind"], row.get("part", "")))
            elif "asked" in row:
                single.append(Asked(row["asked"], row["wanted"], "related", row.get("part", "")))
            elif "slot" not in row:
                raise errors.BadInput(f"line {number + 1} has neither slot, memory, own, unrelated nor asked")
    except (KeyError, TypeError, IndexError) as error:
        raise errors.BadInput(f"line {number + 1}: {type(error).__name__} {error}") from None
    draw.shuffle(filled)
    kept = filled[: max(0, MOST - len(own))]
    asked = [Asked(words, text, "own") for text, _, asks in own for words in asks]
    times: dict[int, int] = {}
    for text, _, asks, sentence in kept:
        turn = times[sentence] = times.get(sentence, 0) + 1
        if turn <= _ASKED_OF_EACH and asks:
            asked.append(Asked(asks[(turn - 1) % len(asks)], text, "team"))
    texts = [(text, category) for text, category, _ in own] + [(text, category) for text, category, _, _ in kept]
    if not texts or all(one.wanted for one in single):
        raise errors.BadInput("the data has no memories or no unrelated turns")
    if unknown := {one.wanted for one in single} - {"", *dict(texts)}:
        raise errors.BadInput(f"no memory says {min(unknown)!r}, which is asked for")
    return Made(tuple(_memory(text, category, draw) for text, category in dict(texts).items()), (*asked, *single))


def figures(told: Sequence[tuple[Asked, Sequence[str]]]) -> dict[str, float]:
    """Of each part of the set; the names of those of the first have nothing before them."""
    parts = dict.fromkeys(asked.part for asked, _ in told)
    return {
        f"{part}.{name}" if part else name: figure
        for part in parts
        for name, figure in _figures([(asked, texts) for asked, texts in told if asked.part == part]).items()
    }


def _figures(told: Sequence[tuple[Asked, Sequence[str]]]) -> dict[str, float]:
    related = [(asked, texts) for asked, texts in told if asked.wanted]
    unrelated = [(asked, texts) for asked, texts in told if not asked.wanted]
    kinds = sorted({asked.kind for asked, _ in unrelated})
    return {
        "related.n": float(len(related)),
        "related.told_ratio": _share(bool(texts) for _, texts in related),
        "related.told_wanted_ratio": _share(asked.wanted in texts for asked, texts in related),
        "unrelated.n": float(len(unrelated)),
        "unrelated.silent_ratio": _share(not texts for _, texts in unrelated),
        **{f"unrelated.{kind}.silent_ratio": _share(not texts for asked, texts in unrelated if asked.kind == kind) for kind in kinds},
    }


def _kinds(told: Sequence[tuple[Asked, Sequence[str]]]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((asked.part, asked.kind) for asked, _ in told))


def _row(part: str, kind: str, told: Sequence[tuple[Asked, Sequence[str]]]) -> tuple[str, ...]:
    of_kind = [(asked, texts) for asked, texts in told if (asked.part, asked.kind) == (part, kind)]
    heading = f"{part}, {kind}" if part else kind
    if of_kind[0][0].wanted:
        shares = (_share(bool(texts) for _, texts in of_kind), _share(asked.wanted in texts for asked, texts in of_kind))
        return (heading, str(len(of_kind)), *(f"{share:.3f}" for share in shares), "")
    return (heading, str(len(of_kind)), "", "", f"{_share(not texts for _, texts in of_kind):.3f}")


def _filled(row: Mapping[str, Any], slots: Mapping[str, Sequence[str]], draw: random.Random) -> list[tuple[str, list[str]]]:
    names = list(dict.fromkeys(_SLOT.findall(row["memory"])))
    made = []
    for first in slots[names[0]]:
        values = {names[0]: first} | {name: draw.choice(slots[name]) for name in names[1:]}
        made.append((row["memory"].format(**values), [words.format(**values) for words in row["asks"]]))
    return made


def _memory(text: str, category: str, draw: random.Random) -> models.Memory:
    """Said some time in the last year."""
    name, said = str(uuid.uuid5(_NAMESPACE, text)), _NOW - draw.uniform(1, 365) * _DAY_SECONDS
    return models.Memory(
        id=models.MemoryId(name),
        team=models.LOCAL.team,
        owner=models.LOCAL.user,
        text=text,
        category=models.Category(category),
        confidence=0.9,
        evidence=(models.Evidence(text, name, said),),
        lineage=name,
        created_at=said,
        said_at=said,
        reinforced_at=said,
        accessed_at=said,
    )


def _share(of: Iterable[bool]) -> float:
    held = list(of)
    return sum(held) / len(held) if held else 0.0
