"""Anthropic's Messages API as its clients speak it: which call is a person's turn, what the person said, and where a block can go.

A conversation is recognised by its *prefix*: who said what up to a human turn, without the parts that clients move about between calls
(cache markers, thinking, reminders, system messages, a string or a list of one block).
"""

import hashlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from services.core import models
from services.proxy.wire import splice, words
from services.proxy.wire.calls import Call, Kind, Turn, ledger_key

_T = TypeVar("_T")

_RAW_NONE = (b"", b"null")
_OLD_USER_ID = re.compile(r"_session_([0-9a-fA-F-]{8,})$")
_WORKING_DIRECTORY = re.compile(r"orking directory: *(\S[^\r\n]*)")  # begins with a plain letter: ten times as fast over a long system prompt
_STATED_ALONE = re.compile(r"[ \t>*-]*(?:(?:primary|current) )?w", re.IGNORECASE)
_STATED_WITHIN = re.compile(r".*\Ww", re.IGNORECASE)
_ATTRIBUTION = "x-anthropic-billing-header"
_SIDE_PROMPTS = re.compile(
    r"You are a security monitor"
    r"|Generate a concise, sentence-case title"
    r"|Analyze if this message indicates a new conversation topic"
    r"|Summarize this coding conversation in under"
)
_CHECK_TOKENS = 64  # the answer of a permission check, which quotes the conversation up to a marker and goes on behind it


class _Block(msgspec.Struct):
    type: str = "text"
    text: str | None = None
    id: str | None = None
    name: str | None = None
    tool_use_id: str | None = None
    source: msgspec.Raw = msgspec.Raw(b"")
    cache_control: msgspec.Raw = msgspec.Raw(b"")


class _Message(msgspec.Struct):
    role: str
    content: str | list[_Block]

    @property
    def blocks(self) -> list[_Block]:
        return [_Block(text=self.content)] if isinstance(self.content, str) else self.content

    @property
    def texts(self) -> list[str]:
        return [block.text for block in self.blocks if block.type == "text" and block.text]

    @property
    def marked(self) -> bool:
        return any(bytes(block.cache_control) not in _RAW_NONE for block in self.blocks)

    @property
    def marked_within(self) -> bool:
        """Whether a marker stands before the last block, where no client puts that of a person's message."""
        return any(bytes(block.cache_control) not in _RAW_NONE for block in self.blocks[:-1])

    @property
    def has_results(self) -> bool:
        return any(block.tool_use_id for block in self.blocks)


class _Tool(msgspec.Struct):
    input_schema: msgspec.Raw = msgspec.Raw(b"")


class _Metadata(msgspec.Struct):
    user_id: str = ""


class _NewUserId(msgspec.Struct):
    session_id: str = ""


class _Request(msgspec.Struct):
    messages: list[_Message]
    system: msgspec.Raw = msgspec.Raw(b"")
    tools: msgspec.Raw = msgspec.Raw(b"")
    metadata: msgspec.Raw = msgspec.Raw(b"")
    stream: msgspec.Raw = msgspec.Raw(b"")
    max_tokens: msgspec.Raw = msgspec.Raw(b"")
    stop_sequences: msgspec.Raw = msgspec.Raw(b"")


_REQUEST = msgspec.json.Decoder(_Request)


def read(headers: Mapping[str, str], body: bytes, principal: models.Principal, now: float) -> Call:
    """The call that a body makes, `headers` by lower-case name. Never raises: what can't be read safely is OPAQUE."""
    opaque = Call(Kind.OPAQUE, principal, now)
    try:
        request = _REQUEST.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return opaque
    spans = splice.messages(body)
    newest = _newest(request.messages)
    if isinstance(spans, splice.LeaveAlone) or newest is None:
        return opaque
    system = _texts(request.system)
    kind = _kind(request, newest, headers, system)
    session = _session(request, headers)
    project = _project(request, headers, system)
    # Within a session a conversation may move to another project; without one, equal words in two projects are two conversations.
    place = (session, "") if session else ("", project)
    turns, prefix = _turns(request.messages, spans, body, principal, list(dict.fromkeys([place, ("", project)])))
    if kind is Kind.HUMAN and (not turns or turns[-1].index != newest):
        return opaque
    return Call(
        kind=kind,
        principal=principal,
        at=now,
        turns=tuple(turns) if kind is Kind.HUMAN else tuple(turn for turn in turns if turn.index != newest or kind is Kind.STEP),
        turn_id=ledger_key(principal, place if session else (_day(now), project), prefix)[:32] if kind is Kind.HUMAN else "",
        session=session,
        project=project,
        answer=_last_answer(request.messages[:newest]),
    )


def _newest(messages: Sequence[_Message]) -> int | None:
    """The last message that is part of the talk: system messages may trail it."""
    return next((index for index in reversed(range(len(messages))) if messages[index].role != "system"), None)


def _kind(request: _Request, newest: int, headers: Mapping[str, str], system: Sequence[str]) -> Kind:
    if "x-claude-code-agent-id" in headers or _is_side(request, newest, headers, system):
        return Kind.SIDE
    message = request.messages[newest]
    if message.role != "user" or message.has_results:
        return Kind.STEP
    if _is_fork(request.messages, newest, _is_claude_code(headers, system)):
        return Kind.SIDE
    return Kind.HUMAN if words.of_person(message.texts) else Kind.STEP


