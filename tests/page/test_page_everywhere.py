"""What holds on every page: it can be read on a phone, in the dark, without a script and by a screen reader, and it asks nobody else for anything."""

import itertools
import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import story
from visitors import Visiting, Visitor

from services.core import models
from services.proxy.parts import Parts

AXE = "axe-core@4.14.1"
STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PAGES = {
    "memories": "/ui",
    "filters": "/ui?scope=team&age=older&unused=1",
    "search": "/ui?q=which+database+do+we+use+for+orders",
    "memory": "/ui/memories/{memory}",
    "forget": "/ui/memories/{memory}/forget",
    "review": "/ui/review",
    "turns": "/ui/turns",
    "turn": "/ui/turns/8c1f2f3a-turn-of-jonas",
    "notes": "/ui/notes",
    "note": "/ui/notes/{note}",
    "tokens": "/ui/tokens",
    "members": "/ui/members",
    "leave": "/ui/members/mira/remove",
    "jobs": "/ui/jobs",
    "audit": "/ui/audit",
    "status": "/ui/status",
    "nowhere": "/ui/nowhere",
}
LONG = "x" * 2000
ODD = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)> ' onmouseover='alert(1)",
    "{{ 7 * 7 }} {% raw %} ${7*7} <%= 7 %>",
    "javascript:alert(1) <svg/onload=alert(1)> <a href='javascript:alert(1)'>x</a>",
    "שלום \u202eevil\u202c עולם مرحبا",
    "zero\u200bwidth \u2066isolate\u2069 \ufeffbom \x07bell \U000e0041tag",
    "👩‍👩‍👧‍👦 🏳️‍🌈 नमस्ते 你好 e\u0301\u0302\u0303\u0304\u0305",
    LONG,
    f"{'wide ' * 390}",
    "</textarea></main></body></html><h1>gone</h1>",
)


@pytest.fixture
def kept(parts: Parts) -> dict[str, models.Memory]:
    made = story.told(parts)
    story.bury(parts)
    return made


def admin(visiting: Visiting, kept: dict[str, models.Memory], parts: Parts, **options: object) -> Visitor:
    """Jonas, as an admin: he has turns, notes, and something to decide."""
    visitor = visiting(**options)
    visitor.tokens["jonas"] = story.token_for(parts.tokens, models.Principal("acme", "jonas", models.Role.ADMIN))
    visitor.sign_in("jonas")
    return visitor


def addresses(kept: dict[str, models.Memory], parts: Parts) -> dict[str, str]:
    (note,) = [note for note in parts.notes.find(models.Scope("acme", "jonas", None)) if note.title == "Deploying orders"]
    memory = kept["We decided to keep orders in PostgreSQL 16"]
    return {name: path.format(memory=memory.id, note=note.id) for name, path in PAGES.items()}


def visit_all(visitor: Visitor, kept: dict[str, models.Memory], parts: Parts) -> None:
    visitor.expected.append("404")
    for name, path in addresses(kept, parts).items():
        visitor.go(path, 404 if name == "nowhere" else 200)
        assert visitor.page.locator("h1").count() == 1, name
        assert visitor.page.title().endswith("· BRB")
        check(visitor, name)


def check(visitor: Visitor, name: str) -> None:
    widths = visitor.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1], (name, widths)
    assert visitor.page.locator("[style], [onclick], style, script:not([src])").count() == 0, name


@pytest.mark.parametrize("scripts", [True, False])
def test_every_page_on_a_phone(visiting: Visiting, kept: dict[str, models.Memory], parts: Parts, scripts: bool) -> None:
    visitor = admin(visiting, kept, parts, viewport={"width": 360, "height": 740}, java_script_enabled=scripts)

    visit_all(visitor, kept, parts)


