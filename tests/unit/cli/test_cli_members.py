import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from services.core import models
from services.proxy.parts import Parts
from tests.support import in_memory
from tests.support.access import token_for
from tests.support.in_memory import keep, memory

Brb = Callable[..., Result]
ANA, LEO = models.Principal("acme", "ana", models.Role.ADMIN), models.Principal("acme", "leo")


@pytest.fixture
def parts(tmp_path: Path, free_port: int) -> Parts:
    made = in_memory.parts(tmp_path / "data", port=free_port, auth="token")
    token_for(made.tokens, LEO)
    keep(made, memory("I like tea", team="acme", owner="leo"), memory("We use vim", team="acme", owner="leo", visibility=models.Visibility.TEAM))
    return made


@pytest.fixture
def admin(running: Parts) -> dict[str, str]:
    return {"BRB_KEY": token_for(running.tokens, ANA)}


def test_an_admin_sees_who_has_what(brb: Brb, admin: dict[str, str]) -> None:
    rows = [line.split("\t") for line in brb("members", "list", env=admin).stdout.splitlines()]
    assert [row[:3] + row[4:] for row in rows] == [["ana", "admin", "1", "0", "0"], ["leo", "member", "1", "1", "1"]]
    assert json.loads(brb("members", "list", "--json", env=admin).stdout)["team"] == "acme"


def test_an_admin_removes_a_member_once_he_says_so(brb: Brb, admin: dict[str, str], running: Parts) -> None:
    asked = brb("members", "remove", "leo", env=admin)
    assert (asked.exit_code, "--yes" in asked.stderr) == (2, True)
    assert running.store.owners("acme") == ["leo"]
    assert len(running.store.find(models.Scope("acme", "leo", None))) == 2

    done = brb("members", "remove", "leo", "--yes", env=admin)

    assert (done.exit_code, done.stdout) == (0, "leo is removed from acme: 1 token revoked, 1 memory and 0 notes erased\n")
    assert "kept (keep): 1 memory, 0 notes" in done.stderr
    assert [one.text for one in running.store.find(models.Scope("acme", "leo", None))] == ["We use vim"]
    again = json.loads(brb("members", "remove", "leo", "--yes", "--json", env=admin).stdout)
    assert (again["tokens_revoked"], again["memories_kept"]) == (0, 1)


@pytest.mark.usefixtures("running")
def test_the_operator_looks_after_members_of_any_team(brb: Brb, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "data" / "secret.key").write_text("of the machine")
    assert "leo" in brb("members", "list", "--team", "acme").stdout
    assert brb("members", "remove", "leo", "--team", "acme", "--yes").exit_code == 0


def test_a_member_manages_nobody_and_nobody_removes_himself(brb: Brb, admin: dict[str, str], running: Parts) -> None:
    leo = {"BRB_KEY": token_for(running.tokens, LEO)}
    assert brb("members", "list", env=leo).exit_code == 1
    assert brb("members", "remove", "ana", "--yes", env=leo).exit_code == 1
    assert brb("members", "remove", "ana", "--yes", env=admin).exit_code == 2
    assert brb("members", "list").exit_code == 1


def test_without_brb_the_status_says_so(brb: Brb) -> None:
    assert brb("members", "list").exit_code == 3
