"""OpenAI's APIs for chats and responses as their clients speak them: which call is a person's turn, what they said, where a block can go."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from services.core import models
from services.proxy.wire import calls, client_words, projects, routes, splice, turns, words
from services.proxy.wire.calls import Call, Kind
from services.proxy.wire.turns import Message, lenient

_NONE = msgspec.Raw(b"")
_RAW_NONE = (_NONE, msgspec.Raw(b"null"))
_TEXTS = ("text", "input_text", "output_text")
_SESSION_HEADERS = ("session_id", "session-id", "conversation_id", "x-claude-code-session-id", "x-openwebui-chat-id")
_AGENT_HEADERS = ("x-codex-parent-thread-id", "x-claude-code-agent-id")
_SPAWNED = "collab_spawn"  # what Codex calls a subagent; others are its own summaries, reviews and memories
_OUT_OF_TALK = ("reasoning", "additional_tools", "configuration_update")
_SYSTEM = ("system", "developer")
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


class _Part(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    image_url: msgspec.Raw = _NONE
    input_audio: msgspec.Raw = _NONE
    file: msgspec.Raw = _NONE
    file_id: msgspec.Raw = _NONE
    file_data: msgspec.Raw = _NONE
    file_url: msgspec.Raw = _NONE

    @property
    def own_text(self) -> str:
        return self.text or "" if self.type in _TEXTS else ""

    @property
    def media(self) -> Iterator[msgspec.Raw]:
        given = (self.image_url, self.input_audio, self.file, self.file_id, self.file_data, self.file_url)
        return (raw for raw in given if raw not in _RAW_NONE)


class _Function(msgspec.Struct, gc=False):
    name: str = ""
    arguments: msgspec.Raw = _NONE


class _ToolCall(msgspec.Struct, gc=False):
    id: str | None = None
    function: _Function | None = None


class _Written(msgspec.Struct, gc=False):
    """A message of a chat, or an item of a response."""

    role: str = ""
    type: str = ""
    content: str | list[_Part] | None = None
    tool_calls: list[_ToolCall] | None = None
    function_call: _Function | None = None
    tool_call_id: str | None = None
    call_id: str | None = None
    id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = _NONE

    @property
    def parts(self) -> list[_Part]:
        return [_Part("text", self.content)] if isinstance(self.content, str) else self.content or []


class _Around(NamedTuple):
    """What a body says besides the messages.

    side: whether it asks for what only side calls do. kept: the name of what the upstream keeps of the conversation. lasting: as in `Call`.
    place: the stated project.
    """

    side: bool
    kept: str
    lasting: bool
    place: str

    def understood(self, headers: Mapping[str, str], messages: Sequence[Message], subagents: bool) -> turns.Understood | None:
        if all(message.role in _SYSTEM for message in messages):
            return None
        newest = _newest(messages)
        of_agent = headers.get("x-openai-subagent") == _SPAWNED or any(name in headers for name in _AGENT_HEADERS)
        of_client = headers.get("x-openai-subagent", _SPAWNED) != _SPAWNED or "x-openai-memgen-request" in headers
        told = messages[newest].instructs or any(message.instructs for message in messages if message.role in _SYSTEM)
        speaks = Kind.HUMAN if messages[newest].said else Kind.STEP
        return turns.Understood(
            kind=Kind.SIDE if (of_agent and not subagents) or of_client or self.side or told else speaks,
            newest=newest,
            session=next((headers[name] for name in _SESSION_HEADERS if headers.get(name)), ""),
            place=turns.place(messages, "user") or turns.place(messages, *_SYSTEM) or self.place,
            kept=self.kept,
            lasting=self.lasting,
            learns=not of_agent,
        )


class _Conversation(msgspec.Struct):
    id: str


_WRITTEN = msgspec.json.Decoder(_Written)
_SAID = msgspec.json.Decoder(str | _Written)
_CONVERSATION = msgspec.json.Decoder(str | _Conversation)
_STRING = msgspec.json.Decoder(str)
_INT = msgspec.json.Decoder(int)


def read(
    route: routes.Route,
    headers: Mapping[str, str],
    body: bytes,
    principal: models.Principal,
    now: float,
    *,
    subagents: bool = False,
    memory: turns.Memory | None = None,
) -> Call:
    """The call that a body makes to CHAT or RESPONSES, by the rules of `turns.read`. subagents: whether those of Codex count as turns."""
    return turns.read(DIALECTS[route], headers, body, principal, now, subagents=subagents, memory=memory)


def _message(written: memoryview) -> Message:
    """What a message of a chat says. Raises msgspec.DecodeError or RecursionError if it can't be told."""
    return _said(_WRITTEN.decode(written), written)


