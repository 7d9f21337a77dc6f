"""The tree of commands."""

from typing import Any

import typer
from typer.core import TyperGroup

from services.cli import archives, bench, exits, jobs, local, memories, models, notes, recall, status
from services.core import errors

HELP = """Memory for LLM clients: point ANTHROPIC_BASE_URL at BRB and keep working.

Exit status: 0 done; 1 failed (or: something is not well); 2 wrong usage; 3 BRB is not running; 4 no such memory or job.

Settings come from BRB_* variables and from .env in the working directory.
"""

_HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}


class _Group(TyperGroup):
    """Turns an error of ours into one line on stderr and an exit status."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except errors.BrbError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(exits.status_of(error)) from None


def build() -> typer.Typer:
    app = typer.Typer(cls=_Group, help=HELP, no_args_is_help=True, pretty_exceptions_enable=False, context_settings=_HELP_OPTIONS)
    app.command("up")(local.up)
    app.command("down")(local.down)
    app.command("status")(status.shown)
    app.command("doctor")(status.examined)
    app.command("reindex")(local.reindex)
    app.command("demo")(local.demo)
    app.command("bench")(bench.measured)
    app.command("recall")(recall.recalled)
    app.command("index")(notes.indexed)
    app.add_typer(_memories(), name="memories")
    app.add_typer(_jobs(), name="jobs")
    app.add_typer(_models(), name="models")
    return app


def _memories() -> typer.Typer:
    group = typer.Typer(help="Look at what is remembered, add to it, correct it, erase it.", no_args_is_help=True)
    group.command("list")(memories.listed)
    group.command("search")(memories.searched)
    group.command("add")(memories.added)
    group.command("show")(memories.shown)
    group.command("history")(memories.history)
    group.command("edit")(memories.edited)
    group.command("forget")(memories.forgotten)
    group.command("export")(archives.exported)
    group.command("import")(archives.imported)
    return group


def _jobs() -> typer.Typer:
    group = typer.Typer(help="What waits to be learnt, and what failed for good.", no_args_is_help=True)
    group.command("list")(jobs.listed)
    group.command("dead")(jobs.dead)
    group.command("retry")(jobs.retried)
    return group


def _models() -> typer.Typer:
    group = typer.Typer(help="The pinned model files.", no_args_is_help=True)
    group.command("list")(models.listed)
    group.command("verify")(models.verified)
    group.command("pull")(models.pulled)
    return group
