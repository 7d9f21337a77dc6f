"""Anthropic's Messages API as its clients speak it: which call is a person's turn, what the person said, and where a block can go.

A conversation is recognised by its *prefix*: who said what up to a human turn, without the parts that clients move about between calls
(cache markers, thinking, reminders, system messages, a string or a list of one block).
"""

import hashlib
import re
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from services.core import models
from services.proxy.wire import client_words, known, projects, splice, words
from services.proxy.wire.calls import Call, Kind, Turn, ledger_key

if TYPE_CHECKING:
    from hashlib import _Hash

_T = TypeVar("_T")

_NONE = msgspec.Raw(b"")
_RAW_NONE = (b"", b"null")
_OLD_USER_ID = re.compile(r"_session_([0-9a-fA-F-]{8,})$")
_ATTRIBUTION = "x-anthropic-billing-header"
_SIDE_PROMPTS = (
    "You are a security monitor",
    "Generate a concise, sentence-case title",
    "Analyze if this message indicates a new conversation topic",
    "Summarize this coding conversation in under",
)
_CHECK_TOKENS = 64  # the answer of a permission check, which quotes the conversation up to a marker and goes on behind it
_CHARACTER_BYTES = 4  # at most
_MESSAGE_BYTES = 500  # apart from its texts
_TURN_BYTES = 2_500  # with its keys and the state of the chain


class _Block(msgspec.Struct, gc=False):
    type: str = "text"
    text: str | None = None
    id: str | None = None
    name: str | None = None
    tool_use_id: str | None = None
    file_id: str | None = None
    source: msgspec.Raw = _NONE
    cache_control: msgspec.Raw = _NONE


class _Spoken(msgspec.Struct, gc=False):
    """A message as it is written."""

    role: str
    content: str | list[_Block]


class Message(msgspec.Struct, frozen=True, gc=False):
    """What a message says, by its bytes alone.

    identity: what makes it the same in every call. text: of the assistant or the system. said: the person's words. spot: where it takes a block, in
    bytes from its own beginning; None if it takes none. marked: whether it has a cache marker; marked_within: one before its last block.
    results: whether it brings results of tools. instructs: whether the client has it say an order of its own. weight: bytes in memory, about.
    """

    role: str
    identity: bytes
    weight: int
    text: str = ""
    said: str = ""
    spot: splice.Spot | None = None
    marked: bool = False
    marked_within: bool = False
    results: bool = False
    instructs: bool = False


class _Mark(NamedTuple):
    """A turn, and the state of the chain of identities behind it."""

    turn: Turn
    chain: "_Hash"


class _Around(NamedTuple):
    """What a body says besides the messages.

    attributed: whether Claude Code names itself. prompted: whether it asks for what only side calls do. tools, own_tools: whether it has any, and any
    that the client runs itself. brief: whether its answer is as short as a check's. streams: whether that is streamed. place: the stated project.
    """

    attributed: bool
    prompted: bool
    tools: bool
    own_tools: bool
    brief: bool
    streams: bool
    session: str
    place: str


class _Trail(NamedTuple):
    """What was made of a whole body. start: where its first message begins. places: what the keys of its turns are bound to."""

    around: _Around
    start: int
    places: tuple[tuple[str, str], ...]
    marks: Sequence[_Mark]


class _Tool(msgspec.Struct, gc=False):
    input_schema: msgspec.Raw = _NONE


class _Metadata(msgspec.Struct):
    user_id: str = ""


class _NewUserId(msgspec.Struct):
    session_id: str = ""


_SPOKEN = msgspec.json.Decoder(_Spoken)
_SYSTEM = msgspec.json.Decoder(str | list[_Block])
_TOOLS = msgspec.json.Decoder(list[_Tool])
_METADATA = msgspec.json.Decoder(_Metadata)
_NEW_USER_ID = msgspec.json.Decoder(_NewUserId)
_INT = msgspec.json.Decoder(int)
_BOOL = msgspec.json.Decoder(bool)
_STRINGS = msgspec.json.Decoder(list[str])

Memory = known.Memory[Message, _Trail]


class Reader:
    """Reads calls, of known conversations only what is new in them; to the same result as `read`. One serves a whole process and all its threads."""

    def __init__(self, *, subagents: bool = False) -> None:
        self.memory = Memory()
        self._subagents = subagents

    def read(self, headers: Mapping[str, str], body: bytes, principal: models.Principal, now: float) -> Call:
        return _read(headers, body, principal, now, self._subagents, self.memory)


def read(headers: Mapping[str, str], body: bytes, principal: models.Principal, now: float, *, subagents: bool = False) -> Call:
    """The call that a body makes, `headers` by lower-case name. Never raises: what can't be read safely is OPAQUE.

    subagents: whether those of Claude Code count as turns, which are recalled for but not learnt from.
    """
    return _read(headers, body, principal, now, subagents, None)


