"""Streams of events and coded bodies; and what an answer of Anthropic's said, read from a copy of its bytes after it has been relayed."""

import zlib
from collections.abc import Iterable, Iterator

import brotli  # type: ignore[import-untyped]
import msgspec
import zstandard

from services.proxy.wire.calls import NO_ANSWER, Answer, Usage, asked, counts

MAX_DECODED_BYTES = 67_108_864


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
    data: list[bytes] = []
    for line in [*body.removeprefix(b"\xef\xbb\xbf").splitlines(), b""]:
        if not line:
            if data:
                yield name, b"\n".join(data)
            name, data = b"", []
            continue
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value


def _usage(raw: msgspec.Raw) -> dict[str, int]:
    try:
        return {name: count for name, count in counts(_USAGE.decode(raw)).items() if name in _COUNTED}
    except (msgspec.DecodeError, RecursionError):
        return {}


def decoded(body: bytes, content_encoding: str) -> bytes | None:
    """A body without its content codings; None if it can't be decoded, or would be larger than MAX_DECODED_BYTES."""
    for name in reversed([part.strip().lower() for part in content_encoding.split(",") if part.strip()]):
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
    while body and left > 0:
        inflater = zlib.decompressobj(window_bits)
        piece = inflater.decompress(body, left)
        left -= len(piece)
        yield piece
        body = inflater.unused_data
