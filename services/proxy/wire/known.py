"""Conversations read before, so that of a long one only the new end is read again.

A client sends the whole conversation with every call. What a message says depends on its bytes alone, so it is kept beside them, and where a body
repeats a known one, byte for byte and message after message, it is taken from there. The last message is never kept: it changes when it is no
longer the last. What nobody knows is cut where messages seem to begin; a piece that can be read by itself is a message. The rest of the body,
with all those messages left out, is a body too: reading it shows whether the list is where it seemed to be. If not, everything is read in full.
"""

import re
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from services.proxy.wire import splice

MAX_BYTES = 16_000_000
MAX_COUNT = 32
MAX_BODY_BYTES = 2_000_000

_BEGIN = re.compile(rb'\s*+:\s*+\[\s*+(\{\s*+"\w++"\s*+:)')
_SPACE = b" \t\r\n"
_COMMA = ord(",")


class Message(Protocol):
    """What a message says. `weight`: the bytes of memory it takes, about."""

    @property
    def weight(self) -> int: ...


M = TypeVar("M", bound=Message)
D = TypeVar("D")


class Known(msgspec.Struct, Generic[M, D], frozen=True, eq=False):
    """What is kept of a body that was read. head, tail: its bytes before and behind the messages. fields: as in `Talk`.

    pieces: the bytes of each message but the last, up to the next. messages: what they say. derived: what its reader made of the whole body.
    weight: in bytes, about.
    """

    owner: Hashable
    head: bytes
    tail: bytes
    fields: Mapping[str, msgspec.Raw]
    pieces: tuple[bytes, ...]
    messages: tuple[M, ...]
    derived: D
    weight: int


class Found(NamedTuple, Generic[M, D]):
    """The known body that repeats the most of one, and how many of its pieces that are."""

    known: Known[M, D] | None = None
    repeats: int = 0


class Talk(NamedTuple, Generic[M]):
    """A body that was read. fields: its other values by key, of equal keys the last.

    messages: what each message of the list says. starts: where each begins in the body. end: where the last one ends. known: how many were known.
    The fields are those of the known body, the very same object, if everything around the messages is equal.
    """

    fields: Mapping[str, msgspec.Raw]
    messages: Sequence[M]
    starts: Sequence[int]
    end: int
    known: int


def talk(
    body: bytes, key: str, parse: Callable[[memoryview], M], unreadable: Callable[[memoryview], M], found: Found[M, D]
) -> Talk[M] | splice.LeaveAlone:
    """Read a body that holds a list of messages under a key. found: what `Memory.find` says of this very body.

    parse: what a message says, by its bytes; raises msgspec.DecodeError or RecursionError if it can't tell. unreadable: what it says then.
    """
    if opening := _opening(body, key):
        start, begin = opening
        pieces, messages = (found.known.pieces[: found.repeats], list(found.known.messages[: found.repeats])) if found.known else ((), [])
        starts = list(accumulate(map(len, pieces), initial=start))
        for end, message in _cut(body, starts[-1], begin, parse):
            starts.append(end)
            messages.append(message)
        position = starts.pop()
        if position > start and (rest := _rest(body, key, start, position, found.known)):
            return _joined(body, key, rest, starts, messages, found.repeats, _either(parse, unreadable))
    whole = splice.listed(body, key)
    return whole if isinstance(whole, splice.LeaveAlone) else _joined(body, key, whole, [], [], 0, _either(parse, unreadable))


def _either(parse: Callable[[memoryview], M], unreadable: Callable[[memoryview], M]) -> Callable[[memoryview], M]:
    def parsed(written: memoryview) -> M:
        try:
            return parse(written)
        except (msgspec.DecodeError, RecursionError):
            return unreadable(written)

    return parsed


