"""The 22 tools of brain-kit, by their names and arguments, over BRB's notes: for agents and habits that know them (`BRB_MCP_TOOLS=all`).

A page is a note. What has no counterpart is not taken: the answers of the cache are never out of date, so that there is no `skipCache` and no
`ttlSeconds`. Results keep to `tokenBudget`; `next` is where to go on.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec.structs import replace

from services.core import api, archive, engine_api, models, note_api, ports
from services.core.recall import budget
from services.proxy import auditing, framing
from services.proxy.mcp import shown
from services.proxy.mcp.tools import AnyTool, Caller, Tool, as_json, body
from services.proxy.routes import engine, graph, notes
from services.proxy.routes.recall import recalled

Made = TypeVar("Made")
_LONGEST_VALUE = 200  # characters of an entity
_MOST_LISTED = 1_000


class _Args(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    pass


class _Result(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    pass


class Nothing(_Args, frozen=True):
    pass


class PageIn(_Args, frozen=True):
    title: str
    content: str
    id: str = ""
    metadata: dict[str, Any] = {}

    @property
    def note(self) -> note_api.PutNote:
        return note_api.PutNote(text=self.content, title=self.title, id=self.id, metadata=self.metadata)


class PagesIn(_Args, frozen=True):
    pages: Annotated[tuple[PageIn, ...], msgspec.Meta(max_length=archive.MOST_AT_ONCE)]


class One(_Args, frozen=True):
    id: str


class Get(_Args, frozen=True):
    id: str
    token_budget: int = shown.DEFAULT_TOKENS


class Listing(_Args, frozen=True):
    limit: int = 50
    offset: int = 0
    token_budget: int = shown.DEFAULT_TOKENS


class Metadata(_Args, frozen=True):
    id: str
    metadata: dict[str, Any]


class Search(_Args, frozen=True):
    query: str
    limit: int = 20
    token_budget: int = shown.DEFAULT_TOKENS
    min_score: float | msgspec.UnsetType = msgspec.UNSET


class Similar(_Args, frozen=True):
    id: str
    limit: int = 10
    token_budget: int = shown.DEFAULT_TOKENS


class Tag(_Args, frozen=True):
    tag: str
    token_budget: int = shown.DEFAULT_TOKENS


class OfPage(_Args, frozen=True):
    page_id: str
    token_budget: int = shown.DEFAULT_TOKENS


class Title(_Args, frozen=True):
    title: str


class Entity(_Args, frozen=True):
    entity_type: models.EntityKind
    value: str


class EntityType(_Args, frozen=True):
    entity_type: models.EntityKind
    token_budget: int = shown.DEFAULT_TOKENS


class TextIn(_Args, frozen=True):
    text: str


class Export(_Args, frozen=True):
    offset: int = 0
    token_budget: int = shown.MOST_TOKENS


class Page(_Result, frozen=True):
    """cut: the content goes on, or tags and metadata were too long to be here."""

    id: str
    title: str
    author: str
    scope: str
    date: str
    content: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    source: str = ""
    path: str = ""
    score: float | msgspec.UnsetType = msgspec.UNSET
    cut: bool = False


class Pages(_Result, frozen=True):
    """next: the offset of the first page that is not here."""

    about: str
    pages: tuple[Page, ...]
    total: int | msgspec.UnsetType = msgspec.UNSET
    next: int | msgspec.UnsetType = msgspec.UNSET
    notices: tuple[str, ...] = ()


class Imported(_Result, frozen=True):
    """ids: of the first of them."""

    imported: int
    ids: tuple[str, ...]
    notices: tuple[str, ...] = ()


class Deleted(_Result, frozen=True):
    id: str
    deleted: bool


class PageIds(_Result, frozen=True):
    page_ids: tuple[str, ...]
    count: int


class Entities(_Result, frozen=True):
    entities: tuple[models.Entity, ...]
    left_out: int = 0


class Relationships(_Result, frozen=True):
    relationships: tuple[engine_api.Relationship, ...]
    left_out: int = 0


class Values(_Result, frozen=True):
    entity_type: models.EntityKind
    values: tuple[engine_api.Named, ...]
    left_out: int = 0


class Removed(_Result, frozen=True):
    removed: int


class Exported(_Result, frozen=True):
    """pages: as `brain_import` takes them. too_long: ids of those that fit into no result; `GET /export` has them."""

    pages: tuple[dict[str, Any], ...]
    next: int | msgspec.UnsetType = msgspec.UNSET
    too_long: tuple[str, ...] = ()


def put(caller: Caller, asked: PageIn) -> note_api.Put:
    result: note_api.Put = body(notes.put)(caller.parts, caller.principal, asked.note)
    return result


def put_many(caller: Caller, asked: PagesIn) -> Imported:
    done: list[note_api.Put] = []
    for start in range(0, len(asked.pages), note_api.MOST_PUT):
        some = tuple(one.note for one in asked.pages[start : start + note_api.MOST_PUT])
        done += body(notes.put_many)(caller.parts, caller.principal, note_api.PutNotes(notes=some)).notes
    told = tuple(dict.fromkeys(framing.neutral(notice) for one in done for notice in one.notices))[:10]
    return Imported(len(done), tuple(one.id for one in done[: note_api.MOST_PUT]), told)


def got(caller: Caller, asked: Get) -> Page:
    note: note_api.Note = body(notes.shown)(caller.parts, caller.principal, asked.id)
    (text,) = caller.clean([framing.visible(note.text)])
    content = shown.withheld(note, caller.principal) or framing.neutral_lines(text)
    return _fitted(replace(_page(caller, note), content=content), shown.held(asked.token_budget), as_json)


def deleted(caller: Caller, asked: One) -> Deleted:
    done: note_api.Deleted = body(notes.erased)(caller.parts, caller.principal, asked.id)
    return Deleted(done.id, done.deleted > 0)


def listed(caller: Caller, asked: Listing) -> Pages:
    return _paged(caller, body(notes.listed)(caller.parts, caller.principal, limit=asked.limit, offset=asked.offset), asked.token_budget)


def counted(caller: Caller, asked: Nothing) -> engine_api.Count:
    result: engine_api.Count = body(graph.counted)(caller.parts, caller.principal)
    return result


def annotated(caller: Caller, asked: Metadata) -> Page:
    note: note_api.Note = body(notes.annotated)(caller.parts, caller.principal, asked.id, engine_api.Annotation(asked.metadata))
    return _fitted(_page(caller, note), shown.MOST_TOKENS, as_json)


def searched(caller: Caller, asked: Search) -> Pages:
    min_score = None if asked.min_score is msgspec.UNSET else asked.min_score
    found = recalled(caller.parts, caller.scope, api.Ask(query=asked.query, kind="notes", limit=asked.limit, min_score=min_score))
    texts = iter(caller.clean([framing.visible("\n[…]\n".join(passage.text for passage in one.passages)) for one in found.notes]))
    pages = [replace(_found(one), content=framing.neutral_lines(next(texts))) for one in found.notes]
    return _pages(Pages(shown.RECORDS, (), notices=found.notices), pages, asked.token_budget)


def similar(caller: Caller, asked: Similar) -> Pages:
    near: engine_api.SimilarNotes = body(graph.similar)(caller.parts, caller.principal, asked.id, limit=asked.limit)
    return _pages(Pages(shown.RECORDS, ()), [replace(_page(caller, one), score=round(one.score, 2)) for one in near.notes], asked.token_budget)


def tagged(caller: Caller, asked: Tag) -> Pages:
    return _paged(caller, body(notes.listed)(caller.parts, caller.principal, tag=asked.tag), asked.token_budget)


def entities(caller: Caller, asked: OfPage) -> Entities:
    found: engine_api.Entities = body(graph.entities)(caller.parts, caller.principal, asked.page_id)
    return _some(map(_harmless, found.entities), asked.token_budget, Entities)


def relationships(caller: Caller, asked: OfPage) -> Relationships:
    found: engine_api.Relationships = body(graph.relationships)(caller.parts, caller.principal, asked.page_id)
    harmless = (replace(one, value=_short(one.value), raw=_short(one.raw)) for one in found.relationships)
    return _some(harmless, asked.token_budget, Relationships)


def backlinks(caller: Caller, asked: Title) -> PageIds:
    return _ids(body(graph.linking)(caller.parts, caller.principal, asked.title))


def by_entity(caller: Caller, asked: Entity) -> PageIds:
    return _ids(body(graph.named)(caller.parts, caller.principal, kind=asked.entity_type, value=asked.value))


def all_entities(caller: Caller, asked: EntityType) -> Values:
    found: engine_api.AllEntities = body(graph.all_entities)(caller.parts, caller.principal, kind=asked.entity_type, limit=_MOST_LISTED)
    values = (replace(one, value=_short(one.value)) for one in found.values)
    return _some(values, asked.token_budget, lambda some, left_out: Values(asked.entity_type, some, left_out))


def cache_cleared(caller: Caller, asked: Nothing) -> Removed:
    return Removed(body(engine.cleared)(caller.parts, caller.principal).dropped)


def cache_cleaned(caller: Caller, asked: Nothing) -> Removed:
    return Removed(body(engine.cleaned)(caller.parts, caller.principal).dropped)


def tokens(caller: Caller, asked: TextIn) -> engine_api.Tokens:
    result: engine_api.Tokens = body(engine.counted)(engine_api.Text(asked.text))
    return result


def extracted(caller: Caller, asked: TextIn) -> Entities:
    found: engine_api.Entities = body(engine.extracted)(engine_api.Text(asked.text))
    return _some(map(_harmless, found.entities), shown.DEFAULT_TOKENS, Entities)


def stats(caller: Caller, asked: Nothing) -> engine_api.Stats:
    result: engine_api.Stats = body(engine.figures)(caller.parts, caller.principal)
    return result


def exported(caller: Caller, asked: Export) -> Exported:
    """The caller's own, as they are: what goes out has to come in again the same."""
    parts, most = caller.parts, shown.held(asked.token_budget)
    where = ports.NoteWhere(owner=caller.principal.user)
    there = parts.notes.find(caller.managed, where, limit=note_api.MOST_PUT, offset=max(0, asked.offset))
    whole = [one for note in there if (one := parts.notes.get(caller.managed, note.id)) is not None]
    answer, taken = Exported(()), 0
    for note in whole:
        page = {"id": note.id, "title": note.title, "content": note.text, "metadata": note.metadata}
        more = replace(answer, pages=(*answer.pages, page))
        if _over(more, most):
            if answer.pages or answer.too_long:
                break
            more = replace(answer, too_long=(note.id,))
        answer, taken = more, taken + 1
    auditing.note(parts, caller.principal, ports.Act.EXPORTED, [str(page["id"]) for page in answer.pages])
    behind = asked.offset + taken
    return replace(answer, next=behind) if behind < parts.notes.count(caller.managed, where) else answer


