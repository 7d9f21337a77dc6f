import pytest

from services.proxy.wire import headers

REQUEST = [
    (b"Host", b"localhost:3000"),
    (b"connection", b"keep-alive, X-Hop"),
    (b"x-hop", b"1"),
    (b"authorization", b"Bearer oauth"),
    (b"X-Api-Key", b"k"),
    (b"anthropic-beta", b"a"),
    (b"anthropic-beta", b"b,c"),
    (b"anthropic-future", "ü".encode()),
    (b"latin", b"\xfc"),
    (b"accept-encoding", b"gzip, deflate, br, zstd"),
    (b"x-brb-project", b"shop"),
    (b"X-BRB-Key", b"secret"),
    (b"content-length", b"5"),
    (b"expect", b"100-continue"),
    (b"te", b"trailers"),
]
KEPT = [
    (b"Host", b"up.example:8443"),
    (b"authorization", b"Bearer oauth"),
    (b"X-Api-Key", b"k"),
    (b"anthropic-beta", b"a"),
    (b"anthropic-beta", b"b,c"),
    (b"anthropic-future", "ü".encode()),
    (b"latin", b"\xfc"),
    (b"accept-encoding", b"gzip, deflate, br, zstd"),
]


@pytest.mark.parametrize(("length", "announced"), [(None, b"5"), (9, b"9")])
def test_all_but_the_hops_own_headers_reach_the_upstream_as_they_were_spelt(length: int | None, announced: bytes) -> None:
    assert headers.to_upstream(REQUEST, b"up.example:8443", length) == [*KEPT, (b"content-length", announced)]


@pytest.mark.parametrize(("length", "sent"), [(None, (b"Transfer-Encoding", b"chunked")), (9, (b"content-length", b"9"))])
def test_length_and_transfer_coding_are_never_sent_together(length: int | None, sent: tuple[bytes, bytes]) -> None:
    """claude-relay-service PR#204: both were sent."""
    both = [(b"content-length", b"5"), (b"transfer-encoding", b"chunked")]
    assert headers.to_upstream(both, b"up", length) == [(b"Host", b"up"), sent]
    assert headers.to_client(both) == []


def test_a_body_that_was_read_from_chunks_has_a_length() -> None:
    assert headers.to_upstream([(b"transfer-encoding", b"chunked")], b"up", 3) == [(b"Host", b"up"), (b"Content-Length", b"3")]


def test_duplicates_and_unknown_headers_reach_the_client() -> None:
    raw = [(b"Set-Cookie", b"a"), (b"Set-Cookie", b"b"), (b"Keep-Alive", b"1"), (b"Content-Length", b"3"), (b"retry-after", b"7")]
    assert headers.to_client(raw, [("x-brb-turn", "t")]) == [*raw[:2], *raw[3:], (b"x-brb-turn", b"t")]


@pytest.mark.parametrize(
    ("raw", "announced", "length"),
    [
        ([], False, None),
        ([(b"content-length", b"0")], True, 0),
        ([(b"Content-Length", b"12")], True, 12),
        ([(b"Content-Length", b" 12 ")], True, 12),
        ([(b"transfer-encoding", b"chunked")], True, None),
    ],
)
def test_a_body_is_there_if_it_is_announced(raw: list[tuple[bytes, bytes]], announced: bool, length: int | None) -> None:
    assert headers.announces_body(raw) is announced
    assert headers.content_length(raw) == length


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        ([(b"a", b"1"), (b"HOST", b"x"), (b"b", b"2")], [(b"a", b"1"), (b"HOST", b"h:1"), (b"b", b"2")]),
        ([(b"a", b"1")], [(b"host", b"h:1"), (b"a", b"1")]),
        ([(b"host", b"x"), (b"host", b"y")], [(b"host", b"h:1"), (b"host", b"h:1")]),  # two are still two
    ],
)
def test_a_host_is_put_in_place_of_the_named_one(raw: list[headers.Header], named: list[headers.Header]) -> None:
    assert headers.with_host(raw, b"h:1") == named
