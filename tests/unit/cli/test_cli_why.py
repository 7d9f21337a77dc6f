import json
from collections.abc import Callable

import pytest
from click.testing import Result

from services.cli import why
from services.core import models, ports, turn_api
from services.proxy.parts import Parts
from tests.support.in_memory import NOW, keep, memory

Brb = Callable[..., Result]
POSTGRES, LEO = memory("We use Postgres 15 as our database"), memory("My name is Leo")


def told(turn: str = "4f3c2a1b", **fields: object) -> ports.Told:
    considered = (
        ports.Considered(POSTGRES.id, 0.61, 0.72, 0.65),
        ports.Considered(LEO.id, 0.0, 0.21, 0.21, "similarity 0.21 is under 0.30"),
        ports.Considered("gone", 0.2, 0.5, 0.5, "score 0.20 is under 0.30"),
    )
    given: dict[str, object] = {
        "at": NOW,
        "project": "/srv/shop",
        "words": "which database?",
        "asked": "database",
        "outcome": "injected",
        "block": "<brb-memories>\n- We use Postgres\n</brb-memories>",
        "tokens": 43,
        "took_ms": 12.4,
        "gate": 0.3,
        "considered": considered,
    }
    return ports.Told(turn=turn, **(given | fields))  # type: ignore[arg-type]


@pytest.fixture
def logged(running: Parts) -> Parts:
    keep(running, POSTGRES, LEO)
    running.turns.add(models.LOCAL, told())
    return running


@pytest.mark.parametrize("words", [(), ("4f3c2a1b",), ("4f3c",)])
def test_a_turn_is_explained_in_plain_words(brb: Brb, logged: Parts, words: tuple[str, ...]) -> None:
    lines = brb("why", *words).stdout.splitlines()

    assert lines == [
        "turn 4f3c2a1b of 2026-09-21 14:13 UTC, in /srv/shop",
        "you said    which database?",
        "looked up   database",
        "outcome     Told of 1 memory, in 43 tokens. It took 12 ms.",
        "0.72\t0.61\tme\t2026-09-21\tWe use Postgres 15 as our database",
        "--- a memory took a similarity of 0.30 ---",
        "0.21\t0.00\tme\t2026-09-21\tsimilarity 0.21 is under 0.30 (0.09 short)\tMy name is Leo",
        "0.50\t0.20\t\t\tscore 0.20 is under 0.30\t(forgotten, or not yours to see any more)",
    ]


def test_the_inserted_text_is_shown_on_request(brb: Brb, logged: Parts) -> None:
    assert "- We use Postgres\n" in brb("why", "--block").stdout
    assert "<brb-memories>" not in brb("why").stdout


def test_a_document_holds_it_all(brb: Brb, logged: Parts) -> None:
    found = json.loads(brb("why", "--json").stdout)

    assert (found["turn"], found["gate"], len(found["considered"])) == ("4f3c2a1b", 0.3, 3)


def test_turns_are_listed(brb: Brb, logged: Parts) -> None:
    logged.turns.add(models.LOCAL, told("aaaa", at=NOW + 60, outcome="empty", considered=(), took_ms=3.0))

    assert brb("why", "--list").stdout.splitlines() == [
        "aaaa\t2026-09-21 14:14 UTC\tempty\t0\t3\twhich database?",
        "4f3c2a1b\t2026-09-21 14:13 UTC\tinjected\t1\t12\twhich database?",
    ]
    assert [line.split("\t")[0] for line in brb("why", "--memory", POSTGRES.id[:8]).stdout.splitlines()] == ["4f3c2a1b"]
    assert brb("why", "--memory", LEO.id).stderr == "no turn of yours was told of it\n"
    assert len(json.loads(brb("why", "--list", "--limit", "1", "--json").stdout)["turns"]) == 1


def test_an_unknown_turn_has_the_exit_status_of_one(brb: Brb, running: Parts) -> None:
    assert brb("why").exit_code == 4
    assert brb("why", "zzzz").exit_code == 4


@pytest.mark.parametrize(
    ("outcome", "considered", "said"),
    [
        ("empty", (), "Told nothing: nothing that is remembered comes near it"),
        ("empty", told().considered[1:], "Told nothing: what is remembered falls short"),
        ("deadline", (), "longer than BRB_RECALL_DEADLINE_MS"),
        ("ledger_away", (), "Redis"),
        ("error", (), "BRB's log"),
    ],
)
def test_every_end_of_a_recall_is_put_in_words(outcome: str, considered: tuple[ports.Considered, ...], said: str) -> None:
    assert said in why.outcome(turn_api.turn_of(told(outcome=outcome, considered=considered), {}))


def test_what_was_missing_is_told_for_the_gate_alone() -> None:
    one = turn_api.turn_of(told(), {}).considered[1]

    assert why.reason(one, 0.3) == "similarity 0.21 is under 0.30 (0.09 short)"
    assert why.reason(one, None) == "similarity 0.21 is under 0.30"
