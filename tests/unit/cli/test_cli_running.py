import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from services.cli import running
from services.proxy.parts import Parts

Brb = Callable[..., Result]


def test_secrets_are_made_once_and_for_their_owner_alone(brb: Brb, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "secrets"
    assert json.loads(brb("run", "init", "--secrets", str(folder), "--json").stdout) == {
        "made": list(running.SECRETS),
        "kept": [],
        "collections": False,
    }
    made = {file.name: file.read_text() for file in folder.iterdir()}
    assert set(made) == set(running.SECRETS)
    assert len(set(made.values())) == len(made)
    assert min(map(len, made.values())) >= 43
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700

    (folder / "grafana_password").unlink()
    again = brb("run", "init", "--secrets", str(folder))
    assert "grafana_password: made" in again.stdout
    assert {name: (folder / name).read_text() for name in made if name != "grafana_password"} == {
        n: v for n, v in made.items() if n != "grafana_password"
    }
    assert not [value for value in made.values() if value in again.stdout]


def test_starts_at_once_agree_on_the_secrets(tmp_path: Path) -> None:
    made: list[tuple[str, ...]] = []
    threads = [threading.Thread(target=lambda: made.append(running._made(tmp_path)[0])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(name for names in made for name in names) == sorted(running.SECRETS)
    assert {file.name for file in tmp_path.iterdir()} == set(running.SECRETS)


def test_a_folder_that_cant_be_written_to_is_named(brb: Brb, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = brb("run", "init", "--secrets", str(tmp_path / "file"))
    assert (result.exit_code, "can't write to" in result.stderr) == (1, True)


@pytest.mark.parametrize(("words", "status"), [(("init",), 2), (("init", "--collections"), 1), (("healthcheck", "nothing"), 2)])
def test_what_cant_be_done_is_said(brb: Brb, words: tuple[str, ...], status: int) -> None:
    assert brb("run", *words).exit_code == status


def test_a_proxy_that_answers_lives_and_one_that_does_not_is_named(brb: Brb, running: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    assert brb("run", "healthcheck", "proxy").stdout == "ok\n"
    assert json.loads(brb("run", "healthcheck", "embedded", "--json").stdout) == {"part": "embedded"}
    monkeypatch.setenv("BRB_PORT", "1")
    result = brb("run", "healthcheck", "proxy")
    assert (result.exit_code, "127.0.0.1:1 is not available" in result.stderr) == (1, True)
