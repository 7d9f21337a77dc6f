"""Looking at memories in a browser: finding, understanding, correcting and forgetting them."""

import re
import uuid

import pytest
import story
from playwright.sync_api import Page, expect
from visitors import Visiting

from services.core import models, ports, rights
from services.proxy.parts import Parts
from tests.support import upstream

ORDERS = "We decided to keep orders in PostgreSQL 16"


@pytest.fixture
def kept(parts: Parts) -> dict[str, models.Memory]:
    return story.told(parts)


def texts(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("#results article .words").all_inner_texts()]


def asked(parts: Parts) -> list[str]:
    return [use.words for use in parts.uses.read(story.JONAS) if isinstance(use, ports.Asked)]


def test_one_sees_ones_own_and_what_the_team_has(visiting: Visiting, kept: dict[str, models.Memory]) -> None:
    page = visiting("mira").page

    expect(page.get_by_role("status")).to_contain_text("7 memories")
    assert texts(page)[0].startswith("Invoices may not be changed")
    assert "I prefer rebasing over merge commits." not in page.content()
    assert "PostgreSQL 17" not in page.content()
    assert "Nightjar" not in page.content()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("scope=private", ["I prefer rebasing", "We use testcontainers", "My name is Jonas"]),
        ("scope=team&category=decision", [ORDERS]),
        ("status=pending", ["Billing used to be"]),
        ("project=billing&scope=private", ["We use testcontainers"]),
        ("project=billing&scope=private&status=all", ["Billing used to be", "We use testcontainers"]),
        ("age=week&scope=private", ["I prefer rebasing"]),
        ("age=older", ["My name is Jonas"]),
        ("unused=1&category=decision", ["We decided to keep orders in PostgreSQL 17"]),
        ("scope=nonsense&age=x&page=-1&status=", None),
    ],
)
def test_filters(visiting: Visiting, kept: dict[str, models.Memory], query: str, found: list[str] | None) -> None:
    page = visiting("jonas").go(f"/ui?{query}")

    seen = texts(page)
    if found is None:
        assert len(seen) == 10
    else:
        assert [any(text.startswith(start) for start in found) for text in seen] == [True] * len(found), seen


def test_filters_are_set_in_the_form(visiting: Visiting, kept: dict[str, models.Memory]) -> None:
    page = visiting("jonas").page
    page.locator("summary", has_text="Filters").click()
    page.get_by_label("Who sees it").select_option("private")
    page.get_by_label("never recalled").check()
    page.get_by_role("button", name="Apply").click()

    expect(page.locator("#results article")).to_have_count(3)
    assert "scope=private" in page.url
    page.reload()
    expect(page.get_by_label("Who sees it")).to_have_value("private")


def test_it_searches_while_somebody_types_and_says_what_made_the_score(visiting: Visiting, kept: dict[str, models.Memory], parts: Parts) -> None:
    page = visiting("jonas").page
    page.evaluate("window.same = true")

    page.keyboard.press("/")
    page.keyboard.type("which database do we use for orders")

    expect(page.locator("#results article").first).to_contain_text("PostgreSQL")
    assert page.evaluate("window.same") is True
    expect(page.get_by_label("Search", exact=True)).to_be_focused()
    page.locator("summary", has_text="Why: score").first.click()
    score = page.locator("table.signals").first.get_by_role("row", name=re.compile("^score"))
    assert float(score.locator("meter").get_attribute("value") or 0) > 0.3
    expect(score.locator(".figure")).to_have_text(re.compile(r"^0\.\d\d$"))
    page.locator("summary", has_text="Dropped").click()
    expect(page.locator(".why li").first).to_contain_text(re.compile("is under|not among"))
    assert parts.uses.read(story.JONAS) == [], "what was typed so far is nothing that was asked for"

    page.get_by_role("searchbox").press("Enter")
    assert upstream.wait_for(lambda: asked(parts) == ["which database do we use for orders"]), asked(parts)
    page.wait_for_url(re.compile(r"q=which(\+|%20)database"))


def test_a_search_shows_what_others_only_proposed_to_curators_alone(visiting: Visiting, kept: dict[str, models.Memory]) -> None:
    question = "/ui?q=may+invoices+be+changed+after+they+were+sent+to+the+customer"

    assert "Invoices may not" in visiting("jonas").go(question).content()
    assert "PostgreSQL 17" not in visiting("mira").go("/ui?q=since+the+upgrade+postgresql+17").content()


