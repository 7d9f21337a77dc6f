"""`brb memories import` of what was said elsewhere, through the whole proxy."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from services.cli.imports import sending
from services.core import errors, import_api, messages, models
from services.proxy import importing
from services.proxy.parts import Parts
from tests.support.in_memory import keep, memory

Brb = Callable[..., Result]
MINE = models.Scope("local", "me", None)


def claude(*words: str) -> list[dict[str, object]]:
    messages_of = [{"uuid": f"u{n}", "sender": "human", "text": text, "created_at": "2024-05-01T10:00:00Z"} for n, text in enumerate(words)]
    return [{"uuid": "c", "chat_messages": messages_of}]


@pytest.fixture
def export(tmp_path: Path) -> Path:
    with zipfile.ZipFile(tmp_path / "claude.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps(claude("We use Postgres", "My name is Leo")))
        archive.writestr("users.json", json.dumps([{"uuid": "1", "full_name": "Leo"}]))
    return tmp_path / "claude.zip"


def queued(parts: Parts) -> int:
    return parts.book.pending()[messages.Lane.PATIENT]


def test_an_export_becomes_turns_that_wait_to_be_learnt_and_again_nothing(brb: Brb, running: Parts, export: Path) -> None:
    result = brb("memories", "import", str(export))

    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            "1 conversation in 1 file",
            "turns: 2 taken, 0 known before, 0 without words of yours",
            "said from 2024-05-01 to 2024-05-01",
            "what is learnt from them waits for your yes: brb memories review",
        ],
    )
    assert queued(running) == 2
    again = json.loads(brb("memories", "import", str(export), "--json").stdout)
    assert (again["turns"], again["formats"], again["skipped"]) == ({"new": 0, "known": 2, "empty": 0}, ["claude"], 0)
    assert queued(running) == 2


def test_a_dry_run_needs_no_brb_and_changes_nothing(brb: Brb, export: Path) -> None:
    result = brb("memories", "import", str(export), "--dry-run", "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["turns"]["new"], told["dry_run"]) == (0, 2, True)
    assert "2 would be taken" in brb("memories", "import", str(export), "--dry-run").stdout
    assert brb("memories", "import", str(export)).exit_code == 3


def test_pages_become_notes_and_again_they_stay(brb: Brb, running: Parts, tmp_path: Path) -> None:
    page = {
        "id": "p",
        "title": "Auth",
        "content": "RS256 #infra",
        "metadata": {"tags": ["auth"]},
        "createdAt": "2026-01-01",
        "updatedAt": "2026-01-02",
    }
    (tmp_path / "brain.json").write_text(json.dumps([page]))

    assert brb("memories", "import", "brain.json", "--project", "shop").stdout == "notes: 1 new, 0 replaced, 0 kept as they were\n"
    (note,) = running.notes.find(MINE)
    assert (note.title, note.tags, note.source, note.path, note.project) == ("Auth", ("auth", "infra"), "brain-kit", "p", "shop")
    assert note.metadata["created"].startswith("2026-01-01")
    assert brb("memories", "import", "brain.json", "--project", "shop").stdout == "notes: 0 new, 0 replaced, 1 kept as they were\n"


def test_a_folder_of_rules_becomes_statements_of_its_project(brb: Brb, running: Parts, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "CLAUDE.md").write_text("- We use pnpm, not npm\n- Never commit to main\n")
    told = json.loads(brb("memories", "import", "shop", "--json").stdout)
    assert (told["statements"]["new"], told["formats"]) == (2, ["claude-md"])


def test_what_is_broken_is_told_by_its_place_and_the_rest_lands(brb: Brb, running: Parts, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps([*claude("We use Postgres"), {"chat_messages": 1}])[:-1] + ", {")
    result = brb("memories", "import", "c.json")
    assert result.exit_code == 0
    assert "turns: 1 taken" in result.stdout
    assert "skipped: 2" in result.stdout
    assert "skipped: c.json: conversation 2: not as Claude writes it" in result.stderr
    assert "skipped: c.json: it breaks off near byte" in result.stderr


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.json", '[{"mail": "x"}]', "is of no format that is known"),
        ("empty", None, "there is nothing to import in empty"),
        ("none", "", "no format"),
    ],
)
def test_what_is_nothing_to_import_is_wrong_usage(brb: Brb, running: Parts, tmp_path: Path, name: str, content: str | None, says: str) -> None:
    if content is None:
        (tmp_path / name).mkdir()
    else:
        (tmp_path / name).write_text(content)
    result = brb("memories", "import", name)
    assert (result.exit_code, says in result.stderr) == (2, True)


def test_an_archive_with_one_wrong_memory_lands_without_it(brb: Brb, running: Parts, tmp_path: Path) -> None:
    keep(running, memory("I like tea"), memory("I like milk"))
    brb("memories", "export", "mine.json")
    whole = json.loads((tmp_path / "mine.json").read_text())
    whole["memories"][0]["confidence"] = 7
    whole["memories"].append({"id": 1})
    (tmp_path / "mine.json").write_text(json.dumps(whole))
    running.store.delete(MINE, [one.id for one in running.store.find(MINE)])

    result = brb("memories", "import", "mine.json")

    assert "memories: 1 new" in result.stdout
    assert "mine.json: memories[0]: its confidence is 7.0" in result.stderr
    assert "mine.json: memories[2]: " in result.stderr
    assert len(running.store.find(MINE)) == 1


def test_an_interrupted_import_says_how_to_go_on(brb: Brb, running: Parts, export: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: sending.Sending, item: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sending.Sending, "add", interrupted)
    result = brb("memories", "import", str(export))
    assert result.exit_code == 130
    assert "The same command goes on from there" in result.stderr


def test_an_import_that_breaks_off_goes_on_where_it_was(brb: Brb, running: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c.json").write_text(json.dumps(claude(*(f"We use tool {n}" for n in range(100)))))
    calls: list[int] = []

    def once(parts: Parts, principal: models.Principal, given: import_api.Turns) -> import_api.Taken:
        calls.append(len(given.turns))
        if len(calls) > 1:
            raise errors.Unavailable("redis")
        return whole(parts, principal, given)

    whole = importing.taken
    with monkeypatch.context() as broken:
        broken.setattr(importing, "taken", once)
        result = brb("memories", "import", "c.json")
    assert result.exit_code == 1
    assert "the same command goes on from there" in result.stderr
    assert queued(running) == 64
    told = json.loads(brb("memories", "import", "c.json", "--json").stdout)
    assert told["turns"] == {"new": 36, "known": 64, "empty": 0}