def _read(headers: Mapping[str, str], body: bytes, principal: models.Principal, now: float, subagents: bool, memory: Memory | None) -> Call:
    opaque = Call(Kind.OPAQUE, principal, now)
    owner = (principal.team, principal.user)
    found: known.Found[Message, _Trail] = memory.find(owner, body, "messages") if memory else known.Found()
    try:
        talk = known.talk(body, "messages", _message, found)
    except (msgspec.DecodeError, RecursionError):
        return opaque
    if not isinstance(talk, splice.LeaveAlone) and talk.known == 0:
        found = known.Found()  # what seemed to be known stands elsewhere in this body
    if isinstance(talk, splice.LeaveAlone) or (newest := _newest(talk.messages)) is None:
        return opaque
    around = found.known.derived.around if found.known and talk.fields is found.known.fields else _around(talk.fields)
    message = talk.messages[newest]
    speaks = message.role == "user" and not message.results
    claude_code = around.attributed or _is_claude_code(headers)
    of_agent = "x-claude-code-agent-id" in headers
    copied = speaks and _is_copy(talk.messages, newest, claude_code)
    if copied or (of_agent and not subagents) or _is_side(around, message, claude_code):
        kind = Kind.SIDE
    else:
        kind = Kind.HUMAN if speaks and message.said else Kind.STEP
    session = headers.get("x-claude-code-session-id", "") or around.session
    project = _project(talk.messages, headers, around)
    # Within a session a conversation may move to another project; without one, equal words in two projects are two conversations.
    place = (session, "") if session else ("", project)
    places = tuple(dict.fromkeys([place, ("", project)]))
    marks = _marks(talk, principal, places, found)
    turns = tuple(mark.turn for mark in marks)
    if kind is Kind.HUMAN and (not turns or turns[-1].index != newest):
        return opaque
    if memory:
        memory.keep(owner, body, talk, _Trail(around, talk.starts[0], places, marks), found)
    return Call(
        kind=kind,
        principal=principal,
        at=now,
        turns=turns if copied or kind is not Kind.SIDE else tuple(turn for turn in turns if turn.index != newest),
        turn_id=ledger_key(principal, place if session else (_day(now), project), marks[-1].chain.hexdigest())[:32] if kind is Kind.HUMAN else "",
        session=session,
        project=project,
        answer=_last_answer(talk.messages[:newest]),
        learns=not of_agent,
    )


def _message(written: memoryview) -> Message:
    """What a message says. Raises msgspec.DecodeError or RecursionError if it can't be told."""
    spoken = _SPOKEN.decode(written)
    blocks = [_Block(text=spoken.content)] if isinstance(spoken.content, str) else spoken.content
    markers = [index for index, block in enumerate(blocks) if block.cache_control and bytes(block.cache_control) != b"null"]
    texts = [block.text or "" if block.type == "text" else "" for block in blocks]
    text, said, spot, results, instructs = "", "", None, False, False
    if spoken.role != "user":
        text = words.joined(texts)
        identity = _of_assistant(blocks, texts) if spoken.role == "assistant" else []
    elif used := [b"r" + block.tool_use_id.encode() for block in blocks if block.tool_use_id]:
        results, identity = True, used
    else:
        own = client_words.by_block(texts)
        if said := words.joined(own):
            spot = _spot(bytes(written), blocks, own)
        instructs = client_words.is_side((), texts)
        identity = _of_person(blocks, said)
    joined = b"".join([len(part).to_bytes(8, "big") + part for part in identity])
    weight = len(joined) + _CHARACTER_BYTES * (len(text) + len(said)) + (_TURN_BYTES if said else _MESSAGE_BYTES)
    within = bool(markers) and markers[0] < len(blocks) - 1
    return Message(spoken.role, joined, weight, text, said, spot, bool(markers), within, results, instructs)


def _of_assistant(blocks: Sequence[_Block], texts: Sequence[str]) -> list[bytes]:
    """Tools by their ids, so that results of any size cost nothing."""
    parts = []
    for block, text in zip(blocks, texts, strict=True):
        if stripped := text.strip():
            parts.append(b"a" + stripped.encode())
        elif block.id:
            parts.append(f"t{block.id} {block.name}".encode())
    return parts


def _of_person(blocks: Sequence[_Block], said: str) -> list[bytes]:
    parts = []
    for block in blocks:
        if block.source and bytes(block.source) != b"null":
            parts.append(b"s" + hashlib.sha256(block.source).digest())
        elif block.file_id:
            parts.append(b"f" + block.file_id.encode())
    return [*parts, b"u" + said.encode()] if said else parts


def _spot(written: bytes, blocks: Sequence[_Block], own: Sequence[str]) -> splice.Spot | None:
    """Behind the last block that is the person's: a reminder behind it may come or go, and an order of the client has its own place at the end."""
    last = max(index for index, said in enumerate(own) if said or blocks[index].type != "text")
    spot = splice.spot(written, splice.Span(0, len(written)), last)
    return spot if isinstance(spot, splice.Spot) else None


