"""The servers of a measurement, each in a process of its own, so that none takes time from another's event loop."""

import asyncio
import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import psutil
import uvloop
from aiohttp import web

from services.core import config, errors
from services.embedded import programs

_HOST = "127.0.0.1"
_END_SECONDS = 10.0
_POLL_SECONDS = 0.02
_MEGABYTE = 1_000_000


class Server(NamedTuple):
    """A running server. `url` has no slash at its end."""

    url: str
    process: psutil.Process

    def cpu_seconds(self) -> float:
        """Of all its threads, since it started."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def rss_mb(self) -> float:
        return float(self.process.memory_info().rss) / _MEGABYTE


class Program(NamedTuple):
    """A module of this package and its arguments."""

    module: str
    arguments: tuple[str, ...] = ()


@contextlib.contextmanager
def started(*programs: Program, folder: Path) -> Iterator[list[Server]]:
    """Each as a process, once all of them listen; ended with the block. What they log goes to the folder."""
    children: list[subprocess.Popen[bytes]] = []
    with contextlib.ExitStack() as stack:
        for number, program in enumerate(programs):
            log = stack.enter_context(_log(folder, number).open("wb"))
            argv = [sys.executable, "-m", f"{__package__}.{program.module}", *program.arguments]
            child = subprocess.Popen(argv, cwd=folder, env=_environment({}), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
            stack.callback(_end, child, _END_SECONDS)
            children.append(child)
        yield [_listening(program, child, _log(folder, number)) for number, (program, child) in enumerate(zip(programs, children, strict=True))]


@contextlib.contextmanager
def supporting(program: programs.Program, settings: config.Settings, *, folder: Path) -> Iterator[Server]:
    """One of the programs of `brb up`, once it is ready; ended with the block. The address is BRB's, whichever of them it is."""
    path = folder / f"{program.name}.log"
    with path.open("wb") as log:
        child = subprocess.Popen(program.argv, cwd=folder, env=_of(settings), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            _await(program, child, path)
            yield Server(settings.base_url, psutil.Process(child.pid))
        finally:
            _end(child, program.grace_seconds)


@contextlib.contextmanager
def running(argv: Sequence[str], settings: config.Settings, *, folder: Path, log: BinaryIO) -> Iterator[subprocess.Popen[bytes]]:
    """A process of a BRB with these settings, what it prints in a pipe; ended with the block unless it has ended by itself."""
    child = subprocess.Popen(argv, cwd=folder, env=_of(settings), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
    try:
        yield child
    finally:
        _end(child, _END_SECONDS)


def _of(settings: config.Settings) -> dict[str, str]:
    own = {
        "BRB_DATA_DIR": str(settings.data),
        "BRB_HOST": settings.host,
        "BRB_PORT": str(settings.port),
        "BRB_ANTHROPIC_URL": settings.anthropic_url,
        "BRB_EXTRACTOR": settings.extractor,
        "BRB_REDACTION": settings.redaction,
        "PROMETHEUS_MULTIPROC_DIR": str(settings.metrics_dir),
    }
    return _environment(own)


def _environment(own: Mapping[str, str]) -> dict[str, str]:
    """Of a BRB that has nothing to do with the person's."""
    return {**config.environment_without_settings(), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **own}


def _await(program: programs.Program, child: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + program.start_seconds
    while not _ready(program):
        if child.poll() is not None or time.monotonic() > deadline:
            raise _did_not_start(program.name, log)
        time.sleep(_POLL_SECONDS)


def _ready(program: programs.Program) -> bool:
    try:
        return program.ready()
    except Exception:  # whatever its client raises while it isn't up yet
        return False


def _log(folder: Path, number: int) -> Path:
    return folder / f"{number}.log"


def _listening(program: Program, child: subprocess.Popen[bytes], log: Path) -> Server:
    assert child.stdout is not None  # noqa: S101 - a pipe was asked for
    url = child.stdout.readline().decode().strip()
    if not url:
        raise _did_not_start(program.module, log)
    return Server(url, psutil.Process(child.pid))


def _did_not_start(name: str, log: Path) -> errors.SetupError:
    last_line = log.read_text(errors="replace").strip().rpartition("\n")[2]
    return errors.SetupError(f"a server of the measurement ({name}) did not start: {last_line or 'it said nothing'}")


def _end(child: subprocess.Popen[bytes], grace_seconds: float) -> None:
    child.terminate()
    try:
        child.wait(grace_seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    if child.stdout is not None:
        child.stdout.close()


def announce(port: int) -> None:
    """Tell whoever started this process where it listens."""
    sys.stdout.write(f"http://{_HOST}:{port}\n")
    sys.stdout.flush()


def serve(app: web.Application) -> None:
    """Serve an aiohttp app on a free port until SIGTERM or SIGINT."""
    uvloop.run(_serve(app))


async def _serve(app: web.Application) -> None:
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, _HOST, 0).start()
    announce(runner.addresses[0][1])
    await over.wait()
    await runner.cleanup()
