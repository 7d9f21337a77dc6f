"""`brb run`: one process of BRB in the foreground, for containers and service managers; what they need first, and whether it lives."""

import os
import secrets
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer

from services.cli import alive, options, output
from services.core import errors

if TYPE_CHECKING:
    from services.core import config

_MODULES: "dict[config.Part, str]" = {
    "proxy": "services.proxy",
    "worker": "services.worker",
    "indexer": "services.indexer",
    "beat": "services.indexer.beat",
    "embedded": "services.embedded.host",
}
SECRETS = ("secret_key", "redis_password", "qdrant_api_key", "grafana_password")


class Prepared(msgspec.Struct, frozen=True):
    """made, kept: names of secrets. collections: whether those of the embedding model are there now."""

    made: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    collections: bool = False


class Alive(msgspec.Struct, frozen=True):
    """A process that lives."""

    part: str


def proxy() -> None:
    """Relay calls and serve memories, over a Redis, a Qdrant and a llama.cpp server that others share. There may be several."""
    _become("proxy")


def worker(beat: Annotated[bool, typer.Option("--beat", help="With the clock of upkeep in it; else run `beat` beside it.")] = False) -> None:
    """Learn from what was said. There may be several."""
    _become("worker", *(["--beat"] if beat else []))


def indexer() -> None:
    """Write what was learnt, and keep it in order. There may be several."""
    _become("indexer")


def beat() -> None:
    """Give the signal for upkeep. One is enough."""
    _become("beat")


def embedded() -> None:
    """Proxy and indexer in one process, over an Edge store in the data folder."""
    _become("embedded")


def init(
    secrets_dir: Annotated[Path | None, typer.Option("--secrets", help="Make the secrets that are missing in this folder, a file each.")] = None,
    collections: Annotated[bool, typer.Option("--collections", help="Make the collections on the Qdrant server, or bring them up to date.")] = False,
    as_json: options.Json = False,
) -> None:
    """Make what the processes need before they start. What is there already stays as it is."""
    if secrets_dir is None and not collections:
        raise errors.BadInput("say what to make: --secrets FOLDER, --collections, or both")
    made, kept = _made(secrets_dir) if secrets_dir else ((), ())
    if collections:
        _open_collections()
    prepared = Prepared(made, kept, collections)
    if as_json:
        return output.json(prepared)
    for name in (*made, *kept):
        output.line(f"{name}: {'made' if name in made else 'was there'}")
    if collections:
        output.line("the collections are there")


def healthcheck(
    part: Annotated[Literal["proxy", "worker", "indexer", "beat", "embedded"], typer.Argument(help="Which process.")], as_json: options.Json = False
) -> None:
    """Whether the process of this machine or container lives: exit status 0, or 1 and why not. What it depends on is not asked: see `brb status`."""
    alive.check(part)
    if as_json:
        return output.json(Alive(part))
    output.line("ok")


def _become(part: "config.Part", *arguments: str) -> None:
    """In the place of this process, so that signals reach it."""
    os.execv(sys.executable, [sys.executable, "-m", _MODULES[part], *arguments])  # noqa: S606


def _made(folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of those that were missing, and of those that were there."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = tuple(name for name in SECRETS if _new(folder / name))
    except OSError as error:
        raise errors.SetupError(f"can't write to {folder}: {error.strerror}") from None
    return made, tuple(name for name in SECRETS if name not in made)


def _new(file: Path) -> bool:
    """Make a secret, whole or not at all, for its owner alone; whether there was none."""
    if file.exists():
        return False
    opened, draft = tempfile.mkstemp(dir=file.parent, prefix=".")
    with os.fdopen(opened, "w") as written:
        written.write(secrets.token_urlsafe(32))
        written.flush()
        os.fsync(written.fileno())
    try:
        os.link(draft, file)
    except FileExistsError:  # another start was faster
        return False
    finally:
        os.unlink(draft)
    return True


def _open_collections() -> None:
    from services.core import config

    settings = config.load()
    if settings.qdrant_url is None:
        raise errors.SetupError("--collections is for a Qdrant server: set BRB_QDRANT_URL (an Edge store is made by the process that owns it)")
    from services.core.adapters import vectors

    vectors.open_store(settings).close()
    vectors.open_notes(settings).close()