def _is_side(request: _Request, newest: int, headers: Mapping[str, str], system: Sequence[str]) -> bool:
    tools = _lenient(request.tools, list[_Tool], [])
    own_tools = [tool for tool in tools if bytes(tool.input_schema) not in _RAW_NONE]
    if _is_claude_code(headers, system) and not own_tools:
        return True
    limit = _lenient(request.max_tokens, int, _CHECK_TOKENS + 1)
    checks = not tools and limit <= _CHECK_TOKENS and not _lenient(request.stream, bool, False) and request.messages[newest].marked_within
    return limit <= 1 or checks or "</block>" in _lenient(request.stop_sequences, list[str], []) or any(map(_SIDE_PROMPTS.search, system))


def _is_claude_code(headers: Mapping[str, str], system: Sequence[str]) -> bool:
    """Its main loop always carries tools, so that its calls without tools are its own."""
    by_header = headers.get("user-agent", "").startswith("claude-cli/") or headers.get("x-app", "") in ("cli", "cli-bg")
    return by_header or (bool(system) and system[0].startswith(_ATTRIBUTION))


def _is_fork(messages: Sequence[_Message], newest: int, claude_code: bool) -> bool:
    """An instruction behind a copy of the conversation: the marker stayed on the message before it. Other clients place markers as they like,
    but the answer of the assistant is not where a person's message has its own."""
    if any(message.marked for message in messages[newest:]):
        return False
    earlier = messages[:newest] if claude_code else [message for message in messages[:newest] if message.role == "assistant"][-1:]
    return any(message.marked for message in earlier)


def _turns(
    messages: Sequence[_Message], spans: Sequence[splice.Span], body: bytes, principal: models.Principal, places: Sequence[tuple[str, str]]
) -> tuple[list[Turn], str]:
    """The person's messages that can take a block, and the prefix that ends with the last message of the person."""
    chain = hashlib.sha256()
    prefix = ""
    turns = []
    for index, message in enumerate(messages):
        said = "" if message.role != "user" or message.has_results else words.of_person(message.texts)
        for part in _identity(message, said):
            chain.update(len(part).to_bytes(8, "big") + part)
        if not said:
            continue
        prefix = chain.hexdigest()
        spot = splice.spot(body, spans[index])
        if isinstance(spot, splice.Spot):
            turns.append(Turn(index, said, tuple(ledger_key(principal, where, prefix) for where in places), spot, _reply(messages[index + 1 :])))
    return turns, prefix


def _reply(later: Sequence[_Message]) -> str:
    following = next((message for message in later if message.role != "system"), None)
    return "\n".join(following.texts) if following is not None and following.role == "assistant" else ""


def _identity(message: _Message, said: str) -> Iterator[bytes]:
    """What makes a message the same in every call: tools by their ids, so that results of any size cost nothing."""
    if message.role == "assistant":
        for block in message.blocks:
            if block.type == "text" and block.text and (text := block.text.strip()):
                yield b"a" + text.encode()
            elif block.id:
                yield f"t{block.id} {block.name}".encode()
    elif message.role == "user":
        results = [block.tool_use_id for block in message.blocks if block.tool_use_id]
        yield from (b"r" + result.encode() for result in results)
        if not results:
            yield from (b"s" + hashlib.sha256(block.source).digest() for block in message.blocks if bytes(block.source) not in _RAW_NONE)
        if said:
            yield b"u" + said.encode()


def _day(now: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(now))


def _session(request: _Request, headers: Mapping[str, str]) -> str:
    if named := headers.get("x-claude-code-session-id", ""):
        return named
    user_id = _lenient(request.metadata, _Metadata, _Metadata()).user_id
    if old := _OLD_USER_ID.search(user_id):
        return old[1]
    return _lenient(msgspec.Raw(user_id.encode()), _NewUserId, _NewUserId()).session_id


def _project(request: _Request, headers: Mapping[str, str], system: Sequence[str]) -> str:
    """As the header names it, else the working directory that the client states: newest system message last, never a message of the person."""
    if named := headers.get("x-brb-project", "").strip():
        return named
    stated = [*system, *(text for message in request.messages if message.role == "system" for text in message.texts)]
    paths = [path for text in stated for match in _WORKING_DIRECTORY.finditer(text) if (path := _path(match))]
    return paths[-1] if paths else ""


def _path(stated: re.Match[str]) -> str:
    """The rest of a line of its own; within a sentence the next word; "" if something else is stated ("networking directory: …")."""
    before = stated.string[stated.string.rfind("\n", 0, stated.start()) + 1 : stated.start()]
    if _STATED_ALONE.fullmatch(before):
        named = stated[1]
    elif _STATED_WITHIN.fullmatch(before):
        named = stated[1].split()[0].rstrip(".,;)")
    else:
        return ""
    return named.strip(" \t`\"'").rstrip("/") or "/"


def _last_answer(messages: Sequence[_Message]) -> str:
    return next(("\n".join(texts) for message in reversed(messages) if message.role == "assistant" and (texts := message.texts)), "")


def _texts(system: msgspec.Raw) -> list[str]:
    content = _lenient(system, str | list[_Block], "")  # type: ignore[arg-type]
    return [content] if isinstance(content, str) and content else [block.text for block in content if block.text] if isinstance(content, list) else []


def _lenient(raw: msgspec.Raw, kind: type[_T], default: _T) -> _T:
    """A field that others may spell in other ways: of no account then."""
    try:
        return msgspec.json.decode(raw, type=kind) if raw else default
    except (msgspec.DecodeError, RecursionError):
        return default
