"""The turns of the wire's measurement."""

from pathlib import Path
from typing import Any

import pytest

from services.core import errors
from services.embedded.bench import data, wire

MATERIAL = Path(__file__).parents[3] / "bench" / "wire.jsonl"
ROWS: list[dict[str, Any]] = [
    {"slot": "person", "values": ["Ana", "Ivo"]},
    {"memory": "{person} works in {person}ville", "category": "project_context", "asks": ["Where is {person}?"]},
    {"own": "I'm vegetarian", "category": "personal_info", "asks": ["What can I cook?"]},
    {"unrelated": "why is the sky blue", "kind": "general"},
]


def test_a_memory_is_made_for_each_value_and_asked_for_in_other_words() -> None:
    made = wire.make(ROWS)

    assert {memory.text for memory in made.memories} == {"I'm vegetarian", "Ana works in Anaville", "Ivo works in Ivoville"}
    assert {(asked.words, asked.wanted) for asked in made.asked} == {
        ("What can I cook?", "I'm vegetarian"),
        ("Where is Ana?", "Ana works in Anaville"),
        ("Where is Ivo?", "Ivo works in Ivoville"),
        ("why is the sky blue", ""),
    }


def test_the_material_makes_the_same_2000_memories_each_time_and_turns_of_all_kinds() -> None:
    first, second = wire.make(data.rows(MATERIAL)), wire.make(data.rows(MATERIAL))

    assert first == second
    assert len(first.memories) == wire.MOST
    assert sum(not asked.wanted for asked in first.asked) >= 300
    assert sum(bool(asked.wanted) for asked in first.asked) >= 150
    assert {asked.wanted for asked in first.asked} - {""} <= {memory.text for memory in first.memories}


def test_figures_tell_what_was_shown_from_what_was_wanted() -> None:
    asked = [wire.Asked("a", "x", "own"), wire.Asked("b", "y", "own"), wire.Asked("c", "", "coding"), wire.Asked("d", "", "coding")]

    found = wire.figures(list(zip(asked, [["x"], ["z"], [], ["x"]], strict=True)))

    assert (found["related.told_ratio"], found["related.told_wanted_ratio"]) == (1.0, 0.5)
    assert (found["unrelated.silent_ratio"], found["unrelated.coding.silent_ratio"]) == (0.5, 0.5)


def test_a_part_of_the_set_has_figures_of_its_own() -> None:
    rows = [*ROWS, {"asked": "May I eat ham?", "wanted": "I'm vegetarian", "part": "fresh"}, {"unrelated": "hi", "kind": "talk", "part": "fresh"}]

    asked = wire.make(rows).asked
    found = wire.figures([(one, ["I'm vegetarian"] if one.part else []) for one in asked])

    assert {one.words for one in asked if one.part == "fresh"} == {"May I eat ham?", "hi"}
    assert (found["related.told_ratio"], found["unrelated.silent_ratio"]) == (0.0, 1.0)
    assert (found["fresh.related.told_wanted_ratio"], found["fresh.unrelated.silent_ratio"]) == (1.0, 0.0)


def test_a_question_for_what_no_memory_says_is_refused() -> None:
    with pytest.raises(errors.BadInput, match="Bo is here"):
        wire.make([*ROWS, {"asked": "Where is Bo?", "wanted": "Bo is here"}])


@pytest.mark.parametrize(
    "row", [{"text": "?"}, {"asked": "?"}, {"memory": "{other} is", "category": "todo", "asks": []}, {"memory": "none", "asks": []}]
)
def test_a_row_of_no_known_form_is_named(row: dict[str, Any]) -> None:
    with pytest.raises(errors.BadInput, match="line 5"):
        wire.make([*ROWS, row])
