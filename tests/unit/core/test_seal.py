"""Sealing of what waits in Redis and in the spool."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

from services.core import config, errors, seal


def test_what_is_sealed_opens_with_the_same_secret_only() -> None:
    sealed = seal.Seal("a").close(b"words")
    assert b"words" not in sealed
    assert seal.Seal("a").open(sealed) == b"words"
    with pytest.raises(errors.Permanent, match="BRB_SECRET_KEY"):
        seal.Seal("b").open(sealed)


def test_what_is_packed_is_small_binary_and_opens_with_the_same_secret_only() -> None:
    plain = b"the same words " * 100
    packed = seal.Seal("a").pack(plain)
    assert len(packed) < len(plain) / 5
    assert b"words" not in packed
    assert seal.Seal("a").open(packed) == plain
    with pytest.raises(errors.Permanent, match="BRB_SECRET_KEY"):
        seal.Seal("b").open(packed)


@pytest.mark.parametrize(
    "damage",
    [lambda sealed: sealed[:-1], lambda sealed: sealed[:40], lambda sealed: sealed[:-1] + bytes([sealed[-1] ^ 1]), lambda _: b"\x80", lambda _: b""],
)
def test_what_is_damaged_does_not_open(damage: Callable[[bytes], bytes]) -> None:
    for sealed in (seal.Seal("a").pack(b"words"), seal.Seal("a").close(b"words")):
        with pytest.raises(errors.Permanent):
            seal.Seal("a").open(damage(sealed))


def test_a_name_is_of_the_content_and_the_secret() -> None:
    name = seal.Seal("a").name(b"words")
    assert len(name) == 16
    assert name == seal.Seal("a").name(b"words")
    assert name not in {seal.Seal("a").name(b"other"), seal.Seal("b").name(b"words")}


def test_a_secret_is_made_once_and_kept_to_its_owner(tmp_path: Path) -> None:
    settings = config.Settings(data_dir=tmp_path / "new")
    secret = seal.secret_of(settings)
    assert len(secret) > 30
    assert seal.secret_of(settings) == secret
    assert (settings.data / "secret.key").stat().st_mode & 0o777 == 0o600


def test_the_configured_secret_wins(tmp_path: Path) -> None:
    assert seal.secret_of(config.Settings(data_dir=tmp_path, secret_key=SecretStr("mine"))) == "mine"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(errors.SetupError, match="BRB_DATA_DIR"):
        seal.secret_of(config.Settings(data_dir=tmp_path / "file" / "data"))
