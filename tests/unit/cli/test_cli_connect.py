"""Claude Code's settings: what is written, what keeps its bytes, and what an undo leaves."""

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st

from services.cli import claude_settings, connect
from services.core import errors
from services.core.address import Address

Brb = Callable[..., Result]

HERE = Address("http://127.0.0.1:3000")
TEAM = Address("https://brb.example", "brb_abc_secret")
SETTINGS = """{
  "model": "opus",   "permissions": {"allow": ["Bash(ls:*)"]},
  "env": {
    "FOO": "caf\\u00e9"
  }
}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '{\n  "env": {\n    "A": "1"\n  }\n}\n'),
        ("{}", '{\n  "env": {\n    "A": "1"\n  }\n}'),
        ('{"model": "x"}', '{"model": "x", "env": {\n  "A": "1"\n}}'),
        ('{\n\t"model": "x"\n}\n', '{\n\t"model": "x",\n\t"env": {\n\t\t"A": "1"\n\t}\n}\n'),
        ('{\n  "env": {"B": "2"}, "model": "x"\n}', '{\n  "env": {"B": "2", "A": "1"}, "model": "x"\n}'),
        ('{\n  "env": {\n    "A": "0",\n    "B": "2"\n  }\n}', '{\n  "env": {\n    "A": "1",\n    "B": "2"\n  }\n}'),
        ('{\r\n  "env": {}\r\n}', '{\r\n  "env": {\r\n    "A": "1"\r\n  }\r\n}'),
        ('{"env": {"a": "}\\"{", "b": [1, {"A": 3}]}}', '{"env": {"a": "}\\"{", "b": [1, {"A": 3}], "A": "1"}}'),
    ],
)
def test_a_variable_is_set_and_nothing_else_changes(text: str, expected: str) -> None:
    assert claude_settings.set_variables(text, {"A": "1"}) == expected
    assert claude_settings.environment(expected)["A"] == "1"


@pytest.mark.parametrize("text", ["[]", "{", "// no\n{}", '{"env": []}', '"x"'])
def test_what_is_no_settings_is_refused(text: str) -> None:
    with pytest.raises(errors.BadInput):
        claude_settings.set_variables(text, {"A": "1"})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


@given(
    others=st.dictionaries(st.text().filter(lambda key: key != "env"), JSON, max_size=4),
    env=st.none() | st.dictionaries(st.sampled_from(["A", "B", "C", "Ä"]), st.text(), max_size=4),
    values=st.dictionaries(st.sampled_from(["A", "B", "D"]), st.text(), min_size=1),
    indent=st.sampled_from([None, 1, 2, "\t"]),
    first=st.booleans(),
)
def test_any_settings_are_as_they_were_after_an_undo(
    others: dict[str, object], env: dict[str, str] | None, values: dict[str, str], indent: int | str | None, first: bool
) -> None:
    both = {} if env is None else {"env": env}
    before = json.dumps({**both, **others} if first else {**others, **both}, indent=indent, ensure_ascii=False)
    after = claude_settings.set_variables(before, values)
    assert json.loads(after) == {**others, "env": {**(env or {}), **values}}

    back, changed = claude_settings.undone(after, values, before)

    assert changed == []
    assert json.loads(back) == json.loads(before)
    if others and env != {}:
        assert back == before


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(SETTINGS.encode())
    path.chmod(0o640)
    return path


def names(file: Path) -> set[str]:
    return {path.name for path in file.parent.iterdir()}


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_undo_restores_every_byte_and_the_mode(file: Path) -> None:
    connect.connect(file, TEAM)
    assert json.loads(file.read_text())["env"] == {
        "FOO": "café",
        "ANTHROPIC_BASE_URL": "https://brb.example",
        "ANTHROPIC_CUSTOM_HEADERS": "X-BRB-Key: brb_abc_secret",
        "ENABLE_TOOL_SEARCH": "true",
    }
    assert mode(file) == 0o600, "it holds a key"
    assert (file.parent / "settings.json.before-brb").read_text() == SETTINGS

    connect.disconnect(file)

    assert file.read_text() == SETTINGS
    assert mode(file) == 0o640
    assert names(file) == {"settings.json"}


def test_a_file_that_was_not_there_is_gone_after_an_undo(tmp_path: Path) -> None:
    file = tmp_path / "new" / "settings.json"
    connect.connect(file, HERE)
    assert mode(file) == 0o600

    connect.disconnect(file)

    assert names(file) == set()


def test_what_was_changed_since_stays_after_an_undo(file: Path) -> None:
    connect.connect(file, HERE)
    file.write_text(file.read_text().replace('"opus"', '"sonnet"').replace('"model"', '"theme": "dark",\n  "model"'))

    assert connect.disconnect(file).kept == ()

    assert file.read_text() == SETTINGS.replace('"opus"', '"sonnet"').replace('"model"', '"theme": "dark",\n  "model"')


def test_a_variable_that_was_changed_since_stays_and_is_named(file: Path) -> None:
    connect.connect(file, HERE)
    file.write_text(file.read_text().replace(HERE.url, "http://elsewhere:1"))

    assert connect.disconnect(file).kept == ("ANTHROPIC_BASE_URL",)
    assert json.loads(file.read_text())["env"] == {"FOO": "café", "ANTHROPIC_BASE_URL": "http://elsewhere:1"}


def test_ones_own_values_come_back(file: Path) -> None:
    own = {"ANTHROPIC_BASE_URL": "http://gateway:1", "ANTHROPIC_CUSTOM_HEADERS": "X-Team: a\nx-brb-key: old", "ENABLE_TOOL_SEARCH": "false"}
    file.write_text(json.dumps({"env": own}))
    connect.connect(file, TEAM)
    set_ = json.loads(file.read_text())["env"]
    assert set_["ANTHROPIC_CUSTOM_HEADERS"] == "X-Team: a\nX-BRB-Key: brb_abc_secret"
    assert set_["ENABLE_TOOL_SEARCH"] == "false", "that is theirs to say"
    file.write_text(file.read_text() + "\n")

    connect.disconnect(file)

    assert json.loads(file.read_text())["env"] == own


def test_a_key_goes_with_an_undo_even_if_other_headers_came_since(file: Path) -> None:
    connect.connect(file, TEAM)
    file.write_text(file.read_text().replace("X-BRB-Key: brb_abc_secret", "X-BRB-Key: brb_abc_secret\\nX-Mine: 1"))

    connect.disconnect(file)

    assert json.loads(file.read_text())["env"] == {"FOO": "café", "ANTHROPIC_CUSTOM_HEADERS": "X-Mine: 1"}


def test_connecting_again_keeps_the_first_backup(file: Path) -> None:
    connect.connect(file, HERE)
    connect.connect(file, TEAM)
    assert json.loads(file.read_text())["env"]["ANTHROPIC_BASE_URL"] == TEAM.url

    connect.disconnect(file)

    assert file.read_text() == SETTINGS


def test_connecting_again_keeps_what_was_changed_between(file: Path) -> None:
    connect.connect(file, HERE)
    file.write_text(file.read_text().replace('"opus"', '"sonnet"'))
    connect.connect(file, TEAM)
    connect.disconnect(file)

    assert file.read_text() == SETTINGS.replace('"opus"', '"sonnet"')


def test_a_link_stays_a_link(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "linked" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(file)
    connect.connect(link, HERE)
    assert link.is_symlink()
    assert "ANTHROPIC_BASE_URL" in file.read_text()

    connect.disconnect(link)

    assert link.is_symlink()
    assert file.read_text() == SETTINGS


def test_a_file_that_is_no_json_is_left_alone(file: Path) -> None:
    file.write_text("// mine\n{}")
    with pytest.raises(errors.BadInput, match="Nothing was changed"):
        connect.connect(file, HERE)

    assert file.read_text() == "// mine\n{}"
    assert names(file) == {"settings.json"}


def test_nothing_to_undo_is_said(file: Path) -> None:
    with pytest.raises(errors.NotFound, match="nothing to undo"):
        connect.disconnect(file)


# the command


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    return tmp_path / "claude"


def test_the_command_writes_and_undoes(brb: Brb, home: Path, free_port: int) -> None:
    assert brb("connect", "claude-code").exit_code == 0
    assert json.loads((home / "settings.json").read_text())["env"]["ANTHROPIC_BASE_URL"] == f"http://127.0.0.1:{free_port}"

    assert json.loads(brb("connect", "claude-code", "--undo", "--json").stdout)["variables"] == ["ANTHROPIC_BASE_URL", "ENABLE_TOOL_SEARCH"]
    assert list(home.iterdir()) == []
    assert brb("connect", "claude-code", "--undo").exit_code == 4


def test_of_a_project_only_its_own_settings_are_written(brb: Brb, home: Path, tmp_path: Path) -> None:
    assert brb("connect", "claude-code", "--project").exit_code == 0
    assert (tmp_path / ".claude" / "settings.local.json").exists()
    assert not home.exists()


@pytest.mark.parametrize("client", ["claude-code", "openai", "codex", "cursor"])
@pytest.mark.parametrize("key", ["", "brb_abc_secret"])
def test_what_to_set_is_printed_and_nothing_written(brb: Brb, home: Path, client: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRB_URL", "https://brb.example/")
    monkeypatch.setenv("BRB_KEY", key)
    shown = brb("connect", client, "--print").stdout

    assert "https://brb.example" in shown
    assert ("brb_abc_secret" in shown) is bool(key)
    assert json.loads(brb("connect", client, "--print", "--json").stdout)["client"] == client
    assert not home.exists()


def test_no_key_is_told_of_what_was_written(brb: Brb, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRB_KEY", "brb_abc_secret")
    result = brb("connect", "claude-code", "--json")

    assert "secret" not in result.output


@pytest.mark.parametrize("words", [("codex", "--undo"), ("codex", "--project"), ("claude-code", "--print", "--undo"), ("emacs",)])
def test_what_makes_no_sense_is_wrong_usage(brb: Brb, home: Path, words: tuple[str, ...]) -> None:
    assert brb("connect", *words).exit_code == 2
