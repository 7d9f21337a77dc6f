"""Forgetting over HTTP, over parts in memory."""

from dataclasses import replace as with_parts
from typing import Any

import pytest
from litestar import Litestar
from litestar.testing import TestClient
from msgspec.structs import replace
from prometheus_client import REGISTRY

from services.core import errors, messages, models, note_api, ports
from services.proxy import erasing
from services.proxy.app import create_app
from services.proxy.parts import Parts
from services.proxy.routes import notes
from tests.support.in_memory import NOW, keep, memory

Client = TestClient[Litestar]
ME = models.LOCAL
ANA = models.Principal(ME.team, "ana")
TEAM = models.Visibility.TEAM


def forget(client: Client, **asked: object) -> Any:
    answer = client.post("/forget", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def texts(parts: Parts, who: models.Principal = ME) -> set[str]:
    scope = models.Scope(who.team, who.user, projects=None)
    return {one.text for one in parts.store.find(scope, ports.Where(status=None, owner=who.user))}


def said(text: str, *sessions: str, **fields: object) -> models.Memory:
    evidence = tuple(models.Evidence(f"{text} {n}", f"turn-{text}-{n}", NOW, session) for n, session in enumerate(sessions))
    return memory(text, evidence=evidence, mentions=len(evidence), **fields)


def learn(words: str, turn: str, *, who: models.Principal = ME, session: str = "", context: tuple[str, ...] = ()) -> messages.Job:
    payload = messages.LearnTurn(turn=turn, principal=who, said_at=NOW, words=words, session=session, context=context)
    return messages.Job.of(messages.Task.LEARN_TURN, payload)


def note(parts: Parts, title: str, who: models.Principal = ME) -> str:
    return notes.writer(parts).put(who, [note_api.PutNote(title=title, text=f"About {title}")])[0].id


def told(parts: Parts, turn: str, memory_id: str = "", *, who: models.Principal = ME, **fields: str) -> None:
    considered = (ports.Considered(memory_id, 0.9, 0.9),) if memory_id else ()
    parts.turns.add(who, ports.Told(turn=turn, at=NOW, outcome="shown", considered=considered, **fields))  # type: ignore[arg-type]


def asked_before(parts: Parts, words: str, *ids: str) -> None:
    parts.uses.add(ME, ports.Asked(words, ids, NOW))


# By id


def test_a_receipt_names_each_place(client: Client, parts: Parts) -> None:
    gone, kept = said("We use the quokka database", "s1"), said("We use tabs", "s1")
    keep(parts, gone, kept)
    note_id = note(parts, "Marmots")
    parts.ledger.write({"a": ports.Entry("block", (gone.id,)), "b": ports.Entry("block", (kept.id,))})
    told(parts, "told", gone.id)
    told(parts, gone.evidence[0].turn)
    told(parts, "other", kept.id)
    asked_before(parts, "which database", gone.id)
    asked_before(parts, "which indentation", kept.id)
    parts.book.add([learn("And we use the quokka database, too", "later"), learn("We use tabs", "other")])
    client.post("/recall", json={"query": "tabs"})

    answer = forget(client, ids=[gone.id, note_id, "00000000-0000-0000-0000-000000000007"])

    receipt = answer["receipt"]
    assert {name: receipt[name] for name in ("deleted", "notes", "ledger", "turns", "jobs", "changed", "purged")} == {
        "deleted": 1,
        "notes": 1,
        "ledger": 1,
        "turns": 2,
        "jobs": 1,
        "changed": 0,
        "purged": False,
    }
    assert set(receipt["ids"]) == {gone.id, note_id}
    assert receipt["uses"] == 1
    assert answer["missing"] == ["00000000-0000-0000-0000-000000000007"]
    assert texts(parts) == {"We use tabs"}
    assert [one.turn for one in parts.turns.latest(ME)] == ["other"]
    assert set(parts.ledger.read(["a", "b"])) == {"b"}
    assert parts.book.pending()[messages.Lane.LEARN] == 1
    assert parts.notes.count(models.Scope(ME.team, ME.user, None)) == 0


def test_the_same_again_finds_nothing(client: Client, parts: Parts) -> None:
    gone = said("x y z")
    keep(parts, gone)
    forget(client, ids=[gone.id])

    assert forget(client, ids=[gone.id]) == {"receipt": None, "going": [], "count": 0, "missing": [gone.id], "left": []}


def test_what_is_somebody_elses_to_erase_denies_all_of_it(member: Client, parts: Parts) -> None:
    mine, theirs = said("Mine"), memory("Theirs", owner="ana", visibility=TEAM)
    keep(parts, mine, theirs)

    answer = member.post("/forget", json={"ids": [mine.id, theirs.id]})

    assert answer.status_code == 403
    assert texts(parts) == {"Mine"}


def test_what_is_not_seen_is_missing(client: Client, parts: Parts) -> None:
    private, elsewhere = memory("Hers", owner="ana"), memory("Elsewhere", team="else", visibility=TEAM)
    keep(parts, private, elsewhere)

    assert forget(client, ids=[private.id, elsewhere.id])["missing"] == [private.id, elsewhere.id]
    assert texts(parts, ANA) == {"Hers"}


def test_a_curator_erases_what_was_shared_with_those_versions_that_only_its_owner_saw(client: Client, parts: Parts) -> None:
    shared = memory("The key is in the drawer", owner="ana", visibility=TEAM)
    before = memory("The key is under the mat", owner="ana", lineage=shared.lineage, status=models.Status.SUPERSEDED, superseded_by=shared.id)
    keep(parts, shared, before)

    assert forget(client, ids=[shared.id])["receipt"]["deleted"] == 2
    assert texts(parts, ANA) == set()


def test_a_later_turn_is_learnt_from_without_the_words_that_are_gone(client: Client, parts: Parts) -> None:
    gone = said("We use the quokka database", "s1")
    keep(parts, gone)
    parts.book.add([learn("And it is fast", "later", context=("We use the quokka database",))])

    forget(client, ids=[gone.id])

    assert parts.book.claim("learn_turn-later") is None
    claim = parts.book.claim("learn_turn-later-cleared")
    assert claim is not None
    assert isinstance(claim.job.payload, messages.LearnTurn)
    assert (claim.job.payload.words, claim.job.payload.context) == ("And it is fast", ())


# By a search


def test_a_query_only_lists_what_may_be_erased(client: Client, parts: Parts) -> None:
    mine, hers = said("We use the quokka database"), memory("Her quokka database", owner="ana")
    keep(parts, mine, hers, said("Tea is green"))

    answer = forget(client, query="quokka database")

    assert answer["receipt"] is None
    assert [(one["id"], one["text"], one["whole"]) for one in answer["going"]] == [(mine.id, mine.text, True)]
    assert len(texts(parts)) == 2


def test_a_query_never_erases_by_itself(client: Client) -> None:
    answer = client.post("/forget", json={"query": "quokka", "confirm": True})
    assert (answer.status_code, "send the ids" in answer.text) == (400, True)


# By a conversation


def test_a_conversation_takes_what_was_said_in_it_alone(client: Client, parts: Parts) -> None:
    alone, both, elsewhere = said("Alone", "s1"), said("Both", "s1", "s2"), said("Elsewhere", "s2")
    keep(parts, alone, both, elsewhere)
    parts.book.add([learn("x", "t8", session="s1"), learn("x", "t9", session="s2")])
    told(parts, "t8", session="s1", words="something not learnt")
    told(parts, "t9", session="s2", words="something else")

    listed = forget(client, session="s1")
    assert (listed["receipt"], listed["count"]) == (None, 2)
    assert {(one["text"], one["whole"]) for one in listed["going"]} == {("Alone", True), ("Both", False)}
    assert len(texts(parts)) == 3
    receipt = forget(client, session="s1", confirm=True)["receipt"]

    assert (receipt["deleted"], receipt["changed"], receipt["jobs"], receipt["turns"]) == (1, 1, 1, 1)
    assert texts(parts) == {"Both", "Elsewhere"}
    changed = client.get(f"/memories/{both.id}").json()
    assert ([one["session"] for one in changed["evidence"]], changed["mentions"]) == (["s2"], 1)
    assert [one.turn for one in parts.turns.latest(ME)] == ["t9"]
    again = forget(client, session="s1", confirm=True)["receipt"]
    assert (again["deleted"], again["changed"]) == (0, 0)


# All


def test_all_takes_everything_of_ones_own_but_what_the_team_was_given(member: Client, parts: Parts) -> None:
    mine, shared = said("Mine"), memory("Shared", visibility=TEAM)
    keep(parts, mine, memory("Old", status=models.Status.SUPERSEDED), shared, memory("Hers", owner="ana"))
    kept_note = note(parts, "Marmots")
    parts.book.add([learn("x", "t8"), learn("x", "t9", who=ANA)])
    told(parts, "t8", words="anything")
    told(parts, "t8", who=ANA, words="anything")
    asked_before(parts, "anything")

    assert forget(member, all=True)["count"] == 2
    receipt = forget(member, all=True, confirm=True)["receipt"]

    assert (receipt["deleted"], receipt["notes"], receipt["jobs"], receipt["turns"], receipt["uses"]) == (2, 0, 1, 1, 1)
    assert [(one["ids"], one["count"]) for one in receipt["left"]] == [([shared.id], 1), ([kept_note], 1)]
    assert texts(parts) == {"Shared"}
    assert (texts(parts, ANA), len(parts.turns.latest(ANA)), parts.book.pending()[messages.Lane.LEARN]) == ({"Hers"}, 1, 1)
    assert forget(member, all=True, notes=True, confirm=True)["receipt"]["notes"] == 1


def test_an_admin_erases_a_whole_team_by_its_name(client: Client, parts: Parts) -> None:
    keep(parts, said("Mine"), memory("Hers", owner="ana"), memory("Elsewhere", team="else"))
    note(parts, "Marmots", ANA)
    parts.book.add([learn("x", "t8", who=models.Principal(ME.team, "nobody yet")), learn("x", "t9", who=models.Principal("else", "me"))])

    assert forget(client, team=ME.team)["count"] == 2
    receipt = forget(client, team=ME.team, confirm=True)["receipt"]

    assert (receipt["deleted"], receipt["notes"], receipt["jobs"]) == (2, 1, 1)
    assert (texts(parts), texts(parts, ANA), texts(parts, models.Principal("else", "me"))) == (set(), set(), {"Elsewhere"})


@pytest.mark.parametrize("confirm", [True, False])
def test_another_teams_name_or_no_admin_erases_no_team(client: Client, member: Client, parts: Parts, confirm: bool) -> None:
    keep(parts, said("Mine"))
    for who, name in ((client, "else"), (member, ME.team)):
        assert who.post("/forget", json={"team": name, "confirm": confirm}).status_code == 403
    assert texts(parts) == {"Mine"}


@pytest.mark.parametrize(
    "asked", [{}, {"all": False}, {"all": True, "session": "s"}, {"ids": [], "confirm": True}, {"ids": ["x"]}, {"everything": True}, {"query": ""}]
)
def test_it_is_told_what_to_ask_for(client: Client, asked: dict[str, object]) -> None:
    assert client.post("/forget", json=asked).status_code == 400


# On the way


@pytest.mark.parametrize("step", ["book.forget", "ledger.forget", "turns.drop", "uses.forget", "store.update", "store.delete"])
def test_cut_short_anywhere_nothing_is_half_visible_and_the_same_again_finishes(
    client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    new = said("We use the quokka database", "s1")
    old = memory("We use the wombat database", lineage=new.lineage, status=models.Status.SUPERSEDED, superseded_by=new.id)
    keep(parts, new, old)
    parts.ledger.write({"a": ports.Entry("block", (old.id,))})

    def away(*_: object, **__: object) -> None:
        raise errors.Unavailable("something")

    owner, name = step.split(".")
    with monkeypatch.context() as broken:
        broken.setattr(getattr(parts, owner), name, away)
        assert client.post("/forget", json={"ids": [new.id]}).status_code == 503
    assert texts(parts) == {new.text, old.text}
    assert [(event.act, set(event.ids)) for event in parts.audit.read(ME.team)] == [(ports.Act.FORGOT, {new.id, old.id})], "who began it is on record"

    forget(client, ids=[new.id])
    assert (texts(parts), parts.ledger.read(["a"])) == (set(), {})


def test_a_call_in_flight_that_showed_it_meanwhile_leaves_no_block(client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = said("We use the quokka database")
    keep(parts, gone)
    delete = parts.store.delete

    def shown_meanwhile(scope: models.Scope, ids: list[str]) -> int:
        parts.ledger.write({"late": ports.Entry("block", (gone.id,))})
        return delete(scope, ids)

    monkeypatch.setattr(parts.store, "delete", shown_meanwhile)
    assert forget(client, ids=[gone.id])["receipt"]["ledger"] == 1
    assert parts.ledger.read(["late"]) == {}


def test_what_waits_on_this_machine_goes_first(parts: Parts) -> None:
    order: list[str] = []
    forget_jobs = parts.book.forget
    parts.book.forget = lambda concerns: order.append("book") or forget_jobs(concerns)  # type: ignore[method-assign,func-returns-value]
    spooling = with_parts(parts, unspool=lambda _: order.append("spool") or 1)  # type: ignore[func-returns-value]
    gone = said("x")
    keep(parts, gone)

    receipt = erasing.forget(spooling, ME, erasing.Chosen((gone,)))

    assert order[:2] == ["spool", "book"]
    assert receipt.spooled == 1


def test_backups_that_are_out_of_reach_are_named(client: Client, parts: Parts) -> None:
    gone = said("x")
    keep(parts, gone)
    (parts.settings.data / "backups" / "store-hashing-20260101T000000").mkdir(parents=True)

    (left,) = forget(client, ids=[gone.id])["receipt"]["left"]
    assert ("backups" in left["reason"], left["count"]) == (True, 1)


def test_every_erasure_is_on_record_without_a_text(client: Client, parts: Parts) -> None:
    keep(parts, one := said("We use the quokka database", "s1"), two := said("We use the wombat database", "s2"))
    forget(client, ids=[one.id])
    forget(client, session="s2", confirm=True)

    events = [(event.act, event.ids, event.detail) for event in parts.audit.read(ME.team)]
    assert events == [(ports.Act.FORGOT, (two.id,), "session"), (ports.Act.FORGOT, (one.id,), "ids")]


@pytest.fixture
def member(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Calls as somebody who is no admin."""
    monkeypatch.setattr(models, "LOCAL", replace(ME, role=models.Role.MEMBER))
    with TestClient(create_app(parts), base_url="http://127.0.0.1:3000", raise_server_exceptions=False) as client:
        return client


# What is counted


def test_what_is_forgotten_is_in_no_tally_and_the_places_are_counted(client: Client, parts: Parts) -> None:
    gone, kept = said("We use the quokka database", "s1"), said("We use tabs", "s1")
    keep(parts, gone, kept)
    parts.figures.told([gone.id, kept.id], NOW)
    parts.figures.told([gone.id], NOW - 86_400)
    before = {place: erased(place) for place in ("deleted", "ledger")}
    parts.ledger.write({"a": ports.Entry("block", (gone.id,))})
    forget(client, ids=[gone.id])

    assert parts.figures.most_told(NOW, 10)[0] == [1]
    assert {place: erased(place) - count for place, count in before.items()} == {"deleted": 1, "ledger": 1}


def erased(place: str) -> float:
    return REGISTRY.get_sample_value("brb_erased_total", {"place": place}) or 0.0
