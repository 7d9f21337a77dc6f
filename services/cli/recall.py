"""`brb recall`: what a call with these words would be told, and why."""

from typing import Annotated

import typer

from services.cli import options, output
from services.core import api

_SIGNALS = ("#dense", "#lexical", "#rrf", "#similarity", "#strength", "#recency", "#temporal", "#score")


def recalled(
    query: Annotated[list[str], typer.Argument(metavar="QUERY...", help="The words of a person.")],
    mode: Annotated[api.Mode, typer.Option(help="By meaning, by words, or both.")] = "hybrid",
    project: Annotated[str, typer.Option(help="As from this project; without it only memories of no project.")] = "",
    limit: Annotated[int | None, typer.Option(min=1, max=100, help="How many at most.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show each signal, and what was dropped and why.")] = False,
    as_json: options.Json = False,
) -> None:
    """Recall the memories that these words call for, best first."""
    with options.connected() as brb:
        result = brb.recall(api.Ask(query=" ".join(query), mode=mode, limit=limit, project=project, explain=explain))
    if as_json:
        return output.json(result)
    for notice in result.notices:
        output.note(notice)
    if explain:
        (_explained if output.on_terminal() else _flat)(result)
    else:
        rows = [[output.short_id(m), f"{m.score:.2f}", m.category, output.day(m.said_at), m.text] for m in result.memories]
        output.table(["id", "#score", "category", "said", "text"], rows)
    if not result.memories:
        output.note("nothing is recalled: the call would go on unchanged")


def _explained(result: api.Recalled) -> None:
    """Three tables that a terminal of 80 columns holds, tied by a number for each candidate."""
    dropped = result.dropped or ()
    recalled = [[str(n), output.short_id(m), _with_matched(m)] for n, m in enumerate(result.memories, 1)]
    output.table(["#", "id", "text (matched)"], recalled, title=f"recalled ({result.mode})")
    output.line()
    output.table(["#", *_SIGNALS], [[str(n), *signals(m)] for n, m in enumerate((*result.memories, *dropped), 1)], title="signals")
    if dropped:
        output.line()
        rows = [[str(n), output.short_id(m), f"{m.reason}: {_with_matched(m)}"] for n, m in enumerate(dropped, len(recalled) + 1)]
        output.table(["#", "id", "reason: text (matched)"], rows, title="dropped")


def _flat(result: api.Recalled) -> None:
    """One line for each candidate: id, signals, what matched, "recalled" or why not, text."""
    rows = [[m.id, *signals(m), ", ".join(m.signals.matched), "recalled", m.text] for m in result.memories]
    rows += [[m.id, *signals(m), ", ".join(m.signals.matched), m.reason, m.text] for m in result.dropped or ()]
    output.table(["id", *_SIGNALS, "matched", "outcome", "text"], rows)


def _with_matched(found: api.Found) -> str:
    return f"{found.text} ({', '.join(found.signals.matched)})" if found.signals.matched else found.text


def signals(found: api.Found) -> list[str]:
    """One cell for each of the signals, `-` where a leg did not find the memory."""
    s = found.signals
    ranks = ["-" if rank is None else str(rank) for rank in (s.dense_rank, s.lexical_rank)]
    return [*ranks, f"{s.rrf:.4f}", *(f"{n:.2f}" for n in (s.similarity, s.strength, s.recency, s.temporal, found.score))]
