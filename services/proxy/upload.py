"""The body of a request, on its way to the upstream."""

from services.proxy import upstream
from services.proxy.wire import http1


class Upload:
    """What of a body has come in, until it is taken as a whole or there is a connection to send it on.

    whole: whether all of it has come. held_bytes: how much waits.
    """

    def __init__(self, *, chunked: bool) -> None:
        """chunked: it comes, and goes, in chunks."""
        self.whole = False
        self.held_bytes = 0
        self._chunked = chunked
        self._held: list[bytes] = []

    def hold(self, data: bytes) -> None:
        self._held.append(data)
        self.held_bytes += len(data)

    def taken(self) -> bytes:
        """The whole body, which nobody else holds any more."""
        pieces, self._held = self._held, []
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def drop(self) -> None:
        self._held = []

    def send_held(self, connection: upstream.Connection) -> None:
        pieces, self._held = self._held, []
        for piece in pieces:
            self.send(connection, piece)
        if self.whole:
            self.end(connection)

    def send(self, connection: upstream.Connection, data: bytes) -> None:
        connection.send(*http1.chunk(data)) if self._chunked else connection.send(data)

    def end(self, connection: upstream.Connection) -> None:
        if self._chunked:
            connection.send(http1.LAST_CHUNK)
        connection.sent()
