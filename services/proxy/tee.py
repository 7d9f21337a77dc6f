"""What is kept of an answer while it passes, so that it can be read when it is whole."""

from collections.abc import Mapping

from services.proxy.wire import answers, calls, endings, routes

_MAX_BYTES = 33_554_432


class Tee:
    """References to the pieces of one answer; of one that is longer than 32 MB nothing."""

    def __init__(self, route: routes.Route, named: Mapping[str, str]) -> None:
        """named: the answer's headers, lower-case names."""
        self._pieces: list[bytes] = []
        self._route = route
        self._content_type = named.get("content-type", "")
        self._content_encoding = named.get("content-encoding", "")
        self._ending = endings.Ending(route, self._content_type, self._content_encoding)
        self.size = 0

    def append(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size <= _MAX_BYTES:
            self._pieces.append(piece)
        else:
            self._pieces.clear()

    def closes(self, piece: bytes) -> bool:
        """Whether the stream comes to its last event in this piece. To be asked of each, in order."""
        return self._ending.comes(piece)

    def read(self, *, whole: bool) -> calls.Answer:
        """whole: whether the answer came to its end."""
        if not self._pieces:
            return calls.NO_ANSWER
        return answers.read(self._route, self._content_type, self._content_encoding, self._pieces, whole=whole)
