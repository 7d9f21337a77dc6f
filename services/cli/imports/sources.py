"""The documents in a file, a folder, a ZIP or stdin. What is in a ZIP is read where it is: nothing is written anywhere."""

import os
import shutil
import stat
import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from services.cli.imports.items import Document, Format, Skipped
from services.core import errors

MOST_FILES = 100_000
MOST_BYTES = 20_000_000_000
"""Of all that a ZIP says it holds."""
MOST_TIMES = 200
"""How many times larger than in the ZIP a file may be: JSON shrinks to a tenth, what is made to fill a disk to a thousandth."""
_SMALL = 10_000_000
PACKED = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""How exports are. What is packed otherwise may ask for gigabytes to be unpacked with."""
_NOT_ENTERED = frozenset({".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", "dist", "build", "target", "site-packages"})
_KINDS: dict[Format, str] = {
    "chatgpt": "export",
    "claude": "export",
    "claude-code": "transcript",
    "claude-md": "rules",
    "mem0": "other",
    "brain-kit": "other",
    "brb": "other",
}
_ENDINGS = {"export": ".json", "transcript": ".jsonl", "rules": ".md", "other": ".json"}
_RULES = frozenset({"claude.md", "claude.local.md", "agents.md"})


@contextmanager
def opened(path: Path, wanted: Format | None = None) -> Iterator[list[Document]]:
    """What there is to read at a path, `-` for stdin, oldest first. wanted: only what may be of that format. `BadInput` names what is wrong."""
    with ExitStack() as held:
        try:
            found = _at(path, held, wanted)
        except zipfile.BadZipFile as error:
            raise errors.BadInput(f"{path} is no whole ZIP: {error}. Download it again") from None
        except OSError as error:
            raise errors.BadInput(f"can't read {path}: {error.strerror or error}") from None
        yield found


def _at(path: Path, held: ExitStack, wanted: Format | None) -> list[Document]:
    if str(path) == "-":
        return _of_stdin(held, wanted)
    return _in_folder(path, wanted) if path.is_dir() else _of_file(path, held, wanted)


def _of_file(path: Path, held: ExitStack, wanted: Format | None) -> list[Document]:
    if zipfile.is_zipfile(path):
        return _in_zip(held.enter_context(_zip(path)), str(path), wanted)
    return [_file(path, str(path))]


def _of_stdin(held: ExitStack, wanted: Format | None) -> list[Document]:
    """From a copy: what comes from a pipe can't be read twice."""
    copy = held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - held
    shutil.copyfileobj(sys.stdin.buffer, copy)
    if zipfile.is_zipfile(copy):
        return _in_zip(held.enter_context(_zip(copy)), "stdin", wanted)
    return [Document("stdin", copy.seek(0, os.SEEK_END), datetime.now(UTC).timestamp(), lambda: _again(copy))]


def _again(copy: BinaryIO) -> BinaryIO:
    copy.seek(0)
    return os.fdopen(os.dup(copy.fileno()), "rb")


def _file(path: Path, name: str) -> Document:
    state = path.stat()
    if not stat.S_ISREG(state.st_mode):
        raise errors.BadInput(f"{path} is neither a file nor a folder")
    with path.open("rb"):  # says at once if it may not be read
        return Document(name, state.st_size, state.st_mtime, lambda: path.open("rb"), path)


def _in_folder(folder: Path, wanted: Format | None) -> list[Document]:
    """The parts of an export; else transcripts; else rules."""
    files = sorted(_files(folder))
    kinds = {
        "export": [file for file in files if _is_export(file.name)],
        "transcript": [file for file in files if file.suffix == ".jsonl" and not _of_agent(file)],
        "rules": [file for file in files if file.name.lower() in _RULES or (file.suffix == ".md" and _among_rules(file.relative_to(folder)))],
        "other": [file for file in files if file.suffix == ".json" and file.parent == folder],
    }
    found = next(filter(None, kinds.values()), []) if wanted is None else kinds[_KINDS[wanted]]
    if not found:
        raise errors.BadInput(f"there is nothing to import in {folder}: no conversations*.json, *.jsonl, CLAUDE.md or AGENTS.md")
    return sorted((_file(file, str(file)) for file in found), key=lambda document: (document.modified_at, document.name))


