"""`brb why`: what a turn was told, and why."""

from typing import TYPE_CHECKING, Annotated

import typer

from services.cli import options, output

if TYPE_CHECKING:
    from services.core import turn_api

_MOST = 1000


def explained(
    turn: Annotated[
        str,
        typer.Argument(
            metavar="TURN", help="Its id (the answer's header x-brb-turn), or the first characters of it; else the latest.", show_default=False
        ),
    ] = "latest",
    listing: Annotated[bool, typer.Option("--list", help="List the latest turns instead.")] = False,
    memory: Annotated[str | None, typer.Option(metavar="ID", help="List the turns that were told of this memory instead.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=_MOST, help="How many to list.")] = 20,
    block: Annotated[bool, typer.Option("--block", help="Show the text as it was inserted, too.")] = False,
    as_json: options.Json = False,
) -> None:
    """Explain what a message of yours was told: what was looked up, what was found, what fell short, and by how much."""
    if listing or memory:
        return _listed(memory, limit, as_json=as_json)
    with options.connected() as brb:
        told = brb.turn(turn)
    if as_json:
        return output.json(told)
    for line in summary(told):
        output.line(line)
    shown, short = table(told, shown=True), table(told, shown=False)
    if shown:
        output.table(_COLUMNS, shown, title="told")
    if told.gate is not None and told.considered:
        output.line(f"--- a memory took a similarity of {told.gate:.2f} ---")
    if short:
        output.table([*_COLUMNS[:-1], "why it was not told", _COLUMNS[-1]], short, title="not told")
    if block and told.block:
        output.line()
        for line in told.block.splitlines():
            output.line(line)


_COLUMNS = ("#similarity", "#score", "by", "said", "memory")
_GONE = "(forgotten, or not yours to see any more)"


def summary(told: "turn_api.Turn") -> list[str]:
    """The turn in plain words, one line each."""
    where = f", in {told.project}" if told.project else ""
    return [
        f"turn {told.turn} of {output.minute(told.at)}{where}",
        f"you said    {told.words}",
        *([f"looked up   {told.asked}"] if told.asked else []),
        f"outcome     {outcome(told)}",
        *(f"            {notice}" for notice in told.notices),
    ]


def outcome(told: "turn_api.Turn") -> str:
    took = f" It took {told.took_ms:.0f} ms."
    if told.outcome == "injected":
        return f"Told of {told.memories} {'memory' if told.memories == 1 else 'memories'}, in {told.tokens} tokens.{took}"
    if told.outcome == "empty":
        short = "nothing that is remembered comes near it" if not told.considered else "what is remembered falls short"
        return f"Told nothing: {short}, so the call went on unchanged.{took}"
    return _UNTOLD.get(told.outcome, f"Told nothing: {told.outcome}.") + took


_UNTOLD = {
    "deadline": "Told nothing: looking it up took longer than BRB_RECALL_DEADLINE_MS, and the call did not wait.",
    "ledger_away": "Told nothing: Redis, which remembers what conversations were told, did not answer (see `brb doctor`).",
    "error": "Told nothing: looking it up failed; BRB's log says how.",
}


def table(told: "turn_api.Turn", *, shown: bool) -> list[list[str]]:
    """A row for each memory that was told, or for each that was not."""
    rows = []
    for one in told.considered:
        if shown is not bool(one.reason):
            cells = [f"{one.similarity:.2f}", f"{one.score:.2f}", one.owner or "", output.day(one.said_at) if one.said_at else "", one.text or _GONE]
            rows.append(cells if shown else [*cells[:-1], reason(one, told.gate), cells[-1]])
    return rows


def reason(one: "turn_api.Considered", gate: float | None) -> str:
    """Why it was not told, and how much was missing."""
    missing = 0.0 if gate is None else gate - one.similarity
    return f"{one.reason} ({missing:.2f} short)" if missing > 0 and one.reason.startswith("similarity") else one.reason


def _listed(memory: str | None, limit: int, *, as_json: bool) -> None:
    with options.connected() as brb:
        found = brb.turns(limit=limit) if memory is None else brb.uses(brb.resolve(memory), limit=limit)
    if as_json:
        return output.json(found)
    width = 8 if output.on_terminal() else None
    rows = [[turn.turn[:width], output.minute(turn.at), turn.outcome, str(turn.memories), f"{turn.took_ms:.0f}", turn.words] for turn in found.turns]
    output.table(["turn", "when", "outcome", "#memories", "#ms", "words"], rows)
    if not rows:
        output.note("no turn is on record" if memory is None else "no turn of yours was told of it")
