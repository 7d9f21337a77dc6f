"""A `ports.TokenBook` that answers at once: what the book behind it held a second ago, renewed by a thread of its own.

Every call asks for a token, on the event loop. What is made or revoked through this object counts at once; what another process does, within a
second. While the book is away, what was read last goes on counting.
"""

import threading
import time
from collections.abc import Callable

import structlog

from services.core import errors, ports

RENEW_SECONDS = 1.0
USED_SECONDS = 60.0
_STOP_SECONDS = 5.0
_log = structlog.get_logger()


class KnownTokens:
    """`find` and `used` never wait. Until the book was read once, `find` raises `errors.Unavailable`."""

    def __init__(self, book: ports.TokenBook, clock: Callable[[], float] = time.time) -> None:
        self._book = book
        self._clock = clock
        self._known: dict[str, ports.StoredToken] | None = None
        self._used: dict[str, float] = {}  # not written down yet
        self._written: dict[str, float] = {}
        self._changing = threading.Lock()  # else a reading that began before a change would undo it
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Read the book, and go on reading it. Waits for the first time, so that the first call finds it read."""
        self._renewed()
        self._thread = threading.Thread(target=self._run, name="tokens", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)
            self._thread = None
            self._renewed()

    def renew(self) -> None:
        """Write down which tokens were used, and read the book. `errors.Unavailable`: what was read before stays."""
        for token_id, at in list(self._used.items()):
            if at - self._written.get(token_id, 0.0) >= USED_SECONDS:
                self._book.used(token_id, at)
                self._written[token_id] = at
        with self._changing:
            self._known = {one.token.id: one for one in self._book.all()}

    def add(self, token: ports.Token, digest: bytes) -> None:
        with self._changing:
            self._book.add(token, digest)
            if self._known is not None:
                self._known = {**self._known, token.id: ports.StoredToken(token, digest)}

    def find(self, token_id: str) -> ports.StoredToken | None:
        if (known := self._known) is None:
            raise errors.Unavailable("the list of tokens", "it could not be read yet")
        return known.get(token_id)

    def all(self) -> list[ports.StoredToken]:
        return self._book.all()

    def revoke(self, token_id: str, at: float) -> bool:
        with self._changing:
            revoked = self._book.revoke(token_id, at)
            if self._known is not None and (stored := self._book.find(token_id)) is not None:
                self._known = {**self._known, token_id: stored}
            return revoked

    def signed_out(self, token_id: str, at: float) -> None:
        with self._changing:
            self._book.signed_out(token_id, at)
            if self._known is not None and (stored := self._book.find(token_id)) is not None:
                self._known = {**self._known, token_id: stored}

    def used(self, token_id: str, at: float) -> None:
        self._used[token_id] = at

    def ping(self) -> None:
        self._book.ping()

    def _run(self) -> None:
        while not self._stopped.wait(RENEW_SECONDS):
            self._renewed()

    def _renewed(self) -> None:
        try:
            self.renew()
        except errors.BrbError as error:
            _log.warning("tokens_not_renewed", cause=type(error).__name__)
