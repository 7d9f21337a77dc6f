"""OpenAI's APIs for chats and responses as their clients speak them: which call is a person's turn, what the person said, and where a block can go.

A conversation is recognised as that of Anthropic's clients is: by who said what up to a human turn, without the parts that move about between calls
(reasoning, ids and states of items, system messages, what the client puts beside the person's words, a string or a list of one part). Where the
upstream keeps the conversation, the call brings only what is new: it is recognised by what it follows, too.
"""

import hashlib
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from services.core import models
from services.proxy.wire import client_words, projects, routes, splice, words
from services.proxy.wire.calls import Call, Kind, Turn, kept_key, ledger_key

_T = TypeVar("_T")

_NONE = msgspec.Raw(b"")
_RAW_NONE = (b"", b"null")
_KEY = re.compile(rb'[\s,]*+("[^"\\]*+(?:\\.[^"\\]*+)*+")\s*+:\s*+', re.DOTALL)
_TEXTS = ("text", "input_text", "output_text")
_SESSION_HEADERS = ("session_id", "session-id", "conversation_id", "x-claude-code-session-id", "x-openwebui-chat-id")
_AGENT_HEADERS = ("x-codex-parent-thread-id", "x-claude-code-agent-id")
_SPAWNED = "collab_spawn"  # what Codex calls a subagent; others are its own summaries, reviews and memories
_OUT_OF_TALK = ("reasoning", "additional_tools", "configuration_update")
_STRING_INPUT = re.compile(rb'"input"\s*+:\s*+"')
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


class _Part(msgspec.Struct):
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
        return (raw for raw in given if bytes(raw) not in _RAW_NONE)


class _Function(msgspec.Struct):
    name: str = ""


class _ToolCall(msgspec.Struct):
    id: str | None = None
    function: _Function | None = None


class _Written(msgspec.Struct):
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

    @property
    def parts(self) -> list[_Part]:
        return [_Part("text", self.content)] if isinstance(self.content, str) else self.content or []


class Item(msgspec.Struct, frozen=True):
    """What a message or another item says, by its bytes alone.

    role: "" for what is no message. identity: what makes it the same in every call; b"" if it is not part of the talk. text: of the assistant or the
    system. said: the person's words. spot: where it takes a block, in bytes from its own beginning; None if it takes none. orders: whether the client
    asks on its own behalf. place: the working directory that the client states, "" if none.
    """

    role: str
    identity: bytes = b""
    text: str = ""
    said: str = ""
    spot: splice.Spot | None = None
    orders: bool = False
    place: str = ""


class _Talk(NamedTuple):
    """A body that was read. fields: its values by key. starts: where each item begins in the body."""

    fields: Mapping[str, msgspec.Raw]
    items: Sequence[Item]
    starts: Sequence[int]


class _Conversation(msgspec.Struct):
    id: str


_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_WRITTEN = msgspec.json.Decoder(_Written)
_CONVERSATION = msgspec.json.Decoder(str | _Conversation)
_STRING = msgspec.json.Decoder(str)
_INT = msgspec.json.Decoder(int)


