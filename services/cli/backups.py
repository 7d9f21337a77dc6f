"""`brb backup` and `brb restore`: all that a BRB keeps, in one file."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from services.cli import embedded, local, options, output
from services.core import backup


class BackedUp(msgspec.Struct, frozen=True):
    """bytes: of the file. held_seconds: for how long writers waited."""

    file: str
    bytes: int
    held_seconds: float
    manifest: backup.Manifest


class Restored(msgspec.Struct, frozen=True):
    """kept: where what was there before is now, "" if there was nothing."""

    file: str
    dry_run: bool
    kept: str
    notices: tuple[str, ...]
    manifest: backup.Manifest


def backed_up(
    to: Annotated[Path, typer.Argument(metavar="TO", help="A new file: .tar, or .tar.gz to have it smaller.")],
    with_key: Annotated[
        bool,
        typer.Option("--with-key", help="Also the secret key: whoever has the file can read all of it then. Without it, keep the key elsewhere."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Back up memories, notes, conversations, tokens, waiting turns and the audit log, on the machine that BRB runs on, while it runs or not."""
    from services.core import config

    with local.steps(plain=False) as (say, progress):
        made = embedded.backup().run(config.load(), to, with_key=with_key, say=say, progress=progress)
    if as_json:
        return output.json(BackedUp(str(to), made.size, round(made.held_seconds, 3), made.manifest))
    output.line(f"{counted(made.manifest)} in {to} ({made.size / 1_000_000:.1f} MB); writers waited for {made.held_seconds:.2f} s")
    if not with_key:
        output.note("the secret key is not in it: keep BRB_SECRET_KEY, or secret.key of the data folder, in another place")


def restored(
    file: Annotated[Path, typer.Argument(metavar="FROM", help="What `brb backup` wrote.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check it, to the last byte, and say what is in it.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Where there is something already: put that aside.")] = False,
    as_json: options.Json = False,
) -> None:
    """Restore a backup into an empty BRB, which must be stopped. Nothing is ever written over."""
    from services.core import config

    with local.steps(plain=False) as (say, progress):
        done = embedded.restore().run(config.load(), file, dry_run=dry_run, force=force, say=say, progress=progress)
    if as_json:
        return output.json(Restored(str(file), dry_run, done.kept, done.notices, done.manifest))
    output.line(f"{counted(done.manifest)}, as of {done.manifest.made_at:%Y-%m-%d %H:%M} UTC: {'it is whole' if dry_run else 'restored'}")
    if done.kept:
        output.note(f"what was there before is in {done.kept}")
    for notice in done.notices:
        output.note(notice)


def counted(manifest: backup.Manifest) -> str:
    counts = manifest.counts
    return f"{output.counted(counts.memories, 'memory')} and {output.counted(counts.notes, 'note')}"