def test_every_answer_has_the_policy(visiting: Visiting, kept: dict[str, models.Memory], parts: Parts) -> None:
    visitor = admin(visiting, kept, parts)
    for path in (*addresses(kept, parts).values(), "/ui/static/brb.css", "/ui/static/keys.js", "/ui/static/htmx.min.js", "/ui/sign-in"):
        headers = visitor.context.request.get(f"{visitor.base}{path}").headers

        assert "default-src 'none'" in headers["content-security-policy"], path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert ("no-store" in headers["cache-control"]) is not path.startswith("/ui/static"), path


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script that looks for what some people could not use."""
    folder = tmp_path_factory.mktemp("axe")
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    command = ["npm", "pack", AXE, f"--pack-destination={folder}", f"--cache={folder / 'cache'}", "--fetch-retries=1", "--fetch-timeout=60000"]
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        pytest.skip("npm did not answer within 120 s")
    if done.returncode != 0:
        pytest.skip(f"npm has no {AXE}: {done.stderr[-200:]}")
    (archive,) = Path(folder).glob("*.tgz")
    with tarfile.open(archive) as packed:
        member = packed.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_everybody_can_use_every_page(visiting: Visiting, kept: dict[str, models.Memory], parts: Parts, axe: str, colours: str) -> None:
    visitor = admin(visiting, kept, parts, color_scheme=colours)
    visitor.expected.append("404")
    run = f"axe.run({{runOnly: {json.dumps(STANDARDS)}}}).then(found => found.violations.map(one => [one.id, one.nodes.map(node => node.html)]))"
    found = {}
    for name, path in (*addresses(kept, parts).items(), ("sign-in", "/ui/sign-in")):
        visitor.go(path, 404 if name == "nowhere" else 200)
        visitor.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        visitor.page.evaluate(axe)
        if wrong := visitor.page.evaluate(run):
            found[name] = wrong

    assert found == {}


def test_the_focus_goes_in_the_order_of_the_page_and_is_seen(visiting: Visiting, kept: dict[str, models.Memory], parts: Parts) -> None:
    page = admin(visiting, kept, parts).go("/ui/review")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    places = []
    for _ in range(25):
        page.keyboard.press("Tab")
        places.append(page.evaluate("document.activeElement.getBoundingClientRect().top + scrollY"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"

    assert all(earlier <= later + 40 for earlier, later in itertools.pairwise(places)), places


def odd(text: str) -> models.Memory:
    return story.memory("jonas", models.Category.DECISION, "proposed", f"p{text[:900]}", 1, text, attribute=text[:100], value=text[:100])


def test_odd_texts_are_shown_as_they_are_and_do_nothing(visiting: Visiting, parts: Parts) -> None:
    kept = [
        story.memory("jonas", models.Category.DECISION, "proposed", f"p{text[:900]}", 1, text, attribute=text[:100], value=text[:100]) for text in ODD
    ]
    story.in_memory.keep(parts, *kept)
    told = story.ports.Told(
        turn="<b>turn<b>", at=story.NOW, words=ODD[0], outcome="injected", block=ODD[1], notices=(ODD[2],), project=ODD[3], gate=0.3
    )
    parts.turns.add(story.JONAS, told)
    visitor = visiting("jonas", viewport={"width": 360, "height": 740})
    page = visitor.page
    page.on("dialog", lambda dialog: pytest.fail("a script ran"))
    paths = ["/ui", "/ui/review", "/ui/turns", "/ui/turns/%3Cb%3Eturn%3Cb%3E", *(f"/ui/memories/{one.id}" for one in kept)]

    for path in [*paths, "/ui?q=%3Cscript%3Ealert(1)%3C/script%3E", "/ui?project=%22%3E%3Cscript%3Ealert(1)%3C/script%3E"]:
        visitor.go(path)
        assert page.locator("main script, main img, main svg:not(.chart), h1:has-text('gone')").count() == 0, path
        check(visitor, path)
    shown = visitor.go("/ui").locator("#results").inner_text()
    for text in (*ODD[:4], LONG, ODD[-1]):
        assert text in shown
    assert "zeroU+200Bwidth" in shown
    assert "👩‍👩‍👧‍👦 🏳️‍🌈" in shown
    assert "U+202Eevil" in shown


def test_a_note_is_read_and_does_nothing(visiting: Visiting, kept: dict[str, models.Memory], parts: Parts) -> None:
    visitor = visiting("jonas")
    page = visitor.go("/ui/notes?tag=infra")
    page.get_by_role("link", name="Deploying orders").click()

    assert page.locator(".prose").get_by_role("heading", name="Deploying orders").evaluate("one => one.tagName") == "H2"
    assert page.locator(".prose table td").count() == 4
    assert page.locator(".prose a").evaluate_all("all => all.map(one => [one.href, one.rel])") == [
        ["https://handbook.example/deploy", "noreferrer noopener nofollow"]
    ]
    assert "<img src=x" in page.locator(".prose").inner_text()
    page.get_by_role("region", name="Linked from").get_by_role("link", name="Rollback").click()
    assert page.get_by_role("region", name="Links to").get_by_role("link").inner_text() == "Deploying orders"


def test_an_empty_store_says_so(visiting: Visiting) -> None:
    visitor = visiting("tariq")
    for path in ("/ui", "/ui?q=anything", "/ui/review", "/ui/turns", "/ui/notes", "/ui/jobs", "/ui/status"):
        assert visitor.go(path).locator(".empty").count() > 0, path


def test_five_thousand_memories_come_in_pages(visiting: Visiting, parts: Parts) -> None:
    vector = parts.embedder.embed(["one text for all"], "document")[0]
    many = [story.memory("mira", models.Category.TODO, "private", "", 5000 - count, f"Thing number {count} is to be done.") for count in range(5000)]
    parts.store.put([story.ports.Embedded(one, vector) for one in many])
    visitor = visiting("mira")

    page = visitor.go("/ui")
    assert "5,000 memories" in page.get_by_role("status").inner_text()
    assert page.locator("#results article").count() == 50
    page.get_by_role("link", name="Older").click()
    page.wait_for_url("**page=2")
    assert "Thing number 4949" in page.locator("#results").inner_text()
    assert visitor.go("/ui?page=100").locator("#results article").count() == 50
    assert visitor.go("/ui?page=101").locator(".empty").count() == 1
    assert visitor.go("/ui?unused=1&page=100").locator("#results article").count() == 50
    assert visitor.go("/ui/status").locator(".chart rect").count() > 3
