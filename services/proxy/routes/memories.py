"""Looking at one's memories, correcting and erasing them."""

import uuid
from typing import Annotated, Literal

from litestar import Response, Router, delete, get, patch, post
from litestar.openapi import ResponseSpec
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from msgspec.structs import replace

from services.core import (
    api,
    engine_api,
    erasure_api,
    errors,
    instructions,
    memory_add,
    memory_edit,
    messages,
    models,
    ports,
    reviewing,
    rights,
    sharing,
)
from services.proxy import auditing, erasing, redacting, reviews, uses
from services.proxy.parts import EMBED_SECONDS, Parts
from services.proxy.routes import failures, given
from services.proxy.routes.recall import recalled

_NEAR = 5  # memories that may say the same as a new one
_DEFAULT_SIMILAR = 10
_MOST_SIMILAR = 100

_SAID = ResponseSpec(api.Memory, description="The memory that says just this already", generate_examples=False)

Shown = Literal["current", "superseded", "pending", "quarantined", "all"]


def router() -> Router:
    return Router(
        "/memories", route_handlers=failures.told(listed, counted, searched, added, shown, similar, lineage, edited, forgotten), tags=["memories"]
    )


managed = rights.managed


def told(principal: models.Principal) -> models.Scope:
    """What a model may be told on the caller's behalf, whatever its project: nothing that others have only proposed."""
    return models.Scope(principal.team, principal.user, projects=None)


@get(sync_to_thread=True)
def listed(
    parts: given.Parts,
    principal: given.Principal,
    limit: FromQuery[int] = api.DEFAULT_PAGE,
    offset: FromQuery[int] = 0,
    status: FromQuery[Shown] = "current",
    category: FromQuery[models.Category | None] = None,
    whose: Annotated[api.Whose, QueryParameter(name="scope")] = "all",
) -> api.Memories:
    """A page of memories, newest first. `limit` is held between 1 and 1000."""
    limit, offset = page(limit), min(max(0, offset), api.LAST_OFFSET)
    where = _where(status, category, whose)
    scope = managed(principal)
    found = parts.store.find(scope, where, limit=limit, offset=offset)
    auditing.note(parts, principal, ports.Act.READ, [memory.id for memory in found], detail="list")
    return api.Memories(tuple(api.memory_of(memory, scope) for memory in found), parts.store.count(scope, where), limit, offset)


@get("/search", sync_to_thread=True)
def searched(
    parts: given.Parts,
    principal: given.Principal,
    q: FromQuery[str] = "",
    mode: FromQuery[api.Mode] = "hybrid",
    limit: FromQuery[int | None] = None,
    min_score: FromQuery[float | None] = None,
    token_budget: FromQuery[int | None] = None,
) -> api.Recalled:
    """Memories of every project of the caller, ranked as a recall ranks them."""
    if not q.strip():
        raise errors.BadInput("q is missing: GET /memories/search?q=words")
    return recalled(parts, told(principal), api.Ask(query=q, kind="memories", mode=mode, limit=limit, min_score=min_score, token_budget=token_budget))


@get("/count", sync_to_thread=True)
def counted(
    parts: given.Parts,
    principal: given.Principal,
    status: FromQuery[Shown] = "current",
    category: FromQuery[models.Category | None] = None,
    whose: Annotated[api.Whose, QueryParameter(name="scope")] = "all",
) -> engine_api.Count:
    """How many memories a list with these filters has."""
    return engine_api.Count(parts.store.count(managed(principal), _where(status, category, whose)))


@post(sync_to_thread=True, responses={200: _SAID})
def added(parts: given.Parts, principal: given.Principal, data: JSONBody[api.Add]) -> Response[api.Memory]:
    """Remember a statement, in the caller's own words: 201, and it is recalled at once, unless it reads like an instruction (`status`). Just the same
    words again are the memory that says them: 200.
    Shortly after it is decided like a statement in a conversation whether it replaces a memory, says what another one says already, or is new."""
    redact = redacting.Redacting.of(parts.settings).within(principal.team)
    text = redact([_checked_text(data.text, "give the statement to remember")])[0]
    if parts.settings.redaction_policy.drops(text):
        raise errors.BadInput("text holds what is not to be kept (BRB_REDACTION): leave that out")
    if len(data.project) > api.LONGEST_NAME:
        raise errors.BadInput(f"project has {len(data.project)} characters: at most {api.LONGEST_NAME} are taken")
    vector = parts.embedder.embed([text], "document", timeout_seconds=EMBED_SECONDS)[0]
    with parts.owner_lock(principal):
        near = [
            hit
            for status in (models.Status.CURRENT, models.Status.QUARANTINED)
            for hit in parts.store.nearest(told(principal), vector, limit=_NEAR, where=ports.Where(status=status, owner=principal.user), exact=True)
        ]
        for hit in near:
            if memory_add.says(hit.memory, text, data.project):
                return Response(api.memory_of(hit.memory, principal), status_code=200)
        memory, turn = memory_add.added(principal, text, category=data.category, project=data.project, now=parts.clock())
        memory = instructions.guarded(memory)
        parts.enqueue([messages.Job.of(messages.Task.LEARN_TURN, turn)])  # first: of a memory that is not there the job makes nothing
        parts.store.put([ports.Embedded(memory, vector)])
    auditing.note(parts, principal, ports.Act.ADDED, [memory.id])
    return Response(api.memory_of(memory, principal), status_code=201)


