"""Forgetting over HTTP: what is asked for, what would go, and the receipt. The audit log beside it."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from services.core import models, ports

MOST_IDS = 1_000
"""Named in one request."""
MOST_SHOWN = 1_000
"""Memories and notes that are listed before they go; more are counted."""
PURGED_WITHIN_SECONDS = 900


class Forget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Just one of ids, query, session, all and team.

    ids: of memories and notes; these go at once. query: nothing goes, it lists what a search finds: send the ids of those that are to go.
    session: the client's name of a conversation. all: everything of one's own. team: everything of everybody of the team, for an admin; its name.
    confirm: without it nothing goes, and it is listed what would. notes: with `all`, notes as well; with `query`, notes are searched as well.
    """

    ids: tuple[str, ...] = ()
    query: str = ""
    session: str = ""
    all: bool = False
    team: str = ""
    notes: bool = False
    confirm: bool = False


class Going(msgspec.Struct, frozen=True):
    """A memory or note that goes, or a memory that loses words (`whole` false): those of the conversation that is forgotten.

    text: "" of what the caller does not see: an admin who erases the whole team does not read what is somebody else's alone."""

    id: str
    text: str
    owner: str
    whole: bool = True


class Left(msgspec.Struct, frozen=True):
    """What stays, and why. ids: the first of them; count: how many."""

    reason: str
    ids: tuple[str, ...] = ()
    count: int = 0


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """How much was erased in each place.

    id: the memory or note asked for, "" for more than one. ids: of the memories (every version) and notes that are gone, the first 1,000.
    deleted: versions in the store; changed: memories that lost words and stay; notes. ledger: inserted blocks that showed one of them.
    answers: of the team's answer cache. uses, turns: records of questions, and of what turns were told, that speak of one of them.
    jobs, spooled: what waited to be learnt, or had failed, and would have brought it back.
    purged: whether the files of this machine hold it no longer, either; if not yet, they are cleaned within `purged_within_seconds`.
    """

    id: str = ""
    ids: tuple[str, ...] = ()
    deleted: int = 0
    changed: int = 0
    notes: int = 0
    ledger: int = 0
    answers: int = 0
    uses: int = 0
    turns: int = 0
    jobs: int = 0
    spooled: int = 0
    purged: bool = False
    purged_within_seconds: int = PURGED_WITHIN_SECONDS
    left: tuple[Left, ...] = ()


class Forgotten(msgspec.Struct, frozen=True):
    """receipt: null if nothing went yet. going: what would go, the first 1,000; count: how many. missing: ids of which there is nothing."""

    receipt: Receipt | None
    going: tuple[Going, ...] = ()
    count: int = 0
    missing: tuple[str, ...] = ()
    left: tuple[Left, ...] = ()


class AuditEvent(msgspec.Struct, frozen=True):
    """Who did what. `before`: of a decision, what it changed of each memory, as it was."""

    id: str
    at: datetime
    user: str
    act: ports.Act
    ids: tuple[str, ...]
    count: int
    detail: str
    before: Mapping[str, tuple[str, ...]]


class Audit(msgspec.Struct, frozen=True):
    """Newest first. next: `before` of the page that follows; null at the end."""

    events: tuple[AuditEvent, ...]
    next: str | None


def going_of(memory: models.Memory, sight: models.Scope, *, whole: bool = True) -> Going:
    return Going(memory.id, memory.text if sight.sees(memory) else "", memory.owner, whole)


def going_note(note: models.Note) -> Going:
    return Going(note.id, note.title, note.owner)