def read(route: routes.Route, headers: Mapping[str, str], body: bytes, principal: models.Principal, now: float, *, subagents: bool = False) -> Call:
    """The call that a body makes to CHAT or RESPONSES, `headers` by lower-case name. Never raises: what can't be read safely is OPAQUE.

    subagents: whether those of Codex count as turns, which are recalled for but not learnt from.
    """
    opaque = Call(Kind.OPAQUE, principal, now)
    try:
        talk = _talk(body, "messages" if route is routes.Route.CHAT else "input")
    except (msgspec.DecodeError, RecursionError):
        return opaque
    if talk is None:
        return opaque
    instructions = _instructions(talk)
    newest = _newest(talk.items)
    of_agent = headers.get("x-openai-subagent") == _SPAWNED or any(name in headers for name in _AGENT_HEADERS)
    kind = Kind.SIDE if of_agent and not subagents else _kind(talk, newest, headers, instructions)
    previous = _lenient(_STRING, talk.fields.get("previous_response_id"), "")
    kept = previous or _conversation(talk.fields)
    follows = kept_key(principal, kept) if kept else ""
    session = next((headers[name] for name in _SESSION_HEADERS if headers.get(name)), "")
    project = headers.get("x-brb-project", "").strip() or _project(talk.items, instructions)
    # Within a session a conversation may move to another project; without one, equal words in two projects are two conversations.
    place = (session, "") if session else ("", project)
    turns, prefix = _turns(talk, principal, tuple(dict.fromkeys([place, ("", project)])), follows)
    if kind is Kind.HUMAN and (not turns or turns[-1].index != newest):
        return opaque
    return Call(
        kind=kind,
        principal=principal,
        at=now,
        turns=tuple(turn for turn in turns if kind is not Kind.SIDE or turn.index != newest),
        turn_id=ledger_key(principal, place if session else (_day(now), project), prefix)[:32] if kind is Kind.HUMAN else "",
        session=session,
        project=project,
        answer=_last_answer(talk.items[:newest]),
        follows=follows,
        learns=not of_agent,
        lasting=bool(kept) and not previous,
    )


def _talk(body: bytes, key: str) -> _Talk | None:
    """What a body says; None if it is to be left alone. Raises msgspec.DecodeError or RecursionError if it can't be told."""
    if key == "input" and _STRING_INPUT.search(body) and (said := _said_alone(body, key)) is not None:
        return said
    listed = splice.listed(body, key)
    if isinstance(listed, splice.LeaveAlone):
        return None
    items = [_item(body[start:end]) for start, end in listed.items]
    if all(item.role in ("system", "developer") for item in items):
        return None
    return _Talk(listed.fields, items, [start for start, _ in listed.items])


def _said_alone(body: bytes, key: str) -> _Talk | None:
    """A body whose input is a string: the person's words alone. None for others."""
    fields = _OBJECT.decode(body)
    if not bytes(fields.get(key, _NONE)).startswith(b'"'):
        return None
    start = _start(body, fields, key)
    text = _STRING.decode(fields[key])
    said = words.joined(client_words.by_block([text]))
    spot = splice.Spot(0, len(bytes(fields[key])), splice.Form.APPENDED) if said and start else None
    item = Item("user", _joined(_of_person([], said)), said=said, spot=spot, orders=client_words.is_side((), [text]))
    return _Talk(fields, [item], [start])


def _start(body: bytes, fields: Mapping[str, msgspec.Raw], wanted: str) -> int:
    """Where the value of a key begins; 0 if a key is there twice, so that it is not clear."""
    position = body.index(b"{") + 1
    found = 0
    for _ in fields:
        key = _KEY.match(body, position)
        value = b"" if key is None else bytes(fields[_STRING.decode(key[1])])
        if key is None or not body.startswith(value, key.end()):
            return 0
        found = key.end() if _STRING.decode(key[1]) == wanted else found
        position = key.end() + len(value)
    return 0 if _KEY.match(body, position) else found


def _item(written: bytes) -> Item:
    """What a message or another item says. Raises msgspec.DecodeError or RecursionError if it can't be told."""
    item = _WRITTEN.decode(written)
    texts = [part.own_text for part in item.parts]
    match item.role:
        case "user":
            return _user(written, item.parts, texts)
        case "assistant":
            return Item(item.role, _joined(_of_assistant(item, texts)), words.joined(texts))
        case "system" | "developer":
            return Item(item.role, text=words.joined(texts))
        case "tool" | "function":
            return Item("tool", _joined([b"r" + (item.tool_call_id or item.name or "").encode()]))
    if item.type.endswith("_output"):
        return Item("tool", _joined([b"r" + (item.call_id or "").encode()]))
    if item.type in _OUT_OF_TALK:
        return Item("")
    named = item.id if item.type in ("", "item_reference") else item.call_id or item.type
    return Item("", _joined([f"t{named} {item.name}".encode()]))


