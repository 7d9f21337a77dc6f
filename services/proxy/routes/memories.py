"""Looking at one's memories, correcting and erasing them."""

import uuid
from typing import Annotated, Literal

from litestar import Router, delete, get, patch
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from services.core import api, errors, memory_edit, models, ports
from services.proxy import redacting
from services.proxy.parts import Parts
from services.proxy.routes import given
from services.proxy.routes.recall import recalled

_LAST_OFFSET = 10_000_000  # behind the last memory there is nothing, however far

Shown = Literal["current", "superseded", "all"]
Whose = Literal["private", "team", "all"]


def router() -> Router:
    return Router("/memories", route_handlers=[listed, searched, shown, lineage, edited, forgotten], tags=["memories"])


def managed(principal: models.Principal) -> models.Scope:
    """All that the caller may look at, whatever its project."""
    return models.Scope(principal.team, principal.user, projects=None)


@get(sync_to_thread=True)
def listed(
    parts: given.Parts,
    principal: given.Principal,
    limit: FromQuery[int] = api.DEFAULT_PAGE,
    offset: FromQuery[int] = 0,
    status: FromQuery[Shown] = "current",
    category: FromQuery[models.Category | None] = None,
    whose: Annotated[Whose, QueryParameter(name="scope")] = "all",
) -> api.Memories:
    """A page of memories, newest first. `limit` is held between 1 and 1000."""
    limit, offset = page(limit), min(max(0, offset), _LAST_OFFSET)
    where = ports.Where(
        status=None if status == "all" else models.Status(status),
        category=category,
        visibility=None if whose == "all" else models.Visibility(whose),
    )
    scope = managed(principal)
    found = parts.store.find(scope, where, limit=limit, offset=offset)
    return api.Memories(tuple(map(api.memory_of, found)), parts.store.count(scope, where), limit, offset)


@get("/search", sync_to_thread=True)
def searched(
    parts: given.Parts,
    principal: given.Principal,
    q: FromQuery[str] = "",
    mode: FromQuery[api.Mode] = "hybrid",
    limit: FromQuery[int | None] = None,
) -> api.Recalled:
    """Memories of every project of the caller, ranked as a recall ranks them."""
    if not q.strip():
        raise errors.BadInput("q is missing: GET /memories/search?q=words")
    return recalled(parts, managed(principal), api.Ask(query=q, mode=mode, limit=limit))


@get("/{memory_id:str}", sync_to_thread=True)
def shown(parts: given.Parts, principal: given.Principal, memory_id: FromPath[str]) -> api.Memory:
    return api.memory_of(found(parts, principal, memory_id))


@get("/{memory_id:str}/history", sync_to_thread=True)
def lineage(parts: given.Parts, principal: given.Principal, memory_id: FromPath[str]) -> api.Lineage:
    """All versions of the memory: what it replaced and what replaced it."""
    memory = found(parts, principal, memory_id)
    versions = memory_edit.history(parts.store, managed(principal), memory.id)
    return api.Lineage(memory.id, tuple(map(api.memory_of, versions)))


@patch("/{memory_id:str}", sync_to_thread=True)
def edited(parts: given.Parts, principal: given.Principal, memory_id: FromPath[str], data: JSONBody[api.Edit]) -> api.Memory:
    """Correct text or category; what it was stays in the history."""
    change = _checked(data, redacting.Redacting.of(parts.settings).within(principal.team))
    with parts.owner_lock(principal):
        memory = own(found(parts, principal, memory_id), principal)
        if memory.status is not models.Status.CURRENT:
            raise errors.BadInput(f"{memory.id} is history: edit {memory.superseded_by or 'the current version'} instead")
        new, archived = memory_edit.edited(memory, text=change.text, category=change.category, now=parts.clock())
        vectors = parts.embedder.embed([archived.text, new.text], "document")
        parts.store.put([ports.Embedded(version, vector) for version, vector in zip((archived, new), vectors, strict=True)])
    return api.memory_of(new)


@delete("/{memory_id:str}", status_code=200, sync_to_thread=True)
def forgotten(parts: given.Parts, principal: given.Principal, memory_id: FromPath[str]) -> api.Receipt:
    """Erase the memory with its whole history, and every inserted block that showed it."""
    with parts.owner_lock(principal):
        memory = own(found(parts, principal, memory_id), principal)
        ids = [version.id for version in memory_edit.lineage(parts.store, managed(principal), memory.lineage)]
        # The ledger first: when it is away nothing is half erased. And again after: a call in flight may have shown the memory meanwhile.
        blocks = parts.ledger.forget(ids)
        deleted = parts.store.delete(managed(principal), ids)
        blocks += parts.ledger.forget(ids)
    return api.Receipt(memory.id, deleted, blocks)


def page(limit: int) -> int:
    return min(max(1, limit), api.LARGEST_PAGE)


def found(parts: Parts, principal: models.Principal, memory_id: str) -> models.Memory:
    memory = parts.store.get(managed(principal), _uuid(memory_id))
    if memory is None:
        raise errors.NotFound(f"there is no memory {memory_id}")
    return memory


def own(memory: models.Memory, principal: models.Principal) -> models.Memory:
    if memory.owner != principal.user:
        raise errors.Denied(f"{memory.id} is a memory of {memory.owner}: only its owner changes or forgets it")
    return memory


def _uuid(memory_id: str) -> str:
    try:
        return str(uuid.UUID(memory_id))
    except ValueError:
        raise errors.BadInput(f"{memory_id[:80]!r} is not the id of a memory: ids are UUIDs") from None


def _checked(edit: api.Edit, redact: redacting.Redact) -> api.Edit:
    """The edit with its text redacted; a mistake is a `BadInput`."""
    if edit.text is None and edit.category is None:
        raise errors.BadInput("nothing to change: give text, category or both")
    if edit.text is None:
        return edit
    text = edit.text.strip()
    if not text:
        raise errors.BadInput("text is empty: to erase a memory use DELETE")
    if len(text) > api.LONGEST_TEXT:
        raise errors.BadInput(f"text has {len(text)} characters: a memory has at most {api.LONGEST_TEXT}")
    return api.Edit(text=redact([text])[0], category=edit.category)
