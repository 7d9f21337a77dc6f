"""The page in a real browser: a team's proxy as it is served, over parts in memory and the real embedding model.

Whatever a test does, the browser says nothing on its console, asks nobody but BRB, and finds nothing against the content security policy.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
import story
from playwright.sync_api import Browser
from visitors import Visiting, Visitor, serving

from services.core import ports
from services.core.adapters.llama_cpp import LlamaCppEmbedder
from services.proxy import throttling
from services.proxy.parts import Parts
from tests.support import chromium

_PATIENCE_MS = 10_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Gone before tests of another kind: its driver keeps an event loop running in this thread, beside which they could run none.

    Not of the package: where there is no `__init__.py`, that is the whole session.
    """
    with chromium.running() as running:
        yield running


@pytest.fixture(scope="session")
def embedder(llama_socket: Path) -> Iterator[ports.Embedder]:
    made = LlamaCppEmbedder(llama_socket, model="all-MiniLM-L6-v2", dimension=384)
    yield made
    made.close()


@pytest.fixture
def parts(tmp_path: Path, embedder: ports.Embedder) -> Parts:
    return story.parts(tmp_path, embedder)


@pytest.fixture
def base(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where the proxy of the parts is served."""
    monkeypatch.setattr(throttling, "delay_seconds", lambda failures: 0.0)
    with serving(parts) as url:
        yield url


@pytest.fixture
def visiting(browser: Browser, base: str, parts: Parts) -> Iterator[Visiting]:
    """Makes visitors, each with a browser of its own; `who`: signed in already. Options are those of a Playwright context."""
    tokens = story.tokens(parts)
    visitors: list[Visitor] = []

    def make(who: str = "", **options: object) -> Visitor:
        context = browser.new_context(**options)  # type: ignore[arg-type]
        context.set_default_timeout(_PATIENCE_MS)
        visitor = Visitor(context, context.new_page(), base, tokens)
        visitor.listening()
        visitors.append(visitor)
        if who:
            visitor.sign_in(who)
        return visitor

    yield make
    for visitor in visitors:
        visitor.context.close()
        visitor.behaved()
