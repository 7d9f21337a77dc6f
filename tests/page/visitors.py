"""Somebody's browser, and the proxy that it visits."""

import contextlib
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request

from services.proxy import access, relay
from services.proxy.app import create_app
from services.proxy.front import Server, served
from services.proxy.parts import Parts
from tests.support import upstream
from tests.support.interceptors import Keeping


@contextlib.contextmanager
def serving(parts: Parts) -> Iterator[str]:
    doors = access.Access(parts.settings, parts.tokens, parts.clock)
    handler = relay.Relay(parts.settings, Keeping(), doors=doors)
    server = Server(served(create_app(parts, doors=doors, on_shutdown=[handler.close]), handler, host="127.0.0.1", port=0, drain_seconds=1))
    thread = threading.Thread(target=server.run, name="page", daemon=True)
    thread.start()
    assert upstream.wait_for(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


@dataclass
class Visitor:
    """Somebody's browser. expected: patterns of what its console may say."""

    context: BrowserContext
    page: Page
    base: str
    tokens: dict[str, str]
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def sign_in(self, name: str) -> None:
        self.go("/ui/sign-in")
        self.page.get_by_label("Your token").fill(self.tokens[name])
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(f"{self.base}/ui")

    def go(self, path: str, status: int = 200) -> Page:
        answer = self.page.goto(f"{self.base}{path}")
        assert answer is not None
        assert answer.status == status, (path, answer.status)
        return self.page

    def listening(self) -> None:
        self.context.on("console", self._heard)
        self.context.on("weberror", lambda error: self.said.append(f"error: {error.error}"))
        self.context.on("request", self._seen)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.said.append(f"{message.type}: {message.text}")

    def _seen(self, request: Request) -> None:
        self.asked.append(request.url)

    def behaved(self) -> None:
        assert [text for text in self.said if not any(re.search(pattern, text) for pattern in self.expected)] == []
        assert [url for url in self.asked if not url.startswith((f"{self.base}/", "data:"))] == []


Visiting = Callable[..., Visitor]