def _files(folder: Path) -> Iterator[Path]:
    """Without what links lead to: they may lead anywhere."""
    for place, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if each not in _NOT_ENTERED]
        for name in names:
            file = Path(place, name)
            if not file.is_symlink():
                yield file


def _zip(source: Path | IO[bytes]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(source)
    except (NotImplementedError, ValueError, IndexError, struct.error) as error:  # names, versions and places that are none
        raise zipfile.BadZipFile(str(error)) from None


def _in_zip(archive: zipfile.ZipFile, name: str, wanted: Format | None) -> list[Document]:
    entries = archive.infolist()
    total = sum(entry.file_size for entry in entries)
    if len(entries) > MOST_FILES or total > MOST_BYTES:
        raise errors.BadInput(f"{name} holds {len(entries)} files of {total} bytes: at most {MOST_FILES} of {MOST_BYTES} are read")
    for entry in entries:
        _check(entry, name)
    endings = (".json", ".jsonl", ".md") if wanted is None else (_ENDINGS[_KINDS[wanted]],)
    readable = [entry for entry in entries if not entry.is_dir() and PurePosixPath(entry.filename).suffix.lower() in endings]
    exports = [entry for entry in readable if _is_export(PurePosixPath(entry.filename).name)]
    found = exports or readable
    if not found:
        raise errors.BadInput(f"there is nothing to import in {name}: no conversations*.json, *.jsonl or *.md")
    return [_entry(archive, entry, name) for entry in sorted(found, key=lambda entry: entry.filename)]


def _entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> Document:
    try:
        modified_at = datetime(*entry.date_time, tzinfo=UTC).timestamp()
    except ValueError:
        modified_at = datetime.now(UTC).timestamp()
    return Document(f"{name}:{entry.filename}", entry.file_size, modified_at, lambda: archive.open(entry))  # type: ignore[arg-type, return-value]


def _check(entry: zipfile.ZipInfo, name: str) -> None:
    parts = PurePosixPath(entry.filename.replace("\\", "/")).parts
    if not entry.filename or ".." in parts or entry.filename.startswith(("/", "\\")) or ":" in (parts or ("",))[0]:
        raise errors.BadInput(f"{name} holds a file named {entry.filename[:80]!r}: that is no export. Nothing was read")
    if entry.flag_bits & 1:
        raise errors.BadInput(f"{entry.filename} in {name} is encrypted: unpack it first, and import the folder")
    if entry.compress_type not in PACKED:
        raise errors.BadInput(f"{entry.filename} in {name} is packed in a way that no export is: unpack it first, and import the folder")
    if entry.file_size > _SMALL and entry.file_size > MOST_TIMES * max(1, entry.compress_size):
        raise errors.BadInput(f"{entry.filename} in {name} would grow to {entry.file_size} bytes: that is no export. Nothing was read")


def _is_export(name: str) -> bool:
    return fnmatch(name.lower(), "conversations*.json")


def _of_agent(file: Path) -> bool:
    return file.name.startswith("agent-") or "subagents" in file.parts


def _among_rules(inside: Path) -> bool:
    return any(two == (".claude", "rules") for two in zip(inside.parts, inside.parts[1:], strict=False)) or inside.parts[:1] == ("rules",)


UNREADABLE = (OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, UnicodeDecodeError)
"""What reading a document may end with."""


def broken(document: Document, error: Exception) -> Skipped:
    return Skipped(document.name, f"it can't be read on ({error}): what stands behind that is not read. Download it again")


def watched(document: Document, progress: Callable[[int], None]) -> Document:
    """The document, telling how many bytes of it were read since it was opened last."""
    return document._replace(open=lambda: _Watched(document.open(), progress))  # type: ignore[return-value, arg-type]


class _Watched:
    def __init__(self, stream: BinaryIO, progress: Callable[[int], None]) -> None:
        self._stream = stream
        self._progress = progress
        self._done = 0

    def __enter__(self) -> "_Watched":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read(self, size: int = -1) -> bytes:
        return self._told(self._stream.read(size))

    def readline(self, size: int = -1) -> bytes:
        return self._told(self._stream.readline(size))

    def _told(self, piece: bytes) -> bytes:
        self._done += len(piece)
        self._progress(self._done)
        return piece