TOOLS: tuple[AnyTool, ...] = (
    Tool("brain_put", "Put page", "Create a page, or replace the one of that id.", PageIn, note_api.Put, put, as_json, reads=False, destroys=True),
    Tool("brain_get", "Get page", "A page by its id.", Get, Page, got, as_json),
    Tool("brain_delete", "Delete page", "Erase a page for good.", One, Deleted, deleted, as_json, reads=False, destroys=True),
    Tool("brain_list", "List pages", "Pages without their content, the last changed first.", Listing, Pages, listed, as_json),
    Tool("brain_count", "Count pages", "How many pages there are.", Nothing, engine_api.Count, counted, as_json),
    Tool("brain_bulk_put", "Put pages", "Create or replace several pages.", PagesIn, Imported, put_many, as_json, reads=False, destroys=True),
    Tool(
        "brain_update_metadata",
        "Update metadata",
        "Set fields of a page's metadata; null takes one away, the others stay. Nothing is embedded again.",
        Metadata,
        Page,
        annotated,
        as_json,
        reads=False,
        destroys=True,
    ),
    Tool("brain_search", "Search pages", "Search pages by meaning and by words; gives their best passages.", Search, Pages, searched, as_json),
    Tool("brain_similar", "Similar pages", "The pages of nearest meaning to a page.", Similar, Pages, similar, as_json),
    Tool("brain_search_by_tag", "Pages by tag", "The pages with a hashtag.", Tag, Pages, tagged, as_json),
    Tool("brain_graph_entities", "Entities of a page", "Wikilinks, hashtags, mentions and addresses of a page.", OfPage, Entities, entities, as_json),
    Tool(
        "brain_graph_relationships",
        "Links of a page",
        "What a page names, and the pages that its wikilinks mean.",
        OfPage,
        Relationships,
        relationships,
        as_json,
    ),
    Tool("brain_graph_backlinks", "Backlinks", "Ids of the pages that link to a title.", Title, PageIds, backlinks, as_json),
    Tool("brain_graph_find_by_entity", "Pages by entity", "Ids of the pages that name an entity.", Entity, PageIds, by_entity, as_json),
    Tool("brain_graph_all_entities", "All entities", "All values of a kind of entity, most named first.", EntityType, Values, all_entities, as_json),
    Tool(
        "brain_cache_clear",
        "Clear cache",
        "Drop the answers that are kept. Not needed after writes.",
        Nothing,
        Removed,
        cache_cleared,
        as_json,
        reads=False,
    ),
    Tool("brain_cache_clean", "Clean cache", "Drop the answers that no longer hold.", Nothing, Removed, cache_cleaned, as_json, reads=False),
    Tool("brain_token_count", "Count tokens", "The cl100k tokens of a text.", TextIn, engine_api.Tokens, tokens, as_json),
    Tool("brain_extract_entities", "Extract entities", "Entities of a text; nothing is stored.", TextIn, Entities, extracted, as_json),
    Tool("brain_stats", "Statistics", "How much there is of what.", Nothing, engine_api.Stats, stats, as_json),
    Tool("brain_export", "Export pages", "Your own pages as they are, as many as fit; go on at next.", Export, Exported, exported, as_json),
    Tool(
        "brain_import",
        "Import pages",
        "Create or replace pages, as brain_export gives them.",
        PagesIn,
        Imported,
        put_many,
        as_json,
        reads=False,
        destroys=True,
    ),
)