def _item(written: memoryview) -> Message:
    """What an item of a response says, or the string that stands for the only one. Raises as `_message` does."""
    item = _SAID.decode(written)
    if not isinstance(item, str):
        return _said(item, written)
    return _of_user([_Part("text", item)], lambda _: splice.Spot(0, len(written), splice.Form.APPENDED))


def _said(item: _Written, written: memoryview) -> Message:
    texts = [part.own_text for part in item.parts]
    match item.role:
        case "user":
            return _of_user(item.parts, lambda own: _spot(bytes(written), item.parts, own))
        case "assistant":
            return Message(item.role, turns.joined(_of_assistant(item, texts)), words.joined(texts), _asks(item))
        case "system" | "developer":
            return Message(item.role, place=projects.stated([words.joined(texts)]), instructs=client_words.is_side(texts, ()))
        case "tool" | "function":
            return Message("tool", turns.joined([b"r" + (item.tool_call_id or item.name or "").encode()]))
    if item.type.endswith("_output"):
        return Message("tool", turns.joined([b"r" + (item.call_id or "").encode()]))
    if item.type in _OUT_OF_TALK:
        return Message("")
    named = item.id if item.type in ("", "item_reference") else item.call_id or item.type
    asks = calls.asked(item.name, item.call_id or "", bytes(item.arguments)) if item.name else ""
    return Message("", turns.joined([f"t{named} {item.name}".encode()]), asks=asks)


def _of_user(parts: Sequence[_Part], spot: Callable[[Sequence[str]], splice.Spot | None]) -> Message:
    """spot: where the message takes a block, by what of each part is the person's."""
    texts = [part.own_text for part in parts]
    own = client_words.by_block(texts)
    said = words.joined(own)
    found = spot(own) if said else None
    return Message(
        role="user",
        identity=turns.joined(_of_person(parts, said)),
        said=said if found else "",
        spot=found,
        given=turns.given(texts) if found else "",
        place=projects.stated(client_words.contexts(texts)),
        instructs=client_words.is_side((), texts),
    )


def _spot(written: bytes, parts: Sequence[_Part], own: Sequence[str]) -> splice.Spot | None:
    """Behind the last text that is the person's, in the form that it has."""
    last = max(index for index, said in enumerate(own) if said)
    spot = splice.spot(written, splice.Span(0, len(written)), last)
    if isinstance(spot, splice.LeaveAlone):
        return None
    if spot.form is splice.Form.WRAPPED:
        return spot._replace(form=splice.Form.APPENDED)
    return spot._replace(form=splice.Form.INPUT) if parts[last].type == "input_text" else spot


def _of_assistant(item: _Written, texts: Iterable[str]) -> Iterator[bytes]:
    """Tools by their ids, so that results of any size cost nothing."""
    for text in texts:
        if text.strip():
            yield b"a" + text.strip().encode()
    for call in item.tool_calls or []:
        yield f"t{call.id} {call.function.name if call.function else None}".encode()
    if item.function_call:
        yield f"t {item.function_call.name}".encode()


def _asks(item: _Written) -> str:
    for call in item.tool_calls or []:
        return calls.asked(call.function.name, call.id or "", bytes(call.function.arguments)) if call.function else call.id or ""
    return calls.asked(item.function_call.name, "", bytes(item.function_call.arguments)) if item.function_call else ""


def _of_person(parts: Iterable[_Part], said: str) -> Iterator[bytes]:
    for part in parts:
        yield from (b"s" + hashlib.sha256(raw).digest() for raw in part.media)
    if said:
        yield b"u" + said.encode()


def _around(fields: Mapping[str, msgspec.Raw]) -> _Around:
    instructions = [lenient(_STRING, fields.get("instructions"), "")]
    previous = lenient(_STRING, fields.get("previous_response_id"), "")
    named = lenient(_CONVERSATION, fields.get("conversation"), "")
    conversation = named if isinstance(named, str) else named.id
    probes = any(lenient(_INT, fields.get(name), 2) <= 1 for name in _LIMITS)
    return _Around(
        side=probes or client_words.is_side(instructions, ()),
        kept=previous or conversation,
        lasting=bool(conversation) and not previous,
        place=projects.stated(instructions),
    )


def _newest(messages: Sequence[Message]) -> int:
    """The last message of the talk: what the client tells the model may trail the person's words, unless it is an order of its own."""
    spoken = (index for index in reversed(range(len(messages))) if messages[index].identity or messages[index].instructs)
    return next(spoken, len(messages) - 1)


DIALECTS = {
    routes.Route.CHAT: turns.Dialect("messages", in_items=False, parse=_message, around=_around),
    routes.Route.RESPONSES: turns.Dialect("input", in_items=True, parse=_item, around=_around),
}
