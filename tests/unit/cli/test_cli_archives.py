import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from services.core import models, note_api
from services.core.notes.writing import NoteWriter
from services.proxy.parts import Parts
from tests.support.in_memory import keep, memory

Brb = Callable[..., Result]
MINE = models.Scope("local", "me", None)


@pytest.fixture
def kept(running: Parts) -> models.Memory:
    one = memory("We use Postgres as our database")
    keep(running, one, memory("Ana's", owner="ana"))
    writer = NoteWriter(running.notes, running.embedder, owner_lock=running.owner_lock, clock=running.clock)
    writer.put(models.LOCAL, [note_api.PutNote(text="# Tea\n\nGreen.\n")])
    return one


def test_a_statement_is_added(brb: Brb, running: Parts) -> None:
    result = brb("memories", "add", "We", "use", "Postgres", "--category", "decision", "--project", "shop")

    (added,) = running.store.find(MINE)
    assert result.stdout.rstrip("\n").split("\t") == [added.id, "decision", "2026-09-21", "1", "me", "private", "shop", "We use Postgres"]
    assert json.loads(brb("memories", "add", "We use Postgres", "--project", "shop", "--json").stdout)["id"] == added.id


def test_a_statement_belongs_to_the_project_of_the_folder_that_one_is_in(brb: Brb, running: Parts, tmp_path: Path) -> None:
    brb("memories", "add", "We deploy on Fridays")
    brb("memories", "add", "We use Redis", "--no-project")
    brb("memories", "add", "We use Kafka", "--project", "/elsewhere")

    where = {one.text: one.project for one in running.store.find(MINE)}
    assert where == {"We deploy on Fridays": str(tmp_path), "We use Redis": "", "We use Kafka": "/elsewhere"}
    assert "We deploy on Fridays" in brb("recall", "when do we deploy").stdout
    assert "We deploy on Fridays" not in brb("recall", "when do we deploy", "--no-project").stdout
    assert "We use Kafka" in brb("recall", "do we use Kafka", "--project", "/elsewhere").stdout


@pytest.mark.parametrize("command", [("memories", "add", "x"), ("recall", "x")])
def test_a_project_and_none_at_once_are_wrong_usage(brb: Brb, command: tuple[str, ...]) -> None:
    result = brb(*command, "--project", "shop", "--no-project")

    assert (result.exit_code, result.stderr) == (2, "error: give either --project or --no-project\n")


def test_an_export_is_written_whole_for_its_owner_alone_and_imported_again(brb: Brb, running: Parts, kept: models.Memory, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"

    written = brb("memories", "export", str(file))

    assert written.stdout == f"1 memories and 1 notes in {file}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.glob("*.part")) == []
    running.store.delete(MINE, [kept.id])
    assert (
        brb("memories", "import", str(file)).stdout
        == "memories: 1 new, 0 replaced, 0 kept as they were\nnotes: 0 new, 0 replaced, 1 kept as they were\n"
    )
    assert running.store.find(MINE) == [kept]
    again = json.loads(brb("memories", "import", str(file), "--replace", "--json").stdout)
    assert {kind: again[kind] for kind in ("memories", "notes")} == {
        "memories": {"created": 0, "replaced": 1, "kept": 0},
        "notes": {"created": 0, "replaced": 1, "kept": 0},
    }


@pytest.mark.parametrize(("kind", "memories", "notes"), [("memories", 1, 0), ("notes", 0, 1)])
def test_an_export_without_a_file_goes_to_stdout(brb: Brb, kept: models.Memory, kind: str, memories: int, notes: int) -> None:
    document = json.loads(brb("memories", "export", "--kind", kind).stdout)

    assert (len(document["memories"]), len(document["notes"])) == (memories, notes)


def test_an_import_takes_stdin(brb: Brb, running: Parts, kept: models.Memory) -> None:
    document = brb("memories", "export").stdout

    assert brb("memories", "import", "-", input=document).exit_code == 0


def test_an_export_that_fails_leaves_the_former_file(brb: Brb, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text("former")

    result = brb("memories", "export", str(file))

    assert result.exit_code == 3
    assert file.read_text() == "former"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]


@pytest.mark.parametrize(
    ("content", "says"), [(None, "can't read"), ("{", "is not what an export wrote"), ('{"format": "x", "version": 1}', "format")]
)
def test_a_file_that_no_export_wrote_is_refused(brb: Brb, running: Parts, tmp_path: Path, content: str | None, says: str) -> None:
    file = tmp_path / "mine.json"
    if content is not None:
        file.write_text(content)

    result = brb("memories", "import", str(file))

    assert result.exit_code == 2
    assert says in result.stderr


def test_a_long_import_goes_in_parts(brb: Brb, running: Parts, tmp_path: Path) -> None:
    keep(running, *(memory(f"Fact number {n}") for n in range(250)))
    file = tmp_path / "mine.json"
    brb("memories", "export", str(file))
    running.store.delete(MINE, [one.id for one in running.store.find(MINE, limit=1000)])

    assert brb("memories", "import", str(file)).stdout.startswith("memories: 250 new, 0 replaced")
    assert running.store.count(MINE) == 250
