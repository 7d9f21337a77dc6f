"""The five tools that every client is offered. A client without tool search loads their definitions with each conversation: they are short."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from services.core import api, errors, models, note_api, rights
from services.proxy import framing
from services.proxy.mcp import related, shown
from services.proxy.mcp.shown import Hit
from services.proxy.mcp.tools import AnyTool, Caller, Tool, as_json, body
from services.proxy.routes import memories, notes
from services.proxy.routes.recall import recalled

_MOST_IDS = 50
_MOST_HITS = 50
_MORE = "…"
_ID_TOKENS = 40  # of an id, and a word about it

Ids = Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=_MOST_IDS)]


class Search(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    query: str
    kind: api.Kind = "all"
    limit: int = 10
    token_budget: int = shown.DEFAULT_TOKENS


class Hits(msgspec.Struct, frozen=True):
    """about: what this is, and what could not be done as asked, or was left out."""

    about: str
    hits: tuple[Hit, ...]


def searched(caller: Caller, asked: Search) -> Hits:
    ask = api.Ask(query=asked.query, kind=asked.kind, limit=min(max(1, asked.limit), _MOST_HITS))
    found = recalled(caller.parts, caller.scope, ask)
    hits = shown.hits(found, now=caller.parts.clock(), clean=caller.clean)
    kept = shown.fit(hits, shown.held(asked.token_budget), lambda some: as_json(Hits(shown.about(hits, some, found.notices), tuple(some))))
    return Hits(shown.about(hits, kept, found.notices), kept)


class Get(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """offset: of one text, the characters that were read already."""

    ids: Ids
    offset: int = 0
    token_budget: int = shown.DEFAULT_TOKENS


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """A memory or a note as a whole; a note's text begins with its title. scope: with the category of a memory, and its status if that is not
    current. by: author, date, and how long ago that is. said: the words that prove it, where they are not its text."""

    id: str
    kind: str
    text: str
    scope: str
    by: str
    said: tuple[str, ...] = ()


class Items(msgspec.Struct, frozen=True):
    about: str
    items: tuple[Item, ...]


def got(caller: Caller, asked: Get) -> Items:
    if asked.offset and len(set(asked.ids)) > 1:
        raise errors.BadInput("offset goes on with one text: give one id with it")
    found = {each: item(caller, each) for each in asked.ids}
    missing = [each for each, one in found.items() if one is None]
    there = [one for one in found.values() if one is not None]
    if not there:
        raise errors.NotFound(f"there is no memory or note {', '.join(missing)}: ids come from brb_search")
    notices = [f"There is no memory or note {', '.join(missing)}."] if missing else []
    return whole(there, shown.held(asked.token_budget), notices, offset=asked.offset)


def item(caller: Caller, one_id: str) -> Item | None:
    """It counts as opened. None if there is nothing of that id, for this caller."""
    try:
        return _memory(caller, body(memories.shown)(caller.parts, caller.principal, one_id))
    except errors.NotFound:
        pass
    try:
        return _note(caller, body(notes.shown)(caller.parts, caller.principal, one_id))
    except errors.NotFound:
        return None


def whole(there: Sequence[Item], most: int, notices: Sequence[str] = (), *, offset: int = 0) -> Items:
    """Whole ones as long as they fit; the first that does not is cut, those behind it are named. offset: where the text of the first one begins."""
    there = [_from(there[0], offset), *there[1:]]
    told = [shown.RECORDS, *notices]
    room = most - min(most // 3, len(there) * _ID_TOKENS)  # for what is told of those that are not here as a whole

    def sent(some: Sequence[Item]) -> str:
        return as_json(Items(" ".join(told), tuple(some)))

    kept = list(shown.few(there, room, sent))
    left = list(there[len(kept) :])
    if left and (short := _cut(left[0], room, lambda one: sent([*kept, one]))) is not None:
        kept.append(short)
        left = left[1:]
        read = max(0, offset) + len(short.text) - len(_MORE) * (2 if offset > 0 else 1)
        told.append(f"{short.id} goes on: brb_get with offset {read} shows more.")
    if left:
        named = shown.few(left, most, lambda some: f"{sent(kept)} {_left_out(some, left)}")
        told.append(_left_out(named, left))
    return Items(" ".join(told), tuple(kept))


def _left_out(named: Sequence[Item], left: Sequence[Item]) -> str:
    more = f" and {len(left) - len(named)} more" if len(left) > len(named) else ""
    return f"Left out for the token budget: {', '.join(one.id for one in named)}{more}."


class Remember(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: str
    category: models.Category | msgspec.UnsetType = msgspec.UNSET
    project: str | msgspec.UnsetType = msgspec.UNSET


class Remembered(msgspec.Struct, frozen=True):
    """new: false if there was a memory already that says just that."""

    id: str
    text: str
    scope: str
    new: bool


def remembered(caller: Caller, asked: Remember) -> Remembered:
    category = None if asked.category is msgspec.UNSET else asked.category
    project = caller.project if asked.project is msgspec.UNSET else asked.project
    response = body(memories.added)(caller.parts, caller.principal, api.Add(text=asked.text, category=category, project=project))
    memory: api.Memory = response.content
    return Remembered(memory.id, framing.neutral(memory.text, api.LONGEST_TEXT), _state(memory), response.status_code == 201)


class Forget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ids: Ids


class Forgotten(msgspec.Struct, frozen=True):
    """What was erased where, one receipt for each id."""

    receipts: tuple[dict[str, Any], ...]


def forgotten(caller: Caller, asked: Forget) -> Forgotten:
    """All or none: an id that is not there, or not the caller's to erase, is told before anything is erased."""
    kinds = {each: _erasable(caller, each) for each in asked.ids}
    erase = {"memory": body(memories.forgotten), "note": body(notes.erased)}
    done = [(kind, erase[kind](caller.parts, caller.principal, each)) for each, kind in kinds.items()]
    return Forgotten(tuple({"kind": kind, **msgspec.to_builtins(receipt)} for kind, receipt in done))


