"""A backup is read whole or not at all."""

import io
import random
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from services.core import backup, errors

FILES = {"redis.rdb": b"REDIS0011", "store/a/shard/data": b"\0" * 5000, "settings.json": b"{}"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    for name, content in FILES.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_bytes(content)
    return made


def manifest(folder: Path, **fields: object) -> backup.Manifest:
    values: dict[str, object] = {
        "brb": "1.2.3",
        "made_at": datetime(2026, 11, 30, tzinfo=UTC),
        "store": "edge",
        "model": "m",
        "dimension": 3,
        "schema_version": 2,
        "redis": "valkey 9.1.2",
        "key": backup.key_of("secret"),
        "counts": backup.Counts(1, 2, 3),
        "files": backup.described(folder),
    }
    return backup.Manifest(**{**values, **fields})  # type: ignore[arg-type]


def write(folder: Path, to: Path, *, compressed: bool = False, **fields: object) -> backup.Manifest:
    made = manifest(folder, **fields)
    with to.open("wb") as stream:
        backup.write(folder, made, stream, compressed=compressed)
    return made


@pytest.mark.parametrize("compressed", [False, True])
def test_what_was_written_is_read(folder: Path, tmp_path: Path, compressed: bool) -> None:
    made = write(folder, tmp_path / "b.tar", compressed=compressed)

    assert backup.read(tmp_path / "b.tar") == made
    assert backup.verified(tmp_path / "b.tar") == made
    assert backup.verified(tmp_path / "b.tar", tmp_path / "out") == made
    assert {name: (tmp_path / "out" / name).read_bytes() for name in FILES} == FILES


def test_a_key_is_told_from_another_by_what_says_nothing_about_it() -> None:
    assert backup.key_of("one") == backup.key_of("one") != backup.key_of("two")
    assert "one" not in backup.key_of("one")


@pytest.mark.parametrize("at", range(0, 9000, 700))
def test_a_byte_that_is_another_is_noticed_wherever_it_is(folder: Path, tmp_path: Path, at: int) -> None:
    write(folder, tmp_path / "b.tar")
    whole = bytearray((tmp_path / "b.tar").read_bytes())
    whole[at] ^= 1
    (tmp_path / "b.tar").write_bytes(whole)
    try:
        read = backup.verified(tmp_path / "b.tar", tmp_path / "out")
    except errors.BadInput:
        return
    assert {name: (tmp_path / "out" / name).read_bytes() for name in FILES} == FILES, "a byte of padding says nothing"
    assert read.files == manifest(folder).files


def test_a_packed_one_that_is_damaged_says_so_whatever_is_wrong_with_it(folder: Path, tmp_path: Path) -> None:
    chance = random.Random(7)
    (folder / "notes").write_text(" ".join(str(chance.random()) for _ in range(2_000)))
    made = write(folder, tmp_path / "b.tar.gz", compressed=True)
    whole = (tmp_path / "b.tar.gz").read_bytes()
    for n in range(60):
        damaged = bytearray(whole if n % 3 else whole[: chance.randrange(20, len(whole))])
        for _ in range(chance.choice((1, 3, 50))):
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        (tmp_path / "b.tar.gz").write_bytes(damaged)
        try:
            assert backup.verified(tmp_path / "b.tar.gz").files == made.files
        except errors.BadInput as error:
            assert "b.tar.gz" in str(error)  # noqa: PT017 - one that is whole all the same is fine, too


def test_a_disk_that_can_not_be_written_to_is_no_damage_of_the_backup(folder: Path, tmp_path: Path) -> None:
    write(folder, tmp_path / "b.tar")
    with pytest.raises(errors.SetupError, match="can't write to"):
        backup.verified(tmp_path / "b.tar", tmp_path / "b.tar" / "out")


def test_what_can_not_be_read_is_not_called_damaged(tmp_path: Path) -> None:
    with pytest.raises(errors.BadInput, match="can't be read: Is a directory"):
        backup.read(tmp_path)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9])
