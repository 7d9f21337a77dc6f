"""models.lock: nothing that is not the pinned file is loaded."""

import hashlib
from pathlib import Path

import msgspec
import pytest

from services.core import config, errors, model_lock

FILE = model_lock.Model(
    kind="embedding",
    source="here",
    revision="1",
    sha256=hashlib.sha256(b"weights").hexdigest(),
    licence="MIT",
    audited_at="2026-01-01",
    file="m.gguf",
)


def test_every_entry_is_pinned_and_dated() -> None:
    entries = model_lock.read()
    assert "all-MiniLM-L6-v2" in entries
    for model in entries.values():
        assert len(model.sha256) == 64
        assert model.audited_at
        assert model.licence


def test_the_pinned_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"weights")
    assert model_lock.verify("m", FILE, tmp_path) == tmp_path / "m.gguf"


def test_another_file_is_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"other weights")
    with pytest.raises(errors.WrongModel, match="brb models pull"):
        model_lock.verify("m", FILE, tmp_path)


def test_a_missing_file_is_named_with_the_cure(tmp_path: Path) -> None:
    with pytest.raises(errors.SetupError, match=r"m\.gguf is missing: run `brb models pull`"):
        model_lock.verify("m", FILE, tmp_path)


def test_a_missing_package_is_named_with_the_cure(tmp_path: Path) -> None:
    with pytest.raises(errors.SetupError, match="make setup"):
        model_lock.verify("m", msgspec.structs.replace(FILE, package="no_such_package"), tmp_path)


def test_the_digest_of_a_folder_depends_on_names_and_bytes_but_not_on_compiled_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    first = model_lock.digest(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "x.pyc").write_bytes(b"2")
    assert model_lock.digest(tmp_path) == first
    (tmp_path / "a").rename(tmp_path / "b")
    assert model_lock.digest(tmp_path) != first


def test_the_dimension_in_the_settings_must_be_that_of_the_model() -> None:
    with pytest.raises(errors.WrongModel, match="BRB_EMBED_DIM"):
        model_lock.embedding(config.Settings(embed_dim=768))
    assert model_lock.embedding(config.Settings(embed_dim=384)).dimension == 384


def test_an_unknown_embedding_model_is_named_with_the_choices() -> None:
    with pytest.raises(errors.SetupError, match="all-MiniLM-L6-v2"):
        model_lock.embedding(config.Settings(embed_model="nope"))
