"""One BRB for the whole run, started once; each test finds it without memories."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from harness import Brb, Person

from services.embedded import standin


@pytest.fixture(scope="session")
def upstream_server() -> Iterator[standin.StandIn]:
    with standin.running() as server:
        yield server


@pytest.fixture
def upstream(upstream_server: standin.StandIn) -> standin.StandIn:
    upstream_server.recorded.clear()
    upstream_server.scripts = []
    upstream_server.abandoned = 0
    return upstream_server


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory, upstream_server: standin.StandIn) -> Iterator[Brb]:
    brb = Brb(tmp_path_factory.mktemp("brb"), upstream_server.url)
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
def person(brb: Brb, upstream: standin.StandIn) -> Iterator[Callable[..., Person]]:
    """Makes people, each in a new conversation."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(Person(brb, upstream, **options))
