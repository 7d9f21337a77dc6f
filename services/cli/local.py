"""`brb up|down|demo`: BRB on this machine."""

import contextlib
import functools
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from services.cli import embedded, options, output

if TYPE_CHECKING:
    from services.core import config


class Started(msgspec.Struct, frozen=True):
    base_url: str
    data_dir: str


class Reindexed(msgspec.Struct, frozen=True):
    """held_seconds: for how long writers waited; None where BRB was stopped for it."""

    memories: int
    notes: int
    held_seconds: float | None


class Dropped(msgspec.Struct, frozen=True):
    collections: list[str]


class Stopped(msgspec.Struct, frozen=True):
    was_running: bool


def up(
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Come back when it is ready; it goes on in the background.")] = False,
    plain: Annotated[bool, typer.Option("--plain", hidden=True)] = False,  # as the child of a detached start, which greets by itself
    as_json: options.Json = False,
) -> None:
    """Start BRB on this machine: Redis, llama.cpp, the worker and the proxy. Ctrl-C stops all of it."""
    from services.core import config

    settings = config.load()
    supervisor = embedded.supervisor()
    if detach:
        running = supervisor.up_detached(settings, say=output.note)
        return _greet(running, settings, as_json=as_json, detached=True)
    with steps(plain=plain) as (say, progress):
        ready = (lambda _: None) if plain else functools.partial(_greet, settings=settings, as_json=as_json, detached=False)
        supervisor.up(settings, say=say, progress=progress, ready=ready)


def down(as_json: options.Json = False) -> None:
    """Stop the BRB of this data folder."""
    from services.core import config

    stopped = Stopped(embedded.supervisor().down(config.load()))
    if as_json:
        return output.json(stopped)
    output.line("BRB is stopped" if stopped.was_running else "BRB was not running")


def reindex(
    drop_old: Annotated[
        bool, typer.Option("--drop-old", help="Only delete what was carried over and kept, on a Qdrant server: then there is no way back.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Carry memories and notes over to the embedding model of the settings; what was is kept.

    On a Qdrant server BRB goes on meanwhile, and the same command goes on where it was stopped (docs/upgrading.md). In the data folder BRB must be
    stopped.
    """
    from services.core import config

    if drop_old:
        dropped = Dropped(embedded.reindex().drop(config.load()))
        return output.json(dropped) if as_json else output.line(f"dropped: {', '.join(dropped.collections) or 'nothing, there was nothing to drop'}")
    with steps(plain=False) as (say, progress):
        carried = embedded.reindex().run(config.load(), say=say, progress=progress)
    if as_json:
        return output.json(Reindexed(carried.memories, carried.notes, carried.held_seconds))
    output.line(f"{carried.memories} memories and {carried.notes} notes carried over")
    if carried.held_seconds is not None:
        output.note(f"writers waited for {carried.held_seconds:.1f} s. Now start BRB anew with this model: what runs with another one only reads")


def demo(as_json: options.Json = False) -> None:
    """Show the main job in two conversations, with no API key and no network."""
    from services.core import config

    if status := embedded.demo().run(config.load(), as_json=as_json):
        raise typer.Exit(status)


@contextlib.contextmanager
def steps(*, plain: bool) -> Iterator[tuple[embedded.Say, embedded.Progress]]:
    """How a long piece of work tells of itself on stderr: bars on a terminal, else one line for each new step. SIGTERM ends it as Ctrl-C does: what
    it has started and begun to write goes with it."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

    console = Console(stderr=True, highlight=False)
    if plain or not console.is_terminal:
        with _ended_by_sigterm():
            yield _say, _lines()
        return
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()
    with _ended_by_sigterm(), Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def progress(what: str, share: float) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=1.0)
            bars.update(tasks[what], completed=share)

        yield (lambda text: bars.console.print(text, markup=False)), progress


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    former = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def _lines() -> embedded.Progress:
    told: set[str] = set()

    def progress(what: str, _share: float) -> None:
        if what not in told:
            told.add(what)
            _say(what)

    return progress


def _say(text: str) -> None:
    output.note(text)
    sys.stderr.flush()


def _greet(running: embedded.Running, settings: "config.Settings", *, as_json: bool, detached: bool) -> None:
    if as_json:
        output.json(Started(running.base_url, running.data_dir))
        return
    brb = command_name(sys.argv[0], on_path=shutil.which("brb") is not None)
    for line in greeting(running, brb, tokens=settings.auth == "token", detached=detached):
        output.line(line)
    sys.stdout.flush()


def greeting(running: embedded.Running, brb: str, *, tokens: bool, detached: bool) -> list[str]:
    """What a person needs next. brb: how they call the command. tokens: whether every call needs one."""
    clients = [
        f"  Claude Code, Anthropic SDK    ANTHROPIC_BASE_URL={running.base_url}",
        f"  OpenAI SDK                    OPENAI_BASE_URL={running.base_url}/v1",
    ]
    bearers = [
        f"  a token for each person       {brb} token create -h",
        "  where it goes                 docs/access.md",
    ]
    return [
        f"BRB is ready at {running.base_url}; its data is in {running.data_dir}",
        *(bearers if tokens else clients),
        "  other clients                 docs/clients.md",
        f"  what it remembers             {'BRB_KEY=<token> ' if tokens else ''}{brb} memories list",
        f"  how it is                     {brb} status",
        f"  stop it                       {f'{brb} down' if detached else 'Ctrl-C'}",
    ]


def command_name(program: str, *, on_path: bool) -> str:
    """How a person calls the command: by the way it was called now (`.venv/bin/brb`, by `make up`) if the shell doesn't find it. program: argv[0]."""
    return "brb" if on_path or Path(program).name != "brb" else program
