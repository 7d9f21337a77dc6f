"""What the doctor makes of what it finds: tables; and the whole of it over a running BRB."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import Result

from services.cli import connect, doctor
from services.cli.doctor import State
from services.core import errors, selftest_api
from services.core.address import Address
from services.proxy.parts import Parts
from services.proxy.routes import selftest

Brb = Callable[..., Result]
HERE, TEAM = Address("http://127.0.0.1:3000"), Address("https://brb.example", "brb_abc")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No worker learns here; and the Claude Code of whoever runs the tests is none of their business."""
    monkeypatch.setattr(selftest, "_LEARN_SECONDS", 0.1)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)


def findings(result: Result) -> dict[str, dict[str, str]]:
    return {finding["check"]: finding for finding in json.loads(result.stdout)}


def test_each_thing_is_tried_and_named(brb: Brb, running: Parts) -> None:
    found = findings(brb("doctor", "--json"))

    for check in ("key", "stream", "embedding", "round trip"):
        assert found[check]["state"] == "ok", found[check]
    assert "BRB_AUTH=off" in found["key"]["found"]
    assert (found["learning"]["state"], "brb jobs" in found["learning"]["cure"]) == ("fail", True), "no worker runs here"
    for finding in found.values():
        assert finding["state"] == "ok" or finding["cure"] or "run `" in finding["found"], "each says what to do"
    assert running.store.total() == {} or sum(running.store.total().values()) == 0


def test_what_is_not_well_is_the_exit_status(brb: Brb, running: Parts) -> None:
    assert brb("doctor").exit_code == 1


def test_a_brb_elsewhere_is_looked_at_from_here(brb: Brb, running: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRB_URL", running.settings.base_url)
    found = findings(brb("doctor", "--json"))

    assert found["address"]["state"] == "ok"
    assert not {"data folder", "disk", "models", "upstream"} & set(found)


def test_a_brb_elsewhere_that_is_away_is_named_with_the_cure(brb: Brb, free_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRB_URL", f"http://127.0.0.1:{free_port}")
    result = brb("doctor", "--json")

    assert result.exit_code == 1
    assert "BRB_URL" in findings(result)["address"]["cure"]


@pytest.mark.parametrize(
    ("came", "well"),
    [
        ((0.0, 0.1, 0.2, 0.3, 0.4), True),
        ((0.0, 0.15, 0.2, 0.35, 0.4), True),
        ((5.0, 5.0, 5.0, 5.0, 5.001), False),
        ((0.0, 0.0, 0.0, 0.0, 0.1), False),
        ((0.0, 0.1, 0.2), False),
        ((), False),
    ],
)
def test_a_stream_that_comes_all_at_once_is_found_out(came: tuple[float, ...], well: bool) -> None:
    if well:
        assert doctor.spread(came, 5, 0.1)
    else:
        with pytest.raises(errors.BrbError):
            doctor.spread(came, 5, 0.1)


@pytest.mark.parametrize(
    ("check", "away", "cure"),
    [
        ("redis policy", "", "change it in the configuration"),
        ("redis policy", "redis", "start the server that BRB_REDIS_URL names"),
        ("round trip", "Qdrant", "start the server that BRB_QDRANT_URL names"),
        ("embedding", "llama.cpp", "start the server that BRB_EMBED_URL names"),
        ("round trip", "the store", "see that the disk is not full"),
        ("other", "", "restart BRB"),
    ],
)
def test_the_cure_of_what_could_not_be_tried_is_that_of_what_is_away(check: str, away: str, cure: str) -> None:
    finding = doctor._told(selftest_api.Check(check, ok=False, found="it is not well", milliseconds=1.0, away=away))

    assert (finding.state, finding.found) == (State.FAIL, "it is not well")
    assert finding.cure.startswith(cure)


@pytest.mark.parametrize(("theirs", "state"), [(100.0, State.OK), (101.0, State.OK), (50.0, State.OK), (30.0, State.WARN), (170.0, State.WARN)])
def test_clocks_that_differ_are_named(theirs: float, state: State) -> None:
    assert doctor.skew(theirs, 100.0, 102.0).state is state


@pytest.mark.parametrize(
    ("variables", "where", "state", "said"),
    [
        ({}, HERE, State.WARN, "not set"),
        ({"ANTHROPIC_BASE_URL": "http://localhost:3000/"}, HERE, State.OK, "through BRB"),
        ({"ANTHROPIC_BASE_URL": "http://localhost:3001"}, HERE, State.WARN, "not to http://127.0.0.1:3000"),
        ({"ANTHROPIC_BASE_URL": "https://brb.example"}, TEAM, State.WARN, "without your key"),
        ({"ANTHROPIC_BASE_URL": "https://brb.example", "ANTHROPIC_CUSTOM_HEADERS": "X-BRB-Key: brb_abc"}, TEAM, State.OK, "through BRB"),
        ({"ANTHROPIC_BASE_URL": "https://brb.example/k/brb_abc"}, TEAM, State.OK, "through BRB"),
        ({"ANTHROPIC_BASE_URL": "http://[::1"}, HERE, State.WARN, "not to"),
    ],
)
def test_where_claude_code_goes_is_told(variables: Mapping[str, str], where: Address, state: State, said: str) -> None:
    finding = doctor.led(variables, where, "settings.json")

    assert (finding.state, said in finding.found) == (state, True)
    assert ("brb connect claude-code" in finding.cure) is (state is not State.OK)
    assert "brb_abc" not in finding.found


def test_a_claude_code_that_is_not_led_here_is_told_and_can_be(brb: Brb, free_port: int, tmp_path: Path) -> None:
    assert list(doctor.claude_code(HERE)) == [], "there is no Claude Code"
    (tmp_path / "claude").mkdir()
    assert [finding.state for finding in doctor.claude_code(HERE)] == [State.WARN]

    connect.connect(tmp_path / "claude" / "settings.json", HERE)

    assert [finding.state for finding in doctor.claude_code(HERE)] == [State.OK]


def test_settings_of_the_project_come_first(brb: Brb, tmp_path: Path) -> None:
    connect.connect(tmp_path / "claude" / "settings.json", HERE)
    connect.connect(tmp_path / ".claude" / "settings.local.json", Address("http://127.0.0.1:9"))

    (finding,) = doctor.claude_code(HERE)
    assert finding.state is State.WARN
