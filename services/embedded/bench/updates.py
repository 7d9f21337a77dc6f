"""Whether a fact that changed is the current one, what it replaced in its history, and everything else left alone.

A line has some people's `facts`, a `contradicting_fact`, and `supporting_fact_indices`: the facts that it contradicts. Each line is told to a BRB of
its own, a turn for each fact, through the worker's extraction and the indexer's writer over the embedded store. Then the update comes, in two ways:
as a correction ("Correction: ..."), and plainly, as if it were one more fact ("Remember that ..."), when only its words can show what it ends: many
a plain update can hold beside what it is meant to replace.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from services.core import config, errors, memory_edit, messages, models, ports
from services.core.adapters import vectors
from services.embedded.bench import data, embedding, report, said
from services.indexer.writing import Writer

NOTES = (
    "updated: the update is current, and a fact that it contradicts is in its history. current: the update is remembered as what holds now.",
    "others ended: facts that were ended though the update does not contradict them; told lost: facts that were not current when all had been told, "
    "though none contradicts another.",
    "corrected: the update is told as a correction. plain: it is told like any other fact.",
    "read whole: statements that the rules keep in one piece; the others are stored as they are, as a client would store them itself.",
)
COLUMNS = ("update", "what", "#share", "#count")
_PATTERNS = ("core_memory_update*.jsonl*",)
_LEADS: Mapping[str, str] = {"corrected": "Correction: ", "plain": "Remember that "}
_TURN_SECONDS = 60.0
_MOST = 100
_KINDS_SHOWN = 4
_EXAMPLE_CHARS = 110


class Line(msgspec.Struct, frozen=True):
    facts: tuple[str, ...]
    update: str
    contradicted: frozenset[int]


class Outcome(msgspec.Struct, frozen=True):
    """Of one line, told in one way. current, history: see `NOTES`. lost, ended: how many facts. ended_instead: one of them."""

    current: bool
    history: bool
    lost: int
    ended: int
    ended_instead: str = ""


class _Teller:
    """Tells a BRB something, as one person after another."""

    def __init__(self, store: ports.MemoryStore, embedder: ports.Embedder, settings: config.Settings) -> None:
        self.store = store
        self._writer = Writer(store, embedder, clock=lambda: 0.0, threshold=settings.dedup_threshold)
        self._learn = said.learner(settings)
        self._facts: dict[str, tuple[models.Fact, ...]] = {}
        self.read: Counter[bool] = Counter()

    def tell(self, principal: models.Principal, turn: str, at: float, lead: str, text: str) -> None:
        self._writer.store_facts(messages.StoreFacts(turn=turn, principal=principal, said_at=at, facts=self._read(lead, text)))

    def _read(self, lead: str, text: str) -> tuple[models.Fact, ...]:
        if lead + text not in self._facts:
            found = self._learn(messages.LearnTurn(turn="said", principal=models.LOCAL, said_at=0.0, words=lead + text))
            whole = len(found) == 1 and len(found[0].text) >= len(text)
            self.read[whole] += 1
            bare = msgspec.structs.replace(said.statement(text), correction=lead == _LEADS["corrected"])
            self._facts[lead + text] = found if whole else (bare,)
        return self._facts[lead + text]


def measure(path: Path, progress: Callable[[str, float], None]) -> report.Report:
    """`BadInput`: the data can't be read or is of another kind."""
    lines = [_line(row, file) for file in data.files(path, "facts", _PATTERNS) for row in data.rows(file)]
    if not lines:
        raise errors.BadInput(f"no updates in {path}")
    with embedding.started(progress) as (embedder, settings):
        texts = [text for line in lines for text in (*line.facts, line.update)]
        embedder.learn(texts, lambda share: progress(f"embedding {len(set(texts)):,} statements", share))
        store = vectors.open_store(settings)
        try:
            teller = _Teller(store, embedder, settings)
            found = {way: outcomes(lines, way, teller, progress) for way in _LEADS}
        finally:
            store.close()
    figures = {f"{way}.{name}": value for way, each in found.items() for name, value in _figures(lines, each).items()}
    return report.Report(
        name="updates",
        figures=report.rounded(figures | {"read_whole": teller.read[True] / teller.read.total()}),
        n=len(lines),
        notes=(*NOTES, *_errors(lines, found)),
        columns=COLUMNS,
        rows=tuple(row for way, each in found.items() for row in _rows(way, lines, each)),
    )


def outcomes(lines: Sequence[Line], way: str, teller: _Teller, progress: Callable[[str, float], None]) -> list[Outcome]:
    """Each line told to a person of its own."""
    found = []
    for number, line in enumerate(lines):
        progress(f"telling {len(lines)} updates ({way})", number / len(lines))
        found.append(_told(line, models.Principal(team="bench", user=f"{way}-{number}"), _LEADS[way], teller))
    return found


