"""`brb doctor`: tries what BRB needs, rather than looking whether files are there. Each finding names its cure.

Imported when asked for only: it is not light."""

import os
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import psutil

from services.cli import claude_settings, connect, embedded, exits
from services.cli.client import Client
from services.core import address, api, config, errors, selftest_api

_FEW_BYTES = 1_000_000_000
_TOO_FEW_BYTES = 200_000_000
_CLOCK_SLACK_SECONDS = 60.0
_FIRST_SANE_TIME = 1_750_000_000.0  # mid 2025: BRB is younger than that
_CONNECT_SECONDS = 3.0
_SELFTEST_SECONDS = 60.0  # learning from a turn waits for its time in the queue
_HELD_BACK = 0.4  # of the time that the events of the self-test take, in which they must arrive; all at once is 0
_RESTART = "restart BRB (`brb down`, `brb up`); its log is in the data folder under logs/"
_SERVERS = {"redis": "BRB_REDIS_URL", "qdrant": "BRB_QDRANT_URL", "llama.cpp": "BRB_EMBED_URL", "extraction model": "BRB_EXTRACT_URL"}
_CURES = {name: f"start the server that {setting} names; where BRB runs its own, {_RESTART}" for name, setting in _SERVERS.items()}
_SELFTEST_CURES = {
    "embedding": "restart BRB (`brb down`, `brb up`), then see `brb models verify`",
    "round trip": f"see that the disk is not full, then {_RESTART}",
    "learning": f"see `brb jobs list` and `brb jobs dead`; {_RESTART}",
    "redis policy": "change it in the configuration of the Redis that BRB_REDIS_URL names",
    "redis room": "give Redis more room (BRB_REDIS_MEGABYTES, or its maxmemory where it is not BRB's own), or keep less (BRB_LEDGER_DAYS)",
}


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
    """Of a BRB elsewhere (`BRB_URL`) only what can be seen from here."""
    here = settings.url is None
    where = address.of(settings)
    yield python(sys.version_info[:3])
    if here:
        yield writable(settings.data)
        yield disk(settings.data)
        yield _models(settings)
    with Client(where.url, key=where.key, timeout_seconds=_SELFTEST_SECONDS) as brb:
        finding = answering(settings, brb) if here else _reached(brb)
        yield finding
        if finding.state is State.OK:
            yield from _running(brb, where)
        else:
            yield clock(time.time(), None)
    yield from claude_code(where)
    if here:
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


def answering(settings: config.Settings, brb: Client) -> Finding:
    """Whether the port is BRB's, free, or somebody else's."""
    try:
        brb.alive()
    except exits.NotRunning:
        return _unanswered(settings)
    except errors.BrbError as error:
        return Finding("port", State.FAIL, f"{error}{_who(settings.port)}", "stop that program, or set BRB_PORT")
    return Finding("port", State.OK, f"BRB answers at {settings.base_url}")


def _reached(brb: Client) -> Finding:
    try:
        brb.alive()
    except errors.BrbError as error:
        return Finding("address", State.FAIL, str(error), "set BRB_URL to the address of BRB, or unset it for the one of this machine")
    return Finding("address", State.OK, f"BRB answers at {brb.base_url}")


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


def _running(brb: Client, where: address.Address) -> Iterator[Finding]:
    key = _tried("key", lambda: _whose(brb), "set BRB_KEY to a valid token: an admin of your team makes one with `brb token create`")
    yield key
    yield from _health(brb)
    yield _tried("relay", lambda: _relaying(brb), "restart BRB (`brb down`, `brb up`)")
    if key.state is not State.OK:
        yield clock(time.time(), None)
        return
    yield _tried("stream", lambda: _streaming(brb), "let whatever stands before BRB pass streams on as they come (nginx: proxy_buffering off)")
    asked = time.time()
    try:
        tested = brb.selftest()
    except errors.BrbError as error:
        yield Finding("self-test", State.FAIL, str(error), _RESTART)
        yield clock(time.time(), _newest(brb))
        return
    for check in tested.checks:
        yield _told(check)
    yield clock(time.time(), _newest(brb))
    yield skew(tested.at.timestamp(), asked, time.time())


