"""Where backups and restores are worked on: what one that was killed has left there, and what one that goes on has."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from services.core import errors
from services.embedded import keeping

WORKING = """
import sys
from pathlib import Path
from services.embedded import keeping
with keeping.staged(Path(sys.argv[1]), "backup") as folder:
    (folder / "redis.rdb").write_text("of somebody")
    print("begun", flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_one_has_left_goes_with_the_next_and_one_that_goes_on_is_left_alone(tmp_path: Path) -> None:
    both = [
        subprocess.Popen([sys.executable, "-c", WORKING, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    try:
        for each in both:
            assert each.stdout is not None
            assert each.stdout.readline() == "begun\n"
        assert len(list(tmp_path.rglob("redis.rdb"))) == 2
        both[0].send_signal(signal.SIGKILL)
        both[0].wait(10)

        with keeping.staged(tmp_path, "restore"):
            assert len(list(tmp_path.rglob("redis.rdb"))) == 2, "it is another kind of work"
        with keeping.staged(tmp_path, "backup"):
            assert len(list(tmp_path.rglob("redis.rdb"))) == 1
    finally:
        for each in both:
            each.communicate()
    assert both[1].returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_of_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(errors.SetupError, match="No space left"), keeping.staged(tmp_path, "backup"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert list(tmp_path.iterdir()) == []
