"""What `brb backup`, `brb restore` and `brb reindex --drop-old` say, and their exit statuses. What they do: tests/e2e, tests/integration."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import Result

from services.cli import embedded
from services.core import backup

Brb = Callable[..., Result]
MANIFEST = backup.Manifest(
    brb="1.2.3",
    made_at=datetime(2026, 11, 30, 12, tzinfo=UTC),
    store="edge",
    model="mini",
    dimension=3,
    schema_version=2,
    redis="valkey 9.1.2",
    key="0123",
    counts=backup.Counts(1, 2, 3),
    files={"redis.rdb": backup.File(5, "ab")},
)


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """What the embedded part is asked to do."""
    asked: list[dict[str, object]] = []

    def make(_: object, to: Path, *, with_key: bool, say: object, progress: Callable[[str, float], None]) -> SimpleNamespace:
        progress("backing up", 1.0)
        asked.append({"to": to.name, "with_key": with_key})
        return SimpleNamespace(manifest=MANIFEST, size=1_500_000, held_seconds=0.126)

    def put(_: object, file: Path, *, dry_run: bool, force: bool, say: object, progress: object) -> SimpleNamespace:
        asked.append({"file": file.name, "dry_run": dry_run, "force": force})
        return SimpleNamespace(manifest=MANIFEST, kept="/data/backups/x" if force else "", notices=("set BRB_EMBED_MODEL=mini",))

    monkeypatch.setattr(embedded, "backup", lambda: SimpleNamespace(run=make))
    monkeypatch.setattr(embedded, "restore", lambda: SimpleNamespace(run=put))
    return asked


def test_a_backup_says_what_is_in_it_and_that_the_key_is_not(brb: Brb, works: list[dict[str, object]]) -> None:
    done = brb("backup", "b.tar")
    assert done.exit_code == 0
    assert "1 memory and 2 notes in b.tar (1.5 MB); writers waited for 0.13 s" in done.output
    assert "keep BRB_SECRET_KEY, or secret.key" in done.output
    assert "the secret key is not in it" not in brb("backup", "b.tar", "--with-key").output
    assert works == [{"to": "b.tar", "with_key": False}, {"to": "b.tar", "with_key": True}]


def test_a_backup_as_json(brb: Brb, works: list[dict[str, object]]) -> None:
    told = json.loads(brb("backup", "b.tar", "--json").stdout)
    assert (told["file"], told["bytes"], told["held_seconds"]) == ("b.tar", 1_500_000, 0.126)
    assert told["manifest"]["counts"] == {"memories": 1, "notes": 2, "passages": 3}


def test_a_restore_says_what_was_put_aside_and_what_is_to_be_seen_to(brb: Brb, works: list[dict[str, object]]) -> None:
    done = brb("restore", "b.tar", "--force")
    assert "1 memory and 2 notes, as of 2026-11-30 12:00 UTC: restored" in done.output
    assert "what was there before is in /data/backups/x" in done.output
    assert "set BRB_EMBED_MODEL=mini" in done.output
    assert "it is whole" in brb("restore", "b.tar", "--dry-run").output
    assert works == [{"file": "b.tar", "dry_run": False, "force": True}, {"file": "b.tar", "dry_run": True, "force": False}]


def test_there_is_nothing_to_back_up_before_the_first_start(brb: Brb, tmp_path: Path) -> None:
    done = brb("backup", "b.tar")
    assert done.exit_code == 4
    assert "BRB was not started there yet" in done.output
    assert not (tmp_path / "b.tar").exists()


def test_what_is_no_backup_is_wrong_usage(brb: Brb, tmp_path: Path) -> None:
    (tmp_path / "b.tar").write_text("hello")
    for name in ("b.tar", "none.tar"):
        assert brb("restore", name).exit_code == 2
    assert not (tmp_path / "data").exists()


def test_former_stores_in_the_data_folder_are_deleted_by_hand(brb: Brb) -> None:
    done = brb("reindex", "--drop-old")
    assert done.exit_code == 1
    assert "backups" in done.output
