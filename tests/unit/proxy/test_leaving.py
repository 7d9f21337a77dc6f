"""A member leaves, also when the process is killed at any step of it."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from msgspec.structs import replace

from services.core import member_api, models, note_api, ports
from services.core.notes.writing import NoteWriter
from services.proxy import leaving
from services.proxy.parts import Parts
from tests.support import in_memory
from tests.support.access import token_for
from tests.support.dying import Killed, Life, dying
from tests.support.in_memory import keep, memory

ADA = models.Principal("acme", "ada", models.Role.ADMIN)
ANA = models.Principal("acme", "ana", models.Role.CURATOR)
PRIVATE, PROPOSED, TEAM = models.Visibility
SAID = (models.Evidence("Deploys are on Fridays", "turn-1", 1.0, "session-1"),)


def by(owner: str, text: str, visibility: models.Visibility, **fields: object) -> models.Memory:
    return memory(text, team="acme", owner=owner, visibility=visibility, **fields)


def team(folder: Path, departed: str) -> Parts:
    parts = in_memory.parts(folder, departed=departed)
    token_for(parts.tokens, ANA)
    keep(
        parts,
        by("ana", "My salary is low", PRIVATE),
        by("ana", "We use Postgres", PROPOSED),
        by("ana", "Deploys are on Fridays", TEAM, review=models.Review.APPROVED, reviewed_by="ana", evidence=SAID),
        by("ana", "We review each other", TEAM, review=models.Review.APPROVED, reviewed_by="ada"),
        by("bob", "The office is in Bonn", TEAM, review=models.Review.APPROVED, reviewed_by="ana"),
        by("bob", "The office is at the river", TEAM, edited_by="ana"),
        by("eve", "I hate Fridays", PRIVATE, review=models.Review.REJECTED, reviewed_by="ana"),
        by("eve", "I love Mondays", PRIVATE, review=models.Review.REJECTED, reviewed_by="ada"),
    )
    writer = NoteWriter(parts.notes, parts.embedder, owner_lock=parts.owner_lock, clock=parts.clock)
    for title, visibility in (("Mine", PRIVATE), ("Ours", TEAM)):
        (put,) = writer.put(ANA, [note_api.PutNote(text=f"# {title}\nabout {title}", title=title)])
        writer.show(ANA, put.id, visibility)
    parts.ledger.write({"a conversation": ports.Entry("worded by ana", tuple(one.id for one in everything(parts) if one.edited_by == "ana"))})
    return parts


def everything(parts: Parts) -> list[models.Memory]:
    """Of everybody in the team."""
    return sorted(_all(parts), key=lambda one: one.id)


def _all(parts: Parts) -> Iterator[models.Memory]:
    for owner in parts.store.owners("acme"):
        yield from parts.store.find(models.Scope("acme", owner, None), ports.Where(status=None, owner=owner), limit=100)


def state(parts: Parts) -> object:
    """All that is left anywhere."""
    notes = [
        (note.title, note.owner, [one.owner for one in parts.notes.passages(models.Scope("acme", note.owner, None), note.id)])
        for owner in parts.notes.owners("acme")
        for note in parts.notes.find(models.Scope("acme", owner, None), ports.NoteWhere(owner=owner), limit=100)
    ]
    return everything(parts), sorted(notes), [one.token.revoked_at for one in parts.tokens.all()], parts.ledger.read(["a conversation"])


@pytest.mark.parametrize(
    ("departed", "owners", "named"),
    [
        ("keep", {"ana", "bob", "eve"}, {"ana", "ada", ""}),
        ("anonymous", {member_api.FORMER, "bob", "eve"}, {member_api.FORMER, "ada", ""}),
        ("forget", {"bob", "eve"}, {member_api.FORMER, "ada", ""}),
    ],
)
def test_the_name_of_one_who_left_stays_only_where_the_team_keeps_it(tmp_path: Path, departed: str, owners: set[str], named: set[str]) -> None:
    parts = team(tmp_path, departed)
    leaving.left(parts, ADA, ANA)
    left = everything(parts)
    assert {one.owner for one in left} == owners
    assert {name for one in left for name in (one.reviewed_by, one.edited_by)} == named
    assert [one.text for one in left if one.owner in ("bob", "eve")] == [one.text for one in everything(team(tmp_path, "keep")) if one.owner != "ana"]
    assert {one.session for memory in left if memory.owner == member_api.FORMER for one in memory.evidence} <= {""}
    assert parts.ledger.read(["a conversation"]).keys() == ({"a conversation"} if departed == "keep" else set())


@pytest.mark.parametrize("departed", ["keep", "anonymous", "forget"])
def test_a_removal_that_is_killed_after_any_write_is_completed_by_the_next_one(tmp_path: Path, departed: str) -> None:
    expected = team(tmp_path, departed)
    leaving.left(expected, ADA, ANA)
    for writes in count():
        parts = team(tmp_path, departed)
        life = Life(writes)
        try:
            leaving.left(dying(parts, life), ADA, ANA)
        except Killed:
            shared = {one.text for one in everything(parts) if one.visibility is TEAM}
            assert departed == "forget" or {"Deploys are on Fridays", "We review each other"} <= shared
            leaving.left(parts, ADA, ANA)
            assert state(parts) == state(expected), writes
        else:
            break
    assert writes > 10


def test_of_somebody_elses_memory_the_name_alone_is_taken() -> None:
    one = by("bob", "The office is in Bonn", TEAM, reviewed_by="ada", edited_by="ana", evidence=SAID)
    assert leaving.nameless(one, "ana") == replace(one, edited_by=member_api.FORMER)
    assert leaving.nameless(one, "eve") == one
