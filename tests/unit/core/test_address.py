"""The short reading of the address says what the settings say, or leaves it to them."""

from pathlib import Path

import pytest

from services.core import address, config, errors

PLAIN = "plainly read"
JUDGED = "left to the settings"

TABLE: list[tuple[dict[str, str], str, str]] = [
    ({}, "", PLAIN),
    ({"BRB_PORT": "3333"}, "", PLAIN),
    ({"brb_port": "3333"}, "", PLAIN),
    ({"BRB_HOST": "::1"}, "", PLAIN),
    ({"BRB_HOST": "localhost", "BRB_PORT": ""}, "", PLAIN),
    ({}, "BRB_PORT=4444\n# a comment\nexport BRB_KEY='brb_a b'\n", PLAIN),
    ({"BRB_PORT": "3333"}, "BRB_PORT=4444", PLAIN),
    ({"BRB_PORT": ""}, "BRB_PORT=4444", PLAIN),
    ({"BRB_URL": "https://brb.example/", "BRB_KEY": "brb_x"}, "", PLAIN),
    ({"BRB_URL": "https://brb.example:8443/team"}, "", PLAIN),
    ({"BRB_PORT": " 3333"}, "", JUDGED),
    ({"BRB_HOST": "10.0.0.7", "BRB_AUTH": "token"}, "", JUDGED),
    ({"BRB_HOST": "10.0.0.7"}, "", JUDGED),
    ({"BRB_PORT": "0"}, "", JUDGED),
    ({"BRB_PORT": "70000"}, "", JUDGED),
    ({"BRB_PORT": "x"}, "", JUDGED),
    ({"BRB_URL": "brb.example"}, "", JUDGED),
    ({"BRB_URL": "http://a b"}, "", JUDGED),
]


@pytest.mark.parametrize(("environment", "filed", "how"), TABLE)
def test_both_readings_agree(environment: dict[str, str], filed: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text(filed)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    plain = address.plainly(environment, Path(".env"))

    assert (PLAIN if plain else JUDGED) == how
    if plain:
        assert plain == address.of(config.load())


def test_a_mistake_is_told_as_the_settings_tell_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BRB_PORT", "x")
    with pytest.raises(errors.SetupError, match="BRB_PORT"):
        address.found()


def test_what_takes_judging_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BRB_PORT", " 3333")
    assert address.found() == ("http://127.0.0.1:3333", "")