@get("/{memory_id:str}", sync_to_thread=True)
def shown(parts: given.Parts, principal: given.Principal, memory_id: FromPath[str]) -> api.Memory:
    """One memory with the words that prove it. It counts as opened."""
    memory = found(parts, principal, memory_id)
    uses.opened(parts, principal, memory.id)
    auditing.note(parts, principal, ports.Act.READ, [memory.id])
    return api.memory_of(memory, principal)


@get("/{memory_id:str}/similar", sync_to_thread=True)
def similar(
    parts: given.Parts, principal: given.Principal, memory_id: FromPath[str], limit: FromQuery[int] = _DEFAULT_SIMILAR
) -> engine_api.SimilarMemories:
    """The current memories of nearest meaning, but for versions of the same. `limit` is held between 1 and 100."""
    memory = found(parts, principal, memory_id)
    limit = min(max(1, limit), _MOST_SIMILAR)
    (vector,) = parts.embedder.embed([memory.text], "document", timeout_seconds=EMBED_SECONDS)
    hits = parts.store.nearest(told(principal), vector, limit=limit + 1)  # a lineage has one current version
    others = [hit for hit in hits if hit.memory.lineage != memory.lineage][:limit]
    return engine_api.SimilarMemories(memory.id, tuple(engine_api.similar_of(hit, principal) for hit in others))


@get("/{memory_id:str}/history", sync_to_thread=True)
def lineage(parts: given.Parts, principal: given.Principal, memory_id: FromPath[str]) -> api.Lineage:
    """All versions of the memory: what it replaced and what replaced it."""
    memory = found(parts, principal, memory_id)
    versions = memory_edit.history(parts.store, managed(principal), memory.id)
    auditing.note(parts, principal, ports.Act.READ, [version.id for version in versions])
    return api.Lineage(memory.id, tuple(api.memory_of(version, principal) for version in versions))


@patch("/{memory_id:str}", sync_to_thread=True)
def edited(parts: given.Parts, principal: given.Principal, memory_id: FromPath[str], data: JSONBody[api.Edit]) -> api.Memory:
    """Correct text or category; what it was stays in the history. A curator corrects also what others have proposed or shared; what a member shared
    and words anew is proposed anew."""
    change = _checked(data, redacting.Redacting.of(parts.settings).within(principal.team))
    with parts.owner_lock(reviews.owner_of(found(parts, principal, memory_id))):
        memory = found(parts, principal, memory_id)
        rights.check_changes(principal, memory)
        if memory.status is models.Status.SUPERSEDED:
            raise errors.BadInput(f"{memory.id} is history: edit {memory.superseded_by or 'the current version'} instead")
        promotion = sharing.in_force(parts.settings)
        new, archived = reviewing.edited(memory, principal, text=change.text, category=change.category, now=parts.clock(), promotion=promotion)
        vectors = parts.embedder.embed([archived.text, new.text], "document", timeout_seconds=EMBED_SECONDS)
        parts.store.put([ports.Embedded(version, vector) for version, vector in zip((archived, new), vectors, strict=True)])
        reviews.write(parts, memory, new)
    auditing.note(parts, principal, ports.Act.EDITED, [new.id])
    return api.memory_of(new, principal)


@delete("/{memory_id:str}", status_code=200, sync_to_thread=True)
def forgotten(parts: given.Parts, principal: given.Principal, memory_id: FromPath[str]) -> erasure_api.Receipt:
    """Erase the memory with its whole history, and all that would show it or bring it back."""
    memory = found(parts, principal, memory_id)
    rights.check_changes(principal, memory)
    return replace(erasing.forget(parts, principal, erasing.Chosen(memories=(memory,))), id=memory.id)


def _where(status: Shown, category: models.Category | None, whose: api.Whose) -> ports.Where:
    return ports.Where(
        status=None if status == "all" else models.Status(status),
        category=category,
        visibility=None if whose == "all" else models.Visibility(whose),
    )


def page(limit: int) -> int:
    return min(max(1, limit), api.LARGEST_PAGE)


def found(parts: Parts, principal: models.Principal, memory_id: str) -> models.Memory:
    memory = parts.store.get(managed(principal), _uuid(memory_id))
    if memory is None:
        raise errors.NotFound(f"there is no memory {memory_id}")
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
    text = _checked_text(edit.text, "to erase a memory use DELETE")
    return api.Edit(text=redact([text])[0], category=edit.category)


def _checked_text(given_text: str, cure: str) -> str:
    text = given_text.strip()
    if not text:
        raise errors.BadInput(f"text is empty: {cure}")
    if len(text) > api.LONGEST_TEXT:
        raise errors.BadInput(f"text has {len(text)} characters: a memory has at most {api.LONGEST_TEXT}")
    return text
