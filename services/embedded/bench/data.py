"""Labelled data for measurements: JSON lines, plain or gzipped, in a file or a folder of files."""

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from services.core import errors


def files(path: Path, kind: str, names: Sequence[str]) -> list[Path]:
    """The files to read: `path` itself, or those in it, or in its folder `kind`, that one of the patterns names. `BadInput` if there is none."""
    if path.is_file():
        return [path]
    found = [file for folder in (path / kind, path) for name in names for file in sorted(folder.glob(name)) if file.is_file()]
    if not found:
        raise errors.BadInput(f"no data in {path}: expected a file, or a folder with {kind}/{' or '.join(names)}")
    return list(dict.fromkeys(found))


def rows(file: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file, one a line. `BadInput` names the line that is none."""
    opened = gzip.open if file.suffix == ".gz" else open
    try:
        with opened(file, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _row(line, file, number)
    except (OSError, UnicodeDecodeError) as error:
        raise errors.BadInput(f"can't read {file}: {error}") from None


def _row(line: str, file: Path, number: int) -> dict[str, Any]:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise errors.BadInput(f"{file}, line {number}: {error}") from None