def told(found: Items) -> str:
    return "\n\n".join([found.about, *map(_page, found.items)])


TOOLS: tuple[AnyTool, ...] = (
    Tool(
        "brb_search",
        "Search memory",
        "Search what was said before, and notes.",
        Search,
        Hits,
        searched,
        lambda found: "\n".join([found.about, *map(shown.line, found.hits)]),
    ),
    Tool("brb_get", "Read memories", "Whole memories and notes by id. offset: go on with a long one.", Get, Items, got, told),
    Tool(
        "brb_remember",
        "Remember",
        "Keep one lasting, self-contained statement. project: default is the current one.",
        Remember,
        Remembered,
        remembered,
        lambda one: f"{'Remembered' if one.new else 'Known already'}: {one.text} (memory {one.id}, {one.scope})",
        reads=False,
    ),
    Tool(
        "brb_forget",
        "Forget",
        "Erase for good, only if the person asks for it.",
        Forget,
        Forgotten,
        forgotten,
        lambda done: "\n".join(map(_receipt, done.receipts)),
        reads=False,
        destroys=True,
    ),
    Tool(
        "brb_related",
        "Related",
        "What is similar or linked to an id or a query.",
        related.Related,
        related.RelatedHits,
        related.related,
        related.told,
    ),
)


def _page(one: Item) -> str:
    return "\n".join([f"{one.kind} {one.id} [{one.scope}, {one.by}]", one.text, *(f'said: "{quote}"' for quote in one.said)])


def _receipt(one: dict[str, Any]) -> str:
    places = ", ".join(f"{name} {value}" for name, value in one.items() if name not in ("kind", "id"))
    return f"Forgotten: {one['kind']} {one.get('id', '')} ({places})"


def _memory(caller: Caller, one: api.Memory) -> Item:
    if reason := shown.withheld(one, caller.principal):
        one = replace(one, text=reason, evidence=())
    text, *quotes = caller.clean([framing.visible(each) for each in (one.text, *(each.quote for each in one.evidence))])
    said = tuple(framing.neutral(quote) for quote in dict.fromkeys(quotes) if quote != text)
    by = shown.by(one.owner, one.said_at.timestamp(), caller.parts.clock())
    return Item(one.id, "memory", framing.neutral(text, api.LONGEST_TEXT), f"{one.category}, {_state(one)}", by, said)


def _state(one: api.Memory) -> str:
    """Its scope, and its status if that is not current."""
    return shown.scope(one) if one.status is models.Status.CURRENT else f"{one.status}, {shown.scope(one)}"


def _note(caller: Caller, one: note_api.Note) -> Item:
    by = shown.by(one.owner, one.dated_at, caller.parts.clock())
    if reason := shown.withheld(one, caller.principal):
        return Item(one.id, "note", reason, shown.scope(one), by)
    (text,) = caller.clean([framing.visible(one.text)])
    return Item(one.id, "note", f"{shown.title(one)}\n\n{framing.neutral_lines(text)}", shown.scope(one), by)


def _cut(one: Item, most: int, whole: Callable[[Item], str]) -> Item | None:
    bare = replace(one, said=())
    text = shown.head(bare.text, most, lambda text: whole(replace(bare, text=text)))
    return replace(bare, text=text.rstrip() + _MORE) if len(text.rstrip()) > len(_MORE) else None


def _from(one: Item, offset: int) -> Item:
    """Without what was read already, and so that what is left does not begin a line."""
    if offset <= 0:
        return one
    if offset >= len(one.text):
        raise errors.BadInput(f"{one.id} has {len(one.text)} characters: there is nothing at offset {offset}")
    return replace(one, text=_MORE + one.text[offset:])


def _erasable(caller: Caller, one_id: str) -> str:
    """Whether it is a memory or a note that the caller may erase."""
    kind, found = related.seen(caller, one_id)
    rights.check_changes(caller.principal, found)
    return kind
