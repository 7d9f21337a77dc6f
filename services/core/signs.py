"""A process's own sign of life: a file that it touches as long as its event loop goes round. Imports nothing: a health check starts often."""

import os
import time
from pathlib import Path

STALE_SECONDS = 30.0


def path(run_dir: Path, part: str) -> Path:
    return run_dir / f"alive-{part}"


def give(file: Path) -> None:
    """A folder that is full or gone is no reason to end: the sign grows stale, which is the truth."""
    try:
        file.touch(mode=0o600)
        os.utime(file)
    except OSError:
        return


def age_seconds(file: Path) -> float:
    """Infinite if there is none."""
    try:
        return max(0.0, time.time() - file.stat().st_mtime)
    except OSError:
        return float("inf")
