"""`brb bench`: measures this machine's BRB."""

from pathlib import Path
from typing import Annotated

import typer

from services.cli import embedded, local, options, output
from services.core import errors


def measured(
    what: Annotated[
        embedded.Measurement,
        typer.Argument(help="Times: relay, recall, store, learn. How right it is, on labelled data: facts, updates, dedup, pii, secrets, notes."),
    ],
    set_: Annotated[
        embedded.RecallSet | None, typer.Option("--set", help="Of `recall`: how well it finds on this set, rather than how fast it is.")
    ] = None,
    latency: Annotated[bool, typer.Option("--latency", help="Of `recall`: how fast it is (as without --set).")] = False,
    data: Annotated[Path | None, typer.Option(help="Labelled data: a JSONL file, or a folder of them (else BRB_BENCH_DATA).")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Only show that it works: the figures mean little.")] = False,
    thorough: Annotated[bool, typer.Option("--thorough", help="More callers, larger stores.")] = False,
    as_json: options.Json = False,
) -> None:
    """Measure BRB beside a baseline, in a temporary folder and in processes of its own."""
    if quick and thorough:
        raise errors.BadInput("--quick and --thorough exclude each other")
    if latency and (set_ or what != "recall"):
        raise errors.BadInput("--latency belongs to `brb bench recall` without --set")
    from services.core import config

    bench = embedded.bench()
    with local.steps(plain=False) as (_, progress):
        labelled = data if what == "learn" else data or config.load().bench_data  # what is learnt from is made up unless told otherwise
        report = bench.run(what, set_=set_, data=labelled, quick=quick, thorough=thorough, progress=progress)
    if as_json:
        return output.json(report)
    output.table(report.columns, report.rows, title=report.name)
    for note in report.notes:
        output.note(note)
