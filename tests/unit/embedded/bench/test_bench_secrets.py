"""Labelled cases in, figures out; a label of one rule is no word about another."""

import json
import random
import string
from pathlib import Path

import pytest

from services.core import errors
from services.embedded import bench
from services.embedded.bench import report, secrets


def key(prefix: str, length: int, seed: int = 1) -> str:
    """A key that never was anybody's."""
    return prefix + "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=length))


def measured(folder: Path, *cases: tuple[str, int, str]) -> report.Report:
    rows = [{"source": "x", "rule": rule, "file": "x.go", "label": label, "text": text} for rule, label, text in cases]
    (folder / "cases.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    return bench.run("secrets", data=folder / "cases.jsonl", progress=lambda _stage, _share: None)


def test_cases_are_measured(tmp_path: Path) -> None:
    found = measured(
        tmp_path,
        ("github-pat", 1, f"use {key('ghp_', 36)}"),
        ("github-pat", 1, "nothing to see"),
        ("github-pat", 0, "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
        ("github-app", 0, f"use {key('ghp_', 36, seed=2)}"),
        ("other", 0, f"api_key = {key('', 32)}"),
        ("gcp-api-key", 0, f"see {key('AIzaSy', 33)}"),
        ("other", 0, f"see {key('npm_', 36)}"),
    )
    assert found.n == 7
    assert found.figures == {
        "recall": 0.5,
        "precision": 0.5,
        "precision_strict": 0.2,
        "excused.form": 1,
        "excused.named": 1,
        "excused.published": 1,
        "wrong": 1,
        "missed": 1,
    }
    assert {len(row) for row in found.rows} == {len(found.columns)}
    assert any(note.startswith("wrong other: npm_") for note in found.notes)


def test_one_finding_without_an_excuse_is_enough_to_be_wrong() -> None:
    text = f"token = {key('', 32)} and {key('npm_', 36)}"
    spans = ((8, 40), (45, 85))
    assert secrets.excuse(secrets.Case("r", False, text, spans[:1]), set()) == "named"
    assert secrets.excuse(secrets.Case("r", False, text, spans), set()) == ""


@pytest.mark.parametrize("row", [{"rule": "x", "text": "y"}, {"rule": "x", "label": "maybe", "text": "y"}])
def test_a_case_without_a_label_is_a_clear_error(tmp_path: Path, row: dict[str, str]) -> None:
    (tmp_path / "cases.jsonl").write_text(json.dumps(row))
    with pytest.raises(errors.BadInput, match="rule, label"):
        bench.run("secrets", data=tmp_path / "cases.jsonl", progress=lambda _stage, _share: None)
