"""`brb memories forget`, `brb memories clear`: erase, for good, and say what was erased."""

from typing import TYPE_CHECKING, Annotated

import typer

from services.cli import options, output
from services.core import api, erasure_api, errors

if TYPE_CHECKING:
    from services.cli.client import Client

_MOST_LISTED = 20

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")]
Notes = Annotated[bool, typer.Option("--notes", help="Notes, too.")]


def forgotten(
    memory_ids: Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Ids of memories, or the first characters of each.")] = None,
    query: Annotated[str, typer.Option(metavar="WORDS", help="What a search finds.")] = "",
    session: Annotated[str, typer.Option(metavar="ID", help="What was said in a conversation (`brb why`); what was said elsewhere too stays.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="All of your own, but for what the team was given.")] = False,
    notes: Notes = False,
    yes: Yes = False,
    as_json: options.Json = False,
) -> None:
    """Erase memories with their whole history, for good. Shows what goes, and asks, on a terminal.

    In a pipe, ids are erased at once; for --query, --session and --all it takes --yes.
    """
    if sum(map(bool, (memory_ids, query, session, everything))) != 1:
        raise errors.BadInput("give either ids or one of --query, --session and --all")
    with options.connected() as brb:
        if memory_ids:
            return _by_ids(brb, memory_ids, yes=yes, as_json=as_json)
        asked = erasure_api.Forget(query=query, session=session, all=everything, notes=notes)
        _by_plan(brb, asked, yes=yes, as_json=as_json)


def cleared(notes: Notes = False, yes: Yes = False, as_json: options.Json = False) -> None:
    """Erase all of your own memories, for good: as `forget --all`."""
    with options.connected() as brb:
        _by_plan(brb, erasure_api.Forget(all=True, notes=notes), yes=yes, as_json=as_json)


def _by_ids(brb: "Client", memory_ids: list[str], *, yes: bool, as_json: bool) -> None:
    wanted = [brb.memory(whole) for whole in dict.fromkeys(map(brb.resolve, memory_ids))]
    if not yes and output.is_interactive():
        _rows([erasure_api.Going(memory.id, memory.text, memory.owner) for memory in wanted], len(wanted))
        _confirm(len(wanted))
    receipts = _erased(brb, wanted)
    if as_json:
        return output.json(receipts)
    for receipt in receipts:
        output.line(f"{receipt.id} forgotten: {output.counted(receipt.deleted, 'version')}, {output.counted(receipt.ledger, 'inserted block')}")
    _notes(receipts)


def _erased(brb: "Client", wanted: list[api.Memory]) -> list[erasure_api.Receipt]:
    """Two versions of one memory are erased by the first."""
    receipts: list[erasure_api.Receipt] = []
    gone: set[str] = set()
    for memory in wanted:
        if memory.lineage not in gone:
            receipts.append(brb.forget(memory.id))
            gone.add(memory.lineage)
    return receipts


def _by_plan(brb: "Client", asked: erasure_api.Forget, *, yes: bool, as_json: bool) -> None:
    plan = brb.erase(asked)
    if not plan.going and (asked.query or not yes):  # of a conversation or a person there may be more than memories
        return output.json(plan) if as_json else _nothing(plan)
    if not yes:
        if not output.is_interactive():
            return output.json(plan) if as_json else _only_listed(plan)
        _rows(plan.going, plan.count)
        _confirm(plan.count)
    ids = tuple(one.id for one in plan.going) if asked.query else ()
    done = brb.erase(erasure_api.Forget(ids=ids) if ids else _confirmed(asked))
    if as_json:
        return output.json(done)
    if done.receipt is not None:
        _told(done.receipt)


def _confirmed(asked: erasure_api.Forget) -> erasure_api.Forget:
    return erasure_api.Forget(session=asked.session, all=asked.all, notes=asked.notes, confirm=True)


def _nothing(plan: erasure_api.Forgotten) -> None:
    output.note("there is nothing to erase")
    _stays(plan.left)


def _only_listed(plan: erasure_api.Forgotten) -> None:
    _rows(plan.going, plan.count)
    output.note(f"nothing was erased yet: add --yes to erase {'this' if plan.count == 1 else f'these {plan.count}'}")


def _told(receipt: erasure_api.Receipt) -> None:
    places = {
        "version": receipt.deleted,
        "changed memory": receipt.changed,
        "note": receipt.notes,
        "inserted block": receipt.ledger,
        "recorded turn": receipt.turns,
        "recorded question": receipt.uses,
        "kept answer": receipt.answers,
        "waiting job": receipt.jobs + receipt.spooled,
    }
    output.line(f"forgotten: {', '.join(output.counted(number, noun) for noun, number in places.items() if number) or 'nothing'}")
    _notes([receipt])


def _notes(receipts: list[erasure_api.Receipt]) -> None:
    """Each once."""
    _stays(tuple({left.reason: left for receipt in receipts for left in receipt.left}.values()))
    if waiting := [receipt for receipt in receipts if not receipt.purged]:
        output.note(f"the files on the disk are cleaned within {waiting[0].purged_within_seconds // 60} minutes")


def _stays(left: tuple[erasure_api.Left, ...]) -> None:
    for one in left:
        output.note(f"left: {f'{one.count} ' if one.count else ''}{one.reason}")


def _rows(going: list[erasure_api.Going] | tuple[erasure_api.Going, ...], count: int) -> None:
    shown = going if len(going) <= _MOST_LISTED or not output.on_terminal() else going[:_MOST_LISTED]
    output.table(
        ["id", "what", "text"], [[one.id[:8] if output.on_terminal() else one.id, "goes" if one.whole else "loses words", one.text] for one in shown]
    )
    if count > len(shown):
        output.note(f"and {count - len(shown)} more")


def _confirm(count: int) -> None:
    if not typer.confirm(f"Erase {'this' if count == 1 else f'these {count}'} for good?"):
        raise typer.Exit(1)
