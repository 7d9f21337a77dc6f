"""Where a streamed answer comes to the event that its readers take for the end, some bytes before the formal one.

The answer passes on meanwhile: a piece is looked at once, and nothing but the end of the last one is kept.
"""

import re
import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]
import zstandard

from services.proxy.wire import routes

_LINE = rb"[\r\n]"  # in the data of an event no line breaks are raw, so that no text of the answer passes for a line of the stream
_LAST_EVENTS = {
    routes.Route.MESSAGES: re.compile(_LINE + rb'(?:event: ?message_stop|data: ?\{\s*"type":\s*"message_stop")'),
    routes.Route.CHAT: re.compile(_LINE + rb"data: ?\[DONE\]"),
    routes.Route.RESPONSES: re.compile(
        _LINE + rb'(?:event: ?response\.(?:completed|incomplete)|data: ?\{\s*"type":\s*"response\.(?:completed|incomplete)")'
    ),
}
_CARRIED = 64  # bytes; longer than any of them
_MOST_DECODED_BYTES = 16_777_216  # of one answer

_Decode = Callable[[bytes], bytes]


class Ending:
    """Of one answer with these headers. One that is no stream, or coded in an unknown way, has none."""

    def __init__(self, route: routes.Route, content_type: str, content_encoding: str) -> None:
        self._pattern = _LAST_EVENTS.get(route) if content_type.lower().startswith("text/event-stream") else None
        self._decode = _decoder(content_encoding)
        self._carried = b"\n"
        self._decoded = 0

    def comes(self, piece: bytes) -> bool:
        """Whether the last event begins in this piece of the body."""
        if self._pattern is None or self._decode is None:
            return False
        try:
            text = self._decode(piece)
        except (zlib.error, brotli.error, zstandard.ZstdError):
            self._pattern = None
            return False
        self._decoded += len(text)
        if self._decoded > _MOST_DECODED_BYTES:
            self._pattern = None
            return False
        seen = self._carried + text
        self._carried = seen[-_CARRIED:]
        return self._pattern.search(seen) is not None


def _decoder(content_encoding: str) -> _Decode | None:
    match content_encoding.strip().lower():
        case "" | "identity":
            return lambda piece: piece
        case "gzip" | "x-gzip":
            return zlib.decompressobj(zlib.MAX_WBITS + 16).decompress
        case "br":
            return brotli.Decompressor().process  # type: ignore[no-any-return]
        case "zstd":
            return zstandard.ZstdDecompressor().decompressobj().decompress
    return None
