"""Who did what, over HTTP."""

from collections.abc import Iterator

import pytest
from litestar import Litestar
from litestar.testing import TestClient
from msgspec.structs import replace
from structlog.testing import capture_logs

from services.core import errors, models, ports
from services.proxy import auditing
from services.proxy.app import create_app
from services.proxy.parts import Parts
from services.proxy.routes import audit
from tests.support.in_memory import keep, memory

Client = TestClient[Litestar]
ME = models.LOCAL
ANA = models.Principal(ME.team, "ana")


@pytest.fixture
def member(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """Calls as somebody who is no admin."""
    monkeypatch.setattr(models, "LOCAL", replace(ME, role=models.Role.MEMBER))
    with TestClient(create_app(parts), base_url="http://127.0.0.1:3000", raise_server_exceptions=False) as client:
        yield client


def noted(parts: Parts) -> list[tuple[str, tuple[str, ...], int, str]]:
    """Oldest first."""
    return [(event.act.value, event.ids, event.count, event.detail) for event in parts.audit.read(ME.team)[::-1]]


def test_reading_and_changing_is_noted_with_ids_and_no_text(client: Client, parts: Parts) -> None:
    keep(parts, one := memory("We use the quokka database"))
    client.get("/memories")
    client.get(f"/memories/{one.id}")
    client.get("/memories/search?q=quokka database")
    client.post("/recall", json={"query": "quokka database"})
    client.patch(f"/memories/{one.id}", json={"text": "We use the wombat database"})
    client.get("/export")
    client.delete(f"/memories/{one.id}")

    acts = [(act, count) for act, _, count, _ in noted(parts)]
    assert acts == [("read", 1), ("read", 1), ("searched", 1), ("searched", 1), ("edited", 1), ("exported", 2), ("forgot", 2)]
    assert all(one.id in ids for act, ids, *_ in noted(parts) if act != "exported")
    assert "quokka" not in client.get("/audit").text


def test_an_admin_sees_the_team_page_by_page(client: Client, parts: Parts) -> None:
    for who in (ME, ANA, models.Principal("else", "me"), ME):
        auditing.note(parts, who, ports.Act.EDITED, ["m1"])

    first = client.get("/audit?limit=2").json()
    second = client.get("/audit", params={"limit": 2, "before": first["next"]}).json()

    assert [event["user"] for event in (*first["events"], *second["events"])] == ["me", "ana", "me"]
    assert second["next"] is None


@pytest.mark.parametrize("page", [1, 2, 500])
def test_others_see_their_own_alone(member: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch, page: int) -> None:
    monkeypatch.setattr(audit, "_PAGE", page)
    for number in range(6):
        auditing.note(parts, ANA if number % 2 else ME, ports.Act.EDITED, [f"m{number}"])

    first = member.get("/audit?limit=2").json()
    second = member.get("/audit", params={"limit": 2, "before": first["next"]}).json()

    assert [event["ids"] for event in (*first["events"], *second["events"])] == [["m4"], ["m2"], ["m0"]]


def test_far_back_it_is_looked_for_bit_by_bit(member: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "_PAGE", 2)
    monkeypatch.setattr(audit, "_MOST_PAGES", 2)
    for who in (ME, ANA, ANA, ANA, ANA, ANA):
        auditing.note(parts, who, ports.Act.EDITED, ["m1"])

    first = member.get("/audit").json()
    assert (first["events"], first["next"] is None) == ([], False)
    assert len(member.get("/audit", params={"before": first["next"]}).json()["events"]) == 1


def test_many_ids_are_named_in_part_and_counted(parts: Parts) -> None:
    auditing.note(parts, ME, ports.Act.EXPORTED, [f"m{number}" for number in range(250)])
    ((_, ids, count, _),) = noted(parts)
    assert (len(ids), count) == (auditing.MOST_IDS, 250)


def test_a_change_that_cant_be_noted_is_done_all_the_same_and_is_in_the_log_of_the_process(
    client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: ports.Event) -> str:
        raise errors.Unavailable("redis")

    keep(parts, one := memory("We use the quokka database"))
    monkeypatch.setattr(parts.audit, "add", away)

    with capture_logs() as logged:
        assert client.delete(f"/memories/{one.id}").status_code == 200
    assert [line["event"] for line in logged] == ["audit_not_recorded"]
    assert "quokka" not in str(logged)
