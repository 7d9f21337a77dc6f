"""What redaction finds in labelled sentences (of presidio-research's form), beside Presidio as it comes, over the same sentences in one run.

Spans are compared type by type after pieces of one type that only blanks or punctuation part were joined, as presidio-research's evaluator
does ("254", "Main Street", "Apt. 3" are one address). overlap: they share a character (the figures without a suffix). iou: of the letters and
digits of both, nine tenths are shared, its default. strict: they begin and end alike. Only the types that we claim count; a finding of one
of these where none is labelled is wrong, and so is any secret.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from services.core import config, errors
from services.core.redaction import Kind, redactor
from services.embedded.bench import data as labelled
from services.embedded.bench import report

CLAIMED = {
    "PERSON": Kind.PERSON,
    "STREET_ADDRESS": Kind.ADDRESS,
    "CREDIT_CARD": Kind.CARD,
    "PHONE_NUMBER": Kind.PHONE,
    "EMAIL_ADDRESS": Kind.EMAIL,
    "IBAN_CODE": Kind.IBAN,
    "US_SSN": Kind.SSN,
    "US_DRIVER_LICENSE": Kind.NATIONAL_ID,
    "IP_ADDRESS": Kind.IP,
}
"""Labels of the data, which are Presidio's entities, too, and the kind that they are to be found as."""

Match = Literal["overlap", "iou", "strict"]
_MATCHES: tuple[Match, ...] = ("overlap", "iou", "strict")
_IOU = 0.9
_MOST_MISTAKES = 6


class Found(NamedTuple):
    kind: Kind
    start: int
    end: int


class Sentence(NamedTuple):
    text: str
    spans: tuple[Found, ...]


class Count(NamedTuple):
    """Labelled spans that were found, and all; findings that are right, and all."""

    found: int = 0
    labelled: int = 0
    right: int = 0
    findings: int = 0

    def plus(self, other: "Count") -> "Count":
        return Count(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def recall(self) -> float:
        return self.found / self.labelled if self.labelled else 0.0

    @property
    def precision(self) -> float:
        return self.right / self.findings if self.findings else 0.0

    @property
    def f2(self) -> float:
        """Recall counts for twice as much as precision."""
        weighted = 4 * self.precision + self.recall
        return 5 * self.precision * self.recall / weighted if weighted else 0.0


Finder = Callable[[str], Iterable[Found]]


def measure(data: Path, progress: Callable[[str, float], None]) -> report.Report:
    sentences = _sentences(data)
    progress("Loading", 0.0)
    finders: dict[str, Finder] = {"brb": _ours(), "presidio": _presidio()}
    found: dict[str, list[list[Found]]] = {name: [] for name in finders}
    seconds = dict.fromkeys(finders, 0.0)
    for finder in finders.values():
        list(finder(sentences[0].text))  # what is loaded at the first use
    for number, sentence in enumerate(sentences):
        for name, finder in finders.items():
            start = time.process_time()
            spans = list(finder(sentence.text))
            seconds[name] += time.process_time() - start
            found[name].append(spans)
        progress("Looking", number / len(sentences))
    return _report(sentences, found, {name: len(sentences) / spent for name, spent in seconds.items()})


def _sentences(data: Path) -> list[Sentence]:
    rows = [row for file in labelled.files(data, "pii", ("*.jsonl", "*.jsonl.gz")) for row in labelled.rows(file)]
    made = [_sentence(row) for row in rows if "spans" in row and "full_text" in row]
    if not made:
        raise errors.BadInput(f"no labelled sentences in {data}: an object needs full_text and spans")
    return made


def _sentence(row: Mapping[str, Any]) -> Sentence:
    try:
        spans = [(span["entity_type"], int(span["start_position"]), int(span["end_position"])) for span in row["spans"]]
    except (KeyError, TypeError, ValueError) as error:
        raise errors.BadInput(f"a span needs entity_type, start_position and end_position ({error})") from None
    return Sentence(row["full_text"], tuple(Found(CLAIMED[name], start, end) for name, start, end in spans if name in CLAIMED))


def _ours() -> Finder:
    """The worker's engine and the choice among its findings that the redactor makes."""
    from services.worker.extraction import rules
    from services.worker.redaction import engine

    made = engine.Engine(rules.load_nlp(config.load().spacy_model, names=True))
    counted = {*CLAIMED.values(), Kind.SECRET}
    return lambda text: (Found(span.kind, span.start, span.end) for span in redactor.detect(text, made.look) if span.kind in counted)


def _presidio() -> Finder:
    """With the recognizers that it comes with, over the same model; the public-suffix list that tldextract brings instead of the newest."""
    import tldextract
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import NlpEngineProvider

    logging.getLogger("presidio-analyzer").setLevel(logging.ERROR)
    setattr(tldextract, "extract", tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None))  # noqa: B010 - its type is that of one function
    model = [{"lang_code": "en", "model_name": config.load().spacy_model}]
    nlp = NlpEngineProvider(nlp_configuration={"nlp_engine_name": "spacy", "models": model}).create_engine()
    analyzer = AnalyzerEngine(nlp_engine=nlp, supported_languages=["en"])

    def find(text: str) -> list[Found]:
        return [Found(CLAIMED[r.entity_type], r.start, r.end) for r in analyzer.analyze(text, "en") if r.entity_type in CLAIMED]

    return find


