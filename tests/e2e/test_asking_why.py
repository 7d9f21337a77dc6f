"""`brb why`, `brb doctor` and `brb connect` as people run them, over a BRB with all its processes."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from harness import Brb, Person

Persons = Callable[..., Person]


def test_a_turn_is_explained_by_the_id_that_its_answer_had(brb: Brb, person: Persons) -> None:
    with person(project="/srv/shop") as teller:
        teller.say("We use Postgres 15 as our database.")
    brb.memory("Postgres 15")
    with person(project="/srv/shop") as asker:
        call = asker.say("Which database do we use?")
    assert len(call.blocks) == 1

    told = json.loads(brb.command("why", call.turn, "--json").stdout)

    assert (told["turn"], told["outcome"], told["memories"], told["block"]) == (call.turn, "injected", 1, call.blocks[0])
    assert told["project"] == "/srv/shop"
    explained = brb.command("why", call.turn[:8]).stdout
    assert "Told of 1 memory" in explained
    assert re.search(r"\tme\t\d{4}-\d\d-\d\d\t.*Postgres 15", explained)
    assert brb.command("why").stdout == explained, "it is the latest"


def test_what_was_forgotten_is_in_no_record(brb: Brb, person: Persons) -> None:
    with person() as teller:
        teller.say("My name is Zebedee.")
    memory = brb.memory("Zebedee")
    with person() as asker:
        call = asker.say("What is my name?")
    assert len(call.blocks) == 1
    assert json.loads(brb.command("why", "--memory", memory.id, "--json").stdout)["turns"][0]["turn"] == call.turn

    brb.command("memories", "forget", memory.id, "--yes")

    assert brb.command("why", call.turn).returncode == 4
    assert "Zebedee" not in brb.command("why", "--list").stdout.replace("My name is Zebedee.", ""), "but for what was said"


def test_a_turn_that_was_told_nothing_says_so(brb: Brb, person: Persons) -> None:
    with person() as asker:
        call = asker.say("Write a haiku about the sea")

    assert "Told nothing" in brb.command("why", call.turn).stdout


def test_the_doctor_finds_a_running_brb_well(brb: Brb, tmp_path: Path) -> None:
    claude = tmp_path / "claude"
    assert brb.command("connect", "claude-code", CLAUDE_CONFIG_DIR=str(claude)).returncode == 0
    result = brb.command("doctor", "--json", CLAUDE_CONFIG_DIR=str(claude))
    found = {finding["check"]: finding for finding in json.loads(result.stdout)}

    assert {finding["state"] for finding in found.values()} <= {"ok", "warn"}, found
    assert result.returncode == 0
    for check in (
        "key",
        "relay",
        "stream",
        "embedding",
        "round trip",
        "learning",
        "redis policy",
        "worker",
        "indexer",
        "clock of BRB",
        "Claude Code",
    ):
        assert found[check]["state"] == "ok", found[check]
    assert brb.memories("all") == ()
    assert brb.command("connect", "claude-code", "--undo", CLAUDE_CONFIG_DIR=str(claude)).returncode == 0
    assert list(claude.iterdir()) == []


def test_the_doctor_finds_a_worker_that_hangs(brb: Brb) -> None:
    with brb.stopped("worker"):
        found = {finding["check"]: finding for finding in json.loads(brb.command("doctor", "--json").stdout)}

    assert found["learning"]["state"] == "fail"
    assert found["learning"]["cure"]
    brb.idle()
    assert brb.memories("all") == (), "what the self-test wanted to be learnt is taken back"


def test_what_a_turn_was_told_is_sealed(brb: Brb, person: Persons) -> None:
    with person() as asker:
        call = asker.say("Tell me about the zanzibar leopard")
    connection = brb.redis()
    try:
        (key,) = [key for key in connection.scan_iter("brb:turn:*") if key.endswith(call.turn.encode())]
        assert b"zanzibar" not in (connection.get(key) or b"")
    finally:
        connection.close()
