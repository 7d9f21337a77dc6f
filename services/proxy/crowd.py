"""How many clients may be connected at once, and who makes room when there are more."""

import resource
from enum import Enum
from typing import NamedTuple, Protocol

import structlog

log = structlog.get_logger(__name__)

_BACKLOG = 2048
_OWN_FILES = 400  # stores, Redis, llama.cpp, logs, the connections to upstreams that are free, and who is turned away
_FEWEST = 16
_MOST_FILES = 65_536  # more would only cost memory
_MOST_TURNED_AWAY = 64  # at once: they take a moment to read their answer
_FREE_SHARE = 0.1  # has to be free again before it is said again that there is no room


class Bounds(NamedTuple):
    """connections: of clients. backlog: of those that the system has taken and nobody has looked at."""

    connections: int
    backlog: int


DEFAULT = Bounds(4000, _BACKLOG)


def bounds(wanted: int, files: int) -> Bounds:
    """What a process that may open so many files can have: each call may take a connection to its upstream, and a whole backlog may come at once."""
    backlog = min(_BACKLOG, files // 4)
    return Bounds(min(wanted, max(_FEWEST, (files - backlog - _OWN_FILES) // 2)), backlog)


def raised_files() -> int:
    """How many files this process may open, after it has asked for as many as it is allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return _MOST_FILES if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    except (ValueError, OSError):  # macOS takes less than it says
        return soft
    return most


class Member(Protocol):
    """A connection."""

    def give_way(self) -> bool:
        """End: it asks for nothing, and others do. False if that is not so: it has yet to take its answer, or to be read."""


class Entry(Enum):
    INSIDE = "inside"
    TURNED_AWAY = "turned away"
    """Told so, and counted apart."""
    SHUT_OUT = "shut out"


class Crowd:
    """All connections of a server. Who waits (no whole head of a request has come) goes first, those that have waited longest before the others."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._inside: set[Member] = set()
        self._waiting: dict[Member, None] = {}
        self._turned_away: set[Member] = set()
        self._told = False

    def enter(self, member: Member) -> Entry:
        if len(self._inside) >= self._most:
            self._tell()
            if not self._made_room():
                if len(self._turned_away) >= _MOST_TURNED_AWAY:
                    return Entry.SHUT_OUT
                self._turned_away.add(member)
                return Entry.TURNED_AWAY
        self._inside.add(member)
        self._waiting[member] = None
        return Entry.INSIDE

    def _made_room(self) -> bool:
        """Those that do not give way are asked again after the others."""
        for longest in list(self._waiting):
            del self._waiting[longest]
            if longest.give_way():
                self._inside.discard(longest)
                return True
            self._waiting[longest] = None
        return False

    def work(self, member: Member) -> None:
        self._waiting.pop(member, None)

    def wait(self, member: Member) -> None:
        if member in self._inside:
            self._waiting.setdefault(member)

    def leave(self, member: Member) -> None:
        self._inside.discard(member)
        self._waiting.pop(member, None)
        self._turned_away.discard(member)
        if len(self._inside) <= self._most * (1 - _FREE_SHARE):
            self._told = False

    def _tell(self) -> None:
        if not self._told:
            self._told = True
            log.warning("connections_full", most=self._most, waiting=len(self._waiting))
