"""A served BRB of two teams, in which everybody has something in every place, for whoever attacks it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.core import selftest_api
from services.proxy import throttling
from services.proxy.routes import selftest
from tests.support import two_teams
from tests.support.two_teams import World


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, redis_server: Path) -> Iterator[World]:
    with two_teams.serving(tmp_path_factory.mktemp("brb"), redis_server) as made:
        two_teams.settle(made)
        yield made


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong tokens cost no time, and what waits for a worker waits for a moment only: there is none."""
    monkeypatch.setattr(throttling.Failures, "failed", lambda self, address: throttling.Failure(0.0))
    monkeypatch.setattr(selftest, "_LEARN_SECONDS", 0.1)
    monkeypatch.setattr(selftest_api, "PAUSE_SECONDS", 0.0)
