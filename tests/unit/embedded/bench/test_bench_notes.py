import json
from pathlib import Path

import pytest

from services.core import errors
from services.embedded import bench
from services.embedded.bench import report

BASE = {"type": "base", "files": {"a.md": "# A\n\none\n\n# B\n\ntwo", "sub/b.md": "three"}}
COMMITS = [
    [{"op": "M", "path": "a.md", "content": "# A\n\none\n\n# B\n\nTWO"}],
    [{"op": "A", "path": "c.md", "content": "# A\n\none"}, {"op": "D", "path": "a.md"}],
    [{"op": "R", "path": "d.md", "old": "sub/b.md", "content": "three"}],
    [{"op": "M", "path": "d.md", "content": ""}],
]


def run(folder: Path, *rows: object) -> report.Report:
    file = folder / "replay.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return bench.run("notes", data=file, progress=lambda _stage, _share: None)


def test_a_folder_is_followed_through_its_commits(tmp_path: Path) -> None:
    measured = run(tmp_path, BASE, *({"type": "commit", "changes": changes} for changes in COMMITS))
    figures = measured.figures
    assert measured.n == 4
    assert (figures["steps"], figures["equal"], figures["embedded_exact"]) == (5, 5, 5)
    assert (figures["base.files"], figures["base.embedded"], figures["commits.embedded"]) == (2, 3, 2)


def test_an_index_that_lags_behind_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from services.core.adapters.point_notes import PointNotes

    monkeypatch.setattr(PointNotes, "prune", lambda *_: None)
    figures = run(tmp_path, BASE, *({"type": "commit", "changes": changes} for changes in COMMITS)).figures
    assert figures["equal"] < figures["steps"]


@pytest.mark.parametrize("rows", [[], [{"type": "commit", "changes": []}], [BASE], [BASE, {"type": "commit"}], [{"type": "base"}]])
def test_data_of_another_form_is_refused(tmp_path: Path, rows: list[object]) -> None:
    with pytest.raises(errors.BadInput):
        run(tmp_path, *rows)
