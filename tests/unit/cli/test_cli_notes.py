import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from services.cli import notes
from services.core import models
from services.proxy.parts import Parts

Brb = Callable[..., Result]
EVERYTHING = models.Scope(models.LOCAL.team, models.LOCAL.user, None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "my notes"
    made.mkdir()
    for name, text in (("a.md", "# A\n\none"), ("b.md", "---\nx: [\n---\n"), ("c.md", "")):
        (made / name).write_text(text)
        os.utime(made / name, (1e8, 1e8))
    (made / "bad.md").write_bytes(b"\0")
    return made


def test_a_folder_is_indexed_and_what_was_not_understood_is_told(brb: Brb, running: Parts, folder: Path) -> None:
    result = brb("index", str(folder), "--project", "shop")
    assert result.exit_code == 0
    assert result.stdout == "3 new; 0 as before; 3 of 3 passages embedded\n"
    assert "skipped: bad.md: binary" in result.stderr
    assert "note: b.md: the front matter is no YAML" in result.stderr
    assert {note.project for note in running.notes.find(EVERYTHING)} == {"shop"}
    again = brb("index", str(folder), "--project", "shop")
    assert again.stdout == "nothing new; 3 as before; 0 of 0 passages embedded\n"


def test_json_has_all_counts(brb: Brb, running: Parts, folder: Path) -> None:
    result = json.loads(brb("index", str(folder), "--json").stdout)
    assert result["new"] == result["embedded"] == result["passages"] == 3
    assert result["skipped"] == [{"path": "bad.md", "why": "binary"}]
    assert result["same"] == result["changed"] == result["moved"] == result["touched"] == result["gone"] == 0


def test_a_folder_is_forgotten(brb: Brb, running: Parts, folder: Path) -> None:
    brb("index", str(folder))
    assert brb("index", str(folder), "--forget").stdout == "3 notes erased\n"
    assert json.loads(brb("index", str(folder), "--forget", "--json").stdout) == {"deleted": 0}
    assert running.notes.count(EVERYTHING) == 0


def test_an_empty_folder_erases_its_notes_only_when_told_to(brb: Brb, running: Parts, folder: Path) -> None:
    brb("index", str(folder))
    for file in folder.iterdir():
        file.unlink()
    refused = brb("index", str(folder))
    assert refused.exit_code == 2
    assert "--prune" in refused.stderr
    assert brb("index", str(folder), "--prune").stdout.startswith("3 gone;")


@pytest.mark.parametrize(("arguments", "status"), [(("nowhere",), 2), ((), 2), ((".", "--watch", "--forget"), 2)])
def test_wrong_usage_is_told(brb: Brb, running: Parts, arguments: tuple[str, ...], status: int) -> None:
    assert brb("index", *arguments).exit_code == status


def test_without_a_running_brb_the_answer_says_how_to_start_it(brb: Brb, folder: Path) -> None:
    result = brb("index", str(folder))
    assert result.exit_code == 3
    assert "brb up" in result.stderr


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        ({"new": 2, "same": 1, "passages": 5, "embedded": 4}, "2 new; 1 as before; 4 of 5 passages embedded"),
        ({"changed": 1, "moved": 2, "gone": 3, "touched": 4, "same": 5}, "1 changed, 2 moved, 3 gone; 9 as before; 0 of 0 passages embedded"),
    ],
)
def test_the_line_for_people(counts: dict[str, int], line: str) -> None:
    names = ("new", "changed", "moved", "touched", "gone", "same", "passages", "embedded")
    assert notes.summary({name: counts.get(name, 0) for name in names}) == line
