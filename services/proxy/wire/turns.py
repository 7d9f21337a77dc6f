"""A conversation as a call carries it, whichever API it is spoken in: which turns it has, how they are recognised, and what of it is known already.

A conversation is recognised by its *prefix*: who said what up to a human turn, without the parts that clients move about between calls (markers,
reasoning, reminders, system messages, what the client puts beside the person's words, a string or a list of one part). Where the upstream keeps the
conversation, the call brings only what is new: it is recognised by what it follows, too. What an API has of its own is its `Dialect`.
"""

import functools
import hashlib
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import msgspec

from services.core import block, models
from services.proxy.wire import known, splice
from services.proxy.wire.calls import Call, Kind, Turn, kept_key, ledger_key

if TYPE_CHECKING:
    from hashlib import _Hash

_T = TypeVar("_T")

UNREADABLE = "unreadable"
"""The role of a message that may be anybody's."""

_CHARACTER_BYTES = 4  # at most
_MESSAGE_BYTES = 500  # apart from its texts
_TURN_BYTES = 2_500  # with its keys and the state of the chain
_NOT_ANSWERS = ("user", "tool", "system", "developer")


class Message(msgspec.Struct, frozen=True, gc=False):
    """What a message says, or another item of a conversation, by its bytes alone.

    role: "" for what is no message. identity: what makes it the same in every call; b"" if it is not part of the talk. text: the assistant's.
    asks: the first tool that it calls, as `calls.asked` names it. said: the person's words; "" if the message takes no block. spot: where it takes
    one, in bytes from its own beginning. given: its texts, if one of BRB's blocks stands among them. place: the working directory that the client
    states. instructs: whether the client speaks on its own behalf. marked: whether it has a cache marker; marked_within: one before its last block.
    results: whether it brings results of tools. weight: bytes in memory, about; told here, by the rest.
    """

    role: str
    identity: bytes = b""
    text: str = ""
    asks: str = ""
    said: str = ""
    spot: splice.Spot | None = None
    given: str = ""
    place: str = ""
    instructs: bool = False
    marked: bool = False
    marked_within: bool = False
    results: bool = False
    weight: int = 0

    def __post_init__(self) -> None:
        characters = len(self.text) + len(self.said) + len(self.given)
        weight = len(self.identity) + _CHARACTER_BYTES * characters + (_TURN_BYTES if self.said else _MESSAGE_BYTES)
        msgspec.structs.force_setattr(self, "weight", weight)


class Understood(NamedTuple):
    """What a call is, by the ways of its API and its clients.

    newest: the last message that is part of the talk. kept: the name of what the upstream keeps of the conversation, "" if nothing. lasting, learns:
    as in `Call`. copied: it is a copy of the conversation, so that all its turns have been the person's, the newest too.
    """

    kind: Kind
    newest: int
    session: str
    place: str
    kept: str = ""
    lasting: bool = False
    learns: bool = True
    copied: bool = False


class Around(Protocol):
    """What a body says besides its messages."""

    def understood(self, headers: Mapping[str, str], messages: Sequence[Message], subagents: bool) -> Understood | None:
        """What the call is, by that, its headers and messages, and whether subagents count as persons; None if nobody says anything."""


class Dialect(NamedTuple):
    """What an API has of its own. key: where the messages are. in_items: an answer may be several of them.

    parse: what a message says; raises msgspec.DecodeError or RecursionError if it can't tell. around: what a body says besides.
    """

    key: str
    in_items: bool
    parse: Callable[[memoryview], Message]
    around: Callable[[Mapping[str, msgspec.Raw]], Around]


class _Mark(NamedTuple):
    """A turn, and the state of the chain of identities behind it."""

    turn: Turn
    chain: "_Hash"


class _Bound(NamedTuple):
    """What the keys of a conversation's turns are bound to."""

    follows: str
    places: tuple[tuple[str, str], ...]


class _Trail(NamedTuple):
    """What was made of a whole body. start: where its first message begins."""

    around: Around
    start: int
    bound: _Bound
    marks: Sequence[_Mark]


Memory = known.Memory[Message, _Trail]


