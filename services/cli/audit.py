"""`brb audit`: who did what."""

from typing import Annotated

import typer

from services.cli import options, output

_PAGE = 50
_MOST_IDS = 3


def listed(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = _PAGE,
    before: Annotated[str, typer.Option(metavar="EVENT", help="Older than this event.")] = "",
    as_json: options.Json = False,
) -> None:
    """Show who read or changed what, newest first: an admin sees the team, everybody else himself."""
    with options.connected() as brb:
        audit = brb.audit(limit=limit, before=before)
    if as_json:
        return output.json(audit)
    rows = [[output.minute(one.at), one.user, one.act, str(one.count), one.detail, _ids(one.ids, one.count)] for one in audit.events]
    output.table(["when", "who", "what", "#of", "how", "ids"], rows)
    if audit.next:
        output.note(f"see more with --before {audit.next}")
    elif not rows:
        output.note("nothing is on record")


def _ids(ids: tuple[str, ...], count: int) -> str:
    if not output.on_terminal():
        return " ".join(ids)
    return " ".join([each[:8] for each in ids[:_MOST_IDS]] + (["…"] if count > _MOST_IDS else []))
