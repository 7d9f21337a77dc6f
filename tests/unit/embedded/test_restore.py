"""What is looked at before a backup is restored, and what of the settings a backup tells."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from services.core import backup, config, errors
from services.core.adapters import points
from services.core.adapters.in_memory_notes import InMemoryNoteStore
from services.core.adapters.in_memory_store import InMemoryStore
from services.embedded import backup as backing_up
from services.embedded import restore, supervisor
from services.proxy import serving
from tests.support.embedding import HashingEmbedder


def manifest(**fields: object) -> backup.Manifest:
    values: dict[str, object] = {
        "brb": "1.2.3",
        "made_at": datetime(2026, 11, 30, tzinfo=UTC),
        "store": "edge",
        "model": "mini",
        "dimension": 3,
        "schema_version": points.SCHEMA_VERSION,
        "redis": "valkey 9.1.2",
        "key": "k",
        "counts": backup.Counts(),
        "files": {},
    }
    return backup.Manifest(**{**values, **fields})  # type: ignore[arg-type]


def test_one_of_the_same_kind_version_and_model_fits() -> None:
    assert restore.fitting(manifest(), "edge", "mini") == ()


@pytest.mark.parametrize(
    ("fields", "notice"),
    [({"model": "nomic"}, "set BRB_EMBED_MODEL=nomic"), ({"schema_version": points.SCHEMA_VERSION - 1}, r"run `brb reindex` before")],
)
def test_what_is_to_be_seen_to_is_said(fields: dict[str, object], notice: str) -> None:
    [said] = restore.fitting(manifest(**fields), "edge", "mini")
    assert notice in said


@pytest.mark.parametrize(
    ("fields", "store", "says"),
    [
        ({"store": "server"}, "edge", "set BRB_QDRANT_URL"),
        ({"store": "edge"}, "server", "unset BRB_QDRANT_URL"),
        ({"schema_version": points.SCHEMA_VERSION + 1}, "edge", r"later BRB \(1.2.3, schema 3\)"),
    ],
)
def test_what_can_not_be_restored_here_is_refused(fields: dict[str, object], store: str, says: str) -> None:
    with pytest.raises(errors.SetupError, match=says):
        restore.fitting(manifest(**fields), store, "mini")


def test_settings_are_told_without_what_opens_anything() -> None:
    names = [name for name, field in config.Settings.model_fields.items() if "Secret" in str(field.annotation)]
    secrets = {name: SecretStr(f"not-to-be-seen-{name}") for name in names}
    told = backing_up.public(config.Settings(port=3210, qdrant_url="http://qdrant:6333", **secrets))  # type: ignore[arg-type]

    assert told["port"] == 3210
    assert told["qdrant_url"] == "http://qdrant:6333"
    assert "not-to-be-seen" not in str(told)
    assert "redis_password" in names
    assert not set(names) & set(told)


def test_half_a_restore_is_not_started(tmp_path: Path) -> None:
    settings = config.Settings(data_dir=tmp_path)
    (tmp_path / backup.UNFINISHED).touch()
    with pytest.raises(errors.SetupError, match=r"broken off: run it again.*--force"):
        supervisor.up(settings, say=lambda _: None, progress=lambda *_: None, ready=lambda _: None)
    with pytest.raises(errors.SetupError, match="broken off"):
        serving.serve(settings, store=InMemoryStore(3), notes=InMemoryNoteStore(3), embedder=HashingEmbedder())
    assert supervisor.state(settings) is None


def test_what_is_restored_as_another_user_than_the_folders_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert restore._owned(tmp_path) == []
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    [notice] = restore._owned(tmp_path)
    assert f"belongs to the user {os.getuid()}" in notice
