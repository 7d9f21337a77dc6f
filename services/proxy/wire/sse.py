"""Streams of events and coded bodies; and what an answer of Anthropic's said, read from a copy of its bytes after it has been relayed."""

import re
import zlib
from collections.abc import Iterable, Iterator

import brotli  # type: ignore[import-untyped]
import msgspec
import zstandard

from services.proxy.wire.calls import NO_ANSWER, Answer, Usage, asked, counts

MAX_DECODED_BYTES = 67_108_864
_MOST_CODINGS = 4  # one is the rule; each may blow a body up again
_MOST_MEMBERS = 100  # of a body that was compressed in pieces: what is left behind each is copied

# One line after the other, and blank ones together: a list of them would take twenty times the memory of a body that was made for that.
_LINE = re.compile(rb"([^\r\n]+)(?:\r\n|\n|\r|\Z)|[\r\n]+")
_NONE = msgspec.Raw(b"")
_USAGE = msgspec.json.Decoder(dict[str, object])
_COUNTED = Usage.__struct_fields__


class _Block(msgspec.Struct):
    type: str = ""
    text: str | None = None
    id: str | None = None
    name: str | None = None


class _Message(msgspec.Struct):
    type: str = ""
    id: str | None = None
    stop_reason: str | None = None
    content: list[_Block] = []
    usage: msgspec.Raw = _NONE


class _Delta(msgspec.Struct):
    text: str | None = None
    stop_reason: str | None = None


class _Event(msgspec.Struct):
    type: str = ""
    index: int = 0
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: msgspec.Raw = _NONE


_EVENT = msgspec.json.Decoder(_Event)


def answer(content_type: str, body: bytes) -> Answer:
    """The answer in the decoded body of a 200 to MESSAGES. One that can't be read says nothing."""
    if content_type.lower().startswith("text/event-stream"):
        return _streamed(body)
    try:
        message = msgspec.json.decode(body, type=_Message)
    except (msgspec.DecodeError, RecursionError):
        return NO_ANSWER
    text = "\n".join(block.text for block in message.content if block.type == "text" and block.text)
    return Answer(
        message.type == "message", text, message.stop_reason or "", message.id or "", Usage(**_usage(message.usage)), _asks(message.content)
    )


def _streamed(body: bytes) -> Answer:
    texts: dict[int, list[str]] = {}
    blocks: list[_Block] = []
    message_id = stop_reason = ""
    usage: dict[str, int] = {}
    stopped = failed = False
    for name, data in events(body):
        try:
            event = _EVENT.decode(data)
        except (msgspec.DecodeError, RecursionError):
            failed = failed or name == b"error"
            continue
        match event.type:
            case "message_start" if event.message:
                message_id = event.message.id or ""
                usage |= _usage(event.message.usage)
            case "content_block_start" if event.content_block:
                blocks.append(event.content_block)
                texts.setdefault(event.index, []).append(event.content_block.text or "")
            case "content_block_delta" if event.delta and event.delta.text:
                texts.setdefault(event.index, []).append(event.delta.text)
            case "message_delta":
                stop_reason = (event.delta and event.delta.stop_reason) or stop_reason
                usage |= _usage(event.usage)  # cumulative: the last one holds
            case "message_stop":
                stopped = True
            case "error":
                failed = True
    text = "\n".join(filter(None, ("".join(parts) for _, parts in sorted(texts.items()))))
    return Answer(stopped and not failed, text, stop_reason, message_id, Usage(**usage), _asks(blocks))


def _asks(blocks: Iterable[_Block]) -> str:
    return next((asked(block.name, block.id) for block in blocks if block.name and block.id), "")


def events(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Name and data of each event of a stream (WHATWG rules; a last event without its blank line counts if it is whole)."""
    name = b""
    data: bytearray | None = None
    for match in _LINE.finditer(body.removeprefix(b"\xef\xbb\xbf")):
        line = match[1]
        if line is None:
            if data is not None:
                yield name, bytes(data)
            name, data = b"", None
            continue
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            if data is None:
                data = bytearray(value)
            else:
                data += b"\n" + value
        elif field == b"event":
            name = value
    if data is not None:
        yield name, bytes(data)


def _usage(raw: msgspec.Raw) -> dict[str, int]:
    try:
        return {name: count for name, count in counts(_USAGE.decode(raw)).items() if name in _COUNTED}
    except (msgspec.DecodeError, RecursionError):
        return {}


def decoded(body: bytes, content_encoding: str) -> bytes | None:
    """A body without its content codings; None if it can't be decoded, or would be larger than MAX_DECODED_BYTES."""
    names = [part.strip().lower() for part in content_encoding.split(",") if part.strip()]
    if len(names) > _MOST_CODINGS:
        return None
    for name in reversed(names):
        try:
            body = b"".join(_pieces(name, body))
        except (zlib.error, brotli.error, zstandard.ZstdError, ValueError):
            return None
        if len(body) >= MAX_DECODED_BYTES:
            return None
    return body


def _pieces(encoding: str, body: bytes) -> Iterable[bytes]:
    match encoding:
        case "identity":
            return [body]
        case "gzip" | "x-gzip":
            return _inflated(body, zlib.MAX_WBITS + 16)
        case "deflate":  # zlib by the standard, raw by the habit of some
            return _inflated(body, zlib.MAX_WBITS if body[:1] == b"\x78" else -zlib.MAX_WBITS)
        case "br":
            return [brotli.Decompressor().process(body, output_buffer_limit=MAX_DECODED_BYTES)]
        case "zstd":
            return [zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=True).read(MAX_DECODED_BYTES)]
    raise ValueError("unknown encoding")


def _inflated(body: bytes, window_bits: int) -> Iterator[bytes]:
    left = MAX_DECODED_BYTES
    for _ in range(_MOST_MEMBERS):
        inflater = zlib.decompressobj(window_bits)
        piece = inflater.decompress(body, left)
        left -= len(piece)
        yield piece
        body = inflater.unused_data
        if not body or left <= 0:
            return
    raise ValueError("too many members")
