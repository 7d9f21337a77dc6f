"""How often the attribution of answers to memories is right: of labelled cases, written by hand. Printed with `pytest -s`; docs/quality.md."""

import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from services.core.quality import used

CASES = Path(__file__).with_name("used_memories.jsonl")


class Case(msgspec.Struct, frozen=True):
    """used: yes, no, or unknown: whoever reads the answer can't tell, as the question said it all."""

    kind: str
    used: str
    memory: str
    said: list[str]
    answer: str


class Figures(NamedTuple):
    precision: float
    recall: float


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [msgspec.json.decode(line, type=Case) for line in CASES.read_bytes().splitlines()]


def _verdict(case: Case) -> str:
    [verdict] = used.verdicts([case.memory], case.said, case.answer)
    return str(verdict)


def figures(cases: list[Case]) -> Figures:
    """Of the verdict yes."""
    found = Counter((case.used == "yes", _verdict(case) == "yes") for case in cases)
    return Figures(found[True, True] / (found[True, True] + found[False, True]), found[True, True] / (found[True, True] + found[True, False]))


def test_what_is_said_to_be_used_was_used_and_most_of_it_is_found(cases: list[Case]) -> None:
    whole = figures(cases)
    kinds = {kind: figures([case for case in cases if case.kind == kind]) for kind in ("paraphrase", "negation", "code", "language", "mixed")}
    sys.stdout.write(f"{len(cases)} cases: precision {whole.precision:.3f}, recall {whole.recall:.3f}; {kinds}\n")

    assert len(cases) >= 60
    assert whole.precision >= 0.95
    assert whole.recall >= 0.85


def test_what_the_question_said_already_is_never_counted_as_used(cases: list[Case]) -> None:
    assert {_verdict(case) for case in cases if case.used == "unknown"} == {"unknown"}
