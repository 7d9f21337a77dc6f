"""The tree of commands."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from services.cli import (
    archives,
    audit,
    backups,
    bench,
    connect,
    examples,
    exits,
    forgetting,
    jobs,
    local,
    mcp,
    members,
    memories,
    models,
    notes,
    recall,
    reviews,
    running,
    status,
    tokens,
    why,
)
from services.core import errors

HELP = """Memory for LLM clients: point ANTHROPIC_BASE_URL at BRB and keep working.

Exit status: 0 done; 1 failed (or: something is not well); 2 wrong usage; 3 BRB is not running; 4 no such memory, job or turn.

Settings come from BRB_* variables and from .env in the working directory. BRB_URL and BRB_KEY name another BRB than the one of this machine.

Results go to stdout: tables on a terminal, lines of tab-separated cells in a pipe, one JSON document with --json. All else goes to stderr.
NO_COLOR is respected.
"""

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 120}


class _Group(TyperGroup):
    """Turns an error of ours into one line on stderr and an exit status."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except errors.BrbError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(exits.status_of(error)) from None


def build() -> typer.Typer:
    app = typer.Typer(cls=_Group, rich_markup_mode=None, help=HELP, no_args_is_help=True, pretty_exceptions_enable=False, context_settings=_CONTEXT)
    app.callback(help=HELP)(_brb)
    app.command("up")(local.up)
    app.command("down")(local.down)
    app.command("status")(status.shown)
    app.command("doctor")(status.examined)
    app.command("connect")(connect.connected)
    app.command("why")(why.explained)
    app.command("reindex")(local.reindex)
    app.command("backup")(backups.backed_up)
    app.command("restore")(backups.restored)
    app.command("demo")(local.demo)
    app.command("bench")(bench.measured)
    app.command("recall")(recall.recalled)
    app.command("index")(notes.indexed)
    app.command("audit")(audit.listed)
    app.command("mcp")(mcp.bridged)
    app.add_typer(_memories(), name="memories")
    app.add_typer(_jobs(), name="jobs")
    app.add_typer(_models(), name="models")
    app.add_typer(_tokens(), name="token")
    app.add_typer(_members(), name="members")
    app.add_typer(_run(), name="run")
    examples.show(app)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata

        typer.echo(f"brb {metadata.version('brb')}")
        raise typer.Exit


def _brb(version: Annotated[bool, typer.Option("--version", is_eager=True, callback=_version, help="Show the version.")] = False) -> None:
    """What `brb` takes by itself."""


def _memories() -> typer.Typer:
    group = typer.Typer(help="Look at what is remembered, add to it, correct it, erase it.", no_args_is_help=True)
    group.command("list")(memories.listed)
    group.command("search")(memories.searched)
    group.command("add")(memories.added)
    group.command("show")(memories.shown)
    group.command("history")(memories.history)
    group.command("edit")(memories.edited)
    group.command("forget")(forgetting.forgotten)
    group.command("clear")(forgetting.cleared)
    group.command("review")(reviews.listed)
    group.command("approve")(reviews.approved)
    group.command("reject")(reviews.rejected)
    group.command("keep")(reviews.kept)
    group.command("release")(reviews.released)
    group.command("promote")(reviews.promoted)
    group.command("undo")(reviews.undone)
    group.command("export")(archives.exported)
    group.command("import")(archives.imported)
    return group


def _jobs() -> typer.Typer:
    group = typer.Typer(help="What waits to be learnt, and what failed for good.", no_args_is_help=True)
    group.command("list")(jobs.listed)
    group.command("dead")(jobs.dead)
    group.command("retry")(jobs.retried)
    return group


def _tokens() -> typer.Typer:
    group = typer.Typer(help="Who may call this BRB (BRB_AUTH=token).", no_args_is_help=True)
    group.command("create")(tokens.created)
    group.command("list")(tokens.listed)
    group.command("revoke")(tokens.revoked)
    return group


def _members() -> typer.Typer:
    group = typer.Typer(help="Who is in the team, and members leaving it.", no_args_is_help=True)
    group.command("list")(members.listed)
    group.command("remove")(members.removed)
    return group


def _run() -> typer.Typer:
    group = typer.Typer(help="One process of BRB in the foreground, for containers and service managers.", no_args_is_help=True)
    group.command("proxy")(running.proxy)
    group.command("worker")(running.worker)
    group.command("indexer")(running.indexer)
    group.command("beat")(running.beat)
    group.command("embedded")(running.embedded)
    group.command("init")(running.init)
    group.command("healthcheck")(running.healthcheck)
    return group


def _models() -> typer.Typer:
    group = typer.Typer(help="The pinned model files.", no_args_is_help=True)
    group.command("list")(models.listed)
    group.command("verify")(models.verified)
    group.command("pull")(models.pulled)
    return group
