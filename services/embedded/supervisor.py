"""Starts, watches and stops the processes of an embedded BRB: `brb up`, `brb down`, `brb status`.

Each child leads its own process group, so that Ctrl-C reaches the supervisor alone and a child's children end with it. A child that
dies is started again. What a supervisor that was killed left behind is found in `state.json` and ended at the next start.
"""

import fcntl
import functools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import psutil

from services.core import backup, config, errors, seal
from services.embedded import models, programs

Say = Callable[[str], None]

_READY_POLL_SECONDS = 0.05
_WATCH_SECONDS = 0.25
_RESTART_SECONDS = (0.2, 1.0, 5.0, 15.0)  # between restarts of a child that keeps dying
_STEADY_SECONDS = 60.0  # after which a child counts as healthy again
_LOG_BYTES = 10_000_000


class Child(msgspec.Struct, frozen=True):
    """A running child: `started` is the operating system's creation time, which tells it from a later process of the same id."""

    pid: int
    started: float


class State(msgspec.Struct, frozen=True):
    """`state.json` in the run folder."""

    base_url: str
    pid: int
    started: float
    data_dir: str
    redis_socket: str
    ready: bool
    processes: dict[str, int]
    children: dict[str, Child]


def state_path(settings: config.Settings) -> Path:
    return settings.run_dir / "state.json"


def state(settings: config.Settings) -> State | None:
    """The running BRB of this data folder, or None."""
    found = _last_state(settings)
    return found if found is not None and _alive(Child(found.pid, found.started)) else None


def up(settings: config.Settings, *, say: Say, progress: models.Progress, ready: Callable[[State], None]) -> None:
    """Start everything, call `ready`, and watch until SIGINT or SIGTERM; then stop everything.

    Raises `SetupError` or `WrongModel` with the cure; nothing is left running then.
    """
    _prepare_folders(settings)
    with _only_one(settings):
        _end_leftovers(settings)
        backup.check_whole(settings.data)
        _check_port(settings)
        seal.secret_of(settings)
        files = models.ensure(settings, progress)
        _Supervisor(settings, say).run(files, ready)


@contextmanager
def alone(settings: config.Settings, name: str, *, say: Say, progress: models.Progress) -> Iterator[None]:
    """With BRB stopped and nothing but one of its programs running: for work on all that is kept. `SetupError` if BRB is running."""
    _prepare_folders(settings)
    with _only_one(settings):
        _end_leftovers(settings)
        wanted = [program for program in programs.programs(settings, models.ensure(settings, progress)) if program.name == name]
        children = _Supervisor(settings, say)
        try:
            children.start(wanted)
            yield
        finally:
            children.stop(wanted)


def up_detached(settings: config.Settings, *, say: Say) -> State:
    """Start a supervisor of its own session and return when everything is ready."""
    _prepare_folders(settings)
    if (running := state(settings)) is not None and running.ready:
        say("it runs already, as it was started: to start it anew, stop it first (`brb down`)")
        return running
    with _only_one(settings):
        pass  # another start on its way writes to the same log
    log = settings.logs_dir / "supervisor.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "services.cli", "up", "--plain"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**config.child_environment(settings), "BRB_HOST": settings.host, "BRB_PORT": str(settings.port)},
        )
    shown = 0
    while process.poll() is None:
        lines = log.read_text(errors="replace").splitlines()
        for line in lines[shown:]:
            if not line.startswith("error: "):  # raised below
                say(line)
        shown = len(lines)
        found = state(settings)
        if found is not None and found.ready and found.pid == process.pid:
            return found
        time.sleep(_READY_POLL_SECONDS)
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    raise errors.SetupError(lines[-1].removeprefix("error: ") if lines else f"BRB ended at once: see {log}")


def down(settings: config.Settings) -> bool:
    """Stop the BRB of this data folder and whatever it left behind; whether there was one."""
    found = state(settings)
    if found is not None:
        with suppress(ProcessLookupError):
            os.kill(found.pid, signal.SIGTERM)
        _wait_gone(Child(found.pid, found.started), 90)
    return _end_leftovers(settings) or found is not None


