"""The last event of a stream is seen in whatever pieces and coding it comes, and nothing else passes for it."""

import gzip
import zlib

import brotli
import pytest
import zstandard

from services.proxy.wire import endings, routes

STREAM = "text/event-stream; charset=utf-8"
STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
DONE = b"data: [DONE]\n\n"
COMPLETED = b'event: response.completed\ndata: {"type":"response.completed","response":{}}\n\n'
BEFORE = b'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"event: message_stop\\ndata: [DONE]"}}\n\n'
OF_ROUTE = [(routes.Route.MESSAGES, STOP), (routes.Route.CHAT, DONE), (routes.Route.RESPONSES, COMPLETED)]


def looked(pieces: list[bytes], route: routes.Route = routes.Route.MESSAGES, kind: str = STREAM, encoding: str = "") -> list[bool]:
    ending = endings.Ending(route, kind, encoding)
    return [ending.comes(piece) for piece in pieces]


@pytest.mark.parametrize(("route", "last"), OF_ROUTE)
def test_the_last_event_is_seen_and_the_text_of_an_answer_is_not_taken_for_it(route: routes.Route, last: bytes) -> None:
    assert looked([BEFORE, last], route) == [False, True]


@pytest.mark.parametrize(("route", "last"), OF_ROUTE)
def test_the_last_event_is_seen_wherever_it_is_parted(route: routes.Route, last: bytes) -> None:
    for cut in range(len(last) + 1):
        assert any(looked([BEFORE + last[:cut], last[cut:]], route)), cut


@pytest.mark.parametrize("last", [b'data: {"type": "message_stop"}\n\n', b'data:{ "type":"message_stop"}\r\n\r\n', b"event:message_stop\r\n"])
def test_servers_that_write_it_otherwise_are_understood(last: bytes) -> None:
    assert looked([BEFORE, last]) == [False, True]


def gzipped(pieces: list[bytes]) -> list[bytes]:
    packer = zlib.compressobj(wbits=31)
    return [packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH) for piece in pieces]


def brotlied(pieces: list[bytes]) -> list[bytes]:
    packer = brotli.Compressor()
    return [packer.process(piece) + packer.flush() for piece in pieces]


def zstandarded(pieces: list[bytes]) -> list[bytes]:
    packer = zstandard.ZstdCompressor().compressobj()
    return [packer.compress(piece) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for piece in pieces]


@pytest.mark.parametrize(("encoding", "coded"), [("gzip", gzipped), ("br", brotlied), ("zstd", zstandarded)])
def test_coded_streams_are_seen_through(encoding: str, coded: object) -> None:
    assert callable(coded)
    assert looked(coded([BEFORE, STOP]), encoding=encoding) == [False, True]


@pytest.mark.parametrize(
    ("kind", "encoding", "piece"),
    [("application/json", "", STOP), (STREAM, "gzip", STOP), (STREAM, "gzip, br", gzip.compress(STOP, mtime=0)), (STREAM, "unheard-of", STOP)],
)
def test_what_can_not_be_read_has_no_last_event(kind: str, encoding: str, piece: bytes) -> None:
    assert looked([piece, piece], kind=kind, encoding=encoding) == [False, False]


def test_a_stream_that_grows_without_end_when_it_is_decoded_is_left_alone() -> None:
    bomb = gzipped([bytes(endings._MOST_DECODED_BYTES + 1), STOP])
    assert looked(bomb, encoding="gzip") == [False, False]


def test_another_route_has_no_last_event() -> None:
    assert looked([STOP], routes.Route.OTHER) == [False]