def test_one_that_was_cut_off_is_damaged(folder: Path, tmp_path: Path, share: float) -> None:
    write(folder, tmp_path / "b.tar")
    whole = (tmp_path / "b.tar").read_bytes()
    content = whole[: whole.rindex(b"{}") + 1]
    (tmp_path / "b.tar").write_bytes(content[: int(len(content) * share)])
    with pytest.raises(errors.BadInput, match=r"damaged|no backup"):
        backup.verified(tmp_path / "b.tar")


def test_one_of_a_later_version_is_refused_by_its_name(folder: Path, tmp_path: Path) -> None:
    write(folder, tmp_path / "b.tar", version=backup.VERSION + 1, brb="9.0.0")
    with pytest.raises(errors.BadInput, match=r"later BRB \(9.0.0, format 2, not 1\): use that version"):
        backup.read(tmp_path / "b.tar")


def test_a_later_version_is_known_by_its_number_whatever_else_it_says(tmp_path: Path) -> None:
    archive(tmp_path / "b.tar", {"manifest.json": b'{"format": "brb-backup", "version": 7, "brb": "9.0.0", "shards": {}}'})
    with pytest.raises(errors.BadInput, match="later BRB"):
        backup.read(tmp_path / "b.tar")


def archive(to: Path, members: dict[str, bytes], link: str = "") -> None:
    with tarfile.open(to, "w") as made:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            if name == link:
                entry.type, entry.size, entry.linkname = tarfile.SYMTYPE, 0, "/etc/passwd"
            made.addfile(entry, io.BytesIO(content))


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({}, "no backup of BRB"),
        ({"other.txt": b"x"}, "no backup of BRB"),
        ({"manifest.json": b"no json"}, "its manifest can't be read"),
        ({"manifest.json": b'{"format": "zip"}'}, "its manifest can't be read"),
    ],
)
def test_what_is_no_backup_is_called_so(tmp_path: Path, members: dict[str, bytes], says: str) -> None:
    archive(tmp_path / "b.tar", members)
    with pytest.raises(errors.BadInput, match=says):
        backup.read(tmp_path / "b.tar")


def test_neither_is_a_file_that_is_not_there_or_no_archive(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    with pytest.raises(errors.BadInput, match="there is no file"):
        backup.read(tmp_path / "none")
    with pytest.raises(errors.BadInput, match="damaged"):
        backup.read(tmp_path / "text")


def test_one_without_redis_is_damaged_before_anything_is_begun(folder: Path, tmp_path: Path) -> None:
    (folder / "redis.rdb").unlink()
    write(folder, tmp_path / "b.tar")
    with pytest.raises(errors.BadInput, match=r"redis\.rdb is missing"):
        backup.read(tmp_path / "b.tar")


@pytest.mark.parametrize("name", ["../up", "/etc/passwd", "store/../../up", "./redis.rdb", "store/a\0b"])
def test_nothing_is_written_outside_of_the_folder(folder: Path, tmp_path: Path, name: str) -> None:
    described = {**backup.described(folder), name: backup.File(1, "0" * 64)}
    archive(tmp_path / "b.tar", {"manifest.json": msgspec.json.encode(manifest(folder, files=described)), name: b"x"})
    with pytest.raises(errors.BadInput, match="no name of a file"):
        backup.verified(tmp_path / "b.tar", tmp_path / "out")


def test_what_the_manifest_does_not_know_and_what_is_no_file_is_damage(folder: Path, tmp_path: Path) -> None:
    text = msgspec.json.encode(manifest(folder))
    archive(tmp_path / "more.tar", {"manifest.json": text, **FILES, "extra": b"x"})
    archive(tmp_path / "less.tar", {"manifest.json": text, "redis.rdb": FILES["redis.rdb"]})
    archive(tmp_path / "link.tar", {"manifest.json": text, **FILES}, link="redis.rdb")
    for name in ("more", "less", "link"):
        with pytest.raises(errors.BadInput, match="damaged"):
            backup.verified(tmp_path / f"{name}.tar")
