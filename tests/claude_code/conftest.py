"""One Claude Code and one BRB for all these tests; each test finds BRB without memories and gets people with folders of their own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from services.embedded import standin
from tests.claude_code import installation
from tests.claude_code.calls import Wire
from tests.claude_code.client import ClaudeCode
from tests.claude_code.wiretap import Wiretap
from tests.e2e.harness import Brb


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return installation.install(tmp_path_factory.mktemp("claude-code"))
    except installation.Unavailable as cause:
        reason = f"NOT TESTED with the real Claude Code {installation.VERSION}: it can't be installed from npm: {cause}"
        if installation.REQUIRED:
            pytest.exit(reason, returncode=1)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def upstream_server() -> Iterator[standin.StandIn]:
    with standin.running() as server:
        yield server


@pytest.fixture(scope="session")
def running(program: Path, tmp_path_factory: pytest.TempPathFactory, upstream_server: standin.StandIn) -> Iterator[Brb]:
    brb = Brb(tmp_path_factory.mktemp("brb"), upstream_server.url, BRB_RECALL_DEADLINE_MS="5000")  # how fast it recalls is not tested here
    try:
        brb.start(seconds=300)  # the first start ever builds the models
        yield brb
    finally:
        brb.close()


@pytest.fixture
def brb(running: Brb) -> Brb:
    running.healthy()
    running.idle()
    running.forget_everything()
    return running


@pytest.fixture
def upstream(upstream_server: standin.StandIn) -> Iterator[standin.StandIn]:
    """Fails a test whose scripts were not all played: it did not show what it says."""
    upstream_server.recorded.clear()
    upstream_server.scripts = []
    upstream_server.abandoned = 0
    yield upstream_server
    assert upstream_server.scripts == []


@pytest.fixture
def person(program: Path, brb: Brb, upstream: standin.StandIn, tmp_path: Path) -> Iterator[Callable[..., ClaudeCode]]:
    """Makes Claude Codes: `person(project="shop")` works in that folder; all share one home."""
    with Wiretap(brb.port) as tap:
        wire = Wire(tap, upstream)
        yield lambda project="shop": ClaudeCode(program, tmp_path / "home", tmp_path / project, wire)
