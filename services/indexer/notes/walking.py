"""The markdown files of a folder."""

import os
import stat
from pathlib import Path
from typing import NamedTuple

from services.core import note_api
from services.core.notes.writing import TIME_DIGITS

SUFFIXES = frozenset({".md", ".markdown", ".mdown", ".mkd"})
LARGEST_BYTES = note_api.LONGEST_NOTE
IGNORED = frozenset({"node_modules", "__pycache__", "venv"})
"""Folders that hold other people's files; those that begin with a dot are ignored, too."""


class Found(NamedTuple):
    """path: in the folder, with "/". modified_at: epoch seconds, in microseconds."""

    path: str
    file: Path
    modified_at: float


class Skipped(NamedTuple):
    """A file, or a folder (its path ends with "/"), that is not read, and why. lasting: nothing known of it holds; else that can't be told."""

    path: str
    why: str
    lasting: bool = True


class Walk(NamedTuple):
    """In the order of their paths."""

    found: tuple[Found, ...]
    skipped: tuple[Skipped, ...]


def walk(root: Path) -> Walk:
    """Links are followed after all else, and what they lead to is taken once: so a loop of links ends, and a file has the path that it really has."""
    return _Walker().walk(root)


def read(found: Found) -> str | Skipped:
    """The text of a file, as it stands there (but for a byte order mark)."""
    try:
        with found.file.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        return Skipped(found.path, "gone while it was to be read")
    except OSError as error:
        return Skipped(found.path, _reason(error), lasting=False)
    if len(content) > LARGEST_BYTES:
        return Skipped(found.path, _large(size))
    if b"\0" in content:
        return Skipped(found.path, "binary")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Skipped(found.path, "no text in UTF-8")


class _Walker:
    def __init__(self) -> None:
        self._found: list[Found] = []
        self._skipped: list[Skipped] = []
        self._seen: dict[tuple[int, int], str] = {}
        self._folders: list[tuple[Path, str]] = []
        self._links: list[tuple[Path, str]] = []
        self._behind_links = False

    def walk(self, root: Path) -> Walk:
        self._folders.append((root, ""))
        while self._folders or self._links:
            self._behind_links = self._behind_links or not self._folders
            self._look_at(*(self._folders.pop() if self._folders else self._links.pop(0)))
        return Walk(tuple(sorted(self._found)), tuple(sorted(self._skipped)))

    def _look_at(self, file: Path, path: str) -> None:
        """Take a file, or look into a folder: its own folders are looked at next, its links last."""
        try:
            status = file.stat()
            entries = sorted(os.scandir(file), key=lambda entry: entry.name) if stat.S_ISDIR(status.st_mode) else None
        except OSError as error:
            self._skip_unreadable(file, path, error)
            return
        if entries is None and not _wanted(path, status):
            return
        earlier = self._seen.setdefault((status.st_dev, status.st_ino), path)
        if earlier != path and (entries is not None or self._behind_links):
            self._skipped.append(Skipped(path, f"the same as {earlier or 'the folder itself'}"))
        elif entries is None:
            self._take(file, path, status)
        else:
            for entry in entries:
                if not _ignored(entry.name):
                    self._look_into(entry, f"{path}/{entry.name}" if path else entry.name)

    def _look_into(self, entry: os.DirEntry[str], path: str) -> None:
        if entry.is_symlink():
            self._links.append((Path(entry.path), path))
        elif entry.is_dir():
            self._folders.append((Path(entry.path), path))
        else:
            self._look_at(Path(entry.path), path)

    def _take(self, file: Path, path: str, status: os.stat_result) -> None:
        try:
            path.encode()
        except UnicodeEncodeError:
            self._skipped.append(Skipped(path.encode(errors="replace").decode(), "its name is no text in UTF-8"))
            return
        if status.st_size > LARGEST_BYTES:
            self._skipped.append(Skipped(path, _large(status.st_size)))
        else:
            self._found.append(Found(path, file, round(status.st_mtime, TIME_DIGITS)))

    def _skip_unreadable(self, file: Path, path: str, error: OSError) -> None:
        """Only what would be read is worth a word: folders, and files of our kind."""
        if os.path.isdir(file):
            self._skipped.append(Skipped(f"{path}/" if path else "", _reason(error), lasting=False))
        elif Path(path).suffix.lower() in SUFFIXES:
            self._skipped.append(Skipped(path, _reason(error), lasting=isinstance(error, FileNotFoundError)))


def _wanted(path: str, status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and Path(path).suffix.lower() in SUFFIXES


def _file(file: Path, path: str, status: os.stat_result) -> Found | Skipped:
    try:
        path.encode()
    except UnicodeEncodeError:
        return Skipped(path.encode(errors="replace").decode(), "its name is no text in UTF-8")
    if status.st_size > LARGEST_BYTES:
        return Skipped(path, _large(status.st_size))
    return Found(path, file, status.st_mtime)


def _ignored(name: str) -> bool:
    return name.startswith(".") or name in IGNORED


def _large(size: int) -> str:
    return f"too large ({size / 1e6:.1f} MB; at most {LARGEST_BYTES / 1e6:.0f} MB are taken)"


def _reason(error: OSError) -> str:
    return f"can't be read: {error.strerror or type(error).__name__}"
