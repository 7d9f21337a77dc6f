"""Anthropic's Messages API as its clients speak it: which call is a person's turn, what the person said, and where a block can go."""

import functools
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from services.core import models
from services.proxy.wire import calls, client_words, projects, splice, turns, words
from services.proxy.wire.calls import Call, Kind
from services.proxy.wire.turns import Message, lenient

_NONE = msgspec.Raw(b"")
_RAW_NONE = (_NONE, msgspec.Raw(b"null"))
_OLD_USER_ID = re.compile(r"_session_([0-9a-fA-F-]{8,})$")
_ATTRIBUTION = "x-anthropic-billing-header"
_CHECK_TOKENS = 64  # the answer of a permission check, which quotes the conversation up to a marker and goes on behind it


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

    def understood(self, headers: Mapping[str, str], messages: Sequence[Message], subagents: bool) -> turns.Understood | None:
        # The last message that is part of the talk: system messages may trail it.
        newest = next((index for index in reversed(range(len(messages))) if messages[index].role != "system"), None)
        if newest is None:
            return None
        message = messages[newest]
        speaks = message.role == "user" and not message.results
        claude_code = self.attributed or _is_claude_code(headers)
        of_agent = "x-claude-code-agent-id" in headers
        copied = speaks and _is_copy(messages, newest, claude_code)
        if copied or (of_agent and not subagents) or _is_side(self, messages[newest:], claude_code):
            kind = Kind.SIDE
        else:
            kind = Kind.HUMAN if speaks and message.said else Kind.STEP
        return turns.Understood(
            kind=kind,
            newest=newest,
            session=headers.get("x-claude-code-session-id", "") or self.session,
            place=turns.place(messages, "system") or self.place,
            learns=not of_agent,
            copied=copied,
        )


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


def read(
    headers: Mapping[str, str], body: bytes, principal: models.Principal, now: float, *, subagents: bool = False, memory: turns.Memory | None = None
) -> Call:
    """The call that a body makes, by the rules of `turns.read`. subagents: whether those of Claude Code count as turns."""
    return turns.read(DIALECT, headers, body, principal, now, subagents=subagents, memory=memory)


def _message(written: memoryview) -> Message:
    """What a message says. Raises msgspec.DecodeError or RecursionError if it can't be told."""
    spoken = _SPOKEN.decode(written)
    blocks = [_Block(text=spoken.content)] if isinstance(spoken.content, str) else spoken.content
    texts = [block.text or "" if block.type == "text" else "" for block in blocks]
    markers = [index for index, block in enumerate(blocks) if block.cache_control not in _RAW_NONE]
    made = functools.partial(Message, spoken.role, marked=bool(markers), marked_within=bool(markers) and markers[0] < len(blocks) - 1)
    if spoken.role == "assistant":
        asks = next((calls.asked(block.name, block.id) for block in blocks if block.name and block.id), "")
        return made(identity=turns.joined(_of_assistant(blocks, texts)), text=words.joined(texts), asks=asks)
    if spoken.role != "user":
        return made(place=projects.stated([words.joined(texts)]) if spoken.role == "system" else "")
    if used := [b"r" + block.tool_use_id.encode() for block in blocks if block.tool_use_id]:
        return made(identity=turns.joined(used), results=True)
    own = client_words.by_block(texts)
    said = words.joined(own)
    spot = _spot(bytes(written), blocks, own) if said else None
    return made(
        identity=turns.joined(_of_person(blocks, said)),
        said=said if spot else "",
        spot=spot,
        given=turns.given(texts) if spot else "",
        instructs=client_words.is_side((), texts),
    )


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
        if block.source not in _RAW_NONE:
            parts.append(b"s" + hashlib.sha256(block.source).digest())
        elif block.file_id:
            parts.append(b"f" + block.file_id.encode())
    return [*parts, b"u" + said.encode()] if said else parts


def _spot(written: bytes, blocks: Sequence[_Block], own: Sequence[str]) -> splice.Spot | None:
    """Behind the last block that is the person's: a reminder behind it may come or go, and an order of the client has its own place at the end."""
    last = max(index for index, said in enumerate(own) if said or blocks[index].type != "text")
    spot = splice.spot(written, splice.Span(0, len(written)), last)
    return spot if isinstance(spot, splice.Spot) else None


def _around(fields: Mapping[str, msgspec.Raw]) -> _Around:
    written = lenient(_SYSTEM, fields.get("system"), "")
    system = list(filter(None, [written] if isinstance(written, str) else [block.text for block in written]))
    tools = lenient(_TOOLS, fields.get("tools"), [])
    limit = lenient(_INT, fields.get("max_tokens"), _CHECK_TOKENS + 1)
    return _Around(
        attributed=bool(system) and system[0].startswith(_ATTRIBUTION),
        prompted=client_words.is_side(system, ()) or limit <= 1 or "</block>" in lenient(_STRINGS, fields.get("stop_sequences"), []),
        tools=bool(tools),
        own_tools=any(tool.input_schema not in _RAW_NONE for tool in tools),
        brief=limit <= _CHECK_TOKENS,
        streams=lenient(_BOOL, fields.get("stream"), False),
        session=_session(lenient(_METADATA, fields.get("metadata"), _Metadata()).user_id),
        place=projects.stated(system),
    )


def _session(user_id: str) -> str:
    old = _OLD_USER_ID.search(user_id)
    return old[1] if old else lenient(_NEW_USER_ID, user_id.encode(), _NewUserId()).session_id


def _is_claude_code(headers: Mapping[str, str]) -> bool:
    return headers.get("user-agent", "").startswith("claude-cli/") or headers.get("x-app", "") in ("cli", "cli-bg")


def _is_copy(messages: Sequence[Message], newest: int, claude_code: bool) -> bool:
    """A copy of the conversation, with an instruction at its end: known by its words or, of Claude Code, by the marker that stayed on a message
    before it. Other clients place markers as they like (aider: on what comes before the person's message)."""
    if messages[newest].instructs:
        return True
    return claude_code and not any(message.marked for message in messages[newest:]) and any(message.marked for message in messages[:newest])


def _is_side(around: _Around, end: Sequence[Message], claude_code: bool) -> bool:
    """Whether a call is the client's own, by how it is made. end: the newest message and the system's behind it.

    Of Claude Code the main loop has tools of its own or, if the person wants none, at least its marker at the very end: its other calls without
    tools are cached nowhere, or (permission checks) up to the middle of what they quote.
    """
    quotes = end[0].marked_within
    checks = around.brief and not around.tools and not around.streams and quotes
    bare = not around.tools and not quotes and any(message.marked for message in end)
    return around.prompted or checks or (claude_code and not around.own_tools and not bare)


DIALECT = turns.Dialect("messages", in_items=False, parse=_message, around=_around)