def compare(text: str, gold: Sequence[Found], found: Sequence[Found], match: Match) -> dict[Kind, Count]:
    """How often which kind was found in one sentence, and rightly so."""
    gold, found = _joined(text, gold), _joined(text, found)
    counts: defaultdict[Kind, Count] = defaultdict(Count)
    for one in gold:
        counts[one.kind] = counts[one.kind].plus(Count(found=int(_any(text, one, found, match)), labelled=1))
    for one in found:
        counts[one.kind] = counts[one.kind].plus(Count(right=int(_any(text, one, gold, match)), findings=1))
    return counts


def _joined(text: str, spans: Sequence[Found]) -> list[Found]:
    joined: list[Found] = []
    for span in sorted(spans, key=lambda s: (s.start, s.end)):
        last = joined[-1] if joined else None
        if last and last.kind is span.kind and not any(c.isalnum() for c in text[last.end : span.start]):
            joined[-1] = last._replace(end=max(last.end, span.end))
        else:
            joined.append(span)
    return joined


def _any(text: str, one: Found, others: Sequence[Found], match: Match) -> bool:
    return any(one.kind is other.kind and _alike(text, one, other, match) for other in others)


def _alike(text: str, a: Found, b: Found, match: Match) -> bool:
    if match == "strict":
        return (a.start, a.end) == (b.start, b.end)
    shared = range(max(a.start, b.start), min(a.end, b.end))
    if match == "overlap":
        return len(shared) > 0
    both = range(min(a.start, b.start), max(a.end, b.end))
    return len(shared) > 0 and _letters(text, shared) >= _IOU * _letters(text, both)


def _letters(text: str, places: range) -> int:
    return sum(text[place].isalnum() for place in places)


def _report(sentences: Sequence[Sentence], found: Mapping[str, list[list[Found]]], speed: Mapping[str, float]) -> report.Report:
    counts = {
        name: {match: _total(compare(s.text, s.spans, f, match) for s, f in zip(sentences, spans, strict=True)) for match in _MATCHES}
        for name, spans in found.items()
    }
    figures: dict[str, float] = {}
    for name, prefix in (("brb", ""), ("presidio", "presidio.")):
        for match in _MATCHES:
            suffix = "" if match == "overlap" else f"_{match}"
            total = _sum(counts[name][match].values())
            figures |= {f"{prefix}f2{suffix}": total.f2, f"{prefix}precision{suffix}": total.precision, f"{prefix}recall{suffix}": total.recall}
        figures[f"{prefix}sentences_per_second"] = speed[name]
    known = _sum(count for kind, count in counts["presidio"]["overlap"].items() if kind is not Kind.ADDRESS)
    figures |= {"presidio.f2_without_addresses": known.f2, "speed_ratio": speed["brb"] / speed["presidio"]}
    ours = counts["brb"]
    for kind in CLAIMED.values():
        count = ours["overlap"][kind]
        figures |= {f"{kind}.recall": count.recall, f"{kind}.precision": count.precision, f"{kind}.f2": count.f2}
    return report.Report(
        name="pii",
        figures=report.rounded(figures),
        n=len(sentences),
        notes=(
            "A finding is right if it shares a character with a label of its type; by type: " + ", ".join(CLAIMED) + ".",
            "presidio: its own recognizers over the same model, which have none for street addresses.",
            *_mistakes(sentences, found["brb"]),
        ),
        columns=("kind", "# labelled", "# found", "# findings", "# right", "# recall", "# precision", "# F2", "# F2 strict", "# F2 of presidio"),
        rows=tuple(_row(kind, ours, counts["presidio"]) for kind in Kind if any(ours["overlap"][kind])),
    )


def _total(counts: Iterable[dict[Kind, Count]]) -> defaultdict[Kind, Count]:
    total: defaultdict[Kind, Count] = defaultdict(Count)
    for one in counts:
        for kind, count in one.items():
            total[kind] = total[kind].plus(count)
    return total


def _sum(counts: Iterable[Count]) -> Count:
    total = Count()
    for count in counts:
        total = total.plus(count)
    return total


def _row(kind: Kind, ours: Mapping[Match, Mapping[Kind, Count]], theirs: Mapping[Match, Mapping[Kind, Count]]) -> tuple[str, ...]:
    count = ours["overlap"][kind]
    shares = (count.recall, count.precision, count.f2, ours["strict"][kind].f2, theirs["overlap"][kind].f2)
    return (str(kind), str(count.labelled), str(count.found), str(count.findings), str(count.right), *(f"{share:.3f}" for share in shares))


def _mistakes(sentences: Sequence[Sentence], found: Sequence[Sequence[Found]]) -> list[str]:
    """The first few of each kind, missed and wrong."""
    missed: defaultdict[Kind, list[str]] = defaultdict(list)
    wrong: defaultdict[Kind, list[str]] = defaultdict(list)
    for sentence, spans in zip(sentences, found, strict=True):
        gold, got = _joined(sentence.text, sentence.spans), _joined(sentence.text, spans)
        for one in gold:
            if not _any(sentence.text, one, got, "overlap"):
                missed[one.kind].append(sentence.text[one.start : one.end])
        for one in got:
            if not _any(sentence.text, one, gold, "overlap"):
                wrong[one.kind].append(sentence.text[one.start : one.end])
    return [
        f"{what} {kind} ({len(texts)}): {'; '.join(repr(text) for text in texts[:_MOST_MISTAKES])}"
        for what, mistakes in (("missed", missed), ("wrong", wrong))
        for kind, texts in mistakes.items()
    ]
