"""`brb bench`: measures this machine's BRB."""

from typing import Annotated, Literal

import typer

from services.cli import embedded, local, options, output
from services.core import errors


def measured(
    what: Annotated[
        Literal["relay", "recall", "store"], typer.Argument(help="What the relay adds to a call, what recalling adds, or how fast the store is.")
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Only show that it works: the figures mean little.")] = False,
    thorough: Annotated[bool, typer.Option("--thorough", help="More callers, larger stores.")] = False,
    as_json: options.Json = False,
) -> None:
    """Measure BRB beside a baseline, in a temporary folder and in processes of its own."""
    if quick and thorough:
        raise errors.BadInput("--quick and --thorough exclude each other")
    bench = embedded.bench()
    with local.steps(plain=False) as (_, progress):
        report = bench.run(what, quick=quick, thorough=thorough, progress=progress)
    if as_json:
        return output.json(report)
    output.table(report.columns, report.rows, title=report.name)
    for note in report.notes:
        output.note(note)