def _user(written: bytes, parts: Sequence[_Part], texts: Sequence[str]) -> Item:
    own = client_words.by_block(texts)
    said = words.joined(own)
    return Item(
        role="user",
        identity=_joined(_of_person(parts, said)),
        said=said,
        spot=_spot(written, parts, own) if said else None,
        orders=client_words.is_side((), texts),
        place=projects.stated(client_words.contexts(texts)),
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


def _of_person(parts: Iterable[_Part], said: str) -> Iterator[bytes]:
    for part in parts:
        yield from (b"s" + hashlib.sha256(raw).digest() for raw in part.media)
    if said:
        yield b"u" + said.encode()


def _joined(parts: Iterable[bytes]) -> bytes:
    return b"".join([len(part).to_bytes(8, "big") + part for part in parts])


def _kind(talk: _Talk, newest: int, headers: Mapping[str, str], instructions: Sequence[str]) -> Kind:
    item = talk.items[newest]
    probes = any(_lenient(_INT, talk.fields.get(name), 2) <= 1 for name in _LIMITS)
    of_client = headers.get("x-openai-subagent", _SPAWNED) != _SPAWNED or "x-openai-memgen-request" in headers
    if probes or of_client or item.orders or client_words.is_side(instructions, ()):
        return Kind.SIDE
    return Kind.HUMAN if item.said else Kind.STEP


def _newest(items: Sequence[Item]) -> int:
    """The last item of the talk: what the client tells the model may trail the person's words, unless it is an order of its own."""
    return next((index for index in reversed(range(len(items))) if items[index].identity or items[index].orders), len(items) - 1)


def _turns(talk: _Talk, principal: models.Principal, places: Sequence[tuple[str, str]], follows: str) -> tuple[list[Turn], str]:
    """The person's messages that can take a block, and the prefix that ends with the last of them."""
    chain = hashlib.sha256(follows.encode())
    prefix = ""
    turns = []
    for index, item in enumerate(talk.items):
        if not _answers_client(talk.items, index):
            chain.update(item.identity)
        if item.spot is not None:
            prefix = chain.hexdigest()
            spot = item.spot._replace(start=talk.starts[index] + item.spot.start, end=talk.starts[index] + item.spot.end)
            keys = tuple(ledger_key(principal, where, prefix) for where in places)
            turns.append(Turn(index, item.said, keys, spot, _reply(talk.items, index + 1)))
    return turns, prefix


def _answers_client(items: Sequence[Item], index: int) -> bool:
    """Whether a message is an answer to what the client alone said: some show files so, in another place with every call."""
    return index > 0 and items[index].role == "assistant" and items[index - 1].role == "user" and not items[index - 1].identity


def _reply(items: Sequence[Item], following: int) -> str:
    """All that the assistant said before it waited for a tool or the person."""
    texts = []
    for item in items[following:]:
        if item.role in ("user", "tool"):
            break
        if item.role == "assistant" and item.text:
            texts.append(item.text)
    return "\n".join(texts)


def _instructions(talk: _Talk) -> list[str]:
    stated = _lenient(_STRING, talk.fields.get("instructions"), "")
    return [stated, *(item.text for item in talk.items if item.role in ("system", "developer"))]


def _project(items: Sequence[Item], instructions: Sequence[str]) -> str:
    """The working directory of the newest context that the client gives, else of its instructions; never one in the person's words."""
    return next((item.place for item in reversed(items) if item.place), "") or projects.stated(instructions)


def _conversation(fields: Mapping[str, msgspec.Raw]) -> str:
    named = _lenient(_CONVERSATION, fields.get("conversation"), "")
    return named if isinstance(named, str) else named.id


def _last_answer(items: Sequence[Item]) -> str:
    return next((item.text for item in reversed(items) if item.role == "assistant" and item.text), "")


def _day(now: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(now))


def _lenient(decoder: msgspec.json.Decoder[_T], raw: msgspec.Raw | None, default: _T) -> _T:
    """A field that others may spell in other ways: of no account then."""
    try:
        return decoder.decode(raw) if raw else default
    except (msgspec.DecodeError, RecursionError):
        return default
