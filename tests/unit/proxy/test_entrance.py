"""The page's way in: sessions, and the second value that every change carries. By an app of the test's own behind the real entrance."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from litestar import Litestar, Request, Router, get, post
from litestar.testing import TestClient
from litestar.types import Receive, Scope, Send

from services.core import models, tokens
from services.proxy import access
from services.proxy.entrance import SIGN_IN, Entrance
from services.proxy.parts import Parts
from services.proxy.routes import failures
from services.proxy.web import sessions
from tests.support import in_memory
from tests.support.access import token_for

LEO = models.Principal("acme", "leo")


@get(["/", "/sign-in", "/static/x"], sync_to_thread=False)
def page(request: Request[Any, Any, Any]) -> dict[str, str]:
    session = sessions.of(request)
    return {"user": getattr(request.scope.get("user"), "user", ""), "path": request.scope["path"], "token": session.token_id if session else ""}


@post("/change", sync_to_thread=False)
def change() -> str:
    return "done"


class Page:
    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.sessions = sessions.Sessions(lambda: "secret", parts.clock)
        app = Litestar([Router("/ui", route_handlers=[page, change], before_request=sessions.checked)], exception_handlers=failures.HANDLERS)
        entrance = Entrance(app, parts.settings, access.Access(parts.settings, parts.tokens, parts.clock), self.sessions)

        async def served(scope: Scope, receive: Receive, send: Send) -> None:
            await (app(scope, receive, send) if scope["type"] == "lifespan" else entrance(scope, receive, send))  # type: ignore[arg-type, comparison-overlap]

        self.client = TestClient(served, base_url="http://127.0.0.1:3000")  # type: ignore[arg-type]

    def cookie(self, session: sessions.Session) -> dict[str, str]:
        return {"cookie": f"{sessions.COOKIE}={self.sessions.cookie(session, {}).value}"}


@pytest.fixture
def team(tmp_path: Path) -> Page:
    return Page(in_memory.parts(tmp_path, auth="token"))


@pytest.fixture
def alone(tmp_path: Path) -> Page:
    return Page(in_memory.parts(tmp_path))


def test_a_session_is_that_of_its_token(team: Page) -> None:
    token = tokens.id_of(token_for(team.parts.tokens, LEO)) or ""
    headers = team.cookie(team.sessions.begin(token))

    assert team.client.get("/ui", headers=headers).json() == {"user": "leo", "path": "/ui", "token": token}
    team.parts.tokens.revoke(token, in_memory.NOW)
    assert team.client.get("/ui", headers=headers, follow_redirects=False).status_code == 303


def test_whoever_has_not_signed_in_is_sent_to_do_so(team: Page) -> None:
    for headers in ({}, team.cookie(team.sessions.begin()), team.cookie(team.sessions.begin("gone")), {"cookie": f"{sessions.COOKIE}=x"}):
        sent = team.client.get("/ui", headers=headers, follow_redirects=False)
        assert (sent.status_code, sent.headers["location"]) == (303, SIGN_IN)
        htmx = team.client.get("/ui", headers={**headers, "HX-Request": "true"})
        assert (htmx.status_code, htmx.headers["hx-redirect"]) == (401, SIGN_IN)
        form = team.client.post("/ui/change", headers=headers, follow_redirects=False)
        assert (form.status_code, form.headers["location"]) == (303, SIGN_IN)
        assert team.client.get("/ui/sign-in", headers=headers).json()["user"] == ""
        assert team.client.get("/ui/static/x", headers=headers).status_code == 200


def test_a_token_in_the_path_shows_the_page_and_is_gone_from_it(team: Page) -> None:
    token = token_for(team.parts.tokens, LEO)

    assert team.client.get(f"/k/{token}/ui").json() == {"user": "leo", "path": "/ui", "token": ""}
    sent = team.client.get("/k/brb_wrong/ui", follow_redirects=False)
    assert "brb_wrong" not in str(sent.headers) + sent.text


def test_the_sessions_cookie_is_for_the_page_alone(team: Page) -> None:
    token = tokens.id_of(token_for(team.parts.tokens, LEO)) or ""

    assert team.client.get("/memories", headers=team.cookie(team.sessions.begin(token))).status_code == 401


@pytest.mark.parametrize("whose", ["team", "alone"])
def test_what_changes_something_carries_the_second_value_of_its_session(request: pytest.FixtureRequest, whose: str) -> None:
    there: Page = request.getfixturevalue(whose)
    token = tokens.id_of(token_for(there.parts.tokens, LEO)) or ""
    mine, other = there.sessions.begin(token), there.sessions.begin(token)
    headers = there.cookie(mine)

    def status(**sent: Any) -> int:
        return there.client.post("/ui/change", headers={**headers, **sent.pop("headers", {})}, **sent).status_code

    assert status(data={"csrf": mine.csrf, "x": "1"}) == 201
    assert status(headers={"X-CSRF-Token": mine.csrf}) == 201
    for wrong in ("", "x", other.csrf, mine.csrf[:-1], "ü"):
        assert status(data={"csrf": wrong}) == 403
    assert status() == 403
    assert status(headers={"X-CSRF-Token": other.csrf}) == 403
    assert status(headers={"X-CSRF-Token": mine.csrf, "Origin": "https://evil.example"}) == 403


def test_without_a_session_nothing_is_changed(alone: Page) -> None:
    assert alone.client.get("/ui").json() == {"user": "me", "path": "/ui", "token": ""}
    assert alone.client.post("/ui/change", data={"csrf": ""}).status_code == 403


def test_a_rate_that_is_used_up_says_when_to_come_back(tmp_path: Path) -> None:
    parts = in_memory.parts(tmp_path, auth="token", rate_per_minute=1)
    there = Page(replace(parts))
    headers = there.cookie(there.sessions.begin(tokens.id_of(token_for(parts.tokens, LEO)) or ""))

    assert there.client.get("/ui", headers=headers).status_code == 200
    refused = there.client.get("/ui", headers=headers)
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["retry-after"]) <= 60
