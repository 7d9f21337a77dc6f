"""The drills of `make drills` in short: one BRB, a worker killed, a Redis that hangs, a llama.cpp that talks nonsense, and the books in the end."""

import asyncio
from pathlib import Path

import pytest

from ops.drills import faults, scene


@pytest.mark.timeout(300)
def test_nothing_is_lost_doubled_or_broken_by_faults_of_the_memory(tmp_path: Path) -> None:
    said: list[str] = []
    result = asyncio.run(scene.play(faults.SHORT, faults.SHORT.seconds, said.append, folder=tmp_path))
    assert not result.wrong, "\n".join([*said, scene.shown(result)])
    assert result.books.answered > 20
