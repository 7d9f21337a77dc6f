"""Files of rules: what they state, what they import, and which project they belong to."""

import io
import os
from pathlib import Path

import pytest

from services.cli.imports import claude_md
from services.cli.imports.items import Document, Item, Skipped, Wanted
from services.core import import_api


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("- Use pnpm, not npm\n- Tests live in tests/", ["Use pnpm, not npm", "Tests live in tests/"]),
        ("# Shop\n\nA Django app with Postgres.", ["A Django app with Postgres."]),
        ("## Tools\n- pnpm", ["Tools: pnpm"]),
        ("- pnpm", ["pnpm"]),
        (
            "Before committing:\n\n- run `ruff`\n- run `mypy`\n\nThat is all there is.",
            ["Before committing: run ruff", "Before committing: run mypy", "That is all there is."],
        ),
        (
            "- When releasing:\n  - bump the version\n  - tag it\n- Never force-push to main",
            ["When releasing: bump the version", "When releasing: tag it", "Never force-push to main"],
        ),
        ("1. **Never** commit to [main](https://x.example)", ["Never commit to main"]),
        ("- a rule on\n  two whole lines", ["a rule on two whole lines"]),
        ("- Build with:\n  ```sh\n  make\n  ```", []),
        ("```\n- code of some kind\n```\n<!-- - a hidden comment -->\n\n| a | b |\n|---|---|\n| 1 | 2 |", []),
        ("---\npaths:\n  - '**/*.ts'\n---\n- Prefer strict null checks", ["Prefer strict null checks"]),
        ("\ufeff- Prefer strict null checks\r\n- Prefer small modules here", ["Prefer strict null checks", "Prefer small modules here"]),
        ("@docs/rules.md", []),
        ("", []),
    ],
)
def test_each_bullet_and_paragraph_is_a_statement_that_stands_alone(text: str, rules: list[str]) -> None:
    assert [rule.text for rule in claude_md.parse(text).rules] == rules


def test_a_statement_knows_its_headings() -> None:
    (rule,) = claude_md.parse("# Shop\n## Tests\n### Unit\n## Style\n- Lines have 100 characters").rules
    assert rule.headings == ("Shop", "Style")


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("See @README.md and @docs/git.md.", ("README.md", "docs/git.md")),
        ("@./a.md\n- @~/b/c.md", ("./a.md", "~/b/c.md")),
        ("@docs/with\\ space.md", ("docs/with space.md",)),
        ("Ask @ana, or mail ana@example.org", ()),
        ("`@README.md`\n\n```\n@README.md\n```", ()),
    ],
)
def test_imports_are_paths_in_what_is_no_code(text: str, imports: tuple[str, ...]) -> None:
    assert claude_md.parse(text).imports == imports


def read(path: Path, project: str | None = None) -> list[Item]:
    return list(claude_md.read(Document(str(path), path.stat().st_size, 1_700_000_000.0, lambda: path.open("rb"), path), Wanted(project)))


def texts(items: list[Item]) -> list[str]:
    return [item.words[0] for item in items if isinstance(item, import_api.Turn)]


def test_imports_are_followed_within_the_project_and_no_further(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    (shop / "docs").mkdir(parents=True)
    (shop / "CLAUDE.md").write_text("- The first rule of all\n\n@docs/a.md @../secret.md @docs/none.md @docs/key.pem @docs/link.md")
    (shop / "docs" / "a.md").write_text("- The second rule of all\n\n@../CLAUDE.md @b.txt")
    (shop / "docs" / "b.txt").write_text("- The third rule of all")
    (shop / "docs" / "key.pem").write_text("- not a rule at all")
    (tmp_path / "secret.md").write_text("- somebody's own secret words")
    os.symlink(tmp_path / "secret.md", shop / "docs" / "link.md")

    items = read(shop / "CLAUDE.md")

    assert texts(items) == ["The first rule of all", "The second rule of all", "The third rule of all"]
    assert [item.place.rpartition("@")[2] for item in items if isinstance(item, Skipped)] == ["../secret.md", "docs/link.md"]
    assert {item.project for item in items if isinstance(item, import_api.Turn)} == {str(shop.resolve())}


def test_imports_of_imports_end(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"{number}.md").write_text(f"- This is rule number {number}\n\n@{number + 1}.md")
    items = read(tmp_path / "0.md")
    assert texts(items) == [f"This is rule number {number}" for number in range(6)]
    assert [item.why for item in items if isinstance(item, Skipped)] == ["imports of imports are followed 5 times"]


@pytest.mark.parametrize("name", ["CLAUDE.md", ".claude/CLAUDE.md", ".claude/rules/deep/style.md"])
def test_rules_belong_to_the_folder_of_their_project(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("- Prefer small modules here")
    (turn,) = (item for item in read(file) if isinstance(item, import_api.Turn))
    assert (turn.project, turn.statement, turn.said_at) == (str(tmp_path.resolve()), True, 1_700_000_000.0)
    (turn,) = (item for item in read(file, "shop") if isinstance(item, import_api.Turn))
    assert turn.project == "shop"


def test_rules_of_ones_own_belong_to_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "CLAUDE.md").write_text("- Answer in British English")
    (turn,) = (item for item in read(tmp_path / ".claude" / "CLAUDE.md") if isinstance(item, import_api.Turn))
    assert turn.project == ""


@pytest.mark.parametrize(
    ("content", "says"), [(b"\xff\xfe", "UTF-8"), (b"x" * 1_000_001, "no file of rules"), (b"- " + b"x" * 2_001, "2001 characters")]
)
def test_what_is_no_file_of_rules_is_left_out(content: bytes, says: str) -> None:
    (item,) = claude_md.read(Document("CLAUDE.md", 1, 1.0, lambda: io.BytesIO(content)), Wanted())
    assert isinstance(item, Skipped)
    assert says in item.why


def test_the_same_rule_has_the_same_id_wherever_it_stands() -> None:
    ids = [
        item.id
        for name, text in [("CLAUDE.md", "- Prefer small modules here"), ("AGENTS.md", "# Rules\nPrefer small modules here")]
        for item in claude_md.read(Document(name, 1, 1.0, lambda text=text: io.BytesIO(text.encode())), Wanted("shop"))  # type: ignore[misc]
        if isinstance(item, import_api.Turn)
    ]
    assert len(ids) == 2
    assert len(set(ids)) == 1