def _told(check: selftest_api.Check) -> Finding:
    if check.ok:
        return Finding(check.name, State.OK, f"{check.found} ({check.milliseconds:.0f} ms)")
    cure = _CURES.get(check.away.lower()) or _SELFTEST_CURES.get(check.name, _RESTART)
    return Finding(check.name, State.FAIL, check.found, cure)


def _whose(brb: Client) -> str:
    who = brb.whoami()
    if who.auth == "off":
        return "none is needed: BRB serves one person (BRB_AUTH=off)"
    return f"that of {who.user}, {who.role} of team {who.team}" if who.team else "that of the operator of this machine, who has no memories"


def _health(brb: Client) -> Iterator[Finding]:
    try:
        yield from dependencies(brb.health())
    except errors.Denied:
        yield Finding("parts", State.OK, "only an admin is told how each is (`brb status`)")
    except errors.BrbError as error:
        yield Finding("parts", State.FAIL, str(error), _RESTART)


def _streaming(brb: Client) -> str:
    """A stream that pauses between its events, and when they come."""
    came = brb.arrivals()
    return spread(came, selftest_api.EVENTS, selftest_api.PAUSE_SECONDS)


def spread(came: Sequence[float], events: int, pause_seconds: float) -> str:
    """`BrbError` if the events of a stream did not come one after the other. came: monotonic seconds."""
    if len(came) != events:
        raise errors.BrbError(f"of {events} events of a stream {len(came)} came")
    took, paused = came[-1] - came[0], pause_seconds * (events - 1)
    if took < _HELD_BACK * paused:
        raise errors.BrbError(f"streams are held back: what takes {paused:.1f} s to say came within {took * 1000:.0f} ms")
    return "streams come as they are sent"


def skew(theirs: float, asked: float, answered: float) -> Finding:
    """theirs: the time at BRB, between asking and having the answer here (epoch seconds)."""
    apart = max(asked - theirs, theirs - answered, 0.0)
    if apart > _CLOCK_SLACK_SECONDS:
        return Finding("clock of BRB", State.WARN, f"it differs from this machine's by {apart:.0f} s", "set the clock of one of the machines")
    return Finding("clock of BRB", State.OK, "it agrees with this machine's")


def claude_code(where: address.Address) -> Iterator[Finding]:
    """Whether Claude Code, if it is here, goes through this BRB: by its settings, the project's first, or by the environment."""
    local, everywhere = connect.settings_file(project=True), connect.settings_file(project=False)
    files = [local, local.with_name("settings.json"), everywhere]
    if not any(file.parent.is_dir() for file in files):
        return
    for file in files:
        try:
            variables = claude_settings.environment(file.read_bytes().decode())
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError, errors.BadInput) as error:
            yield Finding("Claude Code", State.WARN, f"{file} can't be read ({error})", "correct that file")
            return
        if "ANTHROPIC_BASE_URL" in variables:
            yield led(variables, where, str(file))
            return
    yield led(os.environ, where, "the environment")


def led(variables: Mapping[str, str], where: address.Address, source: str) -> Finding:
    """Whether these variables lead Claude Code through that BRB, with the key that it takes."""
    cure = "run `brb connect claude-code`"
    to = variables.get("ANTHROPIC_BASE_URL", "")
    if not to:
        return Finding("Claude Code", State.WARN, "it is not led through BRB: ANTHROPIC_BASE_URL is not set", cure)
    if not same_place(to, where.url):
        return Finding("Claude Code", State.WARN, f"{source} leads it to {to}, not to {where.url}", cure)
    if where.key and where.key not in variables.get(claude_settings.HEADERS, "") and f"/k/{where.key}" not in to:
        return Finding("Claude Code", State.WARN, f"{source} leads it to BRB without your key", cure)
    return Finding("Claude Code", State.OK, f"{source} leads it through BRB")


def same_place(one: str, other: str) -> bool:
    """Whether two addresses mean the same BRB; a token in front of the path, and which name of this machine, make no difference."""

    def place(url: str) -> tuple[str, str, int | None, str]:
        parts = urlsplit(url)
        host = "localhost" if parts.hostname in address.LOOPBACK else parts.hostname or ""
        return parts.scheme, host, parts.port, re.sub(r"^/k/[^/]+", "", parts.path).rstrip("/")

    try:
        return place(one) == place(other)
    except ValueError:
        return False


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
