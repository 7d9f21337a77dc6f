import json
from collections.abc import Callable

import pytest
from click.testing import Result

from services.core import models
from services.proxy.parts import Parts
from tests.support.in_memory import keep, memory

Brb = Callable[..., Result]


@pytest.fixture
def proposed(running: Parts) -> models.Memory:
    one = memory("We use Postgres", visibility=models.Visibility.PROPOSED, category=models.Category.DECISION)
    keep(running, one)
    return one


def test_what_waits_is_listed_with_what_may_be_decided(brb: Brb, proposed: models.Memory) -> None:
    (row,) = [line.split("\t") for line in brb("memories", "review").stdout.splitlines()]
    assert (row[0], row[1], row[2], row[4], row[5]) == (proposed.id, "proposed", "me", "approve, reject, keep", proposed.text)


def test_a_decision_names_what_undoes_it(brb: Brb, proposed: models.Memory) -> None:
    done = brb("memories", "approve", proposed.id[:8])
    assert (done.exit_code, done.stdout) == (0, f"{proposed.id} approved\n")
    event = done.stderr.split()[-1]
    assert brb("memories", "undo", event).stdout == f"{proposed.id} approve undone\n"
    assert json.loads(brb("memories", "show", proposed.id, "--json").stdout)["visibility"] == "proposed"


@pytest.mark.parametrize(("command", "visibility"), [("reject", "private"), ("keep", "private")])
def test_each_decision_has_its_command(brb: Brb, proposed: models.Memory, command: str, visibility: str) -> None:
    answer = json.loads(brb("memories", command, proposed.id, "--json").stdout)
    assert answer["results"][0]["memory"]["visibility"] == visibility


def test_what_cant_be_decided_is_a_failure_and_says_why(brb: Brb, running: Parts) -> None:
    private = memory("I like tea")
    keep(running, private)
    failed = brb("memories", "approve", private.id)
    assert failed.exit_code == 1
    assert "there is nothing to approve" in failed.stdout
    assert brb("memories", "promote", private.id).stdout == f"{private.id} promoted\n"


def test_all_that_was_imported_is_released_at_once(brb: Brb, running: Parts) -> None:
    some = [memory(f"Fact {n}", status=models.Status.PENDING) for n in range(3)]
    keep(running, *some)
    assert brb("memories", "release").exit_code == 2
    assert len(brb("memories", "release", "--all").stdout.splitlines()) == 3
    assert brb("memories", "review").stderr == "nothing waits\n"
