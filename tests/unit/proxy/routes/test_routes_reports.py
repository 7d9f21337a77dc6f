import pytest
from litestar import Litestar
from litestar.testing import TestClient

from services.core import errors, models, ports
from services.proxy.parts import Parts
from tests.support.in_memory import keep, memory

Client = TestClient[Litestar]
QUESTION = "which database do we use"


def ask(client: Client, words: str, times: int = 1) -> None:
    for _ in range(times):
        assert client.post("/recall", json={"query": words}).status_code == 200


def test_words_that_find_nothing_twice_are_reported(client: Client) -> None:
    ask(client, "where is the zebra kept")
    ask(client, "Where is the  zebra kept?")
    ask(client, "who feeds the okapi")

    report = client.get("/recall/report").json()

    assert [(one["words"], one["asked"]) for one in report["dead"]] == [("Where is the zebra kept?", 2)]
    assert (report["asked"], report["opened"], report["unopened"]) == (3, 0, [])


def test_what_is_shown_three_times_and_never_opened_is_reported(client: Client, parts: Parts) -> None:
    kept = memory("We use Postgres as our database")
    keep(parts, kept)
    ask(client, QUESTION, 2)
    assert client.get("/recall/report").json()["unopened"] == []

    assert client.get("/memories/search", params={"q": QUESTION}).status_code == 200

    (one,) = client.get("/recall/report").json()["unopened"]
    assert (one["id"], one["kind"], one["text"], one["surfaced"]) == (kept.id, "memory", kept.text, 3)

    client.get(f"/memories/{kept.id}")
    assert client.get("/recall/report").json()["unopened"] == []
    assert client.get("/recall/report").json()["opened"] == 1


def test_a_note_that_is_read_counts_as_opened(client: Client) -> None:
    note = client.post("/notes", json={"text": "# Tea"}).json()["id"]

    client.get(f"/notes/{note}")

    assert client.get("/recall/report").json()["opened"] == 1


def test_what_could_not_be_searched_as_asked_found_nothing_for_another_reason(client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise errors.Unavailable("llama.cpp")

    monkeypatch.setattr(parts.embedder, "embed", away)
    ask(client, "where is the zebra kept", 2)

    assert client.get("/recall/report").json()["dead"] == []


def test_the_words_are_redacted_before_they_are_kept(client: Client, parts: Parts) -> None:
    ask(client, "what did ana.b@example.org say about the zebra", 2)

    assert "ana.b" not in str(parts.uses.read(models.LOCAL))


def test_a_recall_that_cant_be_noted_is_answered(client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise errors.Unavailable("redis")

    keep(parts, memory("We use Postgres as our database"))
    monkeypatch.setattr(parts.uses, "add", away)

    assert len(client.post("/recall", json={"query": QUESTION}).json()["memories"]) == 1


def test_a_forgotten_memory_takes_the_questions_that_showed_it_along(client: Client, parts: Parts) -> None:
    kept = memory("We use Postgres as our database")
    keep(parts, kept)
    ask(client, QUESTION, 3)
    client.get(f"/memories/{kept.id}")

    client.delete(f"/memories/{kept.id}")

    assert parts.uses.read(models.LOCAL) == []


def test_the_uses_of_others_are_not_reported(client: Client, parts: Parts) -> None:
    for _ in range(2):
        parts.uses.add(models.Principal("local", "ana"), ports.Asked("where is the zebra kept", (), 1.0))

    assert client.get("/recall/report").json() == {"asked": 0, "opened": 0, "since": None, "dead": [], "unopened": []}


def test_the_record_can_be_dropped(client: Client, parts: Parts) -> None:
    ask(client, "where is the zebra kept", 2)

    assert client.delete("/recall/report").json() == {"dropped": 2}
    assert client.get("/recall/report").json()["dead"] == []


@pytest.mark.parametrize("bulk", [False, True])
def test_erasing_a_note_takes_along_what_is_on_record_of_it(client: Client, parts: Parts, bulk: bool) -> None:
    gone, kept = (
        client.post("/notes", json={"text": f"# {title}\n\nThe zebra is kept in the {title}.\n"}).json()["id"] for title in ("barn", "yard")
    )
    client.get(f"/notes/{gone}")
    client.get(f"/notes/{kept}")
    client.post("/recall", json={"query": "barn", "kind": "notes"})
    assert len(parts.uses.read(models.LOCAL)) == 3

    answer = client.post("/notes/bulk", json={"gone": [gone]}) if bulk else client.delete(f"/notes/{gone}")

    assert answer.status_code == 200
    assert [use.id for use in parts.uses.read(models.LOCAL) if isinstance(use, ports.Opened)] == [kept]
    assert not any(ports.concerns(use, [gone]) for use in parts.uses.read(models.LOCAL))
