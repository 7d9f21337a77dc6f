"""What is to be done so that the notes are what the files are. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from services.core.note_api import File
from services.indexer.notes.walking import Found, Skipped

_CLOCK_SECONDS = 2.0
"""How coarse the times of a file system may be: a file written this short before it was put may have changed since without a new time."""


class Put(NamedTuple):
    """A file to put: as the note of this id, or as a new one ("")."""

    found: Found
    id: str = ""


class Plan(NamedTuple):
    """touched: other time, same content. gone: ids. same: how many need nothing. Moved and touched files cost no embedding."""

    new: tuple[Put, ...] = ()
    changed: tuple[Put, ...] = ()
    moved: tuple[Put, ...] = ()
    touched: tuple[Put, ...] = ()
    gone: tuple[str, ...] = ()
    same: int = 0

    @property
    def puts(self) -> tuple[Put, ...]:
        return (*self.moved, *self.touched, *self.changed, *self.new)


def to_read(known: Iterable[File], found: Iterable[Found]) -> list[Found]:
    """The files whose content may differ from what is known: of another time (an earlier one, too: a file that was restored), or just written."""
    by_path = {file.path: file for file in known}
    return [one for one in found if _may_differ(by_path.get(one.path), one)]


def plan(known: Sequence[File], found: Sequence[Found], skipped: Sequence[Skipped], digests: Mapping[str, str]) -> Plan:
    """digests: of the files that were read (`to_read`), by path; the others are as known.

    A new file with the content of one that is gone is that one, moved. What can't be told (a file or folder that can't be read just now) stays.
    """
    by_path = {file.path: file for file in known}
    there = {one.path for one in found}
    gone = [file for file in known if file.path not in there and not _hidden(file.path, skipped)]
    moved = _moved([one for one in found if one.path not in by_path], gone, digests)
    ids = {put.id for put in moved.values()}
    new: list[Put] = []
    changed: list[Put] = []
    touched: list[Put] = []
    for one in found:
        if one.path in moved or (one.path in by_path and one.path not in digests):
            continue
        file = by_path.get(one.path)
        if file is None:
            new.append(Put(one))
        elif file.digest != digests[one.path]:
            changed.append(Put(one, file.id))
        elif file.modified_at != one.modified_at:
            touched.append(Put(one, file.id))
    puts = len(new) + len(changed) + len(touched) + len(moved)
    return Plan(
        tuple(new),
        tuple(changed),
        tuple(moved.values()),
        tuple(touched),
        tuple(file.id for file in gone if file.id not in ids),
        len(found) - puts,
    )


def _may_differ(file: File | None, found: Found) -> bool:
    if file is None or not file.digest or file.modified_at != found.modified_at:
        return True
    return file.updated_at - found.modified_at < _CLOCK_SECONDS


def _moved(new: Iterable[Found], gone: Iterable[File], digests: Mapping[str, str]) -> dict[str, Put]:
    """By new path. Of several gone files with the same content, one of the same name is taken first."""
    left: dict[str, list[File]] = defaultdict(list)
    for file in gone:
        left[file.digest].append(file)
    moved: dict[str, Put] = {}
    for same_name in (True, False):
        for one in new:
            candidates = left.get(digests.get(one.path, ""), [])
            fitting = [file for file in candidates if not same_name or _name(file.path) == _name(one.path)]
            if fitting and one.path not in moved:
                candidates.remove(fitting[0])
                moved[one.path] = Put(one, fitting[0].id)
    return moved


def _hidden(path: str, skipped: Collection[Skipped]) -> bool:
    return any(path == one.path or (one.path.endswith("/") and path.startswith(one.path)) for one in skipped if not one.lasting)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]
