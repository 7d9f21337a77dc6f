"""What an admin does in a browser: tokens, members, jobs, the log; and that nobody else does."""

import re

import pytest
import story
from playwright.sync_api import expect
from visitors import Visiting

from services.core import models, ports, rights, tokens
from services.proxy.parts import Parts


@pytest.fixture
def kept(parts: Parts) -> dict[str, models.Memory]:
    return story.told(parts)


@pytest.mark.parametrize("scripts", [True, False])
def test_a_token_is_made_shown_once_signs_in_and_is_revoked(visiting: Visiting, parts: Parts, scripts: bool) -> None:
    visitor = visiting("tariq", java_script_enabled=scripts)
    page = visitor.go("/ui/tokens")
    page.get_by_label("For").fill("nora")
    page.get_by_label("Role").select_option("curator")
    page.get_by_label("Days it holds").fill("30")
    page.get_by_label("Label").fill("laptop <b>")
    page.get_by_role("button", name="Make a token").click()

    made = page.get_by_label("Copy it now").input_value()
    token_id = tokens.id_of(made)
    assert token_id is not None
    stored = parts.tokens.find(token_id)
    assert stored is not None
    assert stored.token.principal == models.Principal("acme", "nora", models.Role.CURATOR)
    assert stored.token.expires_at == pytest.approx(story.NOW + 30 * 86_400)
    assert made not in visitor.go("/ui/tokens").content()
    nora = visiting()
    nora.tokens["nora"] = made
    nora.sign_in("nora")

    page.get_by_role("button", name=re.compile(f"Revoke {token_id}")).click()

    expect(page.get_by_role("status")).to_contain_text("is revoked")
    assert nora.go("/ui").url.endswith("/ui/sign-in")
    acts = [event.act for event in parts.audit.read("acme")]
    assert ports.Act.MADE_TOKEN in acts
    assert ports.Act.REVOKED_TOKEN in acts


def test_a_mistake_in_a_form_is_told(visiting: Visiting) -> None:
    visitor = visiting("tariq")
    visitor.expected.append("400")
    page = visitor.go("/ui/tokens")
    page.get_by_label("For").fill("nora")
    page.evaluate("document.querySelector('[name=days]').removeAttribute('pattern')")
    page.get_by_label("Days it holds").fill("soon")
    page.get_by_role("button", name="Make a token").click()

    expect(page.get_by_role("alert")).to_contain_text("a whole number of days")


def test_others_see_their_own_tokens_and_make_none(visiting: Visiting) -> None:
    page = visiting("mira").go("/ui/tokens")

    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody")).to_contain_text("(this one)")
    assert page.get_by_role("button", name="Make a token").count() == 0


def test_the_menu_shows_what_there_is_for_whom(visiting: Visiting) -> None:
    def menu(who: str) -> list[str]:
        return visiting(who).page.get_by_role("navigation", name="Pages").get_by_role("link").all_inner_texts()

    assert menu("mira") == menu("jonas") == ["Memories", "Review", "Turns", "Notes", "Tokens", "Log", "Status"]
    assert menu("tariq") == ["Memories", "Review", "Turns", "Notes", "Tokens", "Members", "Jobs", "Log", "Status"]


@pytest.mark.parametrize("path", ["/ui/members", "/ui/members/mira/remove", "/ui/jobs"])
def test_an_admins_pages_are_for_admins(visiting: Visiting, kept: dict[str, models.Memory], path: str) -> None:
    visitor = visiting("jonas")
    visitor.expected.append("403")

    expect(visitor.go(path, 403).get_by_role("alert")).to_contain_text("only an admin")


def test_a_member_leaves(visiting: Visiting, kept: dict[str, models.Memory], parts: Parts) -> None:
    visitor = visiting("tariq")
    page = visitor.go("/ui/members")
    page.get_by_role("link", name=re.compile("Remove… ?mira")).click()
    expect(page.locator("#main")).to_contain_text("1 valid token is revoked")
    expect(page.locator("#main")).to_contain_text("stay under this name")
    page.get_by_role("button", name="Remove mira").click()

    expect(page.get_by_role("row", name="Tokens revoked")).to_contain_text("1")
    left = parts.store.find(rights.managed(story.TARIQ), ports.Where(owner="mira"))
    assert {one.visibility for one in left} == {models.Visibility.TEAM}


def test_a_job_that_failed_is_tried_again(visiting: Visiting, parts: Parts) -> None:
    story.bury(parts)
    page = visiting("tariq").go("/ui/jobs")
    expect(page.locator("li.card")).to_contain_text("the model answered with no JSON")
    page.get_by_role("button", name="Try again").click()

    expect(page.get_by_role("status")).to_contain_text("waits again")
    expect(page.get_by_role("row", name=re.compile("^learn"))).to_contain_text("1")
    assert parts.book.dead() == []


def test_the_log_tells_an_admin_of_all_and_others_of_themselves(visiting: Visiting, kept: dict[str, models.Memory]) -> None:
    visiting("mira").go("/ui?q=orders")
    own = visiting("jonas").go("/ui/audit").locator("tbody th").all_inner_texts()
    every = visiting("tariq").go("/ui/audit").locator("tbody th").all_inner_texts()

    assert set(own) == {"jonas"}
    assert {"mira", "jonas", "tariq"} == set(every)


def test_the_picture_has_a_text_beside_it(visiting: Visiting, kept: dict[str, models.Memory]) -> None:
    page = visiting("mira").go("/ui/status")

    assert page.get_by_role("img").get_attribute("aria-labelledby") == "chart-title chart-about"
    page.locator("summary", has_text="As a table").click()
    numbers = page.locator("#growth ~ details tbody td").all_inner_texts()
    assert numbers[-1] == "7"
    assert [int(number) for number in numbers] == sorted(int(number) for number in numbers)
    assert page.locator(".chart rect").count() == len(numbers)
