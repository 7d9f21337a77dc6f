"""An example or two for the help of each command: how it is called most."""

from collections.abc import Iterator

import typer
from typer.models import CommandInfo

EXAMPLES: dict[str, tuple[str, ...]] = {
    "up": ("brb up", "brb up --detach"),
    "down": ("brb down",),
    "status": ("brb status", "brb status --json"),
    "doctor": ("brb doctor",),
    "connect": ("brb connect claude-code", "brb connect claude-code --undo", "brb connect codex"),
    "why": ("brb why", "brb why 4f3c2a", "brb why --list"),
    "mcp": ("brb mcp", "claude mcp add brb -- brb mcp"),
    "reindex": ("brb down && BRB_EMBED_MODEL=… brb reindex", "brb reindex --drop-old"),
    "backup": ("brb backup brb-2026-11-30.tar.gz", "brb backup --with-key /media/safe/brb.tar"),
    "restore": ("brb restore --dry-run brb-2026-11-30.tar.gz", "brb restore brb-2026-11-30.tar.gz"),
    "demo": ("brb demo",),
    "bench": ("brb bench recall", "brb bench facts --data labelled/"),
    "recall": ('brb recall "Which database do we use?"', 'brb recall --explain "Which database do we use?"'),
    "index": ("brb index ~/notes", "brb index docs --project /srv/shop --watch"),
    "memories list": ("brb memories list", "brb memories list --category decision --limit 50"),
    "memories search": ("brb memories search postgres",),
    "memories add": ('brb memories add "We deploy on Fly.io"', 'brb memories add "I am vegetarian" --no-project'),
    "memories show": ("brb memories show 4f3c2a1b",),
    "memories history": ("brb memories history 4f3c2a1b",),
    "memories edit": ('brb memories edit 4f3c2a1b --text "We use Postgres 16"',),
    "memories forget": ("brb memories forget 4f3c2a1b", 'brb memories forget --query "my old flat"', "brb memories forget --session 0b9e… --yes"),
    "memories clear": ("brb memories clear --notes",),
    "audit": ("brb audit", "brb audit --limit 500 --json"),
    "memories review": ("brb memories review", "brb memories review --why proposed --json"),
    "memories approve": ("brb memories approve 4f3c2a1b 77a0c1d2",),
    "memories reject": ("brb memories reject 4f3c2a1b",),
    "memories keep": ("brb memories keep 4f3c2a1b",),
    "memories release": ("brb memories release 4f3c2a1b", "brb memories release --all"),
    "memories promote": ("brb memories promote 4f3c2a1b",),
    "memories undo": ("brb memories undo 1790000000000-0",),
    "memories export": ("brb memories export brb.json",),
    "memories import": ("brb memories import brb.json", "brb memories import ~/Downloads/chatgpt.zip --dry-run"),
    "jobs list": ("brb jobs list",),
    "jobs dead": ("brb jobs dead",),
    "jobs retry": ("brb jobs retry --all",),
    "token create": ("brb token create ana --team acme --role admin", "brb token create leo --expires 90d --label laptop"),
    "token list": ("brb token list", "brb token list --all"),
    "token revoke": ("brb token revoke k3j9x0a1b2c3",),
    "members list": ("brb members list", "brb members list --team acme"),
    "members remove": ("brb members remove leo",),
    "run proxy": ("brb run proxy",),
    "run worker": ("brb run worker", "BRB_WORKER_PROCESSES=4 brb run worker"),
    "run indexer": ("brb run indexer",),
    "run beat": ("brb run beat",),
    "run embedded": ("brb run embedded",),
    "run init": ("brb run init --secrets /run/brb-secrets", "brb run init --collections"),
    "run healthcheck": ("brb run healthcheck worker",),
    "models list": ("brb models list",),
    "models verify": ("brb models verify",),
    "models pull": ("brb models pull",),
}
"""By the words of the command. Here rather than at each command: they are a text that a reader goes through as one."""


def show(app: typer.Typer) -> None:
    """Put them below the help of each command of the tree."""
    for words, command in commands(app):
        if lines := EXAMPLES.get(words):
            command.epilog = "\b\n" + "\n".join(("Examples:", *(f"  {line}" for line in lines)))


def commands(app: typer.Typer, before: str = "") -> Iterator[tuple[str, CommandInfo]]:
    """Every command below, with its words."""
    for command in app.registered_commands:
        yield f"{before}{command.name}", command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from commands(group.typer_instance, f"{before}{group.name} ")
