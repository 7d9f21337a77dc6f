"""`brb memories review|approve|reject|keep|release|promote|undo`: deciding about what waits."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from services.cli import options, output
from services.core import errors, models, review_api

if TYPE_CHECKING:
    from services.cli.client import Client

_DONE = {
    models.Decision.APPROVE: "approved",
    models.Decision.REJECT: "rejected",
    models.Decision.KEEP: "kept",
    models.Decision.RELEASE: "released",
    models.Decision.PROMOTE: "promoted",
}
_SECONDS = 60.0  # each item is compared with what the team has
Force = Annotated[bool, typer.Option("--force", help="Also what the team has in the same words already.")]
All = Annotated[bool, typer.Option("--all", help="All that wait for it.")]
Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID...]", help="Ids of memories, or the first characters of each.")]


def listed(
    why: Annotated[models.Why | None, typer.Option(help="Only what waits for this.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=review_api.LARGEST_PAGE, help="How many.")] = review_api.DEFAULT_PAGE,
    offset: Annotated[int, typer.Option(min=0, help="How many to skip.")] = 0,
    as_json: options.Json = False,
) -> None:
    """List what waits: your own, and as a curator what is proposed to the team, each with what is near to it."""
    with options.connected(_SECONDS) as brb:
        page = brb.reviews(limit=limit, offset=offset, why=why)
    if as_json:
        return output.json(page)
    for notice in page.notices:
        output.note(notice)
    output.table(["id", "why", "owner", "said", "you may", "text"], [row for one in page.waiting for row in _rows(one)])
    if not page.waiting:
        output.note("nothing waits" if page.total == 0 else f"there are {page.total}: --offset is past the end")
    elif page.total > offset + len(page.waiting):
        output.note(f"{offset + 1} to {offset + len(page.waiting)} of {page.total}: see more with --offset {offset + len(page.waiting)}")


def approved(memory_ids: options.MemoryIds, force: Force = False, as_json: options.Json = False) -> None:
    """As a curator: let the team have what was proposed."""
    _decide("approve", memory_ids, force=force, as_json=as_json)


def rejected(memory_ids: options.MemoryIds, as_json: options.Json = False) -> None:
    """As a curator: leave what was proposed to its author. It is not proposed again."""
    _decide("reject", memory_ids, as_json=as_json)


def kept(memory_ids: options.MemoryIds, as_json: options.Json = False) -> None:
    """Keep your own to yourself: it is neither for the team nor an instruction to anybody."""
    _decide("keep", memory_ids, as_json=as_json)


def released(memory_ids: Ids = None, every: All = False, as_json: options.Json = False) -> None:
    """Let what was imported count."""
    if every == bool(memory_ids):
        raise errors.BadInput("give either ids or --all")
    _decide("release", memory_ids or [], every=every, as_json=as_json)


def promoted(memory_ids: options.MemoryIds, force: Force = False, as_json: options.Json = False) -> None:
    """Propose your own to the team; as a curator, share it."""
    with options.connected(_SECONDS) as brb:
        decided = [brb.promote(whole, force=force) for whole in dict.fromkeys(map(brb.resolve, memory_ids))]
    _told(decided, as_json=as_json)


def undone(
    event: Annotated[str, typer.Argument(metavar="EVENT", help="The event that a decision has named.")], as_json: options.Json = False
) -> None:
    """Undo a decision, where its memories still are as it left them."""
    with options.connected(_SECONDS) as brb:
        decided = brb.undo(event)
    _told([decided], as_json=as_json, undone=True)


def _decide(decision: review_api.Choice, memory_ids: list[str], *, force: bool = False, every: bool = False, as_json: bool) -> None:
    with options.connected(_SECONDS) as brb:
        ids = tuple(_pending(brb)) if every else tuple(dict.fromkeys(map(brb.resolve, memory_ids)))
        parts = [ids[start : start + review_api.MOST_AT_ONCE] for start in range(0, len(ids), review_api.MOST_AT_ONCE)]
        decided = [brb.decide(review_api.Decide(decision, some, force)) for some in parts]
    _told(decided, as_json=as_json)


def _pending(brb: "Client") -> Iterator[str]:
    offset = 0
    while batch := brb.memories(limit=1000, offset=offset, status="pending").memories:
        yield from (memory.id for memory in batch)
        offset += len(batch)


def _told(decided: list[review_api.Decided], *, as_json: bool, undone: bool = False) -> None:
    """One that could not be done is a failure of the command."""
    if as_json:
        output.json(decided[0] if len(decided) == 1 else decided)
    results = [(each, one) for each in decided for one in each.results]
    if not as_json:
        for each, one in results:
            done = f"{each.decision} undone" if undone else _DONE[each.decision]
            output.line(f"{one.id} {done}" if one.outcome == "done" else f"{one.id} {one.outcome}: {one.message}")
        if not undone:
            for each in filter(lambda each: each.event, decided):
                output.note(f"undo it with: brb memories undo {each.event}")
        if not results:
            output.note("nothing waits")
    if any(one.outcome != "done" for _, one in results):
        raise typer.Exit(1)


def _rows(one: review_api.Waiting) -> Iterator[list[str]]:
    """The memory, and below it what is beside it."""
    memory = one.memory
    why = f"{one.why}: {memory.held}" if memory.held else one.why
    yield [output.short_id(memory), why, memory.owner, output.day(memory.said_at), ", ".join(one.may), memory.text]
    for other in one.beside:
        yield [output.short_id(other), f"  {other.relation} {other.cosine:.2f}", other.owner, output.day(other.said_at), "", f"  {other.text}"]