def _told(line: Line, principal: models.Principal, lead: str, teller: _Teller) -> Outcome:
    for number, fact in enumerate(line.facts):
        teller.tell(principal, f"{principal.user}-{number}", _TURN_SECONDS * number, _LEADS["plain"], fact)
    before = _memories(teller.store, principal)
    turn = f"{principal.user}-update"
    teller.tell(principal, turn, _TURN_SECONDS * len(line.facts), lead, line.update)
    after = _memories(teller.store, principal)
    update = [memory for memory in after if memory.status is models.Status.CURRENT and _said_in(memory, turn)]
    ended = [memory for memory in after if memory.status is models.Status.SUPERSEDED and _was_current(memory, before)]
    meant = {f"{principal.user}-{number}" for number in line.contradicted}
    wrong = [memory for memory in ended if not any(_said_in(memory, each) for each in meant)]
    replaced = [memory for memory in ended if memory not in wrong and memory.lineage in {each.lineage for each in update}]
    history = any(memory in memory_edit.history(teller.store, _scope(principal), each.id) for each in update for memory in replaced)
    return Outcome(bool(update), history, _lost(line, principal, before), len(wrong), wrong[0].text if wrong else "")


def _lost(line: Line, principal: models.Principal, told: Iterable[models.Memory]) -> int:
    """How many facts no current memory holds."""
    current = [memory for memory in told if memory.status is models.Status.CURRENT]
    turns = [f"{principal.user}-{number}" for number in range(len(line.facts))]
    return sum(not any(_said_in(memory, turn) for memory in current) for turn in turns)


def _said_in(memory: models.Memory, turn: str) -> bool:
    return any(evidence.turn == turn for evidence in memory.evidence)


def _was_current(memory: models.Memory, before: Iterable[models.Memory]) -> bool:
    return any(each.id == memory.id and each.status is models.Status.CURRENT for each in before)


def _memories(store: ports.MemoryStore, principal: models.Principal) -> list[models.Memory]:
    return store.find(_scope(principal), ports.ANY, limit=_MOST)


def _scope(principal: models.Principal) -> models.Scope:
    return models.Scope(principal.team, principal.user, projects=None)


def _figures(lines: Sequence[Line], found: Sequence[Outcome]) -> dict[str, float]:
    others = sum(len(line.facts) - len(line.contradicted) for line in lines)
    return {
        "updated": sum(each.current and each.history for each in found) / len(found),
        "current": sum(each.current for each in found) / len(found),
        "others_ended": sum(each.ended for each in found) / max(1, others),
        "told_lost": sum(each.lost for each in found) / sum(len(line.facts) for line in lines),
    }


def _rows(way: str, lines: Sequence[Line], found: Sequence[Outcome]) -> Iterable[tuple[str, ...]]:
    counts = (
        sum(each.current and each.history for each in found),
        sum(each.current for each in found),
        sum(each.ended for each in found),
        sum(each.lost for each in found),
    )
    for (name, share), count in zip(_figures(lines, found).items(), counts, strict=True):
        yield way, name.replace("_", " "), f"{share:.3f}", str(count)


def _errors(lines: Sequence[Line], found: Mapping[str, Sequence[Outcome]]) -> Iterable[str]:
    for way, each in found.items():
        kinds: dict[str, list[str]] = {}
        for line, outcome in zip(lines, each, strict=True):
            if not (outcome.current and outcome.history):
                kind = "not kept" if not outcome.current else "another was ended" if outcome.ended else "both stayed"
                shown = f"{line.update[:_EXAMPLE_CHARS]} | {(outcome.ended_instead or line.facts[min(line.contradicted)])[:_EXAMPLE_CHARS]}"
                kinds.setdefault(kind, []).append(shown)
        for kind, examples in itertools.islice(sorted(kinds.items(), key=lambda item: -len(item[1])), _KINDS_SHOWN):
            yield f"{way}, {len(examples)} {kind}: {examples[0]}"


def _line(row: Mapping[str, Any], file: Path) -> Line:
    try:
        extra = row["agent_args"]["extra"]
        facts = tuple(_plain(fact) for fact in extra["facts"])
        contradicted = frozenset(index for index in extra["supporting_fact_indices"] if 0 <= index < len(facts))
        line = Line(facts, _plain(extra["contradicting_fact"]), contradicted)
    except (KeyError, TypeError, AttributeError) as error:
        raise errors.BadInput(f"{file}: a line lacks {error}") from None
    if not (line.update and contradicted):
        raise errors.BadInput(f"{file}: a line's supporting_fact_indices name none of its facts")
    return line


def _plain(text: str) -> str:
    """Without the quotation marks and the full stop around some statements."""
    return text.strip().strip('"').rstrip(". ")
