import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from services.cli import tokens
from services.core import errors, models
from services.proxy.parts import Parts
from tests.support import in_memory
from tests.support.access import token_for

Brb = Callable[..., Result]
ANA, LEO = models.Principal("acme", "ana", models.Role.ADMIN), models.Principal("acme", "leo")


@pytest.fixture
def parts(tmp_path: Path, free_port: int) -> Parts:
    return in_memory.parts(tmp_path / "data", port=free_port, auth="token")


@pytest.fixture
def secret(tmp_path: Path) -> None:
    """That of the machine on which BRB runs."""
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "data" / "secret.key").write_text("of the machine")


@pytest.mark.usefixtures("secret", "running")
def test_on_the_machine_the_first_token_of_a_team_is_made_without_one(brb: Brb) -> None:
    made = brb("token", "create", "ana", "--team", "acme", "--role", "admin", "--expires", "90d")

    assert made.exit_code == 0
    token = made.stdout.strip()
    listed = json.loads(brb("token", "list", "--json", env={"BRB_KEY": token}).stdout)["tokens"]
    assert [(one["user"], one["team"], one["role"], one["created_by"]) for one in listed] == [("ana", "acme", "admin", "operator")]
    assert listed[0]["expires_at"] is not None
    assert token not in json.dumps(listed)


@pytest.mark.usefixtures("running")
def test_elsewhere_nobody_makes_tokens_without_one(brb: Brb) -> None:
    refused = brb("token", "create", "eve", "--team", "acme")

    assert refused.exit_code == 1
    assert "BRB_KEY" in refused.stderr


@pytest.mark.usefixtures("secret")
def test_the_operators_key_stays_on_its_machine(brb: Brb, running: Parts) -> None:
    """The one that BRB_URL names may be anybody's."""
    refused = brb("token", "list", env={"BRB_URL": running.settings.base_url})

    assert refused.exit_code == 1
    assert "BRB_KEY" in refused.stderr


def test_an_admin_makes_lists_and_revokes(brb: Brb, running: Parts) -> None:
    env = {"BRB_KEY": token_for(running.tokens, ANA)}
    made = json.loads(brb("token", "create", "leo", "--label", "laptop", "--json", env=env).stdout)
    assert (made["team"], made["user"], made["role"], made["label"]) == ("acme", "leo", "member", "laptop")

    assert f"{made['id']} of leo" in brb("token", "revoke", made["id"], env=env).stdout
    assert made["id"] not in brb("token", "list", env=env).stdout
    assert f"{made['id']}\tacme\tleo\tmember\trevoked" in brb("token", "list", "--all", env=env).stdout
    assert brb("token", "revoke", "nothing", env=env).exit_code == 4


def test_a_member_makes_none(brb: Brb, running: Parts) -> None:
    env = {"BRB_KEY": token_for(running.tokens, LEO)}

    assert brb("token", "create", "leo", env=env).exit_code == 1
    assert brb("memories", "list", env=env).exit_code == 0


@pytest.mark.usefixtures("secret")
def test_the_operator_looks_after_jobs_and_sees_no_memories(brb: Brb, running: Parts) -> None:
    assert brb("jobs", "list").exit_code == 0
    assert brb("status").exit_code in (0, 1)
    assert brb("memories", "list").exit_code == 1


@pytest.mark.parametrize(("text", "seconds"), [("90d", 7_776_000), ("12h", 43_200), (" 30M ", 1800), ("4w", 2_419_200)])
def test_times_are_written_short(text: str, seconds: float) -> None:
    assert tokens.seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "90", "d", "-1d", "1y", "1.5d", "1d2h", "999999d"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(errors.BadInput, match="90d"):
        tokens.seconds_of(text)
