"""HTTP/1.1 as it is written."""

from collections.abc import Sequence

from services.proxy.wire.headers import Header

LAST_CHUNK = b"0\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def request_head(method: bytes, target: bytes, headers: Sequence[Header]) -> bytes:
    return _head(b"%b %b HTTP/1.1" % (method, target), headers)


def answer_head(status: int, reason: bytes, headers: Sequence[Header]) -> bytes:
    return _head(b"HTTP/1.1 %d %b" % (status, reason), headers)


def chunk(data: bytes) -> tuple[bytes, bytes, bytes]:
    """The parts of one chunk: its data is not copied. `data` is not empty."""
    return b"%x\r\n" % len(data), data, b"\r\n"


def _head(start: bytes, headers: Sequence[Header]) -> bytes:
    return b"\r\n".join([start, *(b"%b: %b" % header for header in headers), b"", b""])