class _Supervisor:
    def __init__(self, settings: config.Settings, say: Say) -> None:
        self._settings = settings
        self._say: Say = functools.partial(_told, say)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._since: dict[str, float] = {}
        self._deaths: dict[str, int] = {}
        self._due: dict[str, float] = {}  # when what has ended is started again
        self._stop = threading.Event()
        self._unwritten = False  # the state, for lack of room

    def run(self, files: dict[str, Path], ready: Callable[[State], None]) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: self._stop.set())
        chosen: list[programs.Program] = []
        self._settings.metrics_dir.mkdir(mode=0o700, exist_ok=True)
        for left in self._settings.metrics_dir.glob("*.db"):  # counters start at zero with every start
            left.unlink(missing_ok=True)
        config.check_room(self._settings.metrics_dir)
        try:
            chosen = programs.programs(self._settings, files)
            self.start(chosen)
            if not self._stop.is_set():
                ready(self._write_state(ready=True))
            while not self._stop.wait(_WATCH_SECONDS):
                for program in chosen:
                    self._watch(program)
                if self._unwritten:
                    self._note_state(ready=True)
        finally:
            self.stop(chosen)

    def start(self, chosen: list[programs.Program]) -> None:
        """Those that the others need first; each wave at once."""
        for wave in ([p for p in chosen if p.first], [p for p in chosen if not p.first]):
            for program in wave:
                self._say(f"starting {program.name}")
                self._spawn(program)
            for program in wave:
                self._await(program)

    def _await(self, program: programs.Program) -> None:
        """Wait until it is ready; raises if it dies or does not get ready in time."""
        deadline = time.monotonic() + program.start_seconds
        while not self._stop.is_set():
            if self._running[program.name].poll() is not None:
                raise errors.SetupError(f"{program.name} ended at once: {self._last_words(program)}{program.cure}")
            if _is_ready(program):
                return
            if time.monotonic() > deadline:
                raise errors.SetupError(f"{program.name} is not ready after {program.start_seconds:.0f} s: see {self._log_path(program)}")
            time.sleep(_READY_POLL_SECONDS)

    def _spawn(self, program: programs.Program) -> None:
        log = self._log_path(program)
        if log.exists() and log.stat().st_size > _LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
        with log.open("ab") as out:
            self._running[program.name] = subprocess.Popen(
                program.argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**config.child_environment(self._settings), "PROMETHEUS_MULTIPROC_DIR": str(self._settings.metrics_dir)},
            )
        self._since[program.name] = time.monotonic()
        self._note_state(ready=False)

    def _watch(self, program: programs.Program) -> None:
        """Start again what has ended, when it is time; the others are watched meanwhile."""
        if (due := self._due.get(program.name)) is not None:
            if time.monotonic() >= due:
                del self._due[program.name]
                self._spawn(program)
                self._note_state(ready=True)
            return
        if self._running[program.name].poll() is None:
            return
        _end_group(self._running[program.name].pid, 0)
        steady = time.monotonic() - self._since[program.name] > _STEADY_SECONDS
        deaths = self._deaths[program.name] = 1 if steady else self._deaths.get(program.name, 0) + 1
        self._say(f"{program.name} ended ({self._last_words(program)}): starting it again")
        self._due[program.name] = time.monotonic() + _RESTART_SECONDS[min(deaths, len(_RESTART_SECONDS)) - 1]

    def stop(self, chosen: list[programs.Program]) -> None:
        for program in reversed(chosen):
            if (process := self._running.get(program.name)) is not None:
                self._say(f"stopping {program.name}")
                _end_group(process.pid, program.grace_seconds)
                process.wait()
        state_path(self._settings).unlink(missing_ok=True)

    def _note_state(self, *, ready: bool) -> None:
        """While everything runs a full disk is no reason to end it: the file is written when there is room."""
        try:
            self._write_state(ready=ready)
            self._unwritten = False
        except OSError as error:
            if not self._unwritten:
                self._say(f"{state_path(self._settings)} can't be written ({error.strerror}): free some room")
            self._unwritten = True

    def _write_state(self, *, ready: bool) -> State:
        children = {name: child for name, process in self._running.items() if (child := _child(process.pid)) is not None}
        me = _child(os.getpid())
        assert me is not None  # noqa: S101 - this process is alive
        settings = self._settings
        written = State(
            base_url=settings.base_url,
            pid=me.pid,
            started=me.started,
            data_dir=str(settings.data),
            redis_socket=str(settings.redis_socket),
            ready=ready,
            processes={name: child.pid for name, child in children.items()},
            children=children,
        )
        part = state_path(settings).with_suffix(".part")
        part.write_bytes(msgspec.json.format(msgspec.json.encode(written)))
        part.replace(state_path(settings))
        return written

    def _log_path(self, program: programs.Program) -> Path:
        return self._settings.logs_dir / f"{program.name}.log"

    def _last_words(self, program: programs.Program) -> str:
        """The last line of its log that is a plain sentence."""
        lines = [line for line in self._log_path(program).read_text(errors="replace").splitlines()[-20:] if line.strip()]
        said = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
        return said[-1] if said else f"see {self._log_path(program)}"


