"""The rules by the worker's path, against what a person would keep: of single sentences, and of turns as they follow each other in a conversation."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from services.embedded.bench import facts


def _figures(name: str) -> Mapping[str, float]:
    return facts.measure(Path(__file__).with_name(name), lambda *_: None).figures


@pytest.fixture(scope="module", params=["gold_facts.jsonl", "gold_conversations.jsonl"])
def figures(request: pytest.FixtureRequest) -> Mapping[str, float]:
    return _figures(request.param)


def test_nearly_everything_that_is_extracted_is_worth_keeping(figures: Mapping[str, float]) -> None:
    assert figures["rules.gold.precision"] >= 0.97


def test_most_of_what_is_worth_keeping_is_extracted(figures: Mapping[str, float]) -> None:
    assert figures["rules.gold.recall"] >= 0.8


def test_most_facts_get_the_category_a_person_would_give(figures: Mapping[str, float]) -> None:
    assert figures["rules.gold.categories"] >= 0.8
