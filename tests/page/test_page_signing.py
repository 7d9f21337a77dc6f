"""Signing in and out in a browser."""

import pytest
import story
from playwright.sync_api import expect
from visitors import Visiting

from services.core import seal, tokens
from services.proxy.parts import Parts

REFUSED = r"status of (401|403)"


def test_whoever_has_no_session_is_asked_for_a_token(visiting: Visiting) -> None:
    visitor = visiting()
    for path in ("/ui", "/ui/review", "/ui/turns/x", "/ui/memories/00000000-0000-0000-0000-000000000000"):
        page = visitor.go(path)
        assert page.url == f"{visitor.base}/ui/sign-in"
        assert page.get_by_role("navigation").count() == 0


def test_a_token_signs_in_and_its_end_signs_out(visiting: Visiting, parts: Parts) -> None:
    visitor = visiting("mira")
    expect(visitor.page.get_by_text("mira of acme, member")).to_be_visible()
    token_id = tokens.id_of(visitor.tokens["mira"])
    assert token_id is not None

    parts.tokens.revoke(token_id, story.NOW)

    assert visitor.go("/ui").url.endswith("/ui/sign-in")


def test_signing_out_ends_the_session(visiting: Visiting) -> None:
    visitor = visiting("mira")
    visitor.page.get_by_role("button", name="Sign out").click()
    visitor.page.wait_for_url("**/ui/sign-in")

    assert visitor.go("/ui").url.endswith("/ui/sign-in")
    assert visitor.context.cookies() == [] or all(cookie["name"] != "brb_session" or cookie["value"] for cookie in visitor.context.cookies())


@pytest.mark.parametrize(("given", "said"), [("brb_nonsense", "no token"), ("operator", "the machine's own")])
def test_what_is_no_token_of_a_team_does_not_sign_in(visiting: Visiting, parts: Parts, given: str, said: str) -> None:
    visitor = visiting()
    visitor.expected.append(REFUSED)
    visitor.go("/ui/sign-in")
    key = tokens.operator_key(seal.secret_of(parts.settings)) if given == "operator" else given
    visitor.page.get_by_label("Your token").fill(key)
    visitor.page.get_by_role("button", name="Sign in").click()

    expect(visitor.page.get_by_role("alert")).to_contain_text(said)
    assert key not in visitor.page.content()
    assert visitor.go("/ui").url.endswith("/ui/sign-in")


def test_the_token_is_in_no_cookie_address_or_page(visiting: Visiting) -> None:
    visitor = visiting("jonas")

    assert all(visitor.tokens["jonas"] not in cookie.get("value", "") for cookie in visitor.context.cookies())
    assert all(visitor.tokens["jonas"] not in url for url in visitor.asked)
    (session,) = [cookie for cookie in visitor.context.cookies() if cookie["name"] == "brb_session"]
    assert (session.get("httpOnly"), session.get("sameSite"), session.get("path")) == (True, "Strict", "/ui")


def test_a_change_without_the_second_value_of_the_session_is_refused(visiting: Visiting, parts: Parts) -> None:
    visitor = visiting("tariq")
    before = len(parts.tokens.all())

    for sent in ({"user": "new"}, {"user": "new", "csrf": "0" * 64}):
        answer = visitor.context.request.post(f"{visitor.base}/ui/tokens", form=sent, headers={"origin": visitor.base})

        assert answer.status == 403
        assert "load it again" in answer.text()
    assert len(parts.tokens.all()) == before


def test_the_colours_are_kept(visiting: Visiting) -> None:
    visitor = visiting("mira", color_scheme="light")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    light = visitor.go("/ui/status").evaluate(ground)

    visitor.page.get_by_role("button", name="dark", exact=True).click()

    expect(visitor.page.get_by_role("button", name="dark", exact=True)).to_have_attribute("aria-pressed", "true")
    assert visitor.page.url.endswith("/ui/status")
    assert visitor.page.evaluate(ground) != light
    assert visitor.go("/ui/turns").evaluate(ground) != light
