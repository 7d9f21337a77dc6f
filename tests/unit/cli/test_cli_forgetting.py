import json
from collections.abc import Callable

import pytest
from click.testing import Result

from services.cli import output
from services.core import models, ports
from services.proxy.parts import Parts
from tests.support.in_memory import NOW, keep, memory

Brb = Callable[..., Result]
ME = models.Scope("local", "me", None)


def said(text: str, *sessions: str) -> models.Memory:
    return memory(text, evidence=tuple(models.Evidence(text, f"{text}-{n}", NOW, session) for n, session in enumerate(sessions)), mentions=2)


@pytest.fixture
def some(running: Parts) -> list[models.Memory]:
    made = [said("We use the quokka database", "s1"), said("Both of them said so", "s1", "s2"), said("Tea is green", "s2")]
    keep(running, *made)
    return made


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody is there to be asked."""
    monkeypatch.setattr(output, "is_interactive", lambda: True)


def left(running: Parts) -> set[str]:
    return {one.text for one in running.store.find(ME, ports.ANY)}


@pytest.mark.parametrize(
    ("words", "going"),
    [
        (("--query", "quokka database"), {"We use the quokka database"}),
        (("--session", "s1"), {"We use the quokka database", "Both of them said so"}),
        (("--all",), {"We use the quokka database", "Both of them said so", "Tea is green"}),
    ],
)
def test_in_a_pipe_it_lists_and_erases_nothing_without_yes(
    brb: Brb, running: Parts, some: list[models.Memory], words: tuple[str], going: set[str]
) -> None:
    result = brb("memories", "forget", *words)

    assert result.exit_code == 0
    assert {line.split("\t")[2] for line in result.stdout.splitlines()} == going
    assert "nothing was erased yet: add --yes" in result.stderr
    assert len(left(running)) == 3


@pytest.mark.parametrize(
    ("words", "kept", "says"),
    [
        (("--query", "quokka database"), {"Both of them said so", "Tea is green"}, "forgotten: 1 version"),
        (("--session", "s1"), {"Both of them said so", "Tea is green"}, "forgotten: 1 version, 1 changed memory"),
        (("--all",), set(), "forgotten: 3 versions"),
    ],
)
def test_with_yes_it_erases(brb: Brb, running: Parts, some: list[models.Memory], words: tuple[str], kept: set[str], says: str) -> None:
    result = brb("memories", "forget", *words, "--yes")

    assert (result.exit_code, left(running)) == (0, kept)
    assert result.stdout.startswith(says)
    assert "cleaned within 15 minutes" in result.stderr


def test_clear_is_forgetting_all(brb: Brb, running: Parts, some: list[models.Memory]) -> None:
    receipt = json.loads(brb("memories", "clear", "--yes", "--json").stdout)["receipt"]
    assert (receipt["deleted"], left(running)) == (3, set())


@pytest.mark.parametrize(("answer", "count"), [("n\n", 3), ("y\n", 0)])
def test_a_person_is_shown_what_goes_and_asked(brb: Brb, running: Parts, some: list[models.Memory], person: None, answer: str, count: int) -> None:
    result = brb("memories", "clear", input=answer)

    assert len(left(running)) == count
    assert result.exit_code == (1 if count else 0)
    assert "Tea is green" in result.stdout


@pytest.mark.parametrize("words", [(), ("--all", "--session", "s1"), ("abcd1234", "--all")])
def test_one_way_of_saying_what_is_needed(brb: Brb, running: Parts, words: tuple[str, ...]) -> None:
    assert brb("memories", "forget", *words).exit_code == 2


def test_nothing_found_is_said(brb: Brb, running: Parts) -> None:
    assert "there is nothing to erase" in brb("memories", "forget", "--session", "s9").stderr


def test_the_audit_log_says_who_did_what(brb: Brb, running: Parts, some: list[models.Memory]) -> None:
    brb("memories", "forget", some[0].id)

    line = brb("audit", "--limit", "1").stdout.splitlines()[0].split("\t")

    assert line[1:] == ["me", "forgot", "1", "ids", some[0].id]
    assert json.loads(brb("audit", "--json").stdout)["events"][0]["act"] == "forgot"