def read(
    dialect: Dialect,
    headers: Mapping[str, str],
    body: bytes,
    principal: models.Principal,
    now: float,
    *,
    subagents: bool = False,
    memory: Memory | None = None,
) -> Call:
    """The call that a body makes, `headers` by lower-case name. Never raises: what can't be read safely is OPAQUE.

    subagents: whether those of the client count as turns, which are recalled for but not learnt from. memory: of known conversations only what is
    new is read, to the same result.
    """
    owner = (principal.team, principal.user, dialect)
    found: known.Found[Message, _Trail] = memory.find(owner, body, dialect.key) if memory else known.Found()
    talk = known.talk(body, dialect.key, dialect.parse, functools.partial(_unreadable, dialect.parse), found)
    if isinstance(talk, splice.LeaveAlone):
        return Call(Kind.OPAQUE, principal, now)
    if talk.known == 0:
        found = known.Found()  # what seemed to be known stands elsewhere in this body
    around = found.known.derived.around if found.known and talk.fields is found.known.fields else dialect.around(talk.fields)
    understood = around.understood(headers, talk.messages, subagents)
    if understood is None:
        return Call(Kind.OPAQUE, principal, now)
    kind, newest, session = understood.kind, understood.newest, understood.session
    project = headers.get("x-brb-project", "").strip() or understood.place
    # Within a session a conversation may move to another project; without one, equal words in two projects are two conversations.
    place = (session, "") if session else ("", project)
    follows = kept_key(principal, understood.kept) if understood.kept else ""
    bound = _Bound(follows, tuple(dict.fromkeys([place, ("", project)])))
    marks = _marks(dialect, talk, principal, bound, found)
    if memory:
        memory.keep(owner, body, talk, _Trail(around, talk.starts[0], bound, marks), found)
    return Call(
        kind=kind,
        principal=principal,
        at=now,
        turns=tuple(mark.turn for mark in marks if kind is not Kind.SIDE or understood.copied or mark.turn.index != newest),
        turn_id=ledger_key(principal, place if session else (_day(now), project), marks[-1].chain.hexdigest())[:32] if kind is Kind.HUMAN else "",
        session=session,
        project=project,
        answer=_last_answer(talk.messages[:newest]),
        follows=follows,
        learns=understood.learns,
        lasting=understood.lasting,
        begun=_begun(talk.messages[:newest]) if kind is Kind.HUMAN else 0,
    )


def joined(parts: Iterable[bytes]) -> bytes:
    """An identity of several parts."""
    return b"".join([len(part).to_bytes(8, "big") + part for part in parts])


def given(texts: Iterable[str]) -> str:
    """A message's `given`."""
    return "\n".join(texts) if any(block.OPEN in text for text in texts) else ""


def place(messages: Sequence[Message], *roles: str) -> str:
    """The working directory that a client has stated last in messages of these roles; never in the person's words."""
    return next((message.place for message in reversed(messages) if message.place and message.role in roles), "")


def lenient(decoder: msgspec.json.Decoder[_T], raw: msgspec.Raw | bytes | None, default: _T) -> _T:
    """A field that others may spell in other ways: of no account then."""
    try:
        return decoder.decode(raw) if raw else default
    except (msgspec.DecodeError, RecursionError):
        return default


def _unreadable(parse: Callable[[memoryview], Message], written: memoryview) -> Message:
    """What is left of a message that is no text, or of no known shape: it stays as it is, and tells the conversation from others."""
    try:
        return msgspec.structs.replace(parse(memoryview(splice.mended(bytes(written)))), said="", spot=None)
    except (msgspec.DecodeError, RecursionError):
        return Message(UNREADABLE, joined([b"x" + hashlib.sha256(written).digest()]))


def _marks(
    dialect: Dialect, talk: known.Talk[Message], principal: models.Principal, bound: _Bound, found: known.Found[Message, _Trail]
) -> list[_Mark]:
    """The person's messages that can take a block. found: what of them is known."""
    marks = _known_marks(found, talk.starts[0], bound)
    chain = marks[-1].chain.copy() if marks else hashlib.sha256(bound.follows.encode())
    for index in range(marks[-1].turn.index + 1 if marks else 0, len(talk.messages)):
        message = talk.messages[index]
        if not _answers_client(talk.messages, index):
            chain.update(message.identity)
        if message.spot is not None:
            prefix = chain.hexdigest()
            keys = tuple(ledger_key(principal, where, prefix) for where in bound.places)
            spot = message.spot._replace(start=talk.starts[index] + message.spot.start, end=talk.starts[index] + message.spot.end)
            reply = _reply(talk.messages, index + 1, dialect.in_items)
            marks.append(_Mark(Turn(index, message.said, keys, spot, reply, message.given), chain.copy()))
    return marks


def _known_marks(found: known.Found[Message, _Trail], start: int, bound: _Bound) -> list[_Mark]:
    """Those of known messages, but for the last: what the assistant replied to it may not be known."""
    if found.known is None or (found.known.derived.start, found.known.derived.bound) != (start, bound):
        return []
    marks = found.known.derived.marks
    return list(marks[: max(0, bisect_left(marks, found.repeats, key=lambda mark: mark.turn.index) - 1)])


def _answers_client(messages: Sequence[Message], index: int) -> bool:
    """Whether a message is an answer to what the client alone said: some show files so, in another place with every call."""
    return index > 0 and messages[index].role == "assistant" and messages[index - 1].role == "user" and not messages[index - 1].identity


def _reply(messages: Sequence[Message], following: int, in_items: bool) -> str:
    """All that the assistant said before it waited for a tool or the person; if it said nothing, what it asked for."""
    texts, asked = [], ""
    for message in messages[following:]:
        if message.role in ("user", "tool", UNREADABLE):
            break
        texts.append(message.text)
        asked = asked or message.asks
        if message.role == "assistant" and not in_items:
            break
    return "\n".join(filter(str.strip, texts)) or asked


def _begun(messages: Sequence[Message]) -> int:
    """How many of the turns at the end nobody has answered."""
    count = 0
    for message in reversed(messages):
        if message.role not in _NOT_ANSWERS and (message.role or message.identity):
            break
        count += message.spot is not None
    return count


def _last_answer(messages: Sequence[Message]) -> str:
    return next((message.text for message in reversed(messages) if message.role == "assistant" and message.text), "")


def _day(now: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(now))
