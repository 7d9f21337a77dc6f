"""A recall as the wire does it, to be looked at."""

import msgspec
from litestar import post
from litestar.params import JSONBody

from services.core import api, errors, models
from services.core.recall import engine
from services.proxy.parts import Parts
from services.proxy.routes import given

_MOST = 100
_EMBED_SECONDS = 2.0  # longer than a busy llama.cpp needs, shorter than people wait


@post("/recall", status_code=200, sync_to_thread=True, tags=["recall"])
def recall(parts: given.Parts, principal: given.Principal, data: JSONBody[api.Ask]) -> api.Recalled:
    """What a call with these words, made from this project, would be told."""
    projects = frozenset({data.project}) if data.project else frozenset[str]()
    return recalled(parts, models.Scope(principal.team, principal.user, projects), data)


def recalled(parts: Parts, scope: models.Scope, ask: api.Ask) -> api.Recalled:
    """Rank the memories of the scope for the words asked. The embedding may take longer than on the wire."""
    if not ask.query.strip():
        raise errors.BadInput("query is empty")
    if len(ask.query) > api.LONGEST_QUERY:
        raise errors.BadInput(f"query has {len(ask.query)} characters: at most {api.LONGEST_QUERY} are taken")
    result = engine.recall(
        ask.query,
        scope,
        store=parts.store,
        embedder=parts.embedder,
        knobs=_knobs(parts, ask.limit),
        now=parts.clock(),
        mode=ask.mode,
        embed_timeout_seconds=_EMBED_SECONDS,
    )
    return api.Recalled(
        query=ask.query,
        mode=result.mode,
        notices=result.notices,
        memories=tuple(map(api.found_of, result.ranked)),
        dropped=tuple(api.dropped_of(one.ranked, one.reason) for one in result.considered) if ask.explain else None,
    )


def _knobs(parts: Parts, limit: int | None) -> engine.Knobs:
    knobs = engine.Knobs.of(parts.settings)
    if limit is None:
        return knobs
    limit = min(max(1, limit), _MOST)
    return msgspec.structs.replace(knobs, max_memories=limit, candidates=max(knobs.candidates, limit))