def test_a_memory_with_all_that_is_known_of_it(visiting: Visiting, kept: dict[str, models.Memory]) -> None:
    visitor = visiting("jonas")
    page = visitor.go(f"/ui/memories/{kept[ORDERS].id}")

    expect(page.locator(".quote")).to_contain_text("So, for the record: We decided")
    expect(page.locator(".timeline li")).to_have_count(1)
    expect(page.locator(".timeline")).to_contain_text("PostgreSQL 14")
    expect(page.get_by_role("region", name="Near in meaning").locator("li").first).to_contain_text("orders")
    page.get_by_role("region", name="Where it was used").get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Why was this in my conversation?")


def test_why_something_was_in_a_conversation(visiting: Visiting, kept: dict[str, models.Memory]) -> None:
    visitor = visiting("jonas")
    page = visitor.go("/ui/turns")
    page.get_by_role("link", name="Which database do we use").click()

    expect(page.locator("#main")).to_contain_text("a similarity of 0.30 was needed")
    considered = page.locator("li.considered")
    expect(considered).to_have_count(3)
    expect(considered.nth(0)).to_contain_text("told")
    expect(considered.nth(2)).to_contain_text("not told similarity 0.27 is under 0.30")
    expect(page.locator("pre.block")).to_contain_text("<brb-memories>")
    expect(page.locator("#main")).to_contain_text("told: 2 memories, ")

    other = visiting("tariq")
    other.expected.append("404")
    other.go("/ui/turns/8c1f2f3a-turn-of-jonas", 404)
    expect(other.go("/ui/turns").locator(".empty")).to_be_visible()


def test_correcting_a_memory_keeps_what_it_said(visiting: Visiting, kept: dict[str, models.Memory]) -> None:
    page = visiting("jonas").go(f"/ui/memories/{kept['I prefer rebasing over merge commits'].id}")
    page.locator("summary", has_text="Edit").click()
    page.get_by_role("textbox", name="Text").fill("I prefer merge commits.")
    page.get_by_role("button", name="Save").click()

    expect(page.locator("p.large")).to_have_text("I prefer merge commits.")
    expect(page.locator(".timeline")).to_contain_text("I prefer rebasing over merge commits.")


def test_remembering_by_hand(visiting: Visiting, parts: Parts) -> None:
    page = visiting("mira").page
    expect(page.locator(".empty")).to_contain_text("Nothing is remembered yet")
    page.locator("summary", has_text="Remember something").click()
    page.get_by_label("A statement, in your own words").fill("I am on call on Thursdays.")
    page.get_by_role("button", name="Remember").click()

    expect(page.locator("p.large")).to_have_text("I am on call on Thursdays.")
    (memory,) = parts.store.find(rights.managed(story.MIRA))
    assert memory.visibility is models.Visibility.PRIVATE


def test_forgetting_shows_first_what_goes(visiting: Visiting, kept: dict[str, models.Memory], parts: Parts) -> None:
    page = visiting("jonas").go(f"/ui/memories/{kept[ORDERS].id}")
    page.get_by_role("link", name="Forget…").click()

    expect(page.locator("#main")).to_contain_text("2 versions of it")
    expect(page.locator("#main")).to_contain_text("PostgreSQL 14")
    expect(page.locator("#main")).to_contain_text("for everybody in the team")
    assert parts.store.get(rights.managed(story.JONAS), kept[ORDERS].id) is not None
    page.get_by_role("button", name="Forget it").click()

    expect(page.get_by_role("row", name="Versions in the store")).to_contain_text("2")
    assert parts.store.get(rights.managed(story.JONAS), kept[ORDERS].id) is None


def test_a_member_proposes_and_cannot_change_what_is_anothers(visiting: Visiting, kept: dict[str, models.Memory], parts: Parts) -> None:
    visitor = visiting("mira")
    page = visitor.go(f"/ui/memories/{kept['I like short answers with an example'].id}")
    page.get_by_role("button", name="Propose to the team").click()
    expect(page.locator(".chip-proposed")).to_be_visible()

    helm = kept["The orders service is deployed with Helm charts from the infra repository"]
    page = visitor.go(f"/ui/memories/{helm.id}")
    assert page.get_by_role("link", name="Forget…").count() == page.locator("summary", has_text="Edit").count() == 0
    visitor.expected += ["403", "404"]
    visitor.go(f"/ui/memories/{helm.id}/forget", 403)


def test_what_is_anothers_looks_like_what_is_not_there(visiting: Visiting, kept: dict[str, models.Memory]) -> None:
    visitor = visiting("tariq")
    visitor.expected.append("404")
    private, elsewhere = kept["I prefer rebasing over merge commits"].id, kept["The secret plan of the other team is called Nightjar"].id
    paths = {f"/ui/memories/{each}{end}": each for each in (private, elsewhere, str(uuid.UUID(int=0))) for end in ("", "/forget")}
    said = [visitor.go(path, 404).locator("#problem").inner_text().replace(each, "ID") for path, each in paths.items()]

    assert len(set(said)) == 1