def _page(caller: Caller, one: note_api.Listed) -> Page:
    if reason := shown.withheld(one, caller.principal):
        return Page(one.id, reason, shown.named(one.owner), shown.scope(one), shown.day(one.dated_at))
    return Page(
        id=one.id,
        title=shown.title(one),
        author=shown.named(one.owner),
        scope=shown.scope(one),
        date=shown.day(one.dated_at),
        tags=tuple(_short(tag) for tag in one.tags),
        metadata=_tame(one.metadata),
        source=_short(one.source),
        path=_short(one.path),
    )


def _found(one: api.FoundNote) -> Page:
    return Page(
        id=one.id,
        title=shown.title(one),
        author=shown.named(one.owner),
        scope=shown.scope(one),
        date=shown.day(one.dated_at.timestamp()),
        tags=tuple(_short(tag) for tag in one.tags),
        source=_short(one.source),
        path=_short(one.path),
        score=round(one.score, 2),
    )


def _paged(caller: Caller, found: note_api.Notes, token_budget: int) -> Pages:
    answer = _pages(Pages(shown.RECORDS, (), total=found.total), [_page(caller, one) for one in found.notes], token_budget)
    behind = found.offset + len(answer.pages)
    return replace(answer, next=behind) if behind < found.total else answer


def _pages(bare: Pages, pages: Sequence[Page], token_budget: int) -> Pages:
    """In order; the first that does not fit is the last, cut if it is the only one."""
    most = shown.held(token_budget) - 30  # for what is told about the rest
    kept = shown.few(pages, most, lambda some: as_json(replace(bare, pages=tuple(some))))
    if pages and not kept:
        kept = (_fitted(pages[0], most, lambda one: as_json(replace(bare, pages=(one,)))),)
    left = len(pages) - len(kept)
    return replace(bare, pages=kept, notices=(*bare.notices, *([f"{left} more are left out for the token budget"] if left else [])))