def _told(say: Say, line: str) -> None:
    with suppress(OSError):  # it may go to a file on a disk that is full
        say(line)


def _is_ready(program: programs.Program) -> bool:
    try:
        return program.ready()
    except errors.Permanent:
        raise
    except Exception:  # whatever its client raises while it isn't up yet
        return False


def _prepare_folders(settings: config.Settings) -> None:
    for folder in (settings.data, settings.run_dir, settings.models_dir, settings.store_dir, settings.logs_dir, settings.data / "redis"):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            probe = folder / ".probe"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise errors.SetupError(f"can't write to {folder}: {error.strerror}. Set BRB_DATA_DIR to a folder that you can write to") from None


@contextmanager
def _only_one(settings: config.Settings) -> Iterator[None]:
    with (settings.run_dir / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            running = state(settings)
            where = f" at {running.base_url}" if running else ""
            raise errors.SetupError(
                f"BRB is already running or starting{where} on {settings.data}: stop it with `brb down` (or `make down`)"
            ) from None
        yield


def _check_port(settings: config.Settings) -> None:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            reason = error.strerror
            raise errors.SetupError(f"port {settings.port} on {settings.host} can't be used ({reason}): stop what uses it, or set BRB_PORT") from None


def _last_state(settings: config.Settings) -> State | None:
    try:
        return msgspec.json.decode(state_path(settings).read_bytes(), type=State)
    except (OSError, msgspec.DecodeError):
        return None


def _end_leftovers(settings: config.Settings) -> bool:
    """End children of a supervisor that is gone; whether there were any."""
    found = _last_state(settings)
    if found is None or _alive(Child(found.pid, found.started)):
        return False
    left = [child for child in found.children.values() if _alive(child)]
    for child in left:
        _end_group(child.pid, 5)
    state_path(settings).unlink(missing_ok=True)
    return bool(left)


def _child(pid: int) -> Child | None:
    try:
        return Child(pid, psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def _alive(child: Child) -> bool:
    try:
        process = psutil.Process(child.pid)
        return abs(process.create_time() - child.started) < 1 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _wait_gone(child: Child, seconds: float) -> None:
    """Until it has ended (one that nobody reaps has ended too) or the time is over."""
    deadline = time.monotonic() + seconds
    while _alive(child) and time.monotonic() < deadline:
        time.sleep(_READY_POLL_SECONDS)


def _end_group(leader: int, grace_seconds: float) -> None:
    """SIGTERM to the leader, which ends its own children; SIGKILL to what is left of its group after the grace time."""
    if grace_seconds and (child := _child(leader)) is not None:
        with suppress(ProcessLookupError):
            os.kill(leader, signal.SIGTERM)
        _wait_gone(child, grace_seconds)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
