"""Claude Code from npm, in a folder of its own: nothing is written elsewhere."""

import os
import shutil
import subprocess
from pathlib import Path

PINNED = "2.1.332"
VERSION = os.environ.get("BRB_TEST_CLAUDE_CODE_VERSION", PINNED)
REQUIRED = os.environ.get("BRB_TEST_CLAUDE_CODE") == "required"
"""Whether it is an error that Claude Code can't be installed."""

_PACKAGE = "@anthropic-ai/claude-code"
_PATIENCE_SECONDS = 240
_OPTIONS = (
    "--ignore-scripts",  # its script only copies the program over a launcher
    "--no-save",
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=1000",
    "--fetch-timeout=60000",
)


class Unavailable(Exception):
    """Claude Code can't be installed here; the message says why."""


def install(folder: Path) -> Path:
    """The program, installed below `folder`. Raises `Unavailable`."""
    for name in ("node", "npm"):
        if shutil.which(name) is None:
            raise Unavailable(f"{name} is not installed")
    command = ["npm", "install", f"--prefix={folder}", f"--cache={folder / 'npm-cache'}", *_OPTIONS, f"{_PACKAGE}@{VERSION}"]
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"npm did not answer within {_PATIENCE_SECONDS} s") from None
    if done.returncode != 0:
        raise Unavailable(_cause(done.stderr) or f"npm ended with {done.returncode}")
    programs = list((folder / "node_modules").glob(f"{_PACKAGE}-*/claude"))
    if len(programs) != 1:
        raise Unavailable(f"{_PACKAGE} {VERSION} has {len(programs)} programs for this machine")
    return programs[0]


def _cause(stderr: str) -> str:
    """npm's own words, without the advice below them."""
    said = [line.removeprefix("npm error ").strip() for line in stderr.splitlines() if line.startswith("npm error ")]
    return ": ".join(said[:3])