def _newest(messages: Sequence[Message]) -> int | None:
    """The last message that is part of the talk: system messages may trail it."""
    return next((index for index in reversed(range(len(messages))) if messages[index].role != "system"), None)


def _around(fields: Mapping[str, msgspec.Raw]) -> _Around:
    written = _lenient(_SYSTEM, fields.get("system"), "")
    system = list(filter(None, [written] if isinstance(written, str) else [block.text for block in written]))
    tools = _lenient(_TOOLS, fields.get("tools"), [])
    limit = _lenient(_INT, fields.get("max_tokens"), _CHECK_TOKENS + 1)
    prompted = any(prompt in text for text in system for prompt in _SIDE_PROMPTS) or client_words.is_side(system, ())
    return _Around(
        attributed=bool(system) and system[0].startswith(_ATTRIBUTION),
        prompted=prompted or limit <= 1 or "</block>" in _lenient(_STRINGS, fields.get("stop_sequences"), []),
        tools=bool(tools),
        own_tools=any(bytes(tool.input_schema) not in _RAW_NONE for tool in tools),
        brief=limit <= _CHECK_TOKENS,
        streams=_lenient(_BOOL, fields.get("stream"), False),
        session=_session(_lenient(_METADATA, fields.get("metadata"), _Metadata()).user_id),
        place=projects.stated(system),
    )


def _is_side(around: _Around, message: Message, claude_code: bool) -> bool:
    """Whether a call is the client's own, by how it is made. Claude Code's main loop always carries tools."""
    checks = around.brief and not around.tools and not around.streams and message.marked_within
    return around.prompted or checks or (claude_code and not around.own_tools)


def _is_claude_code(headers: Mapping[str, str]) -> bool:
    return headers.get("user-agent", "").startswith("claude-cli/") or headers.get("x-app", "") in ("cli", "cli-bg")


def _is_copy(messages: Sequence[Message], newest: int, claude_code: bool) -> bool:
    """A copy of the conversation, with an instruction at its end: known by its words or, of Claude Code, by the marker that stayed on a message
    before it. Other clients place markers as they like (aider: on what comes before the person's message)."""
    if messages[newest].instructs:
        return True
    return claude_code and not any(message.marked for message in messages[newest:]) and any(message.marked for message in messages[:newest])


def _marks(
    talk: known.Talk[Message], principal: models.Principal, places: tuple[tuple[str, str], ...], found: known.Found[Message, _Trail]
) -> list[_Mark]:
    """The person's messages that can take a block. found: what of them is known."""
    marks = _known_marks(found, talk.starts[0], places)
    chain = marks[-1].chain.copy() if marks else hashlib.sha256()
    for index in range(marks[-1].turn.index + 1 if marks else 0, len(talk.messages)):
        message = talk.messages[index]
        chain.update(message.identity)
        if message.spot is not None:
            prefix = chain.hexdigest()
            keys = tuple(ledger_key(principal, where, prefix) for where in places)
            start = talk.starts[index]
            spot = splice.Spot(start + message.spot.start, start + message.spot.end, message.spot.form)
            marks.append(_Mark(Turn(index, message.said, keys, spot, _reply(talk.messages, index + 1)), chain.copy()))
    return marks


def _known_marks(found: known.Found[Message, _Trail], start: int, places: tuple[tuple[str, str], ...]) -> list[_Mark]:
    """Those of known messages, but for the last: what the assistant replied to it may not be known."""
    if found.known is None or (found.known.derived.start, found.known.derived.places) != (start, places):
        return []
    marks = found.known.derived.marks
    return list(marks[: max(0, bisect_left(marks, found.repeats, key=lambda mark: mark.turn.index) - 1)])


def _reply(messages: Sequence[Message], following: int) -> str:
    while following < len(messages) and messages[following].role == "system":
        following += 1
    return messages[following].text if following < len(messages) and messages[following].role == "assistant" else ""


def _day(now: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(now))


def _session(user_id: str) -> str:
    old = _OLD_USER_ID.search(user_id)
    return old[1] if old else _lenient(_NEW_USER_ID, user_id.encode(), _NewUserId()).session_id


def _project(messages: Sequence[Message], headers: Mapping[str, str], around: _Around) -> str:
    """As the header names it, else the working directory that the client states: newest system message last, never a message of the person."""
    named = headers.get("x-brb-project", "").strip()
    return named or projects.stated(message.text for message in messages if message.role == "system") or around.place


def _last_answer(messages: Sequence[Message]) -> str:
    return next((message.text for message in reversed(messages) if message.role == "assistant" and message.text), "")


def _lenient(decoder: msgspec.json.Decoder[_T], raw: msgspec.Raw | bytes | None, default: _T) -> _T:
    """A field that others may spell in other ways: of no account then."""
    try:
        return decoder.decode(raw) if raw else default
    except (msgspec.DecodeError, RecursionError):
        return default
