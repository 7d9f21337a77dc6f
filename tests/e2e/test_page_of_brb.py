"""What somebody said through a running BRB, on its page in a browser."""

from collections.abc import Callable, Iterator

import pytest
from harness import Brb, Person, until
from playwright.sync_api import Page, expect

from tests.support import chromium


@pytest.fixture
def page(brb: Brb) -> Iterator[Page]:
    with chromium.running() as browser:
        context = browser.new_context(base_url=brb.url)
        said: list[str] = []
        context.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
        yield context.new_page()
        context.close()
        assert said == []


def test_what_was_said_is_found_explained_corrected_and_forgotten(brb: Brb, person: Callable[..., Person], page: Page) -> None:
    brb.worked_off(person().say("My name is Leo and I use Postgres for invoices.").turn)
    memory = brb.memory("Postgres")
    asked = person().say("Which database do I use for invoices?")
    assert asked.memories > 0
    until(lambda: brb.http.get(f"/turns/{asked.turn}").status_code == 200 or None, "the turn is not on record")

    page.goto("/ui")
    page.get_by_role("link", name="Turns").click()
    page.get_by_role("link", name="Which database do I use").click()
    expect(page.locator("li.considered", has_text="Postgres")).to_contain_text("told")
    expect(page.locator("pre.block")).to_contain_text("Postgres")
    page.locator("li.considered").get_by_role("link", name="Postgres").click()
    expect(page).to_have_url(f"{brb.url}/ui/memories/{memory.id}")
    expect(page.get_by_role("region", name="Evidence")).to_contain_text("I use Postgres for invoices")
    expect(page.get_by_role("region", name="Where it was used")).to_contain_text("Which database do I use")

    page.locator("summary", has_text="Edit").click()
    page.get_by_role("textbox", name="Text").fill(memory.text.replace("Postgres", "MariaDB"))
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".timeline")).to_contain_text("Postgres")

    page.goto("/ui")
    page.get_by_role("searchbox").press_sequentially("mariadb invoices")
    expect(page.locator("#results article").first).to_contain_text("MariaDB")

    page.goto(f"/ui/memories/{memory.id}/forget")
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_role("row", name="Versions in the store")).to_contain_text("2")
    assert not [one for one in brb.memories("all") if "MariaDB" in one.text or "Postgres" in one.text]

    page.goto("/ui/status")
    expect(page.locator("tr", has_text="worker")).to_contain_text("ok")
