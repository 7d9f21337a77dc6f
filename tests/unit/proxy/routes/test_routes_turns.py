import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.core import models, ports
from services.proxy.parts import Parts
from tests.support.in_memory import NOW, keep, memory

Client = TestClient[Litestar]
ANA = models.Principal(models.LOCAL.team, "ana")
POSTGRES, LEO = memory("We use Postgres 15 as our database"), memory("My name is Leo")


def told(turn: str, at: float = NOW, words: str = "which database?") -> ports.Told:
    considered = (
        ports.Considered(POSTGRES.id, 0.6, 0.7, 0.65),
        ports.Considered(LEO.id, 0.0, 0.2, 0.2, "similarity 0.20 is under 0.30"),
    )
    return ports.Told(
        turn=turn, at=at, project="/srv/shop", words=words, outcome="injected", block="<brb>", tokens=9, took_ms=3.5, gate=0.3, considered=considered
    )


@pytest.fixture
def logged(parts: Parts) -> Parts:
    keep(parts, POSTGRES)
    parts.turns.add(models.LOCAL, told("aaaa1111"))
    parts.turns.add(models.LOCAL, told("aaaa2222", NOW + 5))
    parts.turns.add(ANA, told("bbbb3333", NOW + 9))
    return parts


def test_ones_own_turns_are_listed_newest_first(client: Client, logged: Parts) -> None:
    turns = client.get("/turns").json()["turns"]

    assert [turn["turn"] for turn in turns] == ["aaaa2222", "aaaa1111"]
    assert {name: turns[0][name] for name in ("project", "words", "outcome", "memories", "tokens", "took_ms")} == {
        "project": "/srv/shop",
        "words": "which database?",
        "outcome": "injected",
        "memories": 1,
        "tokens": 9,
        "took_ms": 3.5,
    }
    assert [turn["turn"] for turn in client.get("/turns", params={"limit": 1}).json()["turns"]] == ["aaaa2222"]


@pytest.mark.parametrize("asked", ["aaaa2222", "aaaa2", "latest"])
def test_a_turn_is_explained(client: Client, logged: Parts, asked: str) -> None:
    turn = client.get(f"/turns/{asked}").json()

    assert (turn["turn"], turn["gate"], turn["block"]) == ("aaaa2222", 0.3, "<brb>")
    shown, gone = turn["considered"]
    assert (shown["text"], shown["owner"], shown["reason"]) == (POSTGRES.text, "me", "")
    assert (gone["text"], gone["owner"], gone["reason"]) == (None, None, "similarity 0.20 is under 0.30"), "it is not there any more"


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [("bbbb3333", 404, "no turn"), ("zzzz", 404, "no turn"), ("aaaa", 400, "2 turns begin with aaaa"), ("aa", 400, "at least 4 characters")],
)
def test_a_turn_that_is_not_ones_own_or_not_one_is_refused(client: Client, logged: Parts, asked: str, status: int, said: str) -> None:
    answer = client.get(f"/turns/{asked}")

    assert answer.status_code == status
    assert said in answer.json()["error"]["message"]


def test_without_turns_the_latest_is_none(client: Client) -> None:
    assert client.get("/turns/latest").status_code == 404
    assert client.get("/turns").json() == {"turns": []}


def test_a_memory_knows_the_turns_that_were_told_of_it(client: Client, logged: Parts) -> None:
    assert [turn["turn"] for turn in client.get(f"/memories/{POSTGRES.id}/uses").json()["turns"]] == ["aaaa2222", "aaaa1111"]
    assert [turn["turn"] for turn in client.get(f"/memories/{POSTGRES.id}/uses", params={"limit": 1}).json()["turns"]] == ["aaaa2222"]
    assert client.get(f"/memories/{LEO.id}/uses").status_code == 404, "there is no such memory"


def test_the_text_of_a_memory_that_is_hidden_from_one_now_is_not_told(client: Client, parts: Parts) -> None:
    """It was shared when the turn was told of it, and its owner has taken it back since."""
    other = memory("The pager number of Ana", owner="ana", visibility=models.Visibility.PRIVATE)
    keep(parts, other)
    parts.turns.add(models.LOCAL, ports.Told(turn="cccc", at=NOW, outcome="injected", considered=(ports.Considered(other.id, 0.5, 0.5),)))

    (one,) = client.get("/turns/cccc").json()["considered"]
    assert one["text"] is None
    assert client.get(f"/memories/{other.id}/uses").status_code == 404
