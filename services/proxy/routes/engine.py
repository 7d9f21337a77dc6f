"""What the memory engine offers beside memories and notes: its cache, counting tokens, extracting entities, figures."""

from litestar import Router, delete, get, post
from litestar.params import JSONBody

from services.core import engine_api, errors, models, ports
from services.core.notes import entities
from services.core.recall import budget
from services.proxy.routes import failures, given, memories

_MOST_VALUES = 100_000


def router() -> Router:
    return Router("/", route_handlers=failures.told(cleared, cleaned, counted, extracted, figures), tags=["engine"])


@delete("/cache", status_code=200, sync_to_thread=True)
def cleared(parts: given.Parts, principal: given.Principal) -> engine_api.Dropped:
    """Drop every answer that is kept for the caller's team. Writes do that by themselves: nobody needs it after an import."""
    return engine_api.Dropped(parts.answers.clear(principal.team))


@post("/cache/clean", status_code=200, sync_to_thread=True)
def cleaned(parts: given.Parts, principal: given.Principal) -> engine_api.Dropped:
    """Drop the team's answers that have ceased to hold. They are given to nobody anyhow: this makes room."""
    return engine_api.Dropped(parts.answers.clean(principal.team))


@post("/tokens/count", status_code=200, sync_to_thread=True)
def counted(data: JSONBody[engine_api.Text]) -> engine_api.Tokens:
    """The cl100k tokens of a text, as budgets count them."""
    return engine_api.Tokens(budget.tokens(_checked(data.text)))


@post("/entities", status_code=200, sync_to_thread=True)
def extracted(data: JSONBody[engine_api.Text]) -> engine_api.Entities:
    """The wikilinks, hashtags, mentions and addresses of a markdown text. Nothing is stored."""
    return engine_api.Entities(entities.extract(_checked(data.text)))


@get("/stats", sync_to_thread=True)
def figures(parts: given.Parts, principal: given.Principal) -> engine_api.Stats:
    """How much there is of what, as far as the caller sees it."""
    scope = memories.managed(principal)
    return engine_api.Stats(
        memories={status: parts.store.count(scope, ports.Where(status=status)) for status in models.Status},
        categories={category: parts.store.count(scope, ports.Where(category=category)) for category in models.Category},
        notes=parts.notes.count(scope),
        entities={kind: len(parts.notes.entities(scope, kind, limit=_MOST_VALUES)) for kind in models.EntityKind},
        answers=parts.answers.count(principal.team),
        embedding_model=parts.embedder.model,
        dimension=parts.embedder.dimension,
    )


def _checked(text: str) -> str:
    if len(text) > engine_api.LONGEST_TEXT:
        raise errors.BadInput(f"text has {len(text)} characters: at most {engine_api.LONGEST_TEXT} are taken")
    return text