class Memory(Generic[M, D]):
    """The bodies that were read last, bounded in number and bytes. Thread-safe. What one owner sent is never found by another."""

    def __init__(self, max_bytes: int = MAX_BYTES, max_count: int = MAX_COUNT, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._max_bytes = max_bytes
        self._max_count = max_count
        self._max_body_bytes = max_body_bytes
        self._lock = threading.Lock()
        self._kept: list[Known[M, D]] = []  # the last is the latest

    @property
    def weight(self) -> int:
        """What is kept, in bytes, about."""
        return sum(known.weight for known in self._kept)

    def find(self, owner: Hashable, body: bytes, key: str) -> Found[M, D]:
        """What is known of an owner's body that holds a list under a key."""
        with self._lock:
            own = [known for known in reversed(self._kept) if known.owner == owner]
        if not own or (opening := _opening(body, key)) is None:
            return Found()
        return max((Found(known, _repeats(body, opening[0], known.pieces)) for known in own), key=lambda found: found.repeats)

    def keep(self, owner: Hashable, body: bytes, read: Talk[M], derived: D, found: Found[M, D]) -> None:
        """Remember a body that was read, in place of the known one if it goes on with most of that."""
        messages = tuple(read.messages[:-1])
        if not messages or len(body) > self._max_body_bytes:
            return
        known = found.known.pieces[: read.known] if found.known else ()
        fields = {name: value.copy() for name, value in read.fields.items()}  # the body itself is not to be kept
        pieces = (*known, *(body[start:end] for start, end in pairwise(read.starts[read.known :])))
        head, tail = body[: read.starts[0]], body[read.end :]
        weight = 2 * (len(head) + len(tail)) + sum(map(len, pieces)) + sum([message.weight for message in messages])
        latest = Known(owner, head, tail, fields, pieces, messages, derived, weight)
        replaced = found.known if found.known and 2 * found.repeats >= len(found.known.pieces) else None
        with self._lock:
            self._kept = [known for known in self._kept if known is not replaced] + [latest]
            while self.weight > self._max_bytes or len(self._kept) > self._max_count:
                del self._kept[0]


def _opening(body: bytes, key: str) -> tuple[int, bytes] | None:
    """Where the first message seems to begin, and with what, as the others are likely to."""
    name = b'"' + key.encode() + b'"'
    at = body.find(name)
    while at >= 0:
        if begin := _BEGIN.match(body, at + len(name)):
            return begin.start(1), begin[1]
        at = body.find(name, at + 1)
    return None


def _repeats(body: bytes, start: int, pieces: Sequence[bytes]) -> int:
    """How many of the pieces the body has from `start` on, one behind the other."""
    for count, piece in enumerate(pieces):
        if not body.startswith(piece, start):
            return count
        start += len(piece)
    return len(pieces)


def _cut(body: bytes, position: int, begin: bytes, parse: Callable[[memoryview], M]) -> Iterator[tuple[int, M]]:
    """Where the next message begins, and what the one before it says, from a position on, as far as each can be read by itself."""
    if not body.startswith(b"{", position):
        return
    view = memoryview(body)
    for following in re.compile(re.escape(begin)).finditer(body, position + 1):  # faster than bytes.find
        end = following.start()
        comma = end - 1
        while body[comma] in _SPACE:
            comma -= 1
        if body[comma] != _COMMA:
            return
        try:
            yield end, parse(view[position:comma])
        except (msgspec.DecodeError, RecursionError):
            return
        position = end


def _rest(body: bytes, key: str, start: int, position: int, known: Known[M, D] | None) -> splice.Listed | None:
    """The body without its messages between `start` and `position`; None if there is no such list. Only what is not known around it is read."""
    if known and start == len(known.head) and body.startswith(known.head) and body.endswith(known.tail):
        left = b"[" + body[position : len(body) - len(known.tail)] + b"]"
        try:
            spans = splice.items(left, splice.Span(0, len(left)))
        except (msgspec.DecodeError, RecursionError):
            spans = []
        if spans and spans[0].start == 1:
            return splice.Listed(known.fields, _moved(spans, position - 1))
    rest = splice.listed(body[:start] + body[position:] if position > start else body, key)
    if isinstance(rest, splice.LeaveAlone) or not rest.items or rest.items[0].start != start:
        return None
    return splice.Listed(rest.fields, _moved(rest.items, position - start))


def _moved(spans: Sequence[splice.Span], by: int) -> list[splice.Span]:
    return [splice.Span(start + by, end + by) for start, end in spans]


def _joined(
    body: bytes, key: str, rest: splice.Listed, starts: list[int], messages: list[M], known: int, parse: Callable[[memoryview], M]
) -> Talk[M]:
    """What was read of a body, together with the rest of its messages."""
    view = memoryview(body)
    starts += [span.start for span in rest.items]
    messages += [parse(view[start:end]) for start, end in rest.items]
    fields = {name: value for name, value in rest.fields.items() if name != key} if key in rest.fields else rest.fields
    return Talk(fields, messages, starts, rest.items[-1].end if rest.items else 0, known)