def _fitted(page: Page, most: int, whole: Callable[[Page], str]) -> Page:
    """The page cut to the budget: its metadata and tags go first, for its content says more."""
    if not _over(page, most, whole):
        return page
    bare = page if not _over(replace(page, content="", cut=True), most, whole) else replace(page, metadata={}, tags=())
    content = shown.head(bare.content, most, lambda text: whole(replace(bare, content=text, cut=True)))
    return replace(bare, content=content, cut=True)


def _some(items: Any, token_budget: int, make: Callable[[tuple[Any, ...], int], Made]) -> Made:
    every = list(items)
    kept = shown.few(every, shown.held(token_budget), lambda some: msgspec.json.encode(make(tuple(some), len(every))).decode())
    return make(kept, len(every) - len(kept))


def _ids(found: note_api.Notes) -> PageIds:
    return PageIds(tuple(one.id for one in found.notes), found.total)


def _harmless(one: models.Entity) -> models.Entity:
    return replace(one, value=_short(one.value), raw=_short(one.raw))


def _short(text: str) -> str:
    return framing.neutral(text, _LONGEST_VALUE)


def _tame(value: Any) -> Any:
    """JSON with all its strings, the names of fields too, made harmless."""
    if isinstance(value, str):
        return framing.neutral(value)
    if isinstance(value, dict):
        return {_short(name): _tame(each) for name, each in value.items()}
    return [_tame(each) for each in value] if isinstance(value, list) else value


def _over(one: Any, most: int, whole: Callable[[Any], str] = as_json) -> bool:
    return budget.tokens(whole(one)) > most
