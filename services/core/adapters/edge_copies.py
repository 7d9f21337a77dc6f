"""Copies of Qdrant Edge's files, which has no snapshots of its own: whole while nobody writes, whether their owner runs or not.

What its owner has in memory is in the files, too, or in the log that is replayed when a store is opened: a copy is what a killed process leaves.
"""

import shutil
from pathlib import Path

from services.core import errors
from services.core.adapters import edge_points, points
from services.core.adapters.edge_points import Collection, EdgePoints

_TRIES = 5
_Look = dict[str, tuple[int, int]]


def copied(directory: Path, into: Path) -> list[Collection]:
    """Copies each collection in a folder into another one. Nobody may write meanwhile but its owner's own upkeep, which is noticed."""
    for _ in range(_TRIES):
        try:
            before = edge_points.collections(directory)
            for folder, collection in before:
                _copy(folder, collection, into / folder.name)
            if edge_points.collections(directory) == before:
                return [collection for _, collection in before]
        except (FileNotFoundError, shutil.Error, _Moved):
            pass  # cleaned up meanwhile: its owner writes a new shard then, and removes the old one
        shutil.rmtree(into, ignore_errors=True)
    raise errors.Unavailable("the store", f"the files in {directory} do not come to rest: try again later")


def count(directory: Path, only: points.Only) -> int:
    """How many points there are in the one collection of a folder, of whatever model and version; 0 for none. It must be whole, and nobody may have
    it open."""
    found = edge_points.collections(directory)
    if not found:
        return 0
    opened = EdgePoints.open_any(*found[0])
    try:
        return opened.count(only)
    finally:
        opened.close()


class _Moved(Exception):
    pass


def _copy(folder: Path, collection: Collection, into: Path) -> None:
    before = _look(folder / collection.shard)
    into.mkdir(parents=True)
    shutil.copytree(folder / collection.shard, into / collection.shard, copy_function=_copy_file)
    edge_points.describe(into, collection)
    if _look(folder / collection.shard) != before:
        raise _Moved


def _copy_file(source: str, to: str) -> None:
    """A file that is gone is looked for again; a disk that is full does not get emptier by it."""
    try:
        shutil.copy2(source, to)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise errors.SetupError(f"can't copy {source} to {to}: {error.strerror}") from error


def _look(folder: Path) -> _Look:
    """Sizes and times: they differ once anything was written."""
    return {str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}
