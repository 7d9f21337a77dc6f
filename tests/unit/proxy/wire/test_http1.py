"""HTTP/1.1 as it is written."""

from services.proxy.wire import http1


def test_heads_end_with_an_empty_line() -> None:
    assert http1.request_head(b"GET", b"/v1?x", [(b"Host", b"h"), (b"a", b"\xfc")]) == b"GET /v1?x HTTP/1.1\r\nHost: h\r\na: \xfc\r\n\r\n"
    assert http1.answer_head(999, b"Own Reason", []) == b"HTTP/1.1 999 Own Reason\r\n\r\n"


def test_a_chunk_holds_its_data_itself() -> None:
    data = bytes(300)
    parts = http1.chunk(data)
    assert b"".join(parts) == b"12c\r\n" + data + b"\r\n"
    assert parts[1] is data
