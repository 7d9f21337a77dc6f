"""`brb mcp`."""

import sys
from pathlib import Path

from services.cli import options


def bridged(project: options.Project = None, no_project: options.NoProject = False) -> None:
    """Serve MCP on stdin and stdout, for clients that start their servers themselves: a bridge to the running BRB (BRB_URL, BRB_KEY).

    What is remembered belongs to the project of the folder that the client works in.
    """
    from importlib.metadata import version

    from services.cli import bridge
    from services.core import address

    where = address.found()
    named = _worked_in(options.project_of(project, none=no_project))

    def say(line: bytes) -> None:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()

    def note(text: str) -> None:
        print(f"brb mcp: {text}", file=sys.stderr, flush=True)

    bridge.Bridge(where.url, where.key, named, say=say, note=note, version=version("brb")).run(sys.stdin.buffer)


def _worked_in(folder: str) -> str:
    """Nobody works in the root folder or in the home folder itself: clients start there that know of no project."""
    return "" if folder in ("/", str(Path.home())) else folder
