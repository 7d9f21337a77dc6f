"""Text blocks put into a raw request body. Every byte outside of them stays as the client wrote it.

Positions are found by scanning, never by searching or re-serialising: equal messages, escaped keys, odd number spellings and strings that
look like JSON are no trouble. What has no clear meaning (a second `messages`, `role` or `content`) is left alone.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

import msgspec

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_KEY = re.compile(rb"[\s,]*+(" + _STRING + rb")\s*+:\s*+", re.DOTALL)
_SCALAR = re.compile(_STRING + rb"|[^\s,\[\]{}]++", re.DOTALL)
_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|' + _STRING + rb")*+([\[\]{}])", re.DOTALL)
_GAP = re.compile(rb"[\s,]*+")
_QUOTE = ord('"')
_DELIMITED = frozenset(b'"[{')

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])


class Span(NamedTuple):
    """A JSON value at `body[start:end]`. Offsets in bytes."""

    start: int
    end: int


class Form(StrEnum):
    """How a text is put in."""

    BLOCK = "block"  # as a block of type `text` behind one of a list
    WRAPPED = "wrapped"  # a string becomes a list of two blocks of type `text`
    INPUT = "input"  # as a block of type `input_text` behind one of a list
    APPENDED = "appended"  # a string grows, for servers that take only strings


class Spot(NamedTuple):
    """Where one message takes a text: behind `body[start:end]`, which is a string literal (WRAPPED, APPENDED) or empty (BLOCK, INPUT: right
    behind a block of its list). Offsets in bytes."""

    start: int
    end: int
    form: Form


class LeaveAlone(msgspec.Struct, frozen=True):
    """The body can't be changed safely: it is to be forwarded as it came."""

    reason: str


def messages(body: bytes) -> list[Span] | LeaveAlone:
    """Where each message is, in order."""
    try:
        lists = [span for key, span in _members(body, Span(_after_gap(body, 0), len(body))) if key == "messages"]
        if len(lists) != 1:
            return LeaveAlone("not exactly one list of messages")
        return _items(body, lists[0])
    except (msgspec.DecodeError, RecursionError) as error:
        return LeaveAlone(f"not an object with a list of messages: {error}")


def spot(body: bytes, message: Span) -> Spot | LeaveAlone:
    """Where a message takes a block."""
    try:
        members = [(key, span) for key, span in _members(body, message) if key in ("role", "content")]
        if sorted(key for key, _ in members) != ["content", "role"]:
            return LeaveAlone("not exactly one role and content")
        content = next(span for key, span in members if key == "content")
        if body[content.start] == _QUOTE:
            return Spot(*content, Form.WRAPPED)
        blocks = _items(body, content)
        return Spot(blocks[-1].end, blocks[-1].end, Form.BLOCK) if blocks else LeaveAlone("content is empty")
    except (msgspec.DecodeError, RecursionError) as error:
        return LeaveAlone(f"not a message: {error}")


def insert(body: bytes, blocks: Mapping[Spot, str]) -> bytes:
    """The body with one text at each spot (found in this very body)."""
    parts: list[bytes] = []
    position = 0
    for place in sorted(blocks):
        parts += [body[position : place.start], _with_text(body[place.start : place.end], place.form, blocks[place])]
        position = place.end
    parts.append(body[position:])
    return b"".join(parts)


def _with_text(before: bytes, form: Form, text: str) -> bytes:
    literal = msgspec.json.encode(text)
    match form:
        case Form.BLOCK:
            return b',{"type":"text","text":' + literal + b"}"
        case Form.INPUT:
            return b',{"type":"input_text","text":' + literal + b"}"
        case Form.WRAPPED:
            return b'[{"type":"text","text":' + before + b'},{"type":"text","text":' + literal + b"}]"
        case Form.APPENDED:
            return before[:-1] + b"\\n\\n" + literal[1:]


def _members(body: bytes, whole: Span) -> Iterator[tuple[str, Span]]:
    """Keys and values of an object, also those that a later equal key overrides."""
    values = _OBJECT.decode(body[whole.start : whole.end])
    position = whole.start + 1
    while key := _KEY.match(body, position):
        name = msgspec.json.decode(key[1], type=str)
        start = key.end()
        position = _end(body, start, bytes(values[name]))
        yield name, Span(start, position)


def _items(body: bytes, whole: Span) -> list[Span]:
    spans = []
    position = whole.start + 1
    for item in _LIST.decode(body[whole.start : whole.end]):
        start = _after_gap(body, position)
        position = start + memoryview(item).nbytes
        spans.append(Span(start, position))
    return spans


def _after_gap(body: bytes, position: int) -> int:
    return _GAP.match(body, position).end()  # type: ignore[union-attr]  # matches the empty string


def _end(body: bytes, start: int, expected: bytes) -> int:
    """Where the value at `start` ends. `expected`: what it most likely is; scanning is slow.

    Strings, lists and objects end by themselves: if one of them is a prefix of the text here, it is the value here. Numbers don't ("1", "12").
    """
    if body[start] in _DELIMITED and body.startswith(expected, start):
        return start + len(expected)
    value = _SCALAR.match(body, start)
    return value.end() if value else _end_of_container(body, start)


def _end_of_container(body: bytes, start: int) -> int:
    depth, position = 0, start
    while bracket := _BRACKET.match(body, position):
        position = bracket.end()
        depth += 1 if body[position - 1] in b"[{" else -1
        if depth == 0:
            break
    return position
