"""What is looked at before a backup is restored, and what of the settings a backup tells."""

from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from services.core import backup, config, errors
from services.core.adapters import points
from services.embedded import backup as backing_up
from services.embedded import restore


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
    secrets = {name: SecretStr(f"not-to-be-seen-{name}") for name in ("redis_url", "qdrant_api_key", "key", "secret_key")}
    told = backing_up.public(config.Settings(port=3210, qdrant_url="http://qdrant:6333", **secrets))  # type: ignore[arg-type]

    assert told["port"] == 3210
    assert told["qdrant_url"] == "http://qdrant:6333"
    assert "not-to-be-seen" not in str(told)
    assert not {name for name, field in config.Settings.model_fields.items() if "Secret" in str(field.annotation)} & set(told)
