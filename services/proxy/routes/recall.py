"""A recall, to be looked at: of memories as the wire does it, and of notes."""

from typing import TypedDict

from litestar import post
from litestar.params import JSONBody
from msgspec.structs import replace

from services.core import api, errors, models, ports
from services.core.recall import answers, cache, engine, notes, query
from services.proxy import auditing, fitting, uses
from services.proxy.parts import Parts
from services.proxy.routes import given

_MOST = 100
_DAY_SECONDS = 86_400
_EMBED_SECONDS = 2.0  # longer than a busy llama.cpp needs, shorter than people wait


class _Shared(TypedDict):
    embedder: ports.Embedder
    now: float
    mode: api.Mode
    embed_timeout_seconds: float


@post("/recall", status_code=200, sync_to_thread=True, tags=["recall"])
def recall(parts: given.Parts, principal: given.Principal, data: JSONBody[api.Ask]) -> api.Recalled:
    """The memories that a call with these words, made from this project, would be told, and the notes that they call for."""
    projects = frozenset({data.project}) if data.project else frozenset[str]()
    return recalled(parts, models.Scope(principal.team, principal.user, projects), data)


def recalled(parts: Parts, scope: models.Scope, ask: api.Ask, *, on_record: bool = True) -> api.Recalled:
    """Rank memories and notes of the scope for the words asked, or answer as before. The embedding may take longer than on the wire.

    on_record: whether somebody meant just these words, so that they count as asked for."""
    if not ask.query.strip():
        raise errors.BadInput("query is empty")
    if len(ask.query) > api.LONGEST_QUERY:
        raise errors.BadInput(f"query has {len(ask.query)} characters: at most {api.LONGEST_QUERY} are taken")
    if ask.token_budget is not None and ask.token_budget < 1:
        raise errors.BadInput(f"token_budget is {ask.token_budget}: give a number of tokens")
    if ask.min_score is not None and not 0 <= ask.min_score <= 1:
        raise errors.BadInput(f"min_score is {ask.min_score}: scores are between 0 and 1")
    result, words = _answered(parts, scope, ask)
    notices = result.notices if words == ask.query else (*result.notices, f'answered as "{words}", asked shortly before')
    answer = _shown(parts, scope, api.Recalled(ask.query, result.mode, notices, (), ()), result, explain=ask.explain)
    fitted = answer if ask.token_budget is None else fitting.within(answer, ask.token_budget)
    found = [*(memory.id for memory in fitted.memories), *(note.id for note in fitted.notes)]
    if on_record and (found or not result.notices):  # found nothing is not what could not be searched as asked
        uses.asked(parts, models.Principal(scope.team, scope.user), ask.query, found)
    auditing.note(parts, models.Principal(scope.team, scope.user), ports.Act.SEARCHED, found)
    return fitted


def _shown(parts: Parts, scope: models.Scope, bare: api.Recalled, result: answers.Answer, *, explain: bool) -> api.Recalled:
    shown = bare
    if result.memories is not None:
        dropped = tuple(api.dropped_of(one.ranked, one.reason, scope) for one in result.memories.considered) if explain else None
        shown = replace(shown, memories=tuple(api.found_of(one, scope) for one in result.memories.ranked), dropped=dropped)
    if result.notes is not None:
        ids = tuple(one.note for one in result.notes.ranked)
        there = {note.id: note for note in parts.notes.find(scope, ports.NoteWhere(ids=ids), limit=len(ids))}
        found = tuple(api.found_note_of(there[one.note], one) for one in result.notes.ranked if one.note in there)
        passages = tuple(api.dropped_passage_of(one.ranked, one.reason) for one in result.notes.considered) if explain else None
        shown = replace(shown, notes=found, dropped_passages=passages)
    return shown


def _answered(parts: Parts, scope: models.Scope, ask: api.Ask) -> cache.Cached[answers.Answer]:
    knobs = _knobs(parts, ask)
    shared: _Shared = {"embedder": parts.embedder, "now": parts.clock(), "mode": ask.mode, "embed_timeout_seconds": _EMBED_SECONDS}

    visibility = None if ask.scope == "all" else models.Visibility(ask.scope)
    of_memories, of_notes = ports.Where(visibility=visibility), ports.NoteWhere(visibility=visibility)

    def fresh() -> answers.Answer:
        result = answers.Answer(
            memories=engine.recall(ask.query, scope, store=parts.store, where=of_memories, knobs=knobs, **shared) if ask.kind != "notes" else None,
            notes=notes.recall(ask.query, scope, store=parts.notes, where=of_notes, knobs=_note_knobs(ask), **shared)
            if ask.kind != "memories"
            else None,
        )
        return result if ask.explain else result.unexplained()

    today = int(shared["now"] // _DAY_SECONDS)  # "yesterday" is another day tomorrow
    key = (scope, knobs, replace(ask, query="", token_budget=None), parts.embedder.model, today)  # the budget cuts what is held
    return parts.answers.answer(scope.team, key, ask.query, embed=lambda: _vector(parts, ask), fresh=fresh, until=answers.Answer.holds_until)


def _vector(parts: Parts, ask: api.Ask) -> list[float] | None:
    """Of what the engine embeds, too: the embedder has it at hand for the second."""
    asked = query.parse(ask.query) if ask.mode != "bm25" else None
    try:
        return parts.embedder.embed([asked.text], "query", timeout_seconds=_EMBED_SECONDS)[0] if asked else None
    except (errors.BrbError, TimeoutError):
        return None


def _knobs(parts: Parts, ask: api.Ask) -> engine.Knobs:
    knobs = engine.Knobs.of(parts.settings)
    if ask.min_score is not None:
        knobs = replace(knobs, min_score=ask.min_score)
    if ask.limit is None:
        return knobs
    limit = min(max(1, ask.limit), _MOST)
    return replace(knobs, max_memories=limit, candidates=max(knobs.candidates, limit))


def _note_knobs(ask: api.Ask) -> notes.Knobs:
    knobs = notes.Knobs()
    if ask.min_score is not None:
        knobs = replace(knobs, min_similarity=ask.min_score)
    return knobs if ask.limit is None else replace(knobs, max_notes=min(max(1, ask.limit), _MOST))
