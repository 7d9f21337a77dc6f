"""What the extractors keep and leave out of labelled turns, by the path of the worker: redaction, then extraction.

Three kinds of data, told by their fields:
snippets: `text`, `memories` [{type, content}]: notes, and what a person would keep of them, in other words.
persona: `conversation` ("User 1: ..."), `persona1`, `persona2`: what the speakers are like. Most of that is not said in the conversation, and most of
    what is said is not in the lists. Recall is over what one sentence of the speaker says; precision is the share of facts without a fault that
    shows in them (`judged.fault`), which is an upper bound; the share that stands in the lists is a lower one.
gold: `words`, `context`, `facts` [{category, text}]: turns, and all that is to be kept of them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from services.core import config, errors, messages, models
from services.embedded.bench import data, judged, report
from services.worker import tasks
from services.worker.redaction import turns

if TYPE_CHECKING:
    from spacy.language import Language

    from services.worker.extraction import engines

NOTES = (
    "right: of the facts, by the content words they share with a label. snippets, gold: any other fact is wrong. persona: wrong is what has a fault "
    "that shows in it; in_lists is the share that the speaker's list confirms.",
    "categories: of the facts that a label confirms, the share with the category of the label (gold).",
    "found: of the labels. persona: of those that a sentence of the speaker says.",
    "kinds of error: first the wrong facts, then (missed) the labels not found, by type, category or beginning.",
)
COLUMNS = ("set", "what", "#count", "example")
_PATTERNS = ("snippets*.jsonl*", "persona_chat*.jsonl*", "gold_facts*.jsonl*")
_KINDS_SHOWN = 8
_EXAMPLE_CHARS = 100
_SPEAKER = re.compile(r"^User ([12]):\s*(.*)$")

_SAID_AT = 1_790_000_000.0
_NUMBERED_BY = "bench"  # placeholders, which nobody sees

Learn = Callable[[str, tuple[str, ...]], tuple[models.Fact, ...]]
"""Words and the turns before them to facts."""
Set = Literal["snippets", "persona", "gold"]


class Label(msgspec.Struct, frozen=True):
    """What is to be found; kind: of it, to count what is missed."""

    text: str
    kind: str


class Example(msgspec.Struct, frozen=True):
    """Turns of one speaker, in order. exhaustive: whatever is no label is wrong."""

    set: Set
    turns: tuple[str, ...]
    labels: tuple[Label, ...]
    context: tuple[str, ...] = ()
    exhaustive: bool = True


class Tally(msgspec.Struct):
    """facts = right + wrong; listed: those that a label confirms, alike: those of them that have its category."""

    turns: int = 0
    right: int = 0
    wrong: int = 0
    listed: int = 0
    labels: int = 0
    found: int = 0
    alike: int = 0
    errors: Counter[str] = msgspec.field(default_factory=Counter)
    examples: dict[str, str] = msgspec.field(default_factory=dict)

    def error(self, kind: str, text: str) -> None:
        self.errors[kind] += 1
        self.examples.setdefault(kind, text)


def labelled(path: Path) -> list[Example]:
    """What the files hold. `BadInput`: they can't be read, are of another kind, or hold nothing."""
    examples = [example for file in data.files(path, "facts", _PATTERNS) for row in data.rows(file) for example in _read(row, file)]
    if not examples:
        raise errors.BadInput(f"no labelled turns in {path}")
    return examples


def measure(path: Path, progress: Callable[[str, float], None]) -> report.Report:
    """Of the rules, and of whatever else the settings make the worker use. `BadInput`: the data can't be read or is of none of these kinds."""
    examples = labelled(path)
    found = {name: tallied(examples, learn, progress) for name, learn in learners(config.load()).items()}
    figures = {f"{name}.{kind}.{figure}": value for name, sets in found.items() for kind, tally in sets.items() for figure, value in _figures(tally)}
    return report.Report(
        name="facts",
        figures=report.rounded(figures),
        n=sum(len(example.turns) for example in examples),
        notes=NOTES,
        columns=COLUMNS,
        rows=tuple(row for name, sets in found.items() for kind, tally in sets.items() for row in _rows(f"{name} {kind}", tally)),
    )


def tallied(examples: Sequence[Example], learn: Learn, progress: Callable[[str, float], None]) -> dict[Set, Tally]:
    """By the set that an example is of."""
    tallies: dict[Set, Tally] = {}
    for number, example in enumerate(examples):
        progress("reading labelled turns", number / len(examples))
        _count(tallies.setdefault(example.set, Tally()), example, learn)
    return tallies


def learners(settings: config.Settings) -> Mapping[str, Learn]:
    """The rules alone, and what the settings make the worker use if that is more: "llm" or "both"."""
    from services.worker.extraction import engines, rules  # spaCy: only who measures this needs it

    nlp = rules.load_nlp(settings.spacy_model, names=turns.needs_names(settings.redaction_policy))
    redact = _redaction(settings, nlp)
    found = {"rules": _learner(settings, engines.Engines(rules.RulesExtractor(nlp)), redact)}
    if settings.engines != "rules":
        from services.core.adapters import chat_model

        model = chat_model.ChatModel(settings.extract_address, model=settings.extract_model or chat_model.UNNAMED)
        found[settings.engines] = _learner(settings, engines.load(settings, model, nlp), redact)
    return found


