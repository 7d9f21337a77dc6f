"""Finding and opening what is to be imported; what is made to do harm is refused before anything of it is read."""

import io
import json
import zipfile
from pathlib import Path

import pytest

from services.cli.imports import sources
from services.cli.imports.items import Format
from services.core import errors

CHAT = json.dumps([])


def zipped(path: Path, **files: bytes | str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def names(path: Path, wanted: Format | None = None) -> list[str]:
    with sources.opened(path, wanted) as documents:
        return [document.name.removeprefix(str(path)).lstrip(":/") for document in documents]


def test_of_a_zip_the_conversations_are_read(tmp_path: Path) -> None:
    content = {"x/conversations-001.json": "1", "x/conversations-000.json": "0", "x/user.json": "{}", "x/chat.html": "", "x/image.png": b"\0"}
    path = zipped(tmp_path / "export.zip", **content)
    assert names(path) == ["x/conversations-000.json", "x/conversations-001.json"]
    with sources.opened(path) as documents, documents[0].open() as first, documents[0].open() as again:
        assert first.read() == again.read() == b"0"


@pytest.mark.parametrize(
    "name", ["../conversations.json", "/etc/conversations.json", "a/../../conversations.json", "..\\conversations.json", "C:/x.json"]
)
def test_a_zip_with_tricks_in_its_names_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(errors.BadInput, match="Nothing was read"), sources.opened(zipped(tmp_path / "e.zip", **{name: CHAT})):
        pass


def test_a_zip_that_would_grow_without_end_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "bomb.zip", **{"conversations.json": b" " * 20_000_000})
    with pytest.raises(errors.BadInput, match="would grow to 20000000 bytes"), sources.opened(path):
        pass


def test_a_zip_of_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_FILES", 1)
    with pytest.raises(errors.BadInput, match="holds 2 files"), sources.opened(zipped(tmp_path / "e.zip", a="1", b="2")):
        pass


def test_a_broken_zip_and_one_of_other_things_are_told(tmp_path: Path) -> None:
    whole = zipped(tmp_path / "e.zip", **{"a.png": b"x"})
    with pytest.raises(errors.BadInput, match="nothing to import"), sources.opened(whole):
        pass
    broken = tmp_path / "b.zip"
    broken.write_bytes(b"PK\x05\x06" + b"\xff" * 18)
    with pytest.raises(errors.BadInput, match=r"b\.zip"), sources.opened(broken):
        pass


def test_a_damaged_entry_is_told_when_it_is_read(tmp_path: Path) -> None:
    path = zipped(tmp_path / "e.zip", **{"conversations.json": json.dumps(["x" * 90])})
    raw = path.read_bytes()
    path.write_bytes(raw[:52] + bytes([raw[52] ^ 255]) + raw[53:])
    with sources.opened(path) as documents, pytest.raises(sources.UNREADABLE) as caught, documents[0].open() as stream:
        stream.read()
    assert "can't be read on" in sources.broken(documents[0], caught.value).why


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["conversations.json", "a.jsonl", "CLAUDE.md"], ["conversations.json"]),
        (["p/a.jsonl", "p/agent-1.jsonl", "p/x/subagents/b.jsonl", "CLAUDE.md"], ["p/a.jsonl"]),
        (
            ["CLAUDE.md", "AGENTS.md", "README.md", "web/CLAUDE.md", ".claude/rules/a/b.md"],
            [".claude/rules/a/b.md", "AGENTS.md", "CLAUDE.md", "web/CLAUDE.md"],
        ),
        (["node_modules/x/CLAUDE.md", ".git/AGENTS.md", "CLAUDE.md"], ["CLAUDE.md"]),
        (["mem0.json", "deeper/x.json"], ["mem0.json"]),
    ],
)
def test_of_a_folder_an_export_goes_before_transcripts_and_these_before_rules(tmp_path: Path, files: list[str], expected: list[str]) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert sorted(names(tmp_path)) == expected


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [("chatgpt", "conversations.json"), ("claude-code", "a.jsonl"), ("claude-md", "CLAUDE.md"), ("mem0", "m.json"), ("brain-kit", "m.json")],
)
def test_of_a_folder_or_zip_of_many_things_what_is_wanted_is_read(tmp_path: Path, wanted: Format, expected: str) -> None:
    files = ["conversations.json", "a.jsonl", "CLAUDE.md", "m.json"]
    for name in files:
        (tmp_path / "all").mkdir(exist_ok=True)
        (tmp_path / "all" / name).write_text("x")
    assert expected in names(tmp_path / "all", wanted)
    zipped(tmp_path / "e.zip", **dict.fromkeys(files[1:], "x"))
    assert wanted == "chatgpt" or names(tmp_path / "e.zip", wanted) == [expected]


def test_a_folder_does_not_lead_out_of_itself(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "conversations.json").write_text("x")
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "conversations.json").symlink_to(tmp_path / "out" / "conversations.json")
    (inside / "more").symlink_to(tmp_path / "out")
    with pytest.raises(errors.BadInput, match="nothing to import"), sources.opened(inside):
        pass


@pytest.mark.parametrize(("path", "says"), [("none.json", "can't read .*none.json: No such file"), ("/dev/null", "neither a file nor a folder")])
def test_what_is_not_there_is_told(tmp_path: Path, path: str, says: str) -> None:
    with pytest.raises(errors.BadInput, match=says), sources.opened(tmp_path / path):
        pass


@pytest.mark.parametrize("content", [b"[1]", None])
def test_stdin_may_be_a_document_or_a_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None) -> None:
    raw = content or zipped(tmp_path / "e.zip", **{"conversations.json": "[1]"}).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))
    with sources.opened(Path("-")) as (document,):
        for _ in range(2):
            with document.open() as stream:
                assert stream.read() == b"[1]"


def test_progress_is_told_as_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[1, 2]")
    told: list[int] = []
    with sources.opened(tmp_path / "a.json") as (document,), sources.watched(document, told.append).open() as stream:
        while stream.read(4):
            pass
    assert told == [4, 6, 6]
