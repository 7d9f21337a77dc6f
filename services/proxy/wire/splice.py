"""Text blocks put into a raw request body. Every byte outside of them stays as the client wrote it.

Positions are found by scanning, never by searching or re-serialising: equal messages, escaped keys, odd number spellings and strings that
look like JSON are no trouble. What has no clear meaning (a second `messages`, `role` or `content`) is left alone. Halves of surrogate pairs that
stand alone (`\\ud800`), which some clients cut out of a text, are read as if another character of the same length stood there.
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
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL)
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_REPLACEMENT = rb"\ufffd"
_QUOTE = ord('"')
_DELIMITED = frozenset(b'"[{')

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_NAME = msgspec.json.Decoder(str)


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


class Listed(NamedTuple):
    """A body that holds a list. fields: all its values by key, of equal keys the last. items: where each item of the list is, in order."""

    fields: Mapping[str, msgspec.Raw]
    items: list[Span]


def listed(body: bytes, key: str) -> Listed | LeaveAlone:
    """A body's values, and the places of the items of the list that it holds under a key. A string is the only item of its list."""
    try:
        return _listed(body, key)
    except (msgspec.DecodeError, RecursionError) as error:
        if (whole := mended(body)) == body:
            return LeaveAlone(f"not an object with a list of {key}: {error}")
    return listed(whole, key)


def _listed(body: bytes, key: str) -> Listed | LeaveAlone:
    fields = _OBJECT.decode(body)
    values = [span for name, span in _members(body, Span(_after_gap(body, 0), len(body)), fields) if name == key]
    if len(values) != 1:
        return LeaveAlone(f"not exactly one list of {key}")
    return Listed(fields, values if body[values[0].start] == _QUOTE else items(body, values[0]))


def mended(body: bytes) -> bytes:
    """JSON to be read in place of that which has lone surrogates: as long, with everything in the same place."""
    if not _HALF.search(body):
        return body
    return _ESCAPE.sub(lambda escape: _REPLACEMENT if escape[1] else escape[0], body)


def items(body: bytes, whole: Span) -> list[Span]:
    """Where each item of a list is. Raises msgspec.DecodeError or RecursionError if it is no list."""
    spans = []
    position = whole.start + 1
    for item in _LIST.decode(memoryview(body)[whole.start : whole.end]):
        start = position if body[position] in _DELIMITED else _after_gap(body, position)
        position = start + memoryview(item).nbytes
        spans.append(Span(start, position))
    return spans


def spot(body: bytes, message: Span, behind: int = -1) -> Spot | LeaveAlone:
    """Where a message takes a block: behind that of its blocks, as lists are indexed."""
    try:
        fields = _OBJECT.decode(body[message.start : message.end])
        members = [(key, span) for key, span in _members(body, message, fields) if key == "role" or key == "content"]
        if len(members) != 2 or members[0][0] == members[1][0]:
            return LeaveAlone("not exactly one role and content")
        content = members[0][1] if members[0][0] == "content" else members[1][1]
        if body[content.start] == _QUOTE:
            return Spot(*content, Form.WRAPPED)
        blocks = items(body, content)
        return Spot(blocks[behind].end, blocks[behind].end, Form.BLOCK) if blocks else LeaveAlone("content is empty")
    except (msgspec.DecodeError, RecursionError) as error:
        return LeaveAlone(f"not a message: {error}")


def insert(body: bytes, blocks: Mapping[Spot, str]) -> bytes:
    """The body with one text at each spot (found in this very body)."""
    return b"".join(parts(body, blocks))


def parts(body: bytes, blocks: Mapping[Spot, str]) -> list[bytes | memoryview]:
    """The same, not yet joined: what is the body's own is not copied."""
    whole = memoryview(body)
    found: list[bytes | memoryview] = []
    position = 0
    for place in sorted(blocks):
        found += [whole[position : place.start], *_with_text(whole[place.start : place.end], place.form, blocks[place])]
        position = place.end
    return [*found, whole[position:]]


def _with_text(before: memoryview, form: Form, text: str) -> tuple[bytes | memoryview, ...]:
    literal = msgspec.json.encode(text)
    match form:
        case Form.BLOCK:
            return (b',{"type":"text","text":' + literal + b"}",)
        case Form.INPUT:
            return (b',{"type":"input_text","text":' + literal + b"}",)
        case Form.WRAPPED:
            return b'[{"type":"text","text":', before, b'},{"type":"text","text":' + literal + b"}]"
        case Form.APPENDED:
            return before[:-1], b"\\n\\n" + literal[1:]


def _members(body: bytes, whole: Span, values: Mapping[str, msgspec.Raw]) -> Iterator[tuple[str, Span]]:
    """Keys and places of an object's values, also of those that a later equal key overrides. `values`: the object, decoded."""
    position = whole.start + 1
    while key := _KEY.match(body, position):
        name = _NAME.decode(key[1])
        start = key.end()
        position = _end(body, start, memoryview(values[name]))
        yield name, Span(start, position)


def _after_gap(body: bytes, position: int) -> int:
    return _GAP.match(body, position).end()  # type: ignore[union-attr]  # matches the empty string


def _end(body: bytes, start: int, expected: memoryview) -> int:
    """Where the value at `start` ends. `expected`: what it most likely is; scanning is slow.

    Strings, lists and objects end by themselves: if one of them is a prefix of the text here, it is the value here. Numbers don't ("1", "12").
    """
    if body[start] in _DELIMITED and body.startswith(expected, start):
        return start + expected.nbytes
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
