"""What a backup is: a tar file whose first member, the manifest, says what all the others are, to the last byte.

manifest.json       what this is, of which version and model, and the size and SHA-256 of every other file
redis.rdb           jobs, ledger, tokens, audit log, ... as one moment of Redis, in Redis's own format; texts in it are sealed
store/… notes/…     Qdrant Edge's files, or one snapshot of the server's collection each
spool.sqlite        turns that waited for Redis; sealed
erased.jsonl        ids of what was erased and may still be in files
settings.json       the settings without keys, tokens and passwords: to read, they are not applied
secret.key          only if it was asked for: what is sealed opens with it
"""

import hashlib
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Literal

import msgspec

from services.core import errors

FORMAT = "brb-backup"
VERSION = 1
MANIFEST = "manifest.json"
REDIS, SPOOL, ERASED, SETTINGS, KEY = "redis.rdb", "spool.sqlite", "erased.jsonl", "settings.json", "secret.key"
SNAPSHOT = "collection.snapshot"
UNFINISHED = "restore-unfinished"
"""A file of the data folder, for as long as what is there is neither what was nor what is restored."""
_PIECE = 1 << 20
_LONGEST_MANIFEST_BYTES = 10_000_000


class File(msgspec.Struct, frozen=True):
    size: int
    sha256: str


class Counts(msgspec.Struct, frozen=True):
    """Of what a restored store has to hold again."""

    memories: int = 0
    notes: int = 0
    passages: int = 0


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """brb: the version that wrote it. schema_version: of the stores. key: tells whether a secret is the one it was sealed with."""

    format: Literal["brb-backup"] = "brb-backup"
    version: int = VERSION
    brb: str
    made_at: datetime
    store: Literal["edge", "server"]
    model: str
    dimension: int
    schema_version: int
    redis: str
    key: str
    counts: Counts
    files: dict[str, File]


class _Version(msgspec.Struct):
    format: str = ""
    version: int = 0
    brb: str = ""


def check_whole(data: Path) -> None:
    """`SetupError` if the data folder holds half of a restore."""
    if (data / UNFINISHED).exists():
        raise errors.SetupError(f"a restore into {data} was broken off: run it again, with --force (`brb restore`)")


def key_of(secret: str) -> str:
    """What tells one secret from another, and nothing about it."""
    return hashlib.sha256(b"brb-backup-key" + secret.encode()).hexdigest()[:16]


def described(folder: Path) -> dict[str, File]:
    """Every file below, by its name in the archive."""
    return {name: _described(folder / name) for name in sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())}


def write(folder: Path, manifest: Manifest, stream: IO[bytes], *, compressed: bool) -> None:
    """What `manifest` describes of the folder."""
    with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=1) if compressed else tarfile.open(fileobj=stream, mode="w") as archive:
        _add(archive, MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
        for name in manifest.files:
            with (folder / name).open("rb") as file:
                archive.addfile(_entry(name, manifest.files[name].size), file)


def read(file: Path) -> Manifest:
    """`BadInput` if it is none, damaged or of a later version."""
    with _opened(file) as archive:
        return _manifest(file, archive)


def verified(file: Path, into: Path | None = None) -> Manifest:
    """Reads all of it, and writes it below `into`. `BadInput` if a byte of it is not as it was written; `into` is of no use then. `SetupError` if it
    can't be written there."""
    with _opened(file) as archive:
        manifest = _manifest(file, archive)
        missing = dict(manifest.files)
        for member in archive:
            if member.name == MANIFEST:
                continue
            wanted = missing.pop(member.name, None)
            content = archive.extractfile(member) if member.isreg() else None
            if wanted is None or content is None or _copied(content, into / member.name if into else None) != wanted:
                raise _damaged(file, f"{member.name} is not what was written")
        if missing:
            raise _damaged(file, f"{next(iter(missing))} is missing")
        return manifest


@contextmanager
def _opened(file: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(file) as archive:
            yield archive
    except FileNotFoundError:
        raise errors.BadInput(f"there is no file {file}") from None
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.strerror:  # of the file; those of its content have no number
            raise errors.BadInput(f"{file} can't be read: {error.strerror}") from error
        raise _damaged(file, str(error).partition("\n")[0].rstrip(":")) from error


def _manifest(file: Path, archive: tarfile.TarFile) -> Manifest:
    first = archive.next()
    content = archive.extractfile(first) if first is not None and first.name == MANIFEST and first.isreg() else None
    if first is None or content is None or first.size > _LONGEST_MANIFEST_BYTES:
        raise errors.BadInput(f"{file} is no backup of BRB: it does not begin with a manifest")
    text = content.read()
    try:
        said = msgspec.json.decode(text, type=_Version)
        if said.format == FORMAT and said.version > VERSION:
            raise errors.BadInput(f"{file} was written by a later BRB ({said.brb}, format {said.version}, not {VERSION}): use that version")
        manifest = msgspec.json.decode(text, type=Manifest)
    except msgspec.DecodeError as error:
        raise _damaged(file, f"its manifest can't be read: {error}") from None
    for name in manifest.files:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or path.as_posix() != name or name == MANIFEST or "\0" in name:
            raise _damaged(file, f"{name!r} is no name of a file in a backup")
    if REDIS not in manifest.files:
        raise _damaged(file, f"{REDIS} is missing")
    return manifest


def _damaged(file: Path, why: str) -> errors.BadInput:
    return errors.BadInput(f"{file} is damaged: {why}. Nothing was changed; use another backup")


def _copied(content: IO[bytes], to: Path | None) -> File:
    if to is None:
        return _read_through(content, lambda _: None)
    with _written(to):
        to.parent.mkdir(parents=True, exist_ok=True)
        file = to.open("xb")

    def write(piece: bytes) -> None:
        with _written(to):
            file.write(piece)

    try:
        return _read_through(content, write)
    finally:
        with _written(to):
            file.close()


def _read_through(content: IO[bytes], take: Callable[[bytes], None]) -> File:
    digest, size = hashlib.sha256(), 0
    while piece := content.read(_PIECE):
        digest.update(piece)
        size += len(piece)
        take(piece)
    return File(size, digest.hexdigest())


@contextmanager
def _written(to: Path) -> Iterator[None]:
    """A disk that takes nothing more is no fault of the backup."""
    try:
        yield
    except OSError as error:
        raise errors.SetupError(f"can't write to {to.parent}: {error.strerror}") from error


def _described(path: Path) -> File:
    with path.open("rb") as file:
        return File(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    import io

    archive.addfile(_entry(name, len(content)), io.BytesIO(content))


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size = size
    entry.mode = 0o600
    entry.mtime = datetime.now(UTC).timestamp()
    return entry
