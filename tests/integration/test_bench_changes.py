"""How right merging and updating is, on a handful of rows, through the real embedder, extraction and store."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from services.core import errors
from services.embedded import bench

PAIRS = [
    ("Two children are playing in a garden", "Two kids are playing in a garden", True, [4.9, "ENTAILMENT"]),
    ("A gardener is watering the roses", "The roses are being watered by a gardener", True, [4.9, "ENTAILMENT"]),
    ("A gardener is watering the roses", "The gardener is not watering the roses", False, [4.0, "CONTRADICTION"]),
    ("A gardener is watering the red roses", "A gardener is watering the white roses", False, [3.9, "NEUTRAL"]),
    ("A gardener is watering the roses", "A plane lands at night", False, [1.0, "NEUTRAL"]),
]
FACTS = [
    "Ana Ruiz has taught piano lessons in Lisbon.",
    "Ana Ruiz and Ben Ode are members of the chess club.",
    "Ben Ode wrote a guide to the trails of the island.",
]
UPDATES = [
    ("Ana Ruiz has taught piano lessons in Porto.", 0),
    ('"Ana Ruiz and Cleo Fay, not Ben Ode, are members of the chess club."', 1),
]


def written(path: Path, rows: Sequence[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return path


def quiet(stage: str, share: float) -> None:
    assert 0 <= share <= 1, stage


def test_pairs_are_merged_as_the_indexer_decides_beside_a_plain_cosine(tmp_path: Path, model_files: dict[str, Path]) -> None:
    rows = [{"a": a, "b": b, "duplicate": duplicate, "label": label} for a, b, duplicate, label in PAIRS]
    written(tmp_path / "dedup" / "sick_few.jsonl", rows)
    written(tmp_path / "dedup" / "mrpc_few.jsonl", [{"a": "It rains", "b": "It rains", "duplicate": True, "label": "1"}])
    found = bench.run("dedup", data=tmp_path, progress=quiet)
    assert (found.figures["sick.precision"], found.figures["sick.recall"], found.figures["sick.contradictions"]) == (1.0, 1.0, 0.0)
    assert found.figures["sick.cosine_82.precision"] < 1.0 == found.figures["mrpc.recall"]
    assert (found.figures["sick.neutral_ended"], "sick.cosine_82.neutral_ended" in found.figures) == (0.0, False)
    assert found.n == 6
    assert {row[:2] for row in found.rows} >= {("sick", "BRB"), ("sick", "cosine 0.82"), ("mrpc", "reversed")}
    assert {len(row) for row in found.rows} == {len(found.columns)}


def test_updates_are_told_and_looked_for_in_the_history(tmp_path: Path, model_files: dict[str, Path]) -> None:
    extras = [{"facts": FACTS, "contradicting_fact": update, "supporting_fact_indices": [old]} for update, old in UPDATES]
    path = written(tmp_path / "core_memory_update_few.jsonl", [{"input": "?", "agent_args": {"extra": extra}} for extra in extras])
    found = bench.run("updates", data=path, progress=quiet)
    assert (found.figures["corrected.updated"], found.figures["corrected.current"], found.figures["corrected.others_ended"]) == (1.0, 1.0, 0.0)
    assert (found.figures["plain.updated"], found.figures["plain.current"], found.figures["plain.told_lost"]) == (0.5, 1.0, 0.0)
    assert found.n == 2
    assert {len(row) for row in found.rows} == {len(found.columns)}


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("dedup", {"a": "one"}),
        ("updates", {"agent_args": {"extra": {"facts": ["one"]}}}),
        ("updates", {"agent_args": {"extra": {"facts": ["one"], "contradicting_fact": "two", "supporting_fact_indices": [7]}}}),
    ],
)
def test_rows_of_another_kind_are_a_clear_error(tmp_path: Path, name: bench.Name, row: object) -> None:
    with pytest.raises(errors.BadInput, match=r"few\.jsonl"):
        bench.run(name, data=written(tmp_path / "few.jsonl", [row]), progress=quiet)
