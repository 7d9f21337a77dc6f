"""A part that keeps dying is started again after longer and longer, and the others don't wait for it."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.core import config
from services.embedded import programs, supervisor


def program(name: str, seconds: float) -> programs.Program:
    return programs.Program(name, (sys.executable, "-c", f"import time; time.sleep({seconds})"), lambda: True, 10, 1)


@pytest.fixture
def children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[supervisor._Supervisor]:
    settings = config.Settings(data_dir=tmp_path)
    supervisor._prepare_folders(settings)
    monkeypatch.setattr(supervisor, "_RESTART_SECONDS", (0.05, 3600.0))
    made = supervisor._Supervisor(settings, lambda _: None)
    yield made
    made.stop([program("weak", 0), program("steady", 0)])


def test_a_part_that_dies_is_started_again_though_another_waits_for_its_time(children: supervisor._Supervisor) -> None:
    weak, steady = program("weak", 0.2), program("steady", 3600)
    children.start([weak, steady])
    first = children._running["steady"]
    deadline = time.monotonic() + 20
    while children._due.get("weak", 0.0) < time.monotonic() + 60:  # it has died twice, and now waits for an hour
        children._watch(weak)
        assert time.monotonic() < deadline
    first.kill()
    first.wait()
    deadline = time.monotonic() + 5
    while children._running["steady"] is first:
        for each in (weak, steady):
            children._watch(each)
        assert time.monotonic() < deadline, "it was not started again"
    assert children._running["steady"].poll() is None
