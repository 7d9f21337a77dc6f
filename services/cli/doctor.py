"""`brb doctor`: tries what BRB needs, rather than looking whether files are there. Each finding names its cure.

Imported when asked for only: it is not light."""

import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import psutil

from services.cli import embedded, exits
from services.cli.client import Client
from services.core import api, config, errors

_FEW_BYTES = 1_000_000_000
_TOO_FEW_BYTES = 200_000_000
_CLOCK_SLACK_SECONDS = 60.0
_FIRST_SANE_TIME = 1_750_000_000.0  # mid 2025: BRB is younger than that
_CONNECT_SECONDS = 3.0
_RESTART = "restart BRB (`brb down`, `brb up`); its log is in the data folder under logs/"
_CURES = {"extraction model": f"start the server that BRB_EXTRACT_URL names; where BRB serves BRB_EXTRACT_MODEL itself, {_RESTART}"}
_PROBE = "which database do we use?"  # any words: they are embedded and looked up, nothing is kept


class State(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(msgspec.Struct, frozen=True):
    """What one check found; `cure` says what to do when it is not well."""

    check: str
    state: State
    found: str
    cure: str = ""


def findings_of(settings: config.Settings) -> Iterator[Finding]:
    yield python(sys.version_info[:3])
    yield writable(settings.data)
    yield disk(settings.data)
    yield _models(settings)
    with Client(settings.base_url, timeout_seconds=10) as brb:
        health, finding = answering(settings, brb)
        yield finding
        if health is None:
            yield clock(time.time(), None)
        else:
            yield from dependencies(health)
            yield from _running(brb)
    yield _upstream("BRB_ANTHROPIC_URL", settings.anthropic_url)
    yield _upstream("BRB_OPENAI_URL", settings.openai_url)


def python(version: tuple[int, ...]) -> Finding:
    found = ".".join(map(str, version))
    if version < (3, 11):
        return Finding("python", State.FAIL, found, "use Python 3.11 or newer")
    return Finding("python", State.OK, found)


def writable(folder: Path) -> Finding:
    """Write, read back and remove a file in the data folder, or where it would be made."""
    place = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"brb")
            file.seek(0)
            kept = file.read() == b"brb"
    except OSError as error:
        return Finding("data folder", State.FAIL, f"{folder} can't be written ({error.strerror})", "set BRB_DATA_DIR to a folder of yours")
    if not kept:
        return Finding("data folder", State.FAIL, f"{folder} does not give back what is written", "set BRB_DATA_DIR to a folder on another disk")
    return Finding("data folder", State.OK, f"{folder} can be written" if place == folder else f"{folder} is made at the first start")


def disk(folder: Path) -> Finding:
    place = next(path for path in (folder, *folder.parents) if path.exists())
    return room(shutil.disk_usage(place).free)


def room(free_bytes: int) -> Finding:
    found = f"{free_bytes / 1e9:.1f} GB free"
    if free_bytes < _TOO_FEW_BYTES:
        return Finding("disk", State.FAIL, found, "make room: memories can't be stored safely")
    if free_bytes < _FEW_BYTES:
        return Finding("disk", State.WARN, found, "make room soon")
    return Finding("disk", State.OK, found)


def clock(now: float, newest: float | None) -> Finding:
    """`newest`: when the newest memory was made, epoch seconds. A clock that went back makes new statements lose against old ones."""
    found = f"{api.time_of(now):%Y-%m-%d %H:%M} UTC"
    if now < _FIRST_SANE_TIME or (newest is not None and newest > now + _CLOCK_SLACK_SECONDS):
        behind = "" if newest is None else f", yet the newest memory is of {api.time_of(newest):%Y-%m-%d %H:%M} UTC"
        return Finding("clock", State.FAIL, found + behind, "set this machine's clock")
    return Finding("clock", State.OK, found)


def answering(settings: config.Settings, brb: Client) -> tuple[api.Health | None, Finding]:
    """Whether the port is BRB's, free, or somebody else's."""
    try:
        health = brb.health()
    except exits.NotRunning:
        return None, _unanswered(settings)
    except errors.BrbError as error:
        return None, Finding("port", State.FAIL, f"{error}{_who(settings.port)}", "stop that program, or set BRB_PORT")
    return health, Finding("port", State.OK, f"BRB {health.version} answers at {settings.base_url}")


def dependencies(health: api.Health) -> Iterator[Finding]:
    for name, report in health.dependencies.items():
        if report.state == "ok":
            yield Finding(name, State.OK, f"answers in {report.milliseconds:.0f} ms")
        else:
            yield Finding(name, State.FAIL, report.reason, _CURES.get(name, _RESTART))
    for notice in health.notices:
        if not any(notice.startswith(f"{name} is down") for name in health.dependencies):
            yield Finding("jobs", State.WARN, notice)


def _unanswered(settings: config.Settings) -> Finding:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            found = f"port {settings.port} can't be used ({error.strerror}){_who(settings.port)}"
            return Finding("port", State.FAIL, found, "set BRB_PORT to a free port")
    return Finding("port", State.WARN, f"port {settings.port} is free: BRB is not running", "start it with `make up` or `brb up`")


def _who(port: int) -> str:
    """The program that listens on a port, where this user may know it."""
    try:
        pids = {c.pid for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN and c.laddr and c.laddr.port == port and c.pid}
        names = sorted(psutil.Process(pid).name() for pid in pids)
    except psutil.Error:
        return ""
    return f" (port {port} is held by {', '.join(names)})" if names else ""


def _models(settings: config.Settings) -> Finding:
    return _tried("models", lambda: f"{', '.join(embedded.models().verify(settings))} are the pinned ones", "run `brb models pull`")


def _running(brb: Client) -> Iterator[Finding]:
    yield _tried("relay", lambda: _relaying(brb), "restart BRB (`brb down`, `brb up`)")
    yield _tried("embedding", lambda: _embedding(brb), "restart BRB (`brb down`, `brb up`), then see `brb models verify`")
    yield clock(time.time(), _newest(brb))


def _newest(brb: Client) -> float | None:
    """When the newest memory was made, if there is one and it can be read."""
    try:
        found = brb.memories(limit=1, status="all").memories
    except errors.BrbError:
        return None
    return found[0].created_at.timestamp() if found else None


def _relaying(brb: Client) -> str:
    status = brb.probe()
    if not 200 <= status < 300:
        raise errors.BrbError(f"the connection probe of clients is answered with {status}")
    return "answers the connection probe of clients"


def _embedding(brb: Client) -> str:
    """Words are embedded, and compared with what is stored, without writing anything."""
    result = brb.search(_PROBE, mode="semantic")
    if result.mode != "semantic":
        raise errors.BrbError("; ".join(result.notices) or "words can't be embedded")
    return "words are embedded and looked up"


def _upstream(setting: str, url: str) -> Finding:
    """A connection only; nothing is sent."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=_CONNECT_SECONDS).close()
    except OSError as error:
        return Finding("upstream", State.WARN, f"{parts.hostname}:{port} can't be reached ({error})", f"check the network and {setting}")
    return Finding("upstream", State.OK, f"{parts.hostname}:{port} can be reached")


def _tried(check: str, attempt: Callable[[], str], cure: str) -> Finding:
    try:
        return Finding(check, State.OK, attempt())
    except errors.BrbError as error:
        return Finding(check, State.FAIL, str(error), "" if "run `" in str(error) else cure)
