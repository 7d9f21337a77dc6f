"""The servers of a measurement, each in a process of its own, so that none takes time from another's event loop."""

import asyncio
import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import uvloop
from aiohttp import web

from services.core import errors

_HOST = "127.0.0.1"
_END_SECONDS = 10.0
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
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
            stack.callback(_end, child)
            children.append(child)
        yield [_listening(program, child, _log(folder, number)) for number, (program, child) in enumerate(zip(programs, children, strict=True))]


def _log(folder: Path, number: int) -> Path:
    return folder / f"{number}.log"


def _listening(program: Program, child: subprocess.Popen[bytes], log: Path) -> Server:
    assert child.stdout is not None  # noqa: S101 - a pipe was asked for
    url = child.stdout.readline().decode().strip()
    if not url:
        last_line = log.read_text(errors="replace").strip().rpartition("\n")[2]
        raise errors.SetupError(f"a server of the measurement ({program.module}) did not start: {last_line or 'it said nothing'}")
    return Server(url, psutil.Process(child.pid))


def _end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(_END_SECONDS)
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
