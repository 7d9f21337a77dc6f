from pathlib import Path

import pytest

from services.core import config, errors, model_lock
from services.embedded import models, programs

FILES = {"all-MiniLM-L6-v2": Path("embedding.gguf")}


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "own.gguf"
    path.write_bytes(b"GGUF and more")
    return path


def _settings(folder: Path, **given: object) -> config.Settings:
    return config.Settings(data_dir=folder, redis_url="redis://h", **given)  # type: ignore[arg-type]


def test_a_file_of_ones_own_is_served_beside_the_other_programs(tmp_path: Path, gguf: Path) -> None:
    settings = _settings(tmp_path, extract_model=str(gguf))
    (program,) = [each for each in programs.programs(settings, FILES) if each.name == "extraction"]

    assert models.extraction(settings) == gguf
    assert {"--chat", str(gguf), str(settings.extract_socket)} <= set(program.argv)
    assert not program.ready()


@pytest.mark.parametrize("given", [{}, {"extract_url": "http://h:1", "extract_model": "qwen"}, {"extractor": "rules", "extract_model": "/m.gguf"}])
def test_nothing_is_served_where_no_model_is_asked_for_or_it_runs_elsewhere(tmp_path: Path, given: dict[str, object]) -> None:
    settings = _settings(tmp_path, **given)
    assert models.extraction(settings) is None
    assert "extraction" not in [program.name for program in programs.programs(settings, FILES)]


def test_a_file_that_is_not_there_or_no_gguf_is_a_mistake_in_the_settings(tmp_path: Path) -> None:
    (tmp_path / "text.gguf").write_text("not a model")
    for name in ("missing.gguf", "text.gguf", ""):
        with pytest.raises(errors.SetupError, match="BRB_EXTRACT_MODEL"):
            models.extraction(_settings(tmp_path, extract_model=str(tmp_path / name)))


def test_a_name_in_the_lock_means_the_pinned_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "models.lock"
    entry = 'kind = "instruct"\nfile = "tiny.gguf"\nsource = "s"\nrevision = "1"\nsha256 = "00"\nlicence = "MIT"\naudited_at = 2026-11-30\n'
    lock.write_text(model_lock.LOCK.read_text() + f"\n[tiny]\n{entry}")
    entries = model_lock.read(lock)
    monkeypatch.setattr(model_lock, "read", lambda: entries)
    settings = _settings(tmp_path, extract_model="tiny")

    assert models.extraction(settings) == settings.models_dir / "tiny.gguf"
    assert "tiny" in models.needed(settings)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "tiny.gguf").write_bytes(b"GGUF other")
    with pytest.raises(errors.WrongModel, match="tiny"):
        model_lock.verify("tiny", entries["tiny"], settings.models_dir)