def _redaction(settings: config.Settings, nlp: "Language") -> turns.Turns:
    policy = settings.redaction_policy
    if not turns.needs_names(policy):
        return turns.Turns(_NUMBERED_BY, policy)
    from services.worker.redaction import engine

    return turns.Turns(_NUMBERED_BY, policy, engine.Engine(nlp).look)


def _learner(settings: config.Settings, engine: "engines.Engines", redaction: turns.Turns) -> Learn:
    """As the worker learns from a turn: its two tasks one after the other."""
    policy, more = settings.redaction_policy, engine.second is not None and engine.first is not engine.second

    def learn(words: str, context: tuple[str, ...]) -> tuple[models.Fact, ...]:
        turn = messages.LearnTurn(turn="bench", principal=models.LOCAL, said_at=_SAID_AT, words=words, context=context)
        jobs = tasks.learn_turn(turn, extractor=engine.first, redact=redaction.redacted(turn).__getitem__, policy=policy, more=more)
        beside = [
            further
            for job in jobs
            if isinstance(job.payload, messages.LearnMore)
            for further in tasks.learn_more(job.payload, extract=engine.more, policy=policy)
        ]
        return tuple(fact for job in (*jobs, *beside) if isinstance(job.payload, messages.StoreFacts) for fact in job.payload.facts)

    return learn


def _count(tally: Tally, example: Example, learn: Learn) -> None:
    said = "\n".join(example.turns)
    labels = [label for label in example.labels if example.exhaustive or judged.said(label.text, said)]
    facts = [(fact, words) for words, context in _turns(example) for fact in learn(words, context) if not fact.closes]
    tally.turns += len(example.turns)
    tally.labels += len(labels)
    for label in labels:
        if any(judged.same(fact.text, label.text) for fact, _ in facts):
            tally.found += 1
        else:
            tally.error(f"missed: {label.kind}", label.text)
    for fact, words in facts:
        confirming = [label.kind for label in example.labels if judged.same(fact.text, label.text)]
        listed = bool(confirming)
        fault = judged.fault(fact.text, fact.quote, words)
        wrong = not listed if example.exhaustive else bool(fault)
        tally.listed += listed
        tally.alike += str(fact.category) in confirming
        tally.wrong += wrong
        tally.right += not wrong
        if wrong:
            tally.error(fault or "not worth keeping", fact.text)


def _turns(example: Example) -> Iterator[tuple[str, tuple[str, ...]]]:
    for number, words in enumerate(example.turns):
        yield words, (*example.context, *example.turns[:number])


def _figures(tally: Tally) -> Iterator[tuple[str, float]]:
    facts = tally.right + tally.wrong
    yield "precision", tally.right / facts if facts else 0.0
    yield "recall", tally.found / tally.labels if tally.labels else 0.0
    yield "in_lists", tally.listed / facts if facts else 0.0
    if tally.alike:
        yield "categories", tally.alike / tally.listed
    yield from (("turns", tally.turns), ("facts", facts), ("labels", tally.labels))


def _rows(name: str, tally: Tally) -> Iterator[tuple[str, ...]]:
    facts = tally.right + tally.wrong
    yield name, f"right, of {facts}", str(tally.right), ""
    yield name, f"found, of {tally.labels}", str(tally.found), ""
    kinds = sorted(tally.errors.items(), key=lambda item: (item[0].startswith("missed"), -item[1]))
    wrong, missed = ([kind for kind in kinds if kind[0].startswith("missed") is which][:_KINDS_SHOWN] for which in (False, True))
    yield from ((name, kind, str(number), tally.examples[kind][:_EXAMPLE_CHARS]) for kind, number in (*wrong, *missed))


def _read(row: Mapping[str, Any], file: Path) -> Iterator[Example]:
    try:
        if "memories" in row:
            yield Example("snippets", (row["text"],), tuple(Label(memory["content"], memory["type"]) for memory in row["memories"]))
        elif "conversation" in row:
            yield from _speakers(row)
        elif "words" in row:
            labels = tuple(Label(fact["text"], fact["category"]) for fact in row["facts"])
            yield Example("gold", (row["words"],), labels, tuple(row.get("context", ())))
        else:
            raise KeyError("text and memories, conversation, or words and facts")
    except (KeyError, TypeError) as error:
        raise errors.BadInput(f"{file}: a line lacks {error}") from None


def _speakers(row: Mapping[str, Any]) -> Iterator[Example]:
    lines = [match for line in row["conversation"].split("\n") if (match := _SPEAKER.match(line))]
    for who in ("1", "2"):
        turns = tuple(line[2] for line in lines if line[1] == who)
        yield Example("persona", turns, tuple(Label(text, judged.shape(text)) for text in row[f"persona{who}"]), exhaustive=False)
