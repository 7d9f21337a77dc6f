import gzip
import json
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard

from services.proxy.wire import answers, calls, routes, sse

STREAM = "text/event-stream; charset=utf-8"
EVENTS = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "content": [],
            "stop_reason": None,
            "usage": {"input_tokens": 7, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 900, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "QUJD"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "ping"},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Café "}},
    {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"path":"é'}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "中\n\nok"}},
    {"type": "hologram", "index": "x", "delta": 7},
    {"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta", "text": "orphan"}},
    {"type": "message_delta", "delta": {"stop_reason": None}, "usage": {"output_tokens": 12}},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 31, "server_tool_use": {"n": 1}},
    },
    {"type": "message_stop"},
]
ANSWER = calls.Answer(True, "Café 中\n\nok\norphan", "tool_use", "msg_1", calls.Usage(7, 31, 900, 3), "Read toolu_1")
ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


def read(content_type: str, coding: str, chunks: list[bytes]) -> calls.Answer:
    return answers.read(routes.Route.MESSAGES, content_type, coding, chunks)


def streamed(events: list[dict], newline: str = "\n") -> bytes:
    lines = [": keepalive", ""]
    for event in events:
        lines += [f"event: {event['type']}", f"data: {json.dumps(event, ensure_ascii=False)}", ""]
    return newline.join([*lines, ""]).encode()


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_stream_is_read_whole_however_it_was_cut_into_chunks(newline: str) -> None:
    """headroom P1-8: characters were lost where a chunk ended."""
    body = streamed(EVENTS, newline)
    for cut in range(len(body)):
        assert read(STREAM, "", [body[:cut], body[cut:]]) == ANSWER
    assert read(STREAM, "", [body[i : i + 1] for i in range(len(body))]) == ANSWER


def test_data_over_several_lines_and_without_event_names_is_read() -> None:
    body = b'data: {"type":\ndata: "message_stop"}\n\n'
    assert read(STREAM, "", [body]).complete


@pytest.mark.parametrize("events", [EVENTS[:-1], [*EVENTS[:-1], ERROR], [*EVENTS, ERROR], [ERROR, *EVENTS], []])
def test_an_answer_that_broke_off_is_not_complete(events: list[dict]) -> None:
    """litellm#32086: an error event after a 200 became an empty success."""
    assert not read(STREAM, "", [streamed(events)]).complete


def test_a_stream_cut_at_any_byte_before_its_stop_is_not_complete() -> None:
    body = streamed(EVENTS)
    stop = body.index(b'"message_stop"}') + len(b'"message_stop"}')
    assert not any(read(STREAM, "", [body[:cut]]).complete for cut in range(stop))
    assert read(STREAM, "", [body[:stop]]).complete


def test_an_error_event_that_is_not_json_is_an_error() -> None:
    assert not read(STREAM, "", [b"event: error\ndata: oops\n\n" + streamed(EVENTS)]).complete


def test_a_message_that_was_not_streamed_is_read() -> None:
    message = {
        "id": "msg_2",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "t", "name": "Read"}, {"type": "text", "text": "b"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 5, "output_tokens": 6, "cache_read_input_tokens": None},
    }
    answer = read("application/json", "", [json.dumps(message).encode()])
    assert answer == calls.Answer(True, "a\nb", "end_turn", "msg_2", calls.Usage(5, 6, 0, 0), "Read t")


@pytest.mark.parametrize("odd", [5.0, "9", -1, None, True, [], {}])
def test_a_count_that_is_none_costs_neither_the_answer_nor_the_other_counts(odd: object) -> None:
    usage = {"input_tokens": odd, "output_tokens": 6, "cache_read_input_tokens": 7}
    message = {"id": "msg_2", "type": "message", "content": [{"type": "text", "text": "a"}], "usage": usage}
    assert read("application/json", "", [json.dumps(message).encode()]) == calls.Answer(True, "a", "", "msg_2", calls.Usage(0, 6, 7, 0))
    start = {"type": "message_start", "message": {"id": "msg_2", "usage": {"cache_read_input_tokens": 100}}}
    delta = {"type": "message_delta", "delta": {}, "usage": {"cache_read_input_tokens": odd, "output_tokens": 3}}
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in (start, delta, {"type": "message_stop"}))
    assert read(STREAM, "", [body]) == calls.Answer(True, "", "", "msg_2", calls.Usage(0, 3, 100, 0))


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"type":"error"}', b'{"type":"message","content":7}', b"[" * 100_000])
def test_what_is_no_message_says_nothing(body: bytes) -> None:
    assert not read("application/json", "", [body]).complete


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": lambda data: gzip.compress(data[:99]) + gzip.compress(data[99:]),
    "deflate": zlib.compress,
    "Deflate ": raw_deflate,
    "br": brotli.compress,
    "zstd": lambda data: zstandard.compress(data[:99]) + zstandard.compress(data[99:]),
    "gzip, br": lambda data: brotli.compress(gzip.compress(data)),
    "identity": lambda data: data,
}


@pytest.mark.parametrize("coding", CODINGS)
def test_every_coding_that_clients_accept_is_decoded(coding: str) -> None:
    packed = CODINGS[coding](streamed(EVENTS))
    assert read(STREAM, coding, [packed[i : i + 7] for i in range(0, len(packed), 7)]) == ANSWER


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "lzma"])
def test_what_cannot_be_decoded_says_nothing(coding: str) -> None:
    assert read(STREAM, coding, [streamed(EVENTS)]) == calls.NO_ANSWER


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_says_nothing(coding: str) -> None:
    assert read(STREAM, coding, [CODINGS[coding](streamed(EVENTS) + b"\n" * sse.MAX_DECODED_BYTES)]) == calls.NO_ANSWER
